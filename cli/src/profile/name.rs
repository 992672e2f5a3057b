//! The names of profiles.

use tidings_client::Address;

use crate::failure::Failure;

/// The maximum length of a name in characters.
const MAX: usize = 200;

/// Shells and people must read a name as one word.
pub(super) fn check(name: &str) -> Result<&str, Failure> {
    if !name.is_empty()
        && !name.starts_with('-')
        && name.chars().count() <= MAX
        && name.chars().all(is_allowed)
    {
        return Ok(name);
    }
    let rule = "the name of a profile is letters, digits, - _ . : and @, and does not begin with -";
    Err(Failure::invalid(name, "'--profile <NAME>'", rule))
}

fn is_allowed(character: char) -> bool {
    character.is_alphanumeric() || "-_.:@".contains(character)
}

/// The default name, such as `ann@tidings.example.org`; without an id, for an API key.
pub(super) fn of(address: &Address, id: Option<&str>) -> String {
    let address = address.to_string();
    let host = address.split_once("://").map_or(&*address, |(_, host)| host);
    let name = format!("{}@{host}", id.unwrap_or("key"));
    let name = name.chars().map(|character| if is_allowed(character) { character } else { '-' });
    name.take(MAX).collect::<String>().trim_start_matches('-').to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_made_of_the_member_and_the_host() {
        for (address, id, name) in [
            ("https://tidings.example.org", Some("Ann"), "ann@tidings.example.org"),
            ("https://tidings.example.org/", None, "key@tidings.example.org"),
            ("https://example.org/news", Some("s2026/1"), "s2026-1@example.org-news"),
            ("http://[::1]:8080", Some("-x"), "x@-::1-:8080"),
        ] {
            let made = of(&address.parse().unwrap(), id);
            assert_eq!(made, name);
            assert_eq!(check(&made).unwrap(), made);
        }
    }

    #[test]
    fn a_name_is_one_word() {
        for name in ["campus", "한글", "a.b_c-d:e@f"] {
            assert!(check(name).is_ok(), "{name}");
        }
        for name in ["", "-a", "a b", "a\n", "a'b", "$a", &"x".repeat(MAX + 1)] {
            assert!(check(name).is_err(), "{name}");
        }
    }
}
