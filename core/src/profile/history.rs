//! The acts of members: likes, views, searches, opened newsfeeds and hidden posts. [Lists](super::listed) show them, except the
//! hidden posts, and interest is measured from them.

use std::collections::BTreeMap;

use super::records::{SearchRecord, TokenList};
use super::{LIST_MAX, likes};
use crate::account::Member;
use crate::base::clock::Timestamp;
use crate::base::keyed::OwnSet;
use crate::record::id::{MemberKey, PostKey};
use crate::store::{Pipelined, StoreError, Tx, row_each, send_each};

/// About every 32nd act prunes the member's list. Pruning only saves space, because reading skips old entries.
const PRUNE_EVERY: i64 = 32;

#[expect(clippy::cast_possible_truncation, reason = "a few hundred")]
pub(super) const LISTED: usize = LIST_MAX as usize;

/// The acts from which a member's interest is measured, newest first.
#[derive(Default)]
pub(crate) struct Acts {
    pub(crate) liked: Vec<(PostKey, Timestamp)>,
    /// With the time of the last view.
    pub(crate) viewed: Vec<(PostKey, Timestamp)>,
    pub(crate) hidden: Vec<(PostKey, Timestamp)>,
    /// The tokens and similar words, separated by blanks.
    pub(crate) searched: Vec<(String, Timestamp)>,
    pub(crate) opened: Vec<(String, Timestamp)>,
}

impl Acts {
    /// Without hidden posts.
    pub(crate) fn len(&self) -> usize {
        self.liked.len() + self.viewed.len() + self.searched.len() + self.opened.len()
    }
}

/// Of two transactions at the same time, the one that commits last leaves its revision, which may be the smaller one. A
/// transaction leaves its revision once, so equal revisions mean equal acts.
pub(crate) fn acted(tx: &mut dyn Tx, member: &Member<'_>) {
    let sql = "INSERT INTO member_acts (member, revision) VALUES ($1, $2)
               ON CONFLICT (member) DO UPDATE SET revision = excluded.revision";
    tx.run_at_commit(sql, member.key.as_i64());
}

/// 0 without acts.
pub(crate) fn acts_revisions(tx: &mut dyn Tx, members: &[&Member<'_>]) -> Result<Vec<i64>, StoreError> {
    let keys: Vec<_> = members.iter().map(|member| [member.key.into()]).collect();
    let rows = row_each(tx, "SELECT revision FROM member_acts WHERE member = $1", &keys)?;
    rows.into_iter().map(|row| row.map_or(Ok(0), |mut row| row.take(0))).collect()
}

/// Returns for each like whether it is new.
pub(crate) fn like<'m>(
    tx: &mut dyn Tx,
    likes: &[(&'m Member<'m>, PostKey, Timestamp)],
) -> Result<Pipelined<'m, Vec<bool>>, StoreError> {
    let keys: Vec<_> = likes.iter().map(|(member, post, at)| (member.key, *post, *at)).collect();
    let members: Vec<_> = likes.iter().map(|(member, ..)| *member).collect();
    Ok(likes::insert(tx, &keys)?.then(move |tx, new| {
        for (member, _) in members.into_iter().zip(&new).filter(|(_, new)| **new) {
            acted(tx, member);
        }
        Ok(new)
    }))
}

pub(crate) fn liked_at(
    tx: &mut dyn Tx,
    member: &Member<'_>,
    post: PostKey,
) -> Result<Option<Timestamp>, StoreError> {
    tx.row(LIKED_AT, &[member.key.into(), post.into()])?.map(|mut row| row.take(0)).transpose()
}

const LIKED_AT: &str = "SELECT date FROM liked WHERE member = $1 AND post = $2";

pub(crate) fn likes(
    tx: &mut dyn Tx,
    member: &Member<'_>,
    posts: impl Iterator<Item = PostKey>,
) -> Result<Vec<bool>, StoreError> {
    let keys: Vec<_> = posts.map(|post| [member.key.into(), post.into()]).collect();
    Ok(row_each(tx, LIKED_AT, &keys)?.iter().map(Option::is_some).collect())
}

/// `None` if there are more than `max`.
pub(crate) fn all_liked(
    tx: &mut dyn Tx,
    member: &Member<'_>,
    max: usize,
) -> Result<Option<OwnSet<PostKey>>, StoreError> {
    let mut liked = OwnSet::default();
    let limit = i64::try_from(max).map_or(i64::MAX, |max| max + 1);
    tx.for_each(
        "SELECT post FROM liked WHERE member = $1 LIMIT $2",
        &[member.key.into(), limit.into()],
        &mut |row| {
            liked.insert(row.take(0)?);
            Ok(())
        },
    )?;
    Ok((liked.len() <= max).then_some(liked))
}

/// The member must not like the post yet.
pub(crate) fn like_in_the_past(
    tx: &mut dyn Tx,
    member: &Member<'_>,
    post: PostKey,
    at: Timestamp,
) -> Result<(), StoreError> {
    likes::insert_past(tx, member.key, post, at)?;
    acted(tx, member);
    Ok(())
}

pub(crate) fn date_like(
    tx: &mut dyn Tx,
    member: &Member<'_>,
    post: PostKey,
    at: Timestamp,
) -> Result<(), StoreError> {
    likes::date(tx, member.key, post, at)?;
    acted(tx, member);
    Ok(())
}

/// Returns the dates of the likes; `None` if the member did not like the post.
pub(crate) fn unlike<'m>(
    tx: &mut dyn Tx,
    likes: &[(&'m Member<'m>, PostKey)],
) -> Result<Pipelined<'m, Vec<Option<Timestamp>>>, StoreError> {
    let keys: Vec<_> = likes.iter().map(|(member, post)| (member.key, *post)).collect();
    let members: Vec<_> = likes.iter().map(|(member, _)| *member).collect();
    Ok(likes::remove(tx, &keys)?.then(move |tx, dates| {
        for (member, _) in members.into_iter().zip(&dates).filter(|(_, date)| date.is_some()) {
            acted(tx, member);
        }
        Ok(dates)
    }))
}

/// Of several views of a post, only the latest is stored.
pub(crate) fn view(tx: &mut dyn Tx, views: &[(&Member<'_>, PostKey, Timestamp)]) -> Result<(), StoreError> {
    let sql = "INSERT INTO viewed (member, post, date) VALUES ($1, $2, $3)
               ON CONFLICT (member, post) DO UPDATE SET date = excluded.date WHERE viewed.date < excluded.date";
    let mut latest = BTreeMap::new();
    for (member, post, now) in views {
        let at = latest.entry((member.key, *post)).or_insert(*now);
        *at = (*at).max(*now);
        acted(tx, member);
    }
    let args: Vec<_> =
        latest.iter().map(|((member, post), at)| [(*member).into(), (*post).into(), (*at).into()]).collect();
    send_each(tx, sql, &args)?;
    // Afterwards, because this locks rows in another order.
    views.iter().try_for_each(|(member, ..)| prune_sometimes(tx, "viewed", member))
}

pub(crate) fn hide(tx: &mut dyn Tx, hides: &[(&Member<'_>, PostKey, Timestamp)]) -> Result<(), StoreError> {
    let sql =
        "INSERT INTO hidden (member, post, date) VALUES ($1, $2, $3) ON CONFLICT (member, post) DO NOTHING";
    for (member, post, now) in hides {
        if tx.run(sql, &[member.key.into(), (*post).into(), (*now).into()])? > 0 {
            acted(tx, member);
        }
    }
    // Afterwards, because this locks rows in another order.
    hides.iter().try_for_each(|(member, ..)| prune_sometimes(tx, "hidden", member))
}

pub(crate) fn unhide(tx: &mut dyn Tx, posts: &[(&Member<'_>, PostKey)]) -> Result<(), StoreError> {
    for (member, post) in posts {
        let sql = "DELETE FROM hidden WHERE member = $1 AND post = $2";
        if tx.run(sql, &[member.key.into(), (*post).into()])? > 0 {
            acted(tx, member);
        }
    }
    Ok(())
}

pub(crate) fn search(
    tx: &mut dyn Tx,
    member: &Member<'_>,
    original: &str,
    tokens: &str,
    similar: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let sql =
        "INSERT INTO searched (member, original, token, similar_words, date) VALUES ($1, $2, $3, $4, $5)";
    tx.send(sql, &[member.key.into(), original.into(), tokens.into(), similar.into(), now.into()])?;
    prune_sometimes(tx, "searched", member)?;
    acted(tx, member);
    Ok(())
}

/// `tags` are the most common tags of its posts.
pub(crate) fn open(
    tx: &mut dyn Tx,
    member: &Member<'_>,
    newsfeed: &str,
    tags: &[String],
    now: Timestamp,
) -> Result<(), StoreError> {
    let tags = json_list(tags);
    let sql = "INSERT INTO opened (member, newsfeed, tag, date) VALUES ($1, $2, $3, $4)";
    tx.send(sql, &[member.key.into(), newsfeed.into(), (&tags).into(), now.into()])?;
    prune_sometimes(tx, "opened", member)?;
    acted(tx, member);
    Ok(())
}

/// The tables in which a member has at most [`LIST_MAX`] acts.
const PRUNED: [&str; 4] = ["viewed", "searched", "opened", "hidden"];

/// Likes stay.
pub(crate) fn forget(tx: &mut dyn Tx, member: &Member<'_>) -> Result<(), StoreError> {
    for table in PRUNED {
        tx.run(&format!("DELETE FROM {table} WHERE member = $1"), &[member.key.into()])?;
    }
    Ok(())
}

fn prune_sometimes(tx: &mut dyn Tx, table: &str, member: &Member<'_>) -> Result<(), StoreError> {
    // Acts of one transaction have the same revision, so that it alone would choose all or none of them.
    let is_due = (tx.revision() + member.key.as_i64()) % PRUNE_EVERY == 0;
    if is_due { trim(tx, table, member) } else { Ok(()) }
}

pub(crate) fn trim_lists(tx: &mut dyn Tx, member: &Member<'_>) -> Result<(), StoreError> {
    PRUNED.into_iter().try_for_each(|table| trim(tx, table, member))
}

fn trim(tx: &mut dyn Tx, table: &str, member: &Member<'_>) -> Result<(), StoreError> {
    let older = "WHERE member = $1 AND date <
                 (SELECT date FROM {table} WHERE member = $1 ORDER BY date DESC LIMIT 1 OFFSET $2)";
    let older = older.replace("{table}", table);
    let sql = match tx.dialect().skip_locked() {
        "" => format!("DELETE FROM {table} {older}"),
        // Another transaction prunes the same list, or changes an entry, which is then none of the oldest.
        skip => {
            format!("DELETE FROM {table} WHERE ctid = ANY (ARRAY (SELECT ctid FROM {table} {older} {skip}))")
        }
    };
    tx.send(&sql, &[member.key.into(), (LIST_MAX - 1).into()])
}

pub(crate) fn json_list(list: &[String]) -> String {
    serde_json::to_string(list).expect("a list of texts serialises without errors")
}

pub(crate) fn recent_searches(
    tx: &mut dyn Tx,
    member: &Member<'_>,
    limit: i64,
) -> Result<Vec<SearchRecord>, StoreError> {
    let sql = "SELECT original, token, similar_words, date FROM searched
               WHERE member = $1 ORDER BY date DESC, key DESC LIMIT $2";
    let mut searches = Vec::new();
    tx.for_each(sql, &[member.key.into(), limit.into()], &mut |row| {
        let original: String = row.take(0)?;
        searches.push(SearchRecord {
            search_split: tidings_tokens::tokens::split(&original),
            original,
            tokenizer_split: TokenList(row.take(1)?),
            similarity_split: TokenList(row.take(2)?),
            date: row.take(3)?,
        });
        Ok(())
    })?;
    Ok(searches)
}

/// Returns the newest [`LIST_MAX`] acts of each kind since the last reset, and the keys of all posts that the member liked,
/// viewed or has hidden, some of them several times.
pub(crate) fn acts_and_seen(
    tx: &mut dyn Tx,
    member: &Member<'_>,
) -> Result<(Acts, Vec<PostKey>), StoreError> {
    let mut seen = Vec::new();
    let mut posts = |table: &str| -> Result<Vec<(PostKey, Timestamp)>, StoreError> {
        // All entries are needed, so it is fastest to read them in the order of the table and to sort them here.
        let sql = format!("SELECT post, date FROM {table} WHERE member = $1");
        let mut posts: Vec<(PostKey, Timestamp)> = Vec::new();
        tx.for_each(&sql, &[member.key.into()], &mut |row| {
            posts.push((row.take(0)?, row.take(1)?));
            Ok(())
        })?;
        seen.extend(posts.iter().map(|(post, _)| *post));
        posts.retain(|(_, date)| *date >= member.measured);
        let newest_first = |(post, date): &(PostKey, Timestamp)| std::cmp::Reverse((*date, *post));
        if posts.len() > LISTED {
            posts.select_nth_unstable_by_key(LISTED, newest_first);
            posts.truncate(LISTED);
        }
        posts.sort_unstable_by_key(newest_first);
        Ok(posts)
    };
    let (liked, viewed, hidden) = (posts("liked")?, posts("viewed")?, posts("hidden")?);
    let (searched, opened) = texts_between(tx, member.key, member.measured, Timestamp::MAX)?;
    Ok((Acts { liked, viewed, hidden, searched, opened }, seen))
}

/// Some posts occur several times. Takes no proof of the member: callers only use the posts to show the member others.
pub(crate) fn seen(tx: &mut dyn Tx, member: MemberKey) -> Result<Vec<PostKey>, StoreError> {
    let mut seen = Vec::new();
    for table in ["liked", "viewed", "hidden"] {
        tx.for_each(&format!("SELECT post FROM {table} WHERE member = $1"), &[member.into()], &mut |row| {
            seen.push(row.take(0)?);
            Ok(())
        })?;
    }
    Ok(seen)
}

pub(crate) fn hidden(tx: &mut dyn Tx, member: &Member<'_>) -> Result<Vec<PostKey>, StoreError> {
    let rows = tx.rows("SELECT post FROM hidden WHERE member = $1", &[member.key.into()])?;
    rows.into_iter().map(|mut row| row.take(0)).collect()
}

/// The newest [`LIST_MAX`] of each kind since the last reset; none if the member was removed. Callers compute figures of all
/// members from them, which reveal nothing about a single one.
pub(crate) fn acts_before(tx: &mut dyn Tx, member: MemberKey, until: Timestamp) -> Result<Acts, StoreError> {
    let row = tx.row("SELECT measured_since FROM member WHERE key = $1", &[member.into()])?;
    let Some(mut row) = row else { return Ok(Acts::default()) };
    let measured: Timestamp = row.take(0)?;
    let mut posts = |table: &str| -> Result<Vec<(PostKey, Timestamp)>, StoreError> {
        let sql = format!(
            "SELECT post, date FROM {table} WHERE member = $1 AND date >= $2 AND date < $3
             ORDER BY date DESC, post DESC LIMIT $4"
        );
        let rows = tx.rows(&sql, &[member.into(), measured.into(), until.into(), LIST_MAX.into()])?;
        rows.into_iter().map(|mut row| Ok((row.take(0)?, row.take(1)?))).collect()
    };
    let (liked, viewed, hidden) = (posts("liked")?, posts("viewed")?, posts("hidden")?);
    let (searched, opened) = texts_between(tx, member, measured, until)?;
    Ok(Acts { liked, viewed, hidden, searched, opened })
}

/// A search as it was written, and its tokens and similar words, separated by blanks.
type Searches = Vec<(String, String)>;

/// From which the member's interest is measured, newest first.
pub(crate) fn searched_and_opened(
    tx: &mut dyn Tx,
    member: &Member<'_>,
) -> Result<(Searches, Vec<String>), StoreError> {
    let args = [member.key.into(), member.measured.into(), LIST_MAX.into()];
    let sql = "SELECT original, token || ' ' || similar_words FROM searched WHERE member = $1 AND date >= $2
               ORDER BY date DESC, key DESC LIMIT $3";
    let searched = tx.rows(sql, &args)?.into_iter().map(|mut row| Ok((row.take(0)?, row.take(1)?)));
    let searched = searched.collect::<Result<_, StoreError>>()?;
    let sql =
        "SELECT newsfeed FROM opened WHERE member = $1 AND date >= $2 ORDER BY date DESC, key DESC LIMIT $3";
    let opened = tx.rows(sql, &args)?.into_iter().map(|mut row| row.take(0));
    Ok((searched, opened.collect::<Result<_, StoreError>>()?))
}

type Texts = Vec<(String, Timestamp)>;

/// From `measured` on and before `until`.
// A key is no proof, so this is private: `acts_and_seen` takes the proof of the member.
fn texts_between(
    tx: &mut dyn Tx,
    member: MemberKey,
    measured: Timestamp,
    until: Timestamp,
) -> Result<(Texts, Texts), StoreError> {
    let mut texts = |sql: &str| -> Result<Texts, StoreError> {
        let mut texts = Vec::new();
        tx.for_each(sql, &[member.into(), measured.into(), until.into(), LIST_MAX.into()], &mut |row| {
            texts.push((row.take(0)?, row.take(1)?));
            Ok(())
        })?;
        Ok(texts)
    };
    let searched = texts(
        "SELECT token || ' ' || similar_words, date FROM searched WHERE member = $1 AND date >= $2 AND date < $3
         ORDER BY date DESC, key DESC LIMIT $4",
    )?;
    let opened = texts(
        "SELECT newsfeed, date FROM opened WHERE member = $1 AND date >= $2 AND date < $3
         ORDER BY date DESC, key DESC LIMIT $4",
    )?;
    Ok((searched, opened))
}
