use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tidings_client::Server;

use crate::prelude::*;
use crate::profile::credentials;
use crate::settings::Settings;

pub(crate) fn run(global: &Global, given: Settings) -> Exit {
    let server = match credentials::server(global)? {
        Some(server) => server,
        None => here(&given.complete(global.config.as_deref())?)?,
    };
    server.ready()?;
    let address = server.address().to_string();
    Output::new(global)
        .answer(&BTreeMap::from([("server", &address)]), |page| page.line(format!("{address} is ready.")))
}

fn here(settings: &Settings) -> Result<Server, Failure> {
    let config = settings.server()?;
    let address = local(settings.own()?.listen);
    Ok(Server::here(address, config.tls_cert.is_some(), config.base_path.as_str()))
}

/// Returns the address at which this machine reaches a server that listens at `address`: a server that listens on all
/// addresses also listens on the loopback address.
pub(crate) fn local(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    address
}
