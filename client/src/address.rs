use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use url::{Host, Url};

/// The address of a server: `https://host`, with a path if the service has one. Plain `http` is for servers on this machine
/// only, because it would show the token to everyone on the way.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address(pub(crate) String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidAddress {
    #[error("write the address of the server, such as https://tidings.example.org")]
    Url,
    #[error("use https: plain http, which everyone on the way can read, is for servers on this machine only")]
    Plain,
    #[error("the address has neither a name and password nor ? or #: tidings login signs in")]
    Extra,
}

impl FromStr for Address {
    type Err = InvalidAddress;

    fn from_str(text: &str) -> Result<Self, InvalidAddress> {
        let url = Url::parse(text.trim()).map_err(|_| InvalidAddress::Url)?;
        let host = url.host().ok_or(InvalidAddress::Url)?;
        // A name server may resolve another name below localhost to another machine.
        let is_here = is_of_this_machine(&host) && !matches!(host, Host::Domain(name) if name != "localhost");
        match url.scheme() {
            "https" => {}
            "http" if is_here => {}
            "http" => return Err(InvalidAddress::Plain),
            _ => return Err(InvalidAddress::Url),
        }
        let has_user = !url.username().is_empty() || url.password().is_some();
        if has_user || url.query().is_some() || url.fragment().is_some() {
            return Err(InvalidAddress::Extra);
        }
        Ok(Self(url.as_str().trim_end_matches('/').to_owned()))
    }
}

impl Address {
    /// A request to this machine through a proxy would end at another machine, and the proxy could read plain HTTP.
    pub(crate) fn allows_proxy(&self) -> bool {
        Url::parse(&self.0).is_ok_and(|url| {
            url.scheme() == "https" && url.host().is_some_and(|host| !is_of_this_machine(&host))
        })
    }

    /// With the port if it is not that of the scheme.
    pub fn host(&self) -> &str {
        let rest = self.0.split_once("://").map_or(self.0.as_str(), |(_, rest)| rest);
        rest.split_once('/').map_or(rest, |(host, _)| host)
    }
}

/// A loopback or unspecified address, `localhost`, or a name below it.
fn is_of_this_machine(host: &Host<&str>) -> bool {
    let is_here = |address: IpAddr| {
        let address = address.to_canonical();
        address.is_loopback() || address.is_unspecified()
    };
    match host {
        Host::Domain(name) => {
            let name = name.strip_suffix('.').unwrap_or(name);
            name == "localhost" || name.ends_with(".localhost")
        }
        Host::Ipv4(address) => is_here((*address).into()),
        Host::Ipv6(address) => is_here((*address).into()),
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_https_or_on_this_machine() {
        for (text, address) in [
            ("https://tidings.example.org", "https://tidings.example.org"),
            (" https://tidings.example.org/api/ ", "https://tidings.example.org/api"),
            ("https://도서관.example", "https://xn--zb0b81k2qm.example"),
            ("http://localhost:8080", "http://localhost:8080"),
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
            ("http://[::1]:8080", "http://[::1]:8080"),
            ("http://[::ffff:127.0.0.1]:8080", "http://[::ffff:7f00:1]:8080"),
        ] {
            assert_eq!(text.parse::<Address>().map(|parsed| parsed.to_string()), Ok(address.to_owned()));
        }
        for (texts, why) in [
            (&["", "tidings.example.org", "ftp://tidings.example.org"][..], InvalidAddress::Url),
            (&["http://tidings.example.org", "http://10.0.0.1"], InvalidAddress::Plain),
            (&["http://localhost.example.org", "http://a.localhost"], InvalidAddress::Plain),
            (&["https://ann:secret@a.example", "https://a.example/?a=b"], InvalidAddress::Extra),
            (&["https://tidings.example.org/#a"], InvalidAddress::Extra),
        ] {
            for text in texts {
                assert_eq!(text.parse::<Address>(), Err(why), "{text}");
            }
        }
    }

    #[test]
    fn a_proxy_may_carry_only_encrypted_requests_to_other_machines() {
        let others = "https://tidings.example.org https://localhost.example.org https://10.0.0.1 \
                      https://[2001:db8::1]:8443";
        let here = "http://localhost:8080 http://127.0.0.1:8080 https://localhost https://LOCALHOST.:8443 \
                    https://a.localhost https://127.0.0.1 https://127.8.9.10 https://2130706433 https://0.0.0.0 \
                    https://[::1] https://[::] https://[::ffff:127.0.0.1]";
        for (texts, allowed) in [(others, true), (here, false)] {
            for text in texts.split(' ') {
                assert_eq!(text.parse::<Address>().unwrap().allows_proxy(), allowed, "{text}");
            }
        }
    }
}
