//! The settings that were removed, and what took the place of each.

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::{of_environment, variable};
use crate::failure::Failure;

const REMOVED: [(&str, &str); 8] = [
    (
        "experimental interest-weight novel-weight novel-half-life recent-weight recent-half-life recent-half-life-growth \
         near-weight together-weight fresh-weight popular-weight fresh-half-life interest-half-life interest-like-weight \
         interest-view-weight interest-search-weight interest-open-weight interest-topic-share interest-tag-share \
         interest-word-share interest-meaning-share",
        "the weights of the feeds are learned, see tidings feed weights",
    ),
    (
        "words-dimensions words-window words-min-posts words-max words-corpus words-seed feed-posts popular-like-weight \
         diverse-max postgres-read-connections query-timeout hash-queue log-lines-per-client max-connections-per-address \
         event-connections source-interval-max oidc-scopes oidc-name-claim id-min id-max pw-max nickname-min nickname-max",
        "its value is fixed now",
    ),
    ("oidc-major-claim", "the issuer gives members no major now, see tidings roster import"),
    ("passkey-origins", "the origin is https:// and passkey-domain"),
    (
        "sign-up-limit sign-up-burst search-limit guest-write-limit feedback-limit feedback-limit-per-address \
         feedback-open-max key-limit",
        "client-limits turns the limits of clients on or off",
    ),
    (
        "smtp-ca oidc-ca verifier-ca webhook-ca source-ca",
        "extra-ca names a file of certificates that every connection trusts too",
    ),
    ("webhook-private source-private", "private-addresses allows them for webhooks and sources"),
    (
        "reset-url confirm-url invite-url",
        "app-url names the app, whose pages are account/password, account/email and account/invitation",
    ),
];

fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    REMOVED.iter().flat_map(|(names, instead)| names.split(' ').map(|name| (name, *instead)))
}

pub(super) fn instead_of(name: &str) -> Option<&'static str> {
    all().find(|(removed, _)| *removed == name).map(|(_, instead)| instead)
}

pub(super) fn refuse_variables() -> Result<(), Failure> {
    match all().find(|(name, _)| of_environment(name).is_some()) {
        Some((name, instead)) => Err(Failure::usage(format!("{} was removed: {instead}", variable(name)))),
        None => Ok(()),
    }
}

pub(crate) fn removed_flag(command: &mut Command, refused: clap::Error) -> clap::Error {
    let Some(ContextValue::String(flag)) = refused.get(ContextKind::InvalidArg) else { return refused };
    let instead = flag.strip_prefix("--").and_then(instead_of);
    match instead.filter(|_| refused.kind() == ErrorKind::UnknownArgument) {
        Some(instead) => command.error(ErrorKind::UnknownArgument, format!("{flag} was removed: {instead}")),
        None => refused,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{arguments, name};
    use super::*;

    #[test]
    fn no_removed_setting_exists() {
        assert_eq!(arguments().iter().map(name).find(|name| instead_of(name).is_some()), None);
    }
}
