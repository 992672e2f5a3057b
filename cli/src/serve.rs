use std::io::IsTerminal as _;
use std::net::TcpListener;

use clap::CommandFactory as _;
use tidings_core::account::Caller;
use tidings_core::config::WithoutEffect;
use tidings_core::{Location, admin, analysis};
use tidings_server::Server;

use crate::args::Cli;
use crate::database;
use crate::failure::cannot_open;
use crate::global;
use crate::output::{colours, note, print, use_json_log};
use crate::prelude::*;
use crate::ready;
use crate::session::operator;
use crate::settings::{LogFormat, Settings};

mod log;
mod reload;
#[cfg(unix)]
mod supervisor;

use reload::Reload;

/// Reads only the command line and the environment, and works even if clap cannot parse the command line.
pub(crate) fn logs_json() -> bool {
    let given = global::typed_value("--log-format").or_else(|| std::env::var("TIDINGS_LOG_FORMAT").ok());
    global::typed_options().any(|word| word == "serve") && given.as_deref() == Some("json")
}

pub(crate) fn run(global: &Global, given: Settings) -> Exit {
    operator(global)?;
    // Before there are threads: it changes the environment.
    #[cfg(unix)]
    let passed = supervisor::listener()?;
    #[cfg(not(unix))]
    let passed: Option<TcpListener> = None;
    let settings = given.clone().complete(global.config.as_deref())?;
    let own = settings.own()?;
    if let LogFormat::Json = own.log_format {
        use_json_log();
    }
    let (log, _end) = log::start(&own, colours(global.color, std::io::stderr().is_terminal()))?;
    let config = settings.server()?;
    for warning in settings.warnings(&Cli::command()) {
        tracing::warn!("{warning}");
    }
    if passed.is_some() && settings.given("listen").is_some() {
        tracing::warn!("--listen has no effect, because the service manager passes a socket");
    }
    let scheme = if config.tls_cert.is_some() { "https" } else { "http" };
    let database = global.location(&settings);
    let listener = match passed {
        Some(listener) => listener,
        None => TcpListener::bind(own.listen).map_err(|e| {
            let address = own.listen;
            Failure::system(format!("cannot listen on {address}: {e}; choose another address with --listen"))
        })?,
    };
    let failed = |e: std::io::Error| Failure::system(format!("cannot serve: {e}"));
    let address = listener.local_addr().map_err(failed)?;
    let tidings = database::start(&database, &settings)?;
    for WithoutEffect { setting, because } in tidings.config().without_effect() {
        tracing::warn!(setting, "{setting} has no effect: {because}");
    }
    let zone = analysis::timezone(&tidings).map_err(|error| cannot_open(&database, &error))?;
    if !zone.is_counted {
        note(&format!(
            "Days are counted in the time zone {}. To change it: --timezone, or tidings store timezone ZONE",
            zone.zone
        ));
    }
    let admins =
        tidings.call(&Caller::Operator, admin::List {}).map_err(|error| cannot_open(&database, &error))?;
    let url = format!("{scheme}://{}{}", ready::local(address), config.base_path.as_str());
    let runtime = tokio::runtime::Runtime::new().map_err(failed)?;
    runtime.block_on(async {
        #[cfg(unix)]
        let watched = tidings.clone();
        let server = Server::new(tidings, config).map_err(|invalid| settings.refuse(&invalid))?;
        // On a terminal, SIGHUP means that the terminal was closed.
        let on_terminal = std::io::stdin().is_terminal()
            || std::io::stdout().is_terminal()
            || std::io::stderr().is_terminal();
        let shutdown = stop_signal(on_terminal).map_err(failed)?;
        let file = global.config.clone();
        let handle = server.handle();
        let reload = Reload { given, file, in_force: settings, handle, log };
        if !on_terminal {
            reload_on_hangup(reload).map_err(failed)?;
        }
        let server = server.start(listener).await.map_err(failed)?;
        if admins.admins.is_empty() {
            welcome(&database, &url);
        }
        let listening = format!("listening on {scheme}://{address}");
        print(listening.as_bytes())?;
        #[cfg(unix)]
        supervisor::ready(&listening, watched);
        server
            .serve(async {
                shutdown.await;
                tracing::info!("stopping: finishing what runs");
                #[cfg(unix)]
                supervisor::stopping();
            })
            .await;
        Ok::<_, Failure>(())
    })?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(unix)]
fn reload_on_hangup(mut reload: Reload) -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            supervisor::reloading();
            reload.run();
            supervisor::reloaded();
        }
    });
    Ok(())
}

#[cfg(not(unix))]
fn reload_on_hangup(_: Reload) -> std::io::Result<()> {
    Ok(())
}

fn welcome(database: &Location, url: &str) {
    let tidings = database::next_command(database);
    note(&format!(
        "There is no administrator yet. Make one while this runs, from another terminal:\n\
         \x20 {tidings} init --admin ID      (asks for a password and signs ID up)\n\
         \x20 {tidings} admin grant ID       (for a member who has signed up)\n\
         Then try the API at {url}/docs, and publish a notice in the terminal UI:\n\
         \x20 {tidings} tui"
    ));
}

/// Ends at Ctrl-C or SIGTERM, or at SIGHUP if `hangup` is set. A signal before the future is polled is not lost.
#[cfg(unix)]
fn stop_signal(hangup: bool) -> std::io::Result<impl Future<Output = ()>> {
    use std::future::poll_fn;
    use std::task::Poll;

    use tokio::signal::unix::{SignalKind, signal};

    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let kinds = kinds.into_iter().take(if hangup { 3 } else { 2 });
    let mut signals = kinds.map(signal).collect::<std::io::Result<Vec<_>>>()?;
    Ok(poll_fn(move |context| {
        let has_come = signals.iter_mut().any(|signal| signal.poll_recv(context).is_ready());
        if has_come { Poll::Ready(()) } else { Poll::Pending }
    }))
}

#[cfg(windows)]
fn stop_signal(_: bool) -> std::io::Result<impl Future<Output = ()>> {
    let (mut interrupt, mut terminate) =
        (tokio::signal::windows::ctrl_c()?, tokio::signal::windows::ctrl_shutdown()?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}
