//! The case of passwords that are guessed on several servers.

use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use serde_json::json;

use crate::world::World;
use crate::{Outcome, Scale, seconds};

/// The attempts on each account.
const ATTEMPTS: usize = 50;
/// The attempts that are free.
const FREE: usize = 5;

/// One client guesses the password of a member, fifty times at once on three servers.
pub(crate) fn guesses(scale: Scale) -> Outcome {
    let world = World::without_standby(3);
    let (races, mut faults, mut most) = (scale.share(100, 2), Vec::new(), 0);
    let begin = Instant::now();
    for race in 0..races {
        let (id, _) = world.sign_up(&format!("victim{race}"));
        // Of fifty failures of a client, the first seven races have enough.
        let _ = world.query("DELETE FROM sign_in_failure");
        let (barrier, begun) = (Barrier::new(ATTEMPTS), Instant::now());
        let outcomes: Vec<String> = thread::scope(|scope| {
            let guess = |number: usize| {
                let (barrier, caller, id) = (&barrier, world.servers[number % 3].anyone(), &id);
                scope.spawn(move || {
                    barrier.wait();
                    caller.post("/sign_in", json!({ "id": id, "pw": format!("guess {number}") })).outcome()
                })
            };
            let guesses: Vec<_> = (0..ATTEMPTS).map(guess).collect();
            guesses.into_iter().map(|guess| guess.join().unwrap()).collect()
        });
        let wrong = outcomes.iter().filter(|outcome| *outcome == "200 incorrect pw").count();
        let refused = outcomes.iter().filter(|outcome| *outcome == "429 too many requests").count();
        most = most.max(wrong);
        // After the free failures the waits are 0, 1, 2, 4 … seconds.
        let later = usize::try_from((begun.elapsed().as_secs() + 1).ilog2()).unwrap_or_default() + 1;
        if wrong + refused != ATTEMPTS || wrong < FREE || wrong > FREE + later {
            faults.push(format!("race {race}: {wrong} guesses were checked and {refused} refused"));
        }
    }
    let took = seconds(begin.elapsed());
    Outcome { measured: format!("{races} races in {took}, at most {most} guesses checked"), faults }
}
