//! Every function reads rows of the member of the page only.

use serde::Serialize;

use super::{
    AccountData, After, ImportedAct, Member, Page, PostAct, Result, StoreError, Timestamp, TrendSearch, Tx,
    VisitDay,
};
use crate::account::EmailAddress;
use crate::account::credential::{email, oidc, passkey};
use crate::account::sessions::sql as session;
use crate::analysis::local_time::date_text;
use crate::analysis::log;
use crate::profile::{JsonList, NewsfeedAccess, SearchRecord, TokenList};
use crate::store::{Arg, Row, row_each};
use crate::{audit, feedback};

/// Entries of a page of other lists. A search or an opened newsfeed has up to some kilobytes.
const ENTRIES: i64 = 100;
/// Texts of feedback in a page; each has up to 5,000 characters.
const TEXTS: i64 = 20;
/// Acts on posts, imported acts, lines of the log, or records of the audit trail in a page.
const LINES: i64 = 1_000;
/// Days in which a page looks for visits.
const DAYS: i64 = 366;
/// Searches of all visitors in which a page looks for those of the member.
const SEARCHES: i64 = 16_384;

pub(super) fn account(tx: &mut dyn Tx, member: &Member<'_>) -> Result<AccountData> {
    let sql = "SELECT nickname, name, major, date, auto_login, admin, blacklisted, measured_since,
                      (SELECT enabled FROM second_factor WHERE member = $1),
                      (SELECT count(*) FROM recovery_code WHERE member = $1),
                      (SELECT count(*) FROM sign_in_place WHERE member = $1)
               FROM member WHERE key = $1";
    let mut row = tx.one(sql, &[member.key.into()])?;
    let measured: Timestamp = row.take(7)?;
    let EmailAddress { email, pending_email } = email::addresses(tx, member.key)?;
    Ok(AccountData {
        id: member.id.clone(),
        nickname: row.take(0)?,
        name: row.take::<Option<String>>(1)?.unwrap_or_default(),
        major: row.take::<Option<String>>(2)?.unwrap_or_default(),
        email,
        pending_email,
        single_sign_on: oidc::linked(tx, member.key)?,
        passkeys: passkey::list(tx, member.key)?,
        date: row.take(3)?,
        auto_login: row.take(4)?,
        admin: row.take(5)?,
        scopes: member.scopes.clone().into(),
        blacklisted: row.take(6)?,
        measured_since: (measured != Timestamp::default()).then_some(measured),
        second_factor: row.take(8)?,
        recovery_codes: row.take(9)?,
        sign_in_places: row.take(10)?,
    })
}

fn has(entries: usize, limit: i64) -> bool {
    i64::try_from(entries) == Ok(limit)
}

/// The statement returns at most `limit` rows. `entry` returns the key of a row and the entry to add.
fn add_rows<T: Serialize>(
    tx: &mut dyn Tx,
    page: &mut Page<'_>,
    (sql, args, limit): (&str, &[Arg<'_>], i64),
    entry: impl Fn(&mut Row) -> Result<(After, T), StoreError>,
) -> Result<Option<After>> {
    let (mut count, mut last, mut added) = (0, None, Ok(()));
    tx.for_each(sql, args, &mut |row| {
        let (key, entry) = entry(row)?;
        (count, last) = (count + 1, Some(key));
        if added.is_ok() {
            added = page.add(&entry);
        }
        Ok(())
    })?;
    added?;
    Ok(last.filter(|_| has(count, limit)))
}

pub(super) fn sessions(tx: &mut dyn Tx, page: &mut Page<'_>) -> Result<Option<After>> {
    // There are at most about a thousand short ones.
    for session in session::list(tx, page.member.key, page.session, Timestamp::MIN)? {
        page.add(&session)?;
    }
    Ok(None)
}

pub(super) fn likes(tx: &mut dyn Tx, page: &mut Page<'_>) -> Result<Option<After>> {
    // SQLite would sort all rows of the view `liked` for each page. One statement reads both tables, because a like moves
    // from one to the other.
    let newest = |table: &str| {
        format!(
            "SELECT * FROM (SELECT post, date FROM {table} WHERE member = $1 AND post > $2 ORDER BY post LIMIT $3) x"
        )
    };
    let both = format!("{} UNION ALL {}", newest("settled_like"), newest("recent_like"));
    posts(tx, page, &format!("SELECT post, date FROM ({both}) y ORDER BY post LIMIT $3"))
}

pub(super) fn acts(tx: &mut dyn Tx, page: &mut Page<'_>, table: &str) -> Result<Option<After>> {
    let acts =
        format!("SELECT post, date FROM {table} WHERE member = $1 AND post > $2 ORDER BY post LIMIT $3");
    posts(tx, page, &acts)
}

fn posts(tx: &mut dyn Tx, page: &mut Page<'_>, acts: &str) -> Result<Option<After>> {
    let sql = format!(
        "SELECT a.post, coalesce(p.id, ''), coalesce(p.title, ''), coalesce(p.url, ''), a.date
         FROM ({acts}) a LEFT JOIN post p ON p.key = a.post ORDER BY a.post"
    );
    let args = [page.member.key.into(), page.after.0.into(), LINES.into()];
    add_rows(tx, page, (&sql, &args, LINES), |row| {
        let act = PostAct { id: row.take(1)?, title: row.take(2)?, url: row.take(3)?, date: row.take(4)? };
        Ok(((row.take(0)?, 0), act))
    })
}

pub(super) fn searches(tx: &mut dyn Tx, page: &mut Page<'_>) -> Result<Option<After>> {
    let sql = "SELECT date, key, original, token, similar_words FROM searched
               WHERE member = $1 AND (date, key) > ($2, $3) ORDER BY date, key LIMIT $4";
    let args = [page.member.key.into(), page.after.0.into(), page.after.1.into(), ENTRIES.into()];
    add_rows(tx, page, (sql, &args, ENTRIES), |row| {
        let (date, original): (Timestamp, String) = (row.take(0)?, row.take(2)?);
        let search = SearchRecord {
            search_split: tidings_tokens::tokens::split(&original),
            original,
            tokenizer_split: TokenList(row.take(3)?),
            similarity_split: TokenList(row.take(4)?),
            date,
        };
        Ok(((date.as_millis(), row.take(1)?), search))
    })
}

pub(super) fn newsfeeds(tx: &mut dyn Tx, page: &mut Page<'_>) -> Result<Option<After>> {
    let sql = "SELECT date, key, newsfeed, tag FROM opened
               WHERE member = $1 AND (date, key) > ($2, $3) ORDER BY date, key LIMIT $4";
    let args = [page.member.key.into(), page.after.0.into(), page.after.1.into(), ENTRIES.into()];
    add_rows(tx, page, (sql, &args, ENTRIES), |row| {
        let date: Timestamp = row.take(0)?;
        let access = NewsfeedAccess { newsfeed_name: row.take(2)?, tag: JsonList(row.take(3)?), date };
        Ok(((date.as_millis(), row.take(1)?), access))
    })
}

pub(super) fn imported_acts(tx: &mut dyn Tx, page: &mut Page<'_>) -> Result<Option<After>> {
    // An act is twice the key of a post, plus 1 for a like, or a hash below 0.
    let sql = "SELECT a.date, a.act, coalesce(p.id, '')
               FROM (SELECT date, act FROM moved_act WHERE member = $1 AND (date, act) > ($2, $3)
                     ORDER BY date, act LIMIT $4) a
               LEFT JOIN post p ON a.act >= 0 AND p.key = a.act / 2 ORDER BY a.date, a.act";
    let args = [page.member.key.into(), page.after.0.into(), page.after.1.into(), LINES.into()];
    add_rows(tx, page, (sql, &args, LINES), |row| {
        let (date, act): (Timestamp, i64) = (row.take(0)?, row.take(1)?);
        let kind = match act {
            ..0 => "other",
            _ if act % 2 == 0 => "view",
            _ => "like",
        };
        Ok(((date.as_millis(), act), ImportedAct { act: kind, id: row.take(2)?, date }))
    })
}

pub(super) fn feedback(tx: &mut dyn Tx, page: &mut Page<'_>) -> Result<Option<After>> {
    let (sent, last) = feedback::of_member(tx, page.member, page.after.0, TEXTS)?;
    sent.iter().try_for_each(|feedback| page.add(feedback))?;
    Ok(last.map(|key| (key, 0)))
}

pub(super) fn visits(tx: &mut dyn Tx, page: &mut Page<'_>) -> Result<Option<After>> {
    // The table has the days of a visitor at as many places, so each day is looked up.
    let mut range = tx.one(
        "SELECT (SELECT min(day) FROM visitor WHERE day > $1), (SELECT max(day) FROM visitor)",
        &[page.after.0.into()],
    )?;
    let (Some(first), Some(last)) = (range.take::<Option<i64>>(0)?, range.take::<Option<i64>>(1)?) else {
        return Ok(None);
    };
    let end = last.min(first.saturating_add(DAYS - 1));
    let keys: Vec<_> = (first..=end).map(|day| [day.into(), page.member.key.into()]).collect();
    let sql = "SELECT visits, hours, seen FROM visitor WHERE day = $1 AND visitor = $2";
    for (day, row) in (first..).zip(row_each(tx, sql, &keys)?) {
        let Some(mut row) = row else { continue };
        let hours: i64 = row.take(1)?;
        page.add(&VisitDay {
            day: date_text(day),
            visits: row.take(0)?,
            hours: (0..24).filter(|hour| hours & (1 << hour) != 0).collect(),
            seen: row.take(2)?,
        })?;
    }
    Ok((end < last).then_some((end, 0)))
}

pub(super) fn trend_searches(tx: &mut dyn Tx, page: &mut Page<'_>) -> Result<Option<After>> {
    // The table has the searches of a day and no index by visitor.
    let after = [page.after.0.into(), page.after.1.into()];
    let sql = "SELECT revision, number FROM term WHERE (revision, number) > ($1, $2)
               ORDER BY revision, number LIMIT 1 OFFSET $3";
    let end = tx.row(sql, &[after[0], after[1], (SEARCHES - 1).into()])?;
    let end: Option<After> =
        end.map(|mut row| Ok::<_, StoreError>((row.take(0)?, row.take(1)?))).transpose()?;
    let last = end.unwrap_or((i64::MAX, i64::MAX));
    let sql = "SELECT term, date FROM term
               WHERE (revision, number) > ($1, $2) AND (revision, number) <= ($3, $4) AND visitor = $5
               ORDER BY revision, number";
    let args = [after[0], after[1], last.0.into(), last.1.into(), page.member.key.as_i64().into()];
    for mut row in tx.rows(sql, &args)? {
        page.add(&TrendSearch { search: row.take(0)?, date: row.take(1)? })?;
    }
    Ok(end)
}

pub(super) fn log(tx: &mut dyn Tx, page: &mut Page<'_>) -> Result<Option<After>> {
    let lines = log::lines_of(tx, page.member, page.after.0, LINES)?;
    lines.iter().try_for_each(|line| page.add(&line.entry))?;
    Ok(lines.last().filter(|_| has(lines.len(), LINES)).map(|last| (last.place.0, 0)))
}

pub(super) fn audit(tx: &mut dyn Tx, page: &mut Page<'_>) -> Result<Option<After>> {
    let records = audit::of_member(tx, page.member, page.after.0, LINES)?;
    records.iter().try_for_each(|record| page.add(record))?;
    Ok(records.last().filter(|_| has(records.len(), LINES)).map(|last| (last.seq, 0)))
}
