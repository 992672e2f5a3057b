//! Computes all heats again with another half-life.

use super::{Decay, VIEW_WEIGHT, at_least_a_minute, half_life_days, store_half_life};
use crate::base::clock::Timestamp;
use crate::base::keyed::OwnMap;
use crate::post::change;
use crate::record::error::Result;
use crate::record::id::PostKey;
use crate::store::{Isolation, Store, StoreError, Topic};

/// A rest of less than this share of a heat is the rounding error of what was subtracted.
const REST_MIN: f64 = 1e-6;

/// The heat that the dated acts of a post have with two half-lives.
#[derive(Clone, Copy, Default)]
struct Dated {
    before: Option<f64>,
    after: Option<f64>,
}

/// Sets the half-life of the database as if it had always been this one: the acts of members have dates, so their heat is
/// computed again. The rest, of views by guests, keeps its popularity at `now`.
///
/// It reads all acts while nothing else is written. A like weighs `like_weight`.
///
/// # Errors
/// Fails if the store fails.
pub(crate) fn rebuild(store: &Store, days: f64, like_weight: f64, now: Timestamp) -> Result<()> {
    let days = at_least_a_minute(days);
    store.write_long(Isolation::Alone, move |tx| {
        let after = Decay::new(days);
        let before = half_life_days(tx)?.map_or(after, Decay::new);
        let mut dated: OwnMap<PostKey, Dated> = OwnMap::default();
        for (table, weight) in [("liked", like_weight), ("viewed", VIEW_WEIGHT)] {
            tx.for_each(&format!("SELECT post, date FROM {table}"), &[], &mut |row| {
                let (dated, at) = (dated.entry(row.take(0)?).or_default(), row.take(1)?);
                dated.before = before.add(dated.before, weight, at);
                dated.after = after.add(dated.after, weight, at);
                Ok(())
            })?;
        }
        let mut heats: Vec<(PostKey, Option<f64>)> = Vec::new();
        tx.for_each("SELECT post, heat FROM post_stats WHERE heat IS NOT NULL", &[], &mut |row| {
            let (post, heat) = (row.take(0)?, row.take(1)?);
            let Dated { before: of_members, after: rebuilt } = dated.get(&post).copied().unwrap_or_default();
            let rest = minus(heat, of_members).map(|rest| rest + after.grown(now) - before.grown(now));
            heats.push((post, plus(rest, rebuilt)));
            Ok(())
        })?;
        for (post, heat) in heats {
            tx.send("UPDATE post_stats SET heat = $2 WHERE post = $1", &[post.into(), heat.into()])?;
        }
        store_half_life(tx, days)?;
        change::add_all(tx)?;
        tx.touch(Topic::Posts);
        Ok::<_, StoreError>(())
    })?;
    Ok(())
}

/// Adds two heats.
fn plus(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    let (Some(a), Some(b)) = (one, other) else { return one.or(other) };
    Some(a.max(b) + (-(a - b).abs()).exp().ln_1p())
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
    use crate::testing::{self, NOW};

    #[test]
    fn heats_are_those_of_a_database_that_always_had_the_half_life() {
        let service = testing::service();
        let insert = |name: &str| {
            let draft = post::Draft {
                title: Some(name.into()),
                url: Some(format!("https://a.example/{name}")),
                ..post::Draft::default()
            };
            service.call(&Caller::Operator, post::Insert { draft }).unwrap().id.to_string()
        };
        let (liked, viewed, both) = (insert("liked"), insert("viewed"), insert("both"));
        let member = service.member("reader");
        post::like(&service, &member, &liked).wait().unwrap();
        service.clock().advance(10 * DAY_MS);
        for id in [&viewed, &both] {
            post::view(&service, &Caller::Guest, id).wait().unwrap();
        }
        post::like(&service, &member, &both).wait().unwrap();
        let now = service.now();
        rebuild(service.store(), 1.0, 3.0, now).unwrap();
        let heats = service.store().read(|tx| {
            assert_eq!(half_life_days(tx)?, Some(1.0));
            let rows = tx.rows("SELECT heat FROM post_stats ORDER BY post", &[])?;
            rows.into_iter().map(|mut row| row.take(0)).collect::<Result<Vec<Option<f64>>, StoreError>>()
        });
        let decay = Decay::new(1.0);
        let worths: Vec<f64> = heats.unwrap().into_iter().map(|heat| decay.worth(heat, now)).collect();
        for (worth, expected) in worths.iter().zip([3.0 / 1_024.0, 1.0, 4.0]) {
            assert!((worth - expected).abs() < 1e-6, "{worths:?}");
        }
        let version = service.store().version(Topic::Posts);
        rebuild(service.store(), 1.0, 3.0, now).unwrap();
        assert!(service.store().version(Topic::Posts) > version, "the feeds load them");
        assert!(NOW < now);
    }
}
