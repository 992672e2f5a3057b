use jiff::tz::TimeZone;
use tidings_client::shown::time;
use tidings_core::account::key::{self, Add, Revoke, Scope};
use tidings_core::clock::DAY_MS;

use crate::output::typed_time;
use crate::prelude::*;

#[derive(Debug, Subcommand)]
pub(crate) enum Key {
    /// Make an API key and print it; it is not shown again
    #[command(
        after_help = scopes_help("Example: tidings key add importer --scope posts:import --expires 90d")
    )]
    Add {
        /// What the key is for, 1 to 50 characters; no two keys have the same name
        name: String,
        /// What the key may do: one or more scopes, separated by commas
        #[arg(long, value_name = "SCOPE", required = true, value_delimiter = ',', value_parser = scope, add = ids(Kind::Scope))]
        scope: Vec<Scope>,
        /// When the key expires: days such as 90d, or a time such as 2027-01-31 or "2027-01-31 18:00" [default: never]
        #[arg(long, value_name = "WHEN", value_parser = expiry)]
        expires: Option<String>,
    },
    /// List the API keys by name
    #[command(after_help = "Example: tidings key list")]
    List,
    /// Revoke an API key: its next request fails, on every server
    #[command(after_help = "Example: tidings key revoke importer")]
    Revoke {
        /// The name of the key, or its id
        #[arg(add = ids(Kind::Key))]
        key: String,
    },
}

pub(crate) fn scopes_help(examples: &str) -> String {
    let lines = Scope::ALL.iter().map(|scope| format!("  {:14}  {}\n", scope.name(), scope.help()));
    format!("Scopes:\n{}\n{examples}", lines.collect::<String>())
}

pub(crate) fn scope_names(scopes: &[Scope]) -> String {
    scopes.iter().map(|scope| scope.name()).collect::<Vec<_>>().join(", ")
}

pub(crate) fn scope(text: &str) -> Result<Scope, String> {
    text.trim().parse().map_err(|_| key::SCOPE_RULE.message().into_owned())
}

fn days(text: &str) -> Option<i64> {
    text.strip_suffix('d')?.parse().ok().filter(|days| (1..=36_500).contains(days))
}

/// Checks only the form: the zone is known once the database is open.
fn expiry(text: &str) -> Result<String, String> {
    let is_valid = days(text).is_some() || time::parse(text, &TimeZone::UTC).is_some();
    let rule = "write days such as 90d, or a time such as 2027-01-31 or \"2027-01-31 18:00\"";
    if is_valid { Ok(text.to_owned()) } else { Err(rule.to_owned()) }
}

pub(crate) fn run(session: &Session, command: &Key) -> Exit {
    let Session { service, out } = session;
    match command {
        Key::Add { name, scope, expires } => {
            let after = |days: i64| (service.now() + days * DAY_MS).to_string();
            let expires = expires.as_ref().map(|text| days(text).map_or_else(|| typed_time(text), after));
            let new = service.call(Add {
                name: name.clone(),
                scopes: scope.iter().map(ToString::to_string).collect(),
                expires,
            })?;
            out.answer(&new, |page| {
                page.line(new.key.as_str());
                page.note("Keep it in a safe place: it is not shown again.");
            })
        }
        Key::List => list(session),
        Key::Revoke { key } => {
            let revoke = Revoke { key_obi: key.clone() };
            session.change("key", key, revoke, format!("The key {key} is revoked."))
        }
    }
}

fn list(Session { service, out }: &Session) -> Exit {
    let keys = service.call(key::List {})?;
    let now = service.now();
    let expires = |end| if end <= now { "expired".to_owned() } else { local(end) };
    out.table(&keys, &keys.keys, "There is no API key: tidings key add NAME --scope SCOPE", |table| {
        table
            .text("Name", |key| key.name.clone())
            .text("Scopes", |key| scope_names(&key.scopes))
            .whole(dated("Last used"), |key| key.last_used.map_or_else(|| "never".to_owned(), local))
            .optional_whole(dated("Expires"), |key| key.expires.map(expires).unwrap_or_default())
            .optional_whole(dated("Made"), |key| local(key.date))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expiry_is_days_or_a_date() {
        assert_eq!(days("90d"), Some(90));
        for right in ["90d", "2027-01-31 18:00", "2027-01-31", "2027-01-31T12:00:00+09:00"] {
            assert_eq!(expiry(right).as_deref(), Ok(right));
        }
        for wrong in ["", "d", "0d", "-1d", "90", "2027-13-31", "tomorrow"] {
            assert!(expiry(wrong).is_err(), "{wrong}");
        }
    }
}
