//! The likes of members. New likes go into a small table whose pages many likes share. When [`MOVE_AT`] likes have come together,
//! a deferred write moves them to the large table, in the order of its keys, so that it writes each page once for many likes. The
//! view `liked` shows both tables.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::base::clock::Timestamp;
use crate::record::id::{MemberKey, PostKey};
use crate::store::{
    Deferred, Isolation, Pipelined, Store, StoreError, TimeSlice, Tx, ask_row_each, ask_run_each, row_each,
    run_each,
};

/// The number of new likes of this process after which they move. More likes share more pages in the large table, but
/// the small table and its search get larger.
const MOVE_AT: u32 = 4_096;
/// Likes that move between two checks of the time.
const STEP: i64 = 256;

/// Counts the likes of this process since likes moved last. On a server, only the likes that a copy of an SQLite database has
/// left move, once.
pub(crate) struct RecentLikes(Arc<AtomicU32>);

impl Default for RecentLikes {
    /// Starts with a full count, so that the first like also moves those that an earlier process has left.
    fn default() -> Self {
        Self(Arc::new(AtomicU32::new(MOVE_AT)))
    }
}

impl RecentLikes {
    pub(crate) fn added(&self, store: &Store) {
        let before = if store.is_on_server() {
            self.0.swap(0, Ordering::Relaxed)
        } else {
            self.0.fetch_add(1, Ordering::Relaxed)
        };
        if before >= MOVE_AT {
            self.0.store(0, Ordering::Relaxed);
            // If the queue is full, a later like tries again.
            let mover = Mover { count: Arc::clone(&self.0), has_more: false };
            if store.defer(mover).is_err() {
                self.0.store(MOVE_AT, Ordering::Relaxed);
            }
        }
    }
}

struct Mover {
    count: Arc<AtomicU32>,
    has_more: bool,
}

impl Deferred for Mover {
    fn isolation(&self) -> Isolation {
        Isolation::Alone
    }

    fn write(&mut self, tx: &mut dyn Tx, time: TimeSlice) -> Result<(), StoreError> {
        loop {
            self.has_more = settle(tx, STEP)?;
            if !self.has_more || time.is_over() {
                return Ok(());
            }
        }
    }

    fn done(&mut self, written: Result<(), StoreError>) -> ControlFlow<()> {
        match written {
            Ok(()) if self.has_more => ControlFlow::Continue(()),
            Ok(()) => ControlFlow::Break(()),
            Err(_) => {
                // The next like tries again.
                self.count.store(MOVE_AT, Ordering::Relaxed);
                ControlFlow::Break(())
            }
        }
    }
}

/// Returns for each like whether it is new.
pub(super) fn insert(
    tx: &mut dyn Tx,
    likes: &[(MemberKey, PostKey, Timestamp)],
) -> Result<Pipelined<'static, Vec<bool>>, StoreError> {
    if tx.dialect().is_concurrent() {
        return insert_settled(tx, likes);
    }
    // A condition of the insertion would make SQLite write a journal for the statement.
    let sql = "SELECT 1 FROM settled_like WHERE member = $1 AND post = $2";
    let keys: Vec<_> = likes.iter().map(|(member, post, _)| [(*member).into(), (*post).into()]).collect();
    let settled: Vec<bool> = row_each(tx, sql, &keys)?.iter().map(Option::is_some).collect();
    let sql = "INSERT INTO recent_like (member, post, date) VALUES ($1, $2, $3)
               ON CONFLICT (member, post) DO NOTHING";
    let unsettled = likes.iter().zip(&settled).filter(|(_, settled)| !**settled);
    let rows: Vec<_> =
        unsettled.map(|((member, post, at), _)| [(*member).into(), (*post).into(), (*at).into()]).collect();
    let mut inserted = run_each(tx, sql, &rows)?.into_iter();
    let is_new = |settled: bool| !settled && inserted.next().is_some_and(|rows| rows > 0);
    Ok(Pipelined::given(settled.into_iter().map(is_new).collect()))
}

/// Like [`insert`], but without the table of recent likes, which only SQLite needs: an engine with several writers has its own
/// ways to write a page for several changes. Recent likes exist if the database is a copy of an SQLite database. Waits for a like
/// of the same member and post that another transaction is inserting.
fn insert_settled(
    tx: &mut dyn Tx,
    likes: &[(MemberKey, PostKey, Timestamp)],
) -> Result<Pipelined<'static, Vec<bool>>, StoreError> {
    let sql = "INSERT INTO settled_like (member, post, date) SELECT $1, $2, $3
               WHERE NOT EXISTS (SELECT 1 FROM recent_like WHERE member = $1 AND post = $2)
               ON CONFLICT (member, post) DO NOTHING";
    let rows: Vec<_> =
        likes.iter().map(|(member, post, at)| [(*member).into(), (*post).into(), (*at).into()]).collect();
    let inserted = ask_run_each(tx, sql, &rows)?;
    Ok(inserted.then(|_, inserted| Ok(inserted.into_iter().map(|rows| rows > 0).collect())))
}

/// The member must not like the post yet.
pub(super) fn insert_past(
    tx: &mut dyn Tx,
    member: MemberKey,
    post: PostKey,
    at: Timestamp,
) -> Result<(), StoreError> {
    let sql = "INSERT INTO settled_like (member, post, date) VALUES ($1, $2, $3)";
    tx.run(sql, &[member.into(), post.into(), at.into()]).map(drop)
}

pub(super) fn date(
    tx: &mut dyn Tx,
    member: MemberKey,
    post: PostKey,
    at: Timestamp,
) -> Result<(), StoreError> {
    for sql in [
        "UPDATE recent_like SET date = $3 WHERE member = $1 AND post = $2",
        "UPDATE settled_like SET date = $3 WHERE member = $1 AND post = $2",
    ] {
        tx.run(sql, &[member.into(), post.into(), at.into()])?;
    }
    Ok(())
}

/// Returns the dates of the likes; `None` if the member did not like the post.
pub(super) fn remove(
    tx: &mut dyn Tx,
    likes: &[(MemberKey, PostKey)],
) -> Result<Pipelined<'static, Vec<Option<Timestamp>>>, StoreError> {
    let keys: Vec<_> = likes.iter().map(|(member, post)| [(*member).into(), (*post).into()]).collect();
    // A like is in one of the tables.
    let recent = "DELETE FROM recent_like WHERE member = $1 AND post = $2 RETURNING date";
    let recent = ask_row_each(tx, recent, &keys)?;
    let settled = "DELETE FROM settled_like WHERE member = $1 AND post = $2 RETURNING date";
    let settled = ask_row_each(tx, settled, &keys)?;
    Ok(recent.then(|tx, recent| {
        let removed = recent.into_iter().zip(settled.answer(tx)?);
        removed.map(|(one, other)| one.or(other).map(|mut row| row.take(0)).transpose()).collect()
    }))
}

/// Returns whether more are left.
fn settle(tx: &mut dyn Tx, limit: i64) -> Result<bool, StoreError> {
    let last = "SELECT member, post FROM recent_like ORDER BY member, post LIMIT 1 OFFSET $1";
    let last = tx.row(last, &[(limit - 1).into()])?;
    let has_more = last.is_some();
    let (member, post): (i64, i64) = match last {
        Some(mut row) => (row.take(0)?, row.take(1)?),
        None => (i64::MAX, i64::MAX),
    };
    let sql = "INSERT INTO settled_like (member, post, date)
               SELECT member, post, date FROM recent_like WHERE (member, post) <= ($1, $2)
               ORDER BY member, post
               ON CONFLICT (member, post) DO NOTHING";
    tx.run(sql, &[member.into(), post.into()])?;
    tx.run("DELETE FROM recent_like WHERE (member, post) <= ($1, $2)", &[member.into(), post.into()])?;
    Ok(has_more)
}

#[cfg(test)]
mod tests {
    use tidings_cluster::only_on_sqlite;

    use super::*;
    use crate::account::Caller;
    use crate::base::clock::Clock;
    use crate::testing::{NOW, Service, draft, publish, service};
    use crate::{Tidings, post, profile};

    /// Likes by every member of every post.
    const RECENT: &str =
        "INSERT INTO recent_like (member, post, date) SELECT m.key, p.key, 1 FROM member m, post p";

    fn counts(service: &Service) -> (i64, i64) {
        let count = |table: &str| service.number(&format!("SELECT count(*) FROM {table}"));
        (count("recent_like"), count("settled_like"))
    }

    fn move_all(service: &Service) {
        let mover = Mover { count: Arc::default(), has_more: false };
        service.store().defer(mover).unwrap();
        // A commit moves as many as its time allows.
        for _ in 0..100 {
            service.store().flush().wait().unwrap();
            if counts(service).0 == 0 {
                break;
            }
        }
    }

    fn with_posts(number: usize) -> (Service, Vec<String>, Caller) {
        let service = service();
        let post = |n| draft(format!("{n}"), format!("https://example.com/{n}"));
        let posts = (0..number).map(|n| publish(&service, post(n))).collect();
        let ann = service.member("ann");
        (service, posts, ann)
    }

    fn liked(service: &Service, member: &Caller) -> Vec<String> {
        let lists = service.call(member, profile::GetLists { type_num: "0".into() }).unwrap().fields();
        let list = lists.fav_list.unwrap();
        list.into_iter().map(|entry| entry.title).collect()
    }

    #[test]
    fn likes_are_the_same_before_and_after_they_move() {
        only_on_sqlite!("it has a table of recent likes");
        let (service, posts, ann) = with_posts(3);
        // The first like of a process moves the likes that an earlier process has left.
        post::like(&service, &ann, &posts[0]).wait().unwrap();
        move_all(&service);
        assert_eq!(counts(&service), (0, 1));
        for post in [&posts[0], &posts[1], &posts[1], &posts[2]] {
            service.clock().advance(1_000);
            post::like(&service, &ann, post).wait().unwrap();
        }
        assert_eq!(counts(&service), (2, 1), "a like is in one table");
        assert_eq!(liked(&service, &ann), ["2", "1", "0"]);
        move_all(&service);
        assert_eq!(
            (counts(&service), liked(&service, &ann)),
            ((0, 3), vec!["2".into(), "1".into(), "0".into()])
        );
        post::like(&service, &ann, &posts[0]).wait().unwrap();
        post::unlike(&service, &ann, &posts[1]).wait().unwrap();
        assert_eq!((counts(&service), liked(&service, &ann)), ((0, 2), vec!["2".into(), "0".into()]));
        post::like(&service, &ann, &posts[1]).wait().unwrap();
        post::unlike(&service, &ann, &posts[1]).wait().unwrap();
        assert_eq!(counts(&service), (0, 2));
    }

    #[test]
    fn a_recent_like_of_a_copied_database_is_not_given_again() {
        let (service, posts, ann) = with_posts(2);
        service.run(RECENT);
        assert_eq!(liked(&service, &ann).len(), 2);
        for _ in 0..2 {
            post::like(&service, &ann, &posts[0]).wait().unwrap();
            assert_eq!(liked(&service, &ann).len(), 2);
            move_all(&service);
        }
        assert_eq!(counts(&service), (0, 2));
        post::unlike(&service, &ann, &posts[0]).wait().unwrap();
        assert_eq!(liked(&service, &ann), ["1"]);
    }

    #[test]
    fn likes_move_again_only_where_there_are_new_ones() {
        let (service, _, _) = with_posts(1);
        let added = RecentLikes::default();
        let move_after = |likes: u32| {
            service.run(RECENT);
            service.run("DELETE FROM settled_like");
            (0..likes).for_each(|_| added.added(service.store()));
            service.store().flush().wait().unwrap();
            counts(&service)
        };
        assert_eq!(move_after(1), (0, 1));
        let again = if service.store().is_on_server() { (1, 0) } else { (0, 1) };
        assert_eq!(move_after(MOVE_AT + 1), again);
    }

    #[test]
    fn many_likes_of_two_processes_move_in_steps() {
        only_on_sqlite!("it has a table of recent likes");
        let (service, _, _) = with_posts(0);
        let other = Tidings::builder(service.location()).clock(Clock::fixed(NOW)).open().unwrap();
        let member = MemberKey::new(service.number("SELECT key FROM member"));
        let many = 3 * STEP + 7;
        for (tidings, first) in [(&*service, 0), (&other, many)] {
            let like = move |n| (member, PostKey::new(n), Timestamp::from_millis(n));
            let add = move |tx: &mut dyn Tx| {
                insert(tx, &(first..first + many).map(like).collect::<Vec<_>>()).map(drop)
            };
            tidings.store().write(Isolation::Alone, add).unwrap();
        }
        assert_eq!(counts(&service), (2 * many, 0));
        move_all(&service);
        assert_eq!(counts(&service), (0, 2 * many));
    }
}
