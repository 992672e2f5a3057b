//! The most common passwords, which attackers try first.

use std::cmp::Ordering;

use super::normalised;
use zeroize::Zeroizing;

/// The 10,000 most common passwords in NFC and lower case, one per line, sorted by their bytes. Source and licence:
/// `common/LICENSE`.
const LIST: &str = include_str!("common/passwords.txt");

pub(crate) fn is_common(password: &str) -> bool {
    /// The maximum length of a listed password, in bytes.
    const LONGEST: usize = 64;
    if password.len() > 2 * LONGEST {
        return false;
    }
    let folded = Zeroizing::new(normalised(password).to_lowercase());
    let mut rest = LIST;
    while !rest.is_empty() {
        // Binary search: compare with the line that contains the middle byte.
        let bytes = rest.as_bytes();
        let middle = bytes.len() / 2;
        let line_end = |at: &u8| *at == b'\n';
        let begin = bytes[..middle].iter().rposition(line_end).map_or(0, |end| end + 1);
        let end = bytes[middle..].iter().position(line_end).map_or(bytes.len(), |end| middle + end);
        match rest[begin..end].cmp(&folded) {
            Ordering::Equal => return true,
            Ordering::Greater => rest = &rest[..begin],
            Ordering::Less => rest = rest.get(end + 1..).unwrap_or_default(),
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_every_entry_is_found() {
        let lines: Vec<&str> = LIST.lines().collect();
        assert_eq!(lines.len(), 10_000);
        assert!(lines.is_sorted_by(|one, next| one.as_bytes() < next.as_bytes()));
        for line in lines {
            assert!(is_common(line), "{line}");
            assert_eq!(*normalised(&line.to_lowercase()), *line);
            assert!(line.len() <= 64);
        }
    }

    #[test]
    fn common_passwords_are_found_in_any_case_and_others_are_not() {
        for common in ["password", "PassWord", "12345678", "QWERTYUIOP", "iloveyou", "ПАРОЛЬ"] {
            assert!(is_common(common), "{common}");
        }
        let long = "password".repeat(10_000);
        for other in
            ["", "\n", "password\n", "pass", "correct horse", "비밀번호여덟글자", "~~~~", "\0", &long]
        {
            assert!(!is_common(other) || LIST.lines().any(|line| line == other), "{other}");
        }
        assert!(!is_common("correct horse") && !is_common(&long));
    }
}
