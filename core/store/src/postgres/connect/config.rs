//! The driver's parameters for a host.

use tokio_postgres::Config;
use tokio_postgres::config::SslMode;

use super::super::password_file;
use super::super::url::{Host, Target, Tls};

/// From the URL, the environment or the password file.
pub(super) fn password_of(target: &Target, host: &Host) -> Result<Option<String>, String> {
    match (&target.password, &target.password_file) {
        (None, Some(path)) => password_file::password(path, host, &target.database, &target.user),
        (password, _) => Ok(password.clone()),
    }
}

pub(super) fn config(target: &Target, host: &Host, password: Option<String>) -> Config {
    let mut config = Config::new();
    config.host(&host.name).port(host.port).user(&target.user).dbname(&target.database);
    if let Some(address) = host.address {
        config.hostaddr(address);
    }
    if let Some(password) = password {
        config.password(password);
    }
    config.ssl_mode(match target.tls {
        // As in libpq, a socket never uses TLS.
        _ if host.is_socket() => SslMode::Disable,
        Tls::Off => SslMode::Disable,
        Tls::Preferred => SslMode::Prefer,
        Tls::Required | Tls::Authority(_) | Tls::Full(_) => SslMode::Require,
    });
    config.application_name(&target.application_name).channel_binding(target.channel_binding);
    config.tcp_user_timeout(target.tcp_user_timeout);
    config.keepalives(target.keepalives.is_some());
    if let Some(keepalives) = target.keepalives {
        config.keepalives_idle(keepalives.idle).keepalives_interval(keepalives.interval);
        config.keepalives_retries(keepalives.count);
    }
    if let Some(options) = &target.options {
        config.options(options);
    }
    config
}
