//! SIGHUP: the server reads the settings again, and applies those that it can change while it runs.

use std::path::PathBuf;

use tidings_server::Handle;

use super::log::LogControl;
use crate::failure::Failure;
use crate::settings::{self, DB, Settings, arguments};

/// The log applies it; the others are [`Handle::SETTINGS`].
const LOG_LEVEL: &str = "log-level";
/// Turning TLS on and off needs a restart.
const TLS: [&str; 2] = ["tls-cert", "tls-key"];

pub(super) struct Reload {
    /// Of the command line and the environment, which do not change.
    pub(super) given: Settings,
    pub(super) file: Option<PathBuf>,
    pub(super) in_force: Settings,
    pub(super) handle: Handle,
    pub(super) log: LogControl,
}

impl Reload {
    pub(super) fn run(&mut self) {
        match self.apply() {
            Ok((applied, refused)) => {
                if applied.is_empty() {
                    tracing::info!("reloaded: no setting has changed that a running server can change");
                } else {
                    tracing::info!("reloaded: {} changed", applied.join(", "));
                }
                if !refused.is_empty() {
                    tracing::warn!("restart the server to change {}", refused.join(", "));
                }
            }
            Err(failure) => tracing::error!("nothing is reloaded: {}", failure.message),
        }
    }

    /// The settings that have changed, and those that need a restart.
    fn apply(&mut self) -> Result<(Vec<&'static str>, Vec<&'static str>), Failure> {
        let next = self.given.clone().complete(self.file.as_deref())?;
        let own = next.own()?;
        next.core()?;
        self.handle.reload(&next.server()?).map_err(|invalid| next.refuse(&invalid))?;
        self.log.set(&own.log_level);
        let turns_tls =
            TLS.iter().any(|name| self.in_force.given(name).is_some() != next.given(name).is_some());
        let (mut applied, mut refused) = (Vec::new(), Vec::new());
        for name in arguments().iter().map(settings::name).chain([DB]) {
            let value = |settings: &Settings| settings.given(name).map(|given| given.texts.clone());
            if value(&self.in_force) == value(&next) {
                continue;
            }
            let can_change = match name {
                LOG_LEVEL if !self.log.follows_settings() => continue,
                LOG_LEVEL => true,
                name => Handle::SETTINGS.contains(&name) && !(turns_tls && TLS.contains(&name)),
            };
            if can_change {
                self.in_force.take(name, &next);
                applied.push(name);
            } else {
                refused.push(name);
            }
        }
        Ok((applied, refused))
    }
}
