//! Computes the heats of posts from the single heat that an earlier version of the program stored.

use super::{Decay, GRID, Heats, VIEW_WEIGHT, days, rate, weight_of};
use crate::base::clock::Timestamp;
use crate::base::keyed::OwnMap;
use crate::record::error::Result;
use crate::record::id::PostKey;
use crate::store::{Isolation, Row, Store, StoreError, Tx, run_each};

/// The number of posts that are converted with one pass over the acts, which bounds the memory.
const PASS: i64 = 100_000;
/// The number of posts that a transaction writes, so that other writes do not wait for long.
const BATCH: usize = 1_000;
/// A rest of less than this share of a heat is the rounding error of what was subtracted.
const REST_MIN: f64 = 1e-6;

/// A post with the heat of an earlier version.
struct Unconverted {
    post: PostKey,
    date: Timestamp,
    /// The total weight of its views and likes.
    weight: f64,
    heat: f64,
}

/// The acts of members on a post.
#[derive(Clone, Copy, Default)]
struct Dated {
    heats: Option<Heats>,
    weight: f64,
    /// The heat with the half-life of the earlier version.
    heat: Option<f64>,
}

/// Converts the heats of all posts after an update of the schema. Earlier programs may no longer write the database, and
/// others like this one do the same before they write. What a killed process has left undone is continued.
///
/// The acts of members have dates, so their heats are exact. Those of guests and repeated views have none: all of them are
/// dated to the one time that gives the stored heat.
///
/// # Errors
/// Fails if the store fails.
pub(crate) fn convert(store: &Store, like_weight: f64, now: Timestamp) -> Result<()> {
    loop {
        let converted = store.read(|tx| {
            let posts = unconverted(tx, like_weight)?;
            if posts.is_empty() {
                return Ok(Vec::new());
            }
            let before: Option<f64> =
                tx.row("SELECT half_life_days FROM decay", &[])?.map(|mut row| row.take(0)).transpose()?;
            // No program without this row has stored a heat.
            let before = Single { rate: Decay::new(before.unwrap_or(f64::INFINITY)).rate };
            let dated = dated(tx, &posts, before, like_weight)?;
            let convert = |post: &Unconverted| {
                let dated = dated.get(&post.post).copied().unwrap_or_default();
                (post.post, post.heat, before.converted(post, dated, now))
            };
            Ok::<_, StoreError>(posts.iter().map(convert).collect::<Vec<_>>())
        })?;
        if converted.is_empty() {
            return Ok(());
        }
        for batch in converted.chunks(BATCH) {
            let batch = batch.to_vec();
            store.write_long(Isolation::Alone, move |tx| write(tx, &batch))?;
        }
    }
}

/// Returns the first posts whose heat is still that of an earlier version.
fn unconverted(tx: &mut dyn Tx, like_weight: f64) -> Result<Vec<Unconverted>, StoreError> {
    let sql = "SELECT s.post, p.date, s.view, s.fav, s.heat FROM post_stats s JOIN post p ON p.key = s.post
               WHERE s.heat IS NOT NULL ORDER BY s.post LIMIT $1";
    let post = |mut row: Row| {
        let weight = weight_of(row.take(2)?, row.take(3)?, like_weight);
        Ok(Unconverted { post: row.take(0)?, date: row.take(1)?, weight, heat: row.take(4)? })
    };
    tx.rows(sql, &[PASS.into()])?.into_iter().map(post).collect()
}

/// Returns what members did with these posts, which are in the order of their keys.
fn dated(
    tx: &mut dyn Tx,
    posts: &[Unconverted],
    before: Single,
    like_weight: f64,
) -> Result<OwnMap<PostKey, Dated>, StoreError> {
    let mut dated: OwnMap<PostKey, Dated> = OwnMap::default();
    let range = [posts[0].post.into(), posts[posts.len() - 1].post.into()];
    for (table, weight) in [("liked", like_weight), ("viewed", VIEW_WEIGHT)] {
        let sql = format!("SELECT post, date FROM {table} WHERE post BETWEEN $1 AND $2");
        tx.for_each(&sql, &range, &mut |row| {
            let (dated, at) = (dated.entry(row.take(0)?).or_default(), row.take(1)?);
            if weight > 0.0 {
                dated.heats = Heats::add(dated.heats, weight, at);
                dated.weight += weight;
                dated.heat = Some(plus(dated.heat, weight.ln() + before.rate * days(at)));
            }
            Ok(())
        })?;
    }
    Ok(dated)
}

/// Writes the heats of posts, if they are still those that were read.
fn write(tx: &mut dyn Tx, posts: &[(PostKey, f64, Option<Heats>)]) -> Result<(), StoreError> {
    const SQL: &str = "UPDATE post_stats SET heat = NULL, heat_0 = $3, heat_1 = $4, heat_2 = $5, heat_3 = $6, heat_4 = $7,
                              heat_5 = $8, heat_6 = $9, heat_7 = $10, heat_8 = $11, heat_9 = $12, heat_10 = $13,
                              heat_11 = $14
                       WHERE post = $1 AND heat = $2";
    let rows = posts.iter().map(|(post, heat, heats)| {
        std::array::from_fn::<_, { GRID + 2 }, _>(|n| match n {
            0 => (*post).into(),
            1 => (*heat).into(),
            _ => Heats::column(*heats, n - 2),
        })
    });
    run_each(tx, SQL, &rows.collect::<Vec<_>>())?;
    Ok(())
}

/// The decay of a single heat.
#[derive(Clone, Copy)]
struct Single {
    rate: f64,
}

impl Single {
    /// Returns the heats of a post.
    fn converted(self, post: &Unconverted, dated: Dated, now: Timestamp) -> Option<Heats> {
        let Some(rest) = minus(post.heat, dated.heat) else {
            return dated.heats.and_then(|heats| heats.bounded(post.weight, now));
        };
        // The time at which the other acts would have this heat. Repeated views that did not count make it too early, and acts
        // of the future too late.
        let weight = (post.weight - dated.weight).max(VIEW_WEIGHT);
        let at = (rest - weight.ln()) / self.rate;
        let at = at.clamp(days(post.date.min(now)), days(now));
        let others = Heats(std::array::from_fn(|place| rest + (rate(place) - self.rate) * at));
        Heats::plus(dated.heats, others).bounded(post.weight, now)
    }
}

/// Adds two heats of one half-life.
fn plus(one: Option<f64>, other: f64) -> f64 {
    one.map_or(other, |one| one.max(other) + (-(one - other).abs()).exp().ln_1p())
}

/// Subtracts a heat; `None` if nothing is left but rounding errors.
fn minus(heat: f64, of: Option<f64>) -> Option<f64> {
    let Some(of) = of else { return Some(heat) };
    let left = -(of - heat).exp_m1();
    (left > REST_MIN).then(|| heat + left.ln())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Caller;
    use crate::base::clock::DAY_MS;
    use crate::post;
    use crate::testing::{self, Service};

    fn heats(service: &Service) -> Vec<[Option<f64>; GRID]> {
        let read = service.store().read(|tx| {
            let sql = concat!("SELECT ", super::super::heat_columns!(), " FROM post_stats ORDER BY post");
            let heats = |mut row: Row| {
                let mut heats = [None; GRID];
                heats
                    .iter_mut()
                    .enumerate()
                    .try_for_each(|(at, heat)| row.take(at).map(|found| *heat = found))?;
                Ok(heats)
            };
            tx.rows(sql, &[])?.into_iter().map(heats).collect::<Result<_, StoreError>>()
        });
        read.unwrap()
    }

    /// Stores heats as an earlier version did, with a half-life of 3 days.
    fn outdate(service: &Service) {
        let outdated = service.store().write(Isolation::Alone, |tx| {
            tx.run("INSERT INTO decay (one, half_life_days) VALUES (1, 3.0)", &[])?;
            let rows: Vec<String> = (0..GRID).map(|place| format!("heat_{place} = NULL")).collect();
            tx.run(&format!("UPDATE post_stats SET heat = heat_5, {}", rows.join(", ")), &[])
        });
        outdated.unwrap();
    }

    #[test]
    fn heats_of_an_earlier_version_are_those_of_the_acts() {
        let service = testing::service();
        let insert = |name: &str| {
            let draft = post::Draft {
                title: Some(name.into()),
                url: Some(format!("https://a.example/{name}")),
                ..post::Draft::default()
            };
            service.call(&Caller::Operator, post::Insert { draft }).unwrap().id.to_string()
        };
        let [members, guests, both, mixed, _] = ["members", "guests", "both", "mixed", "none"].map(insert);
        let [ann, ben] = ["ann", "ben"].map(|id| {
            service.member(id);
            Caller::Member(id.into())
        });
        for (days, caller) in [(1, &ann), (20, &ben)] {
            service.clock().advance(days * DAY_MS);
            for id in [&members, &both] {
                post::view(&service, caller, id).wait().unwrap();
                post::like(&service, caller, id).wait().unwrap();
            }
            post::view(&service, &Caller::Guest, &mixed).wait().unwrap();
        }
        service.clock().advance(DAY_MS);
        for id in [&guests, &both, &guests] {
            post::view(&service, &Caller::Guest, id).wait().unwrap();
        }
        service.clock().advance(50 * DAY_MS);
        let before = heats(&service);
        outdate(&service);
        assert!(heats(&service).iter().flatten().all(Option::is_none));
        let convert = || convert(service.store(), 3.0, service.now()).unwrap();
        convert();
        let after = heats(&service);
        for (post, (before, after)) in before.iter().zip(&after).enumerate() {
            for place in 0..GRID {
                let (Some(before), Some(after)) = (before[place], after[place]) else {
                    assert_eq!((before[place], after[place], post), (None, None, 4));
                    continue;
                };
                // Views of guests at different times are dated to one time between them.
                let tolerance = if post == 3 && place != 5 { 160.0 } else { 1e-5 };
                assert!((before - after).abs() < tolerance, "{post} {place}: {before} {after}");
            }
        }
        convert();
        assert_eq!(heats(&service), after);
        assert!(service.store().read(|tx| unconverted(tx, 3.0)).unwrap().is_empty());
    }
}
