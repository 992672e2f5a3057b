//! The table of the server's settings.

use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroU32;

use tidings_core::config::setting::{Field, FieldType, Form, Group, Setting, Value, parse};
use tidings_core::field;

use super::{BasePath, Config, IpNet, Origin};

const ANY: u64 = u32::MAX as u64;

/// Reads and writes a limit; 0 represents `None`.
macro_rules! limit {
    ($name:ident) => {
        Field {
            get: |config: &Config| config.$name.map_or(0, NonZeroU32::get).to_value(),
            set: |config: &mut Config, value| {
                config.$name = NonZeroU32::new(u32::from_value(value)?);
                Ok(())
            },
        }
    };
}
/// The settings of the server.
pub static SETTINGS: &[Group<Config>] =
    &[Group { heading: "", settings: GENERAL }, Group { heading: "Analytics", settings: ANALYTICS }];

const GENERAL: &[Setting<Config>] = &[
    Setting::new(
        "base-path",
        Form::Text,
        field!(Config, base_path),
        "Serve everything under this prefix, such as /api",
    )
    .takes("PATH"),
    Setting::new(
        "cors-origin",
        Form::List,
        Field {
            get: |config: &Config| list(&config.cors_origins),
            set: |config: &mut Config, value| {
                config.cors_origins = each(value, str::parse::<Origin>)?;
                Ok(())
            },
        },
        "Allow browsers of this origin only; may be repeated",
    )
    .takes("ORIGIN")
    .unset("any"),
    Setting::new(
        "trust-proxy",
        Form::List,
        Field {
            get: |config: &Config| list(&config.trust_proxy),
            set: |config: &mut Config, value| {
                config.trust_proxy = each(value, network)?;
                Ok(())
            },
        },
        "Believe the X-Forwarded-For of this proxy, an address or a network; may be repeated",
    )
    .takes("NET"),
    Setting::new(
        "tls-cert",
        Form::Text,
        field!(Config, tls_cert),
        "Speak TLS with the certificate in this PEM file, and load it again when it changes",
    )
    .takes("FILE")
    .unset("plain HTTP"),
    Setting::new(
        "tls-key",
        Form::Text,
        field!(Config, tls_key),
        "The private key of the certificate, a PEM file",
    )
    .takes("FILE"),
    Setting::new(
        "rate-limit",
        Form::Whole(1, ANY),
        Field {
            get: |config: &Config| config.rate_limit.and_then(|limit| limit.get().to_value()),
            set: |config: &mut Config, value| {
                config.rate_limit = Some(at_least_one(value)?);
                Ok(())
            },
        },
        "Requests a second that one client may make",
    )
    .unset("any number"),
    Setting::new(
        "sign-up-limit",
        Form::WholeOrOff(ANY),
        limit!(sign_up_limit),
        "Sign-ups a minute that one client may make beyond the burst, or off",
    ),
    Setting::new(
        "sign-up-burst",
        Form::Whole(1, ANY),
        Field {
            get: |config: &Config| config.sign_up_burst.get().to_value(),
            set: |config: &mut Config, value| {
                config.sign_up_burst = at_least_one(value)?;
                Ok(())
            },
        },
        "Sign-ups that one client may make at once",
    ),
    Setting::new(
        "search-limit",
        Form::WholeOrOff(ANY),
        limit!(search_limit),
        "Searches a minute that one client may make, or off",
    ),
    Setting::new(
        "guest-write-limit",
        Form::WholeOrOff(ANY),
        limit!(guest_write_limit),
        "Views, search records and devices a minute that one client may write without being \
         signed in, or off",
    ),
    Setting::new(
        "feedback-limit-per-address",
        Form::WholeOrOff(ANY),
        limit!(feedback_limit),
        "Feedback a minute that members at one address may send, or off",
    ),
    Setting::new(
        "key-limit",
        Form::WholeOrOff(ANY),
        limit!(key_limit),
        "Requests a second that may be made with one API key, or off",
    ),
    Setting::new(
        "max-connections",
        Form::Whole(1, ANY),
        field!(Config, max_connections),
        "Connections at a time; the longest idle one is closed for the next",
    ),
    Setting::new(
        "max-connections-per-address",
        Form::Whole(1, ANY),
        field!(Config, max_connections_per_address),
        "Connections at a time from one address, except trusted proxies",
    )
    .unset("three quarters of all"),
    Setting::new(
        "event-connections",
        Form::WholeOrOff(ANY),
        limit!(event_connections),
        "Streams of live events at a time, at most half of the connections, or off",
    ),
    Setting::new(
        "metrics-listen",
        Form::Text,
        field!(Config, metrics_listen),
        "Serve metrics for Prometheus on this address, at /metrics",
    )
    .takes("ADDR")
    .unset("nowhere"),
    Setting::new(
        "stop-delay",
        Form::Whole(0, 3_600),
        field!(Config, stop_delay),
        "Seconds between SIGTERM and the stop in which the server answers but is not ready, for load balancers",
    ),
    Setting::new(
        "no-docs",
        Form::Flag,
        Field {
            get: |config: &Config| (!config.docs).to_value(),
            set: |config: &mut Config, value| {
                config.docs = !bool::from_value(value)?;
                Ok(())
            },
        },
        "Close /docs and /openapi.json",
    ),
    Setting::new(
        "log-auth-failures",
        Form::Flag,
        field!(Config, log_auth_failures),
        "Log failed sign-ins with the address they come from",
    ),
];

const ANALYTICS: &[Setting<Config>] = &[Setting::new(
    "analytics",
    Form::Switch,
    field!(Config, analytics),
    "Write answered requests to the access log and count their visitors",
)];

fn at_least_one(value: &Value) -> Result<NonZeroU32, String> {
    NonZeroU32::new(u32::from_value(value)?).ok_or_else(|| "must be at least 1".to_owned())
}

/// Returns a list as a value; `None` if it is empty.
fn list(items: &[impl ToString]) -> Option<Value> {
    (!items.is_empty()).then(|| Value::List(items.iter().map(ToString::to_string).collect()))
}

/// Reads each text of a list.
fn each<T, E: fmt::Display>(value: &Value, parse: impl Fn(&str) -> Result<T, E>) -> Result<Vec<T>, String> {
    let Value::List(texts) = value else { return Err("must be a list".to_owned()) };
    texts.iter().map(|text| parse(text).map_err(|e| format!("{text:?}: {e}"))).collect()
}

/// Reads a network, or an address as the network of that address alone.
fn network(text: &str) -> Result<IpNet, &'static str> {
    let address = || text.parse::<IpAddr>().map(IpNet::from);
    text.parse().or_else(|_| address()).map_err(|_| "must be an address, or a network such as 10.0.0.0/8")
}

impl FieldType for BasePath {
    fn to_value(&self) -> Option<Value> {
        Some(Value::Text(self.to_string()))
    }

    fn from_value(value: &Value) -> Result<Self, String> {
        parse(value)
    }
}
