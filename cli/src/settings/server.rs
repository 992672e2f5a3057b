//! What the settings mean to the HTTP server.

use std::net::IpAddr;
use std::num::NonZeroUsize;

use super::{Settings, Switch};
use crate::failure::Failure;

impl Settings {
    /// What the server is set to, without the place of what makes no sense.
    pub(super) fn server_of(&self) -> Result<tidings_server::Config, Failure> {
        let default = tidings_server::Config::default();
        let base_path = self.base_path.as_deref().unwrap_or_default().parse();
        let origins = self.cors_origin.iter().flatten();
        let origins = origins.map(|origin| {
            origin.parse().map_err(|e| Failure::usage(format!("cors-origin: {origin:?}: {e}")))
        });
        let proxies = self.trust_proxy.iter().flatten().map(|net| {
            let address = net.parse::<IpAddr>().map(tidings_server::IpNet::from);
            net.parse().or(address).map_err(|_| {
                Failure::usage(format!(
                    "trust-proxy: {net:?} is no address and no network such as 10.0.0.0/8"
                ))
            })
        });
        Ok(tidings_server::Config {
            base_path: base_path.map_err(|e| Failure::usage(format!("base-path: {e}")))?,
            cors_origins: origins.collect::<Result<_, _>>()?,
            trust_proxy: proxies.collect::<Result<_, _>>()?,
            rate_limit: self.rate_limit,
            sign_up_limit: self.sign_up_limit.map_or(default.sign_up_limit, |limit| limit.0),
            sign_up_burst: self.sign_up_burst.unwrap_or(default.sign_up_burst),
            search_limit: self.search_limit.map_or(default.search_limit, |limit| limit.0),
            guest_write_limit: self.guest_write_limit.map_or(default.guest_write_limit, |limit| limit.0),
            max_connections: self.max_connections.map_or(default.max_connections, NonZeroUsize::get),
            max_connections_per_address: self.max_connections_per_address.map(NonZeroUsize::get),
            analytics: self.analytics != Some(Switch::Off),
            metrics_listen: self.metrics_listen,
            docs: !self.no_docs.unwrap_or(false),
            log_auth_failures: self.log_auth_failures.unwrap_or(false),
            ..default
        })
    }
}
