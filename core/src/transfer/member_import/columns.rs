//! Members in CSV. The columns have the names of the fields.

use csv::StringRecord;
use serde::Deserialize as _;

use super::MemberLine;
use crate::import::LineFields as _;
use crate::import::csv::Columns;

/// The columns of a file of members.
pub(super) const COLUMNS: Columns = Columns {
    is_known: |name| MemberLine::kind(name).is_some(),
    needed: &["id"],
    missing: "the first line names the fields, and id is not among them: id,nickname,password_hash,name,major,email,date",
};

/// Returns whether the first line of a file names a column `id`. The bytes between ASCII characters in UTF-16 are left out.
pub(super) fn names_id(head: &[u8]) -> bool {
    let line = head.split(|byte| b"\r\n".contains(byte)).next().unwrap_or_default();
    let line: String = line.iter().filter(|byte| (1..128).contains(*byte)).copied().map(char::from).collect();
    line.split([',', ';', '\t']).any(|name| name.trim().trim_matches('"').eq_ignore_ascii_case("id"))
}

/// Reads the fields of a line of CSV. An empty value is no value.
pub(super) fn fields(_: u64, names: &[String], values: &StringRecord) -> Result<MemberLine, String> {
    let values = names.iter().zip(values).map(|(name, value)| (name, value.trim()));
    let given = values.filter(|(name, value)| !value.is_empty() && MemberLine::kind(name).is_some());
    let object = given.map(|(name, value)| (name.clone(), value.into())).collect();
    MemberLine::deserialize(serde_json::Value::Object(object)).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::{DATE_RULE, ImportMembers, import_members};
    use super::*;
    use crate::account::Caller;
    use crate::import::{Import as _, Report, to_the_end};
    use crate::record::operation::{CSV, JSON, NDJSON};
    use crate::{member, testing};

    #[test]
    fn members_are_read_from_csv_with_the_same_names() {
        let service = testing::service();
        let import = |input: &str| {
            import_members(&service, &Caller::Operator, input.as_bytes(), &mut to_the_end).unwrap()
        };
        let rows = |first: &str, second: &str| format!("\u{feff}{first}\r\n{second}\r\n");
        let first = import(&rows(
            "ID,Nickname,password_hash,name,major,date,Room",
            "ann,\"Lee, Ann\",,Ann Lee,Physics,2024-03-01T09:00:00Z,7",
        ));
        assert_eq!((first.inserted, first.about.unknown_columns), (1, vec!["Room".to_owned()]));
        for (n, separator) in [";", "\t"].into_iter().enumerate() {
            let (head, line) = (["nickname", "id", "name"], ["a, b", &format!("ben{n}"), ""]);
            assert_eq!(
                import(&rows(&head.join(separator), &line.join(separator))),
                Report { inserted: 1, ..Report::default() }
            );
        }
        let late = import(&rows("id;date", "cid;2999-01-01")).errors;
        assert_eq!((late[0].line, &*late[0].reason), (2, DATE_RULE));
        let info = service.call(&Caller::Operator, member::Get { user_id: "ann".into() }).unwrap().fields();
        assert_eq!(
            (&*info.nickname, &*info.user_name, &*info.user_major),
            ("Lee, Ann", "Ann Lee", "Physics")
        );
    }

    #[test]
    fn a_file_of_another_name_or_first_line_is_read_as_json() {
        let service = testing::service();
        let import = |is_csv: bool, input: &[u8]| {
            ImportMembers { is_csv }.import(&service, &Caller::Operator, input, &mut to_the_end).unwrap()
        };
        assert_eq!(import(false, b"nothing\n{\"id\": \"ann\"}\n").inserted, 1);
        assert_eq!(import(true, b"name\nAnn\n").errors[0].reason, COLUMNS.missing);
        let media = |is_csv: bool, head: &[u8]| ImportMembers { is_csv }.media_type(head);
        assert_eq!(
            [media(false, b"[{"), media(false, b"{\"id\": 1}"), media(true, b"")],
            [JSON, NDJSON, CSV]
        );
        // UTF-16.
        assert_eq!(media(false, b"\xff\xfei\0d\0;\0n\0\r\0\n\0"), CSV);
    }
}
