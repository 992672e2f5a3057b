//! Imports of members from another system, with their password hashes.

use std::io::BufRead;

use ::csv::StringRecord;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use zeroize::Zeroizing;

use crate::Tidings;
use crate::account::credential::email;
use crate::account::credential::password::stored::Stored;
use crate::account::{Admin, Caller, cut_nickname, fold, is_id, new_generation, nickname};
use crate::audit::trail::Action;
use crate::base::clock::Timestamp;
use crate::base::config::{Bounds, ID_LENGTH, NICKNAME_LENGTH};
use crate::base::text;
use crate::import::csv::{self, Columns};
use crate::import::{
    self, BatchTime, Import, Item, Kind, LineFields as _, MoveReport, Progress, Report, Written,
};
use crate::mail::address::Address;
use crate::record::error::{Error, Result};
use crate::record::operation::{Access, CSV, Failure, Form, JSON, Media, NDJSON, Spec, Stream, Work};
use crate::record::scope::Scope;
use crate::store::{Arg, StoreError, Topic, Tx};

#[cfg(test)]
mod tests;

/// Import members
///
/// Members of another system keep their passwords by their hashes. The body, up to {import}, has one JSON object on each line, or
/// is one array of such objects. It can also be CSV, after a line with the names of the fields. Existing members are skipped and do
/// not change. An invalid line is reported and does not stop the import. If the database fails during the import, the response is
/// `internal error` with the numbers of members `inserted` and `skipped` so far; the same import can then be repeated and continues
/// from there.
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
        let now = tidings.now();
        let mut read = csv::lines(input, COLUMNS, fields)?;
        let checked = (&mut read).map(|item| {
            let Item { number, is_entry, bytes, line } = item?;
            let line = line.and_then(|fields| Line::check(now, fields));
            Ok(Item { number, is_entry, bytes, line })
        });
        import::run(tidings, caller, Members, checked, progress).map(|report| read.told(report))
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

/// In characters.
const NAME: Bounds = Bounds { min: 1, max: 100 };
/// In characters.
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

pub(crate) fn lines(tidings: &Tidings, input: impl BufRead) -> impl Iterator<Item = Result<Item<Line>>> {
    let now = tidings.now();
    import::json(input, move |_, text| Line::check(now, import::parse_fields(text, EXAMPLE)?))
}

const COLUMNS: Columns = Columns {
    is_known: |name| MemberLine::kind(name).is_some(),
    needed: &["id"],
    missing: "the first line names the fields, and id is not among them: id,nickname,password_hash,name,major,email,date",
};

/// Skips the bytes between ASCII characters in UTF-16.
fn names_id(head: &[u8]) -> bool {
    let line = head.split(|byte| b"\r\n".contains(byte)).next().unwrap_or_default();
    let line: String = line.iter().filter(|byte| (1..128).contains(*byte)).copied().map(char::from).collect();
    line.split([',', ';', '\t']).any(|name| name.trim().trim_matches('"').eq_ignore_ascii_case("id"))
}

/// An empty value is no value.
fn fields(_: u64, names: &[String], values: &StringRecord) -> Result<MemberLine, String> {
    let values = names.iter().zip(values).map(|(name, value)| (name, value.trim()));
    let given = values.filter(|(name, value)| !value.is_empty() && MemberLine::kind(name).is_some());
    let object = given.map(|(name, value)| (name.clone(), value.into())).collect();
    MemberLine::deserialize(serde_json::Value::Object(object)).map_err(|error| error.to_string())
}

struct Members;

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
    fn check(now: Timestamp, fields: MemberLine) -> Result<Self, String> {
        let MemberLine { id, nickname: shown, password_hash, name, major, email, date } = fields;
        let id = id.filter(|id| is_id(id)).ok_or_else(id_rule)?;
        let name = name.filter(|name| !name.is_empty()).map(|name| text::line(&name, NAME).ok_or(NAME_RULE));
        let name = name.transpose()?;
        let major = major.map(|major| text::line(&major, MAJOR).ok_or(MAJOR_RULE)).transpose()?;
        let major = match (&name, major.filter(|major| !major.is_empty())) {
            (None, Some(_)) => return Err(MAJOR_ALONE.to_owned()),
            (None, None) => None,
            (Some(_), major) => Some(major.unwrap_or_default()),
        };
        let nickname = match shown {
            Some(shown) => nickname(&shown).ok_or_else(nickname_rule)?,
            None => cut_nickname(name.as_deref().unwrap_or(&id), &id),
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

fn id_rule() -> String {
    let Bounds { min, max } = ID_LENGTH;
    format!(
        "id is {min} to {max} ASCII letters, digits, _ - or ., a letter or digit first, and not guest or removed"
    )
}

fn nickname_rule() -> String {
    let Bounds { min, max } = NICKNAME_LENGTH;
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

    /// Returns false if another member has the id.
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
