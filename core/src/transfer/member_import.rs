//! Imports of members from another system, with their password hashes.

use std::io::BufRead;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use zeroize::Zeroizing;

use crate::Tidings;
use crate::account::password::stored::Stored;
use crate::account::{Admin, Caller, cut_nickname, email, fold, is_id, new_generation, nickname};
use crate::audit::trail::Action;
use crate::base::clock::Timestamp;
use crate::base::config::{Bounds, Config};
use crate::base::text;
use crate::import::{self, BatchTime, Import, Item, Kind, MoveReport, Progress, Report, Written, csv};
use crate::mail::address::Address;
use crate::record::error::{Error, Result};
use crate::record::operation::{Access, CSV, Failure, Form, JSON, Media, NDJSON, Spec, Stream, Work};
use crate::record::scope::Scope;
use crate::store::{Arg, StoreError, Topic, Tx};

mod columns;

use columns::names_id;

/// Import members of another system with their password hashes
///
/// The body, up to {import}, has one JSON object on each line, or is one array of such objects. It can also be CSV, after a line
/// with the names of the fields. Existing members are skipped
/// and do not change. An invalid line is reported and does not stop the import. If the database fails during the import, the
/// response is `internal error` with the numbers of members `inserted` and `skipped` so far; the same import can then be
/// repeated and continues from there.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct ImportMembers {
    /// Whether the body is CSV, whatever its first line is. One that names a column `id` is CSV in any case.
    #[serde(skip)]
    pub is_csv: bool,
}

impl Stream for ImportMembers {
    type Line = MemberLine;
    type Answer = MoveReport;
    const SPEC: Spec = Spec::post("admin", "/import_members", Access::Admins(Scope::Members))
        .works(Work::Long)
        .or(&[Failure::Import]);
    const TAKES: &'static [Media] = &[
        Media { name: NDJSON, form: Form::Lines },
        Media { name: JSON, form: Form::Array },
        Media { name: CSV, form: Form::Text },
    ];
}

impl Import for ImportMembers {
    const UPDATES: bool = false;
    const EMPTY: &'static str = "the body is missing: send a member on each line";

    fn media_type(&self, head: &[u8]) -> &'static str {
        match head {
            head if self.is_csv || names_id(head) => CSV,
            [b'[', ..] => JSON,
            _ => NDJSON,
        }
    }

    fn import(
        self,
        tidings: &Tidings,
        caller: &Caller,
        mut input: impl BufRead,
        progress: Progress<'_>,
    ) -> Result<Report> {
        if !self.is_csv && !names_id(input.fill_buf().map_err(Error::Input)?) {
            return import::run(tidings, caller, Members, lines(tidings, input), progress);
        }
        let (config, now) = (tidings.config(), tidings.now());
        let mut read = csv::lines(input, columns::COLUMNS, columns::fields);
        let checked = (&mut read).map(|item| {
            let Item { number, is_entry, bytes, line } = item?;
            let line = line.and_then(|fields| Line::check(config, now, fields));
            Ok(Item { number, is_entry, bytes, line })
        });
        let mut report = import::run(tidings, caller, Members, checked, progress)?;
        read.tell(&mut report);
        Ok(report)
    }
}

import::fields! {
/// A member of another system, as a line of an import.
#[derive(ToSchema)]
#[schema(as = MemberLineFields)]
pub struct MemberLine {
    /// The sign-in identifier: {id} ASCII letters, digits, `_`, `-` and `.`, a letter or digit first.
    #[schema(value_type = String, examples("ann"))]
    "id" id: String = Text,
    /// The displayed name, {nickname} characters; the name by default, or else the id.
    #[schema(examples("Ann"))]
    "nickname" nickname: String = Text,
    /// The hash of the password: an Argon2 PHC string, a bcrypt hash, or PBKDF2 or scrypt as Werkzeug writes them. A member
    /// without a hash cannot sign in.
    #[schema(value_type = Option<String>, max_length = 1_000, examples("scrypt:32768:8:1$aGVsbG8$00ff"))]
    "password_hash" password_hash: Zeroizing<String> = Text,
    /// The name that the university verified.
    #[schema(max_length = 100, examples("Ann Lee"))]
    "name" name: String = Text,
    /// The subject that the university verified.
    #[schema(max_length = 100, examples("Physics"))]
    "major" major: String = Text,
    /// The e-mail address, which the other system has confirmed. It is left out if another member has it.
    #[schema(max_length = 254, examples("ann@example.org"))]
    "email" email: String = Text,
    /// The date of the sign-up, RFC 3339; the current time by default.
    #[schema(max_length = 100, examples("2026-11-20T08:36:00Z"))]
    "date" date: String = Text,
}}

/// The length of a verified name, in characters.
const NAME: Bounds = Bounds { min: 1, max: 100 };
/// The length of a major, in characters.
const MAJOR: Bounds = Bounds { min: 0, max: 100 };

const NAME_RULE: &str = "name is at most 100 characters on one line";
const MAJOR_RULE: &str = "major is at most 100 characters on one line";
const EMAIL_RULE: &str = "email is an address such as ann@example.org";
const MAJOR_ALONE: &str = "major is given without a name: the university verifies both, or neither";
const DATE_RULE: &str = "date is written like 2026-11-20T08:36:00Z, and is not in the future";

const EXAMPLE: &str = "a member is written as {\"id\": …, \"nickname\": …, \"password_hash\": …}";

/// Imports members, as [`Import::import`] does. Existing members are skipped and do not change; ids are compared without
/// case. The first sign-in replaces the hash of a password by one of ours.
///
/// # Errors
/// Those of [`Import::import`].
pub fn import_members(
    tidings: &Tidings,
    caller: &Caller,
    input: impl BufRead,
    progress: Progress<'_>,
) -> Result<Report> {
    ImportMembers::default().import(tidings, caller, input, progress)
}

/// Returns the lines of an input.
pub(crate) fn lines(tidings: &Tidings, input: impl BufRead) -> impl Iterator<Item = Result<Item<Line>>> {
    let (config, now) = (tidings.config(), tidings.now());
    import::json(input, move |_, text| Line::check(config, now, import::parse_fields(text, EXAMPLE)?))
}

/// Writes the members of an import.
struct Members;

/// A valid line.
pub(crate) struct Line {
    id: String,
    folded: String,
    nickname: String,
    password: Zeroizing<String>,
    name: Option<String>,
    major: Option<String>,
    email: Option<Address>,
    date: Timestamp,
}

impl Line {
    fn check(config: &Config, now: Timestamp, fields: MemberLine) -> Result<Self, String> {
        let MemberLine { id, nickname: shown, password_hash, name, major, email, date } = fields;
        let id = id.filter(|id| is_id(config, id)).ok_or_else(|| id_rule(config))?;
        let name = name.filter(|name| !name.is_empty()).map(|name| text::line(&name, NAME).ok_or(NAME_RULE));
        let name = name.transpose()?;
        let major = major.map(|major| text::line(&major, MAJOR).ok_or(MAJOR_RULE)).transpose()?;
        let major = match (&name, major.filter(|major| !major.is_empty())) {
            (None, Some(_)) => return Err(MAJOR_ALONE.to_owned()),
            (None, None) => None,
            (Some(_), major) => Some(major.unwrap_or_default()),
        };
        let nickname = match shown {
            Some(shown) => nickname(config, &shown).ok_or_else(|| nickname_rule(config))?,
            None => cut_nickname(config, name.as_deref().unwrap_or(&id), &id),
        };
        let password = password_hash.unwrap_or_default();
        Stored::parse(&password)?;
        let email = email.filter(|email| !email.trim().is_empty());
        let email = email.map(|email| Address::parse(&email).ok_or(EMAIL_RULE)).transpose()?;
        let date = date.map_or(Some(now), |date| Timestamp::parse(&date)).filter(|date| *date <= now);
        let date = date.ok_or(DATE_RULE)?;
        Ok(Self { folded: fold(&id), id, nickname, password, name, major, email, date })
    }
}

fn id_rule(config: &Config) -> String {
    let Bounds { min, max } = config.id_length;
    format!(
        "id is {min} to {max} ASCII letters, digits, _ - or ., a letter or digit first, and not guest or removed"
    )
}

fn nickname_rule(config: &Config) -> String {
    let Bounds { min, max } = config.nickname_length;
    format!(
        "nickname is {min} to {max} visible characters on one line; leave it out to have the name, or the id"
    )
}

impl Kind for Members {
    type Operation = ImportMembers;
    type Line = Line;
    const BATCH: usize = 1_000;
    const ACTION: Action = Action::MemberImport;
    const SCOPE: Scope = Scope::Members;

    fn write(&self, tx: &mut dyn Tx, admin: &Admin<'_>, batch: &[Line], time: &BatchTime) -> Result<Written> {
        let mut written = Written::default();
        for line in batch {
            let new = sql::insert(tx, admin, line)?;
            *(if new { &mut written.inserted } else { &mut written.skipped }) += 1;
            if time.is_over() {
                break;
            }
        }
        if written.inserted > 0 {
            tx.touch(Topic::Members);
        }
        Ok(written)
    }
}

mod sql {
    use super::{Admin, Arg, Line, StoreError, Tx, email, new_generation};

    /// Inserts a member; returns false if another member has the id.
    pub(super) fn insert(tx: &mut dyn Tx, _: &Admin<'_>, line: &Line) -> Result<bool, StoreError> {
        let sql = "INSERT INTO member (id, folded, password, generation, nickname, name, major, date)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (folded) DO NOTHING RETURNING key";
        let Line { id, folded, nickname, password, name, major, email, date } = line;
        let args: [Arg<'_>; 8] = [
            id.into(),
            folded.into(),
            password.as_str().into(),
            new_generation().into(),
            nickname.into(),
            name.as_ref().into(),
            major.as_ref().into(),
            (*date).into(),
        ];
        let Some(mut row) = tx.row(sql, &args)? else { return Ok(false) };
        if let Some(email) = email {
            email::import(tx, row.take(0)?, email, *date)?;
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::account::SignUp;
    use crate::account::password::stored::tests::FOREIGN;
    use crate::import::About;
    use crate::import::to_the_end;
    use crate::profile;
    use crate::record::answer::LineError;
    use crate::testing::sign_in;
    use crate::testing::{self, NOW, Service};

    fn import(service: &Service, members: &[Value]) -> Report {
        let lines: String = members.iter().map(|member| member.to_string() + "\n").collect();
        import_members(service, &Caller::Operator, lines.as_bytes(), &mut to_the_end).unwrap()
    }

    fn report(inserted: u64, skipped: u64, errors: &[(u64, &str)]) -> Report {
        let error = |(line, reason): &(u64, &str)| LineError { line: *line, reason: (*reason).to_owned() };
        let about = About { left_out: errors.len() as u64, ..About::default() };
        Report {
            inserted,
            updated: None,
            skipped,
            errors: errors.iter().map(error).collect(),
            warnings: vec![],
            about,
        }
    }

    fn password(service: &Service, id: &str) -> (String, i64) {
        let read = service.store().read(|tx| {
            let sql = "SELECT password, generation FROM member WHERE folded = $1";
            let mut row = tx.one(sql, &[id.into()])?;
            Ok::<_, StoreError>((row.take(0)?, row.take(1)?))
        });
        read.unwrap()
    }

    #[test]
    fn an_imported_member_signs_in_with_their_password_and_gets_our_hash() {
        let service = testing::service();
        for (n, hash) in FOREIGN.iter().enumerate() {
            let id = format!("Ann{n}");
            assert_eq!(import(&service, &[json!({"id": id, "password_hash": hash})]), report(1, 0, &[]));
            let folded = fold(&id);
            let (kept, generation) = password(&service, &folded);
            assert_eq!(&kept, hash);
            assert_eq!(
                sign_in(&service, &id, "correct horsf", None).err().map(|e| e.to_string()),
                Some("incorrect pw".to_owned())
            );
            let token = sign_in(&service, &id, "correct horse", None).unwrap();
            let (kept, same) = password(&service, &folded);
            assert!(kept.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{kept}");
            assert_eq!(same, generation, "tokens stay");
            sign_in(&service, &id, "correct horse", None).unwrap();
            assert_eq!(password(&service, &folded).0, kept);
            let info = service.call(&Caller::token(token.access_token), profile::Get {}).unwrap().fields();
            assert_eq!((info.user_id, info.nickname), (id.clone(), id));
        }
    }

    #[test]
    fn verified_names_and_sign_up_dates_are_imported() {
        let service = testing::service();
        let ann = json!({
            "id": "Ann", "nickname": "Annie", "name": "김안나", "major": "CS", "date": "2024-02-29T12:00:00+09:00",
            "password_hash": null, "unknown": [1],
        });
        let long = "이름이 아주 긴 학생".repeat(4);
        let ben = json!({"id": "ben", "name": long, "password_hash": ""});
        let cid = json!({"id": "cid", "name": "", "major": ""});
        assert_eq!(import(&service, &[ann, ben, cid]), report(3, 0, &[]));
        let rows = service.store().read(|tx| {
            let rows = tx.rows("SELECT nickname, name, major, date FROM member ORDER BY key", &[])?;
            let member =
                |mut row: crate::store::Row| Ok((row.take(0)?, row.take(1)?, row.take(2)?, row.take(3)?));
            rows.into_iter()
                .map(member)
                .collect::<Result<Vec<(String, Option<String>, Option<String>, Timestamp)>>>()
        });
        let text = |text: &str| Some(text.to_owned());
        let cut: String = long.chars().take(30).collect();
        assert_eq!(
            rows.unwrap(),
            [
                (
                    "Annie".into(),
                    text("김안나"),
                    text("CS"),
                    Timestamp::parse("2024-02-29T03:00:00Z").unwrap()
                ),
                (cut, text(&long), text(""), NOW),
                ("cid".into(), None, None, NOW),
            ]
        );
    }

    #[test]
    fn a_member_without_a_password_cannot_sign_in() {
        let service = testing::service();
        import(&service, &[json!({"id": "ann"})]);
        for pw in ["", "ann", "correct horse"] {
            let refused = sign_in(&service, "ann", pw, None).err().map(|error| error.to_string());
            assert_eq!(refused.as_deref(), Some("incorrect pw"), "{pw:?}");
        }
    }

    #[test]
    fn existing_members_are_skipped_without_regard_to_case() {
        let service = testing::service();
        service.member("Ann");
        let before = password(&service, "ann");
        let lines = [json!({"id": "aNN", "nickname": "Other"}), json!({"id": "ben"}), json!({"id": "BEN"})];
        assert_eq!(import(&service, &lines), report(1, 2, &[]));
        assert_eq!(import(&service, &lines), report(0, 3, &[]));
        assert_eq!(password(&service, "ann"), before);
        let form = SignUp {
            id: "Ben".into(),
            pw: "long enough".into(),
            pw_check: "long enough".into(),
            nickname: "b".into(),
            email: None,
        };
        assert_eq!(
            service.call(&Caller::Guest, form.clone()).err().map(|e| e.to_string()).as_deref(),
            Some("already id")
        );
    }

    #[test]
    fn each_bad_line_is_reported_with_its_reason_and_the_others_are_imported() {
        let service = testing::service();
        let id_rule = "id is 3 to 30 ASCII letters, digits, _ - or ., a letter or digit first, and not guest or removed";
        let hash =
            "password_hash is an Argon2 PHC string, a bcrypt hash, or as Werkzeug writes pbkdf2 and scrypt";
        let bad = [
            (json!({"nickname": "no id"}), id_rule),
            (json!({"id": "an"}), id_rule),
            (json!({"id": "Guest"}), id_rule),
            (json!({"id": 5}), "id is not a text in quotes"),
            (
                json!({"id": "ann", "nickname": " "}),
                "nickname is 1 to 30 visible characters on one line; leave it out to have the name, or the id",
            ),
            (json!({"id": "ann", "password_hash": "secret"}), hash),
            (json!({"id": "ann", "name": "a\nb"}), NAME_RULE),
            (json!({"id": "ann", "name": "a", "major": "b".repeat(101)}), MAJOR_RULE),
            (json!({"id": "ann", "major": "CS"}), MAJOR_ALONE),
            (json!({"id": "ann", "date": "yesterday"}), DATE_RULE),
            (json!({"id": "ann", "date": "2026-11-20T08:36:00.001Z"}), DATE_RULE),
            (
                json!(["ann"]),
                "it is not a JSON object: a member is written as {\"id\": …, \"nickname\": …, \
                              \"password_hash\": …}",
            ),
        ];
        let lines: Vec<Value> =
            bad.iter().map(|(line, _)| line.clone()).chain([json!({"id": "ben"})]).collect();
        let errors: Vec<(u64, &str)> = (1..).zip(bad.iter().map(|(_, reason)| *reason)).collect();
        assert_eq!(import(&service, &lines), report(1, 0, &errors));
    }

    #[test]
    fn only_administrators_import_and_a_stopped_import_can_be_continued() {
        let service = testing::service();
        let ann = service.member("ann");
        for (caller, refused) in [(Caller::Guest, "bad token"), (ann, "Not admin")] {
            let error = import_members(&service, &caller, &b""[..], &mut to_the_end).unwrap_err();
            assert_eq!(error.to_string(), refused);
        }
        let lines: String =
            (0..2_000).map(|n| json!({"id": format!("member-{n}")}).to_string() + "\n").collect();
        let mut stop = |_| std::ops::ControlFlow::Break(());
        let stopped = import_members(&service, &Caller::Operator, lines.as_bytes(), &mut stop).unwrap();
        assert!((1..2_000).contains(&stopped.inserted), "{stopped:?}");
        let rest = import_members(&service, &Caller::Operator, lines.as_bytes(), &mut to_the_end).unwrap();
        assert_eq!((rest.inserted, rest.skipped), (2_000 - stopped.inserted, stopped.inserted));
    }
}
