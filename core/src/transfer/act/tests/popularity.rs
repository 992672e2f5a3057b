//! The popularity of posts is that of their acts, whether the database lived through them or imported them, and whatever
//! the half-life.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::post::feed_rows;
use crate::post::heat::{Decay, Heats};

/// Half-lives of the grid, between, shorter and longer ones.
const HALF_LIVES: [f64; 11] = [0.01, 0.05, 0.09375, 0.13, 1.0, 3.0, 6.0, 25.0, 96.0, 500.0, f64::INFINITY];

fn act_of_post() -> impl Strategy<Value = TestAct> {
    let kind = proptest::sample::select(&["view", "view", "like", "unlike", "guest"]);
    // Days, and repeated views within hours.
    let at = prop_oneof![0..57 * 24 * 60_i64, (0..200_i64).prop_map(|minutes| 30 * 24 * 60 + minutes)];
    (0..2_usize, kind, 0..4_usize, at).prop_map(|(member, kind, what, minutes)| TestAct {
        member,
        kind,
        what,
        at: NOW - 57 * DAY_MS - minutes * MINUTE,
    })
}

fn live(service: &Service, acts: &[TestAct]) {
    for act in acts {
        service.clock().advance(act.at - service.clock().now());
        let (caller, id) = (Caller::Member(MEMBERS[act.member].into()), format!("{:024x}", act.what));
        match act.kind {
            "view" => post::view(service, &caller, &id).wait().unwrap(),
            "like" => post::like(service, &caller, &id).wait().unwrap(),
            "unlike" => post::unlike(service, &caller, &id).wait().unwrap(),
            _ => post::view(service, &Caller::Guest, &id).wait().unwrap(),
        }
    }
    service.clock().advance(NOW - service.clock().now());
}

fn remaining(acts: &[TestAct]) -> Vec<TestAct> {
    let mut likes: BTreeMap<(usize, usize), TestAct> = BTreeMap::new();
    let mut remaining = Vec::new();
    for act in acts {
        match act.kind {
            "like" => drop(likes.entry((act.member, act.what)).or_insert(*act)),
            "unlike" => drop(likes.remove(&(act.member, act.what))),
            _ => remaining.push(*act),
        }
    }
    remaining.extend(likes.into_values());
    remaining
}

fn expected(remaining: &[TestAct]) -> [Option<Heats>; 4] {
    let mut views = BTreeSet::new();
    let mut heats = [None; 4];
    for act in remaining {
        let hour = act.at.as_millis() / (60 * MINUTE);
        let counts = match act.kind {
            "view" => views.insert((act.member, act.what, hour)),
            _ => true,
        };
        if counts {
            let weight = if act.kind == "like" { 3.0 } else { 1.0 };
            heats[act.what] = Heats::add(heats[act.what], weight, act.at);
        }
    }
    heats
}

fn stored(service: &Service, days: f64) -> Vec<Option<f64>> {
    let read = service.store().read(|tx| {
        let mut rows = Vec::new();
        let keys = feed_rows::newest(tx, 12)?;
        feed_rows::of_keys(tx, &keys, Decay::new(days), &mut |row| rows.push((row.id, row.heat)))?;
        Ok::<_, crate::Error>(rows)
    });
    let mut rows = read.unwrap();
    rows.sort_by(|(one, _), (other, _)| one.cmp(other));
    rows.into_iter().take(4).map(|(_, heat)| heat).collect()
}

#[test]
fn popularity_is_that_of_the_acts_however_they_came() {
    let acts = proptest::collection::vec(act_of_post(), 1..50);
    proptest!(cases(16), |(mut acts in acts)| {
        acts.sort_by_key(|act| act.at);
        acts.dedup_by_key(|act| act.at);
        let remaining = remaining(&acts);
        let services = [service(acts[0].at), service(acts[0].at)];
        services.iter().for_each(import_members);
        let [lived, imported] = services;
        live(&lived, &acts);
        let (guests, mut members): (Vec<_>, Vec<_>) = remaining.iter().partition(|act| act.kind == "guest");
        live(&imported, &guests);
        members.reverse();
        let (second, first) = members.split_at(members.len() / 2);
        for part in [first, second].into_iter().filter(|part| !part.is_empty()) {
            import_from(&imported, part);
        }
        let has_unlikes = acts.iter().any(|act| act.kind == "unlike");
        for days in HALF_LIVES {
            let decay = Decay::new(days);
            let of_lived = stored(&lived, days);
            for (post, imported) in stored(&imported, days).into_iter().enumerate() {
                let by_definition = expected(&remaining)[post].map(|heats| decay.heat(&heats));
                let is_close = |one: Option<f64>| match (one, by_definition) {
                    (Some(one), Some(other)) => (one - other).abs() < 1e-6,
                    (one, other) => one == other,
                };
                prop_assert!(is_close(imported), "{days}: {imported:?} instead of {by_definition:?}");
                // A like that is taken back many half-lives after the other acts leaves an estimate of them.
                prop_assert_eq!(of_lived[post].is_some(), by_definition.is_some());
                if !has_unlikes || days >= 6.0 {
                    prop_assert!(is_close(of_lived[post]), "{days}: {of_lived:?}, {by_definition:?}");
                } else if days >= 0.09375 {
                    prop_assert!(of_lived[post] <= by_definition.map(|heat| heat + 1e-3), "{days}");
                }
            }
        }
    });
}
