//! Ids given by their beginning, as git takes them: at least four hex digits that no other record of the kind begins with.
//!
//! A whole id costs no look-up. Text that is no beginning of an id is left as it is, so the operation refuses it.

use std::borrow::Cow;

use tidings_client::shown::escape;
use tidings_client::{Error, Service};
use tidings_core::lookup::{FOUND_MAX, FindIds, FoundIds, Kind, PREFIX_MIN};

use crate::failure::Failure;
use crate::session::Session;

/// The number of hex digits of a whole id.
const WHOLE: usize = 24;

/// Returns the id of the record of a kind that `given` begins, or `given` if it is a whole id or begins none.
///
/// # Errors
/// A usage failure that lists the candidates if there are several.
pub(crate) fn whole<'a>(session: &Session, kind: Kind, given: &'a str) -> Result<Cow<'a, str>, Failure> {
    if !is_prefix(given) {
        return Ok(Cow::Borrowed(given));
    }
    // The operation itself reports why it fails, and a server of an earlier version has no look-up.
    let found = beginning_with(&session.service, kind, given).map(|found| found.ids).unwrap_or_default();
    unique(kind.name(), given, found.into_iter().map(|found| (found.id, found.title)))
}

/// Returns the records of a kind that the caller sees and whose ids begin with a prefix.
///
/// # Errors
/// Those of [`FindIds`].
pub(crate) fn beginning_with(service: &Service, kind: Kind, prefix: &str) -> Result<FoundIds, Error> {
    let find = FindIds { kind: kind.name().to_owned(), prefix: prefix.to_owned() };
    match kind {
        Kind::Post => service.as_reader().call(find),
        Kind::Notice | Kind::Feedback => service.call(find),
    }
}

/// Returns the only id of a list that `given` begins, or `given` if it is a whole id or begins none. `list` returns ids and
/// titles; it is not called for a whole id.
///
/// # Errors
/// The failure of `list`; a usage failure that lists the candidates if there are several.
pub(crate) fn of_list<'a>(
    kind: &str,
    given: &'a str,
    list: impl FnOnce() -> Result<Vec<(String, String)>, Failure>,
) -> Result<Cow<'a, str>, Failure> {
    if !is_prefix(given) {
        return Ok(Cow::Borrowed(given));
    }
    let prefix = given.to_ascii_lowercase();
    unique(kind, given, list()?.into_iter().filter(|(id, _)| id.starts_with(&prefix)))
}

/// Does the same as [`of_list`] for records that also have unique names: a name is left as it is.
///
/// # Errors
/// Those of [`of_list`].
pub(crate) fn of_named<'a>(
    kind: &str,
    given: &'a str,
    list: impl FnOnce() -> Result<Vec<(String, String)>, Failure>,
) -> Result<Cow<'a, str>, Failure> {
    of_list(kind, given, || {
        let records = list()?;
        let is_name = records.iter().any(|(_, name)| name == given);
        Ok(if is_name { Vec::new() } else { records })
    })
}

/// Returns whether a text may be the beginning of an id.
fn is_prefix(given: &str) -> bool {
    (PREFIX_MIN..WHOLE).contains(&given.len()) && given.bytes().all(|digit| digit.is_ascii_hexdigit())
}

fn unique<'a>(
    kind: &str,
    given: &'a str,
    candidates: impl Iterator<Item = (String, String)>,
) -> Result<Cow<'a, str>, Failure> {
    let mut candidates: Vec<_> = candidates.take(FOUND_MAX).collect();
    if candidates.len() <= 1 {
        return Ok(candidates.pop().map_or(Cow::Borrowed(given), |(id, _)| Cow::Owned(id)));
    }
    let list = candidates
        .iter()
        .map(|(id, title)| format!("\n  {id}  {}", escape::line(title)).trim_end().to_owned());
    let more = if candidates.len() == FOUND_MAX { "\n  …" } else { "" };
    let list: String = list.collect();
    Err(Failure::usage(format!(
        "{given} begins the id of more than one {kind}: write more of it{list}{more}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> Vec<(String, String)> {
        let record = |id: &str, name: &str| (id.to_owned(), name.to_owned());
        vec![
            record("6560c1a2ffeeddccbbaa0001", "chat"),
            record("6560c1a2ffeeddccbbaa0002", "beef"),
            record("beefc1a2ffeeddccbbaa0003", "other"),
        ]
    }

    #[test]
    fn a_unique_beginning_stands_for_the_id() {
        let of = |given| of_named("webhook", given, || Ok(list())).unwrap().into_owned();
        assert_eq!(of("beefc"), "beefc1a2ffeeddccbbaa0003");
        assert_eq!(of("BEEFC1A2FFEEDDCCBBAA000"), "beefc1a2ffeeddccbbaa0003");
        assert_eq!(of("6560c1a2ffeeddccbbaa00ff"), "6560c1a2ffeeddccbbaa00ff");
        // A name comes first, and other texts are left as they are.
        for given in ["beef", "chat", "656", "0000", "6560-"] {
            assert_eq!(of(given), given);
        }
    }

    #[test]
    fn a_beginning_of_several_ids_lists_them() {
        let failure = of_list("webhook", "6560C1", || Ok(list())).unwrap_err();
        assert_eq!(
            failure.message(),
            "6560C1 begins the id of more than one webhook: write more of it\n  6560c1a2ffeeddccbbaa0001  chat\n  \
             6560c1a2ffeeddccbbaa0002  beef"
        );
        assert_eq!(failure.status(), crate::failure::USAGE);
    }

    #[test]
    fn a_whole_id_needs_no_list() {
        let given = "6560c1a2ffeeddccbbaa0001";
        let of = of_list("webhook", given, || panic!("the list is not needed"));
        assert_eq!(of.unwrap(), given);
    }
}
