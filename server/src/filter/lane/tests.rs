use std::sync::mpsc;

use super::*;

#[tokio::test]
async fn a_full_lane_refuses_immediately_and_the_others_keep_running() {
    let lanes = Lanes::new(1, 1, false, None);
    let (release, released) = mpsc::channel::<()>();
    let store = lanes.store.clone();
    let running = tokio::spawn(async move {
        store.run(move || released.recv().map_err(|e| Error::Internal(e.into()))).await
    });
    until(&lanes.store.turns, |_, running| running == 1).await;
    let store = lanes.store.clone();
    let waiting = tokio::spawn(async move { store.run(|| Ok(2)).await });
    until(&lanes.store.turns, |waiting, _| waiting == 1).await;
    assert!(matches!(lanes.store.run(|| Ok(3)).await, Err(Error::Overloaded)));
    assert_eq!(lanes.sign_in.run(|| Ok(4)).await.unwrap(), 4);
    release.send(()).unwrap();
    running.await.unwrap().unwrap();
    assert_eq!(waiting.await.unwrap().unwrap(), 2);
}

#[tokio::test]
async fn a_permit_is_held_until_the_work_has_ended_even_if_the_caller_is_gone() {
    let lane = Lane::new(1, 0);
    let (release, released) = mpsc::channel::<()>();
    let (other, ended) = (lane.clone(), mpsc::channel());
    let caller = tokio::spawn(async move {
        other
            .run(move || {
                let _ = released.recv();
                ended.0.send(()).unwrap();
                Ok(())
            })
            .await
    });
    until(&lane.turns, |_, running| running == 1).await;
    caller.abort();
    let _ = caller.await;
    assert!(matches!(lane.run(|| Ok(())).await, Err(Error::Overloaded)));
    release.send(()).unwrap();
    ended.1.recv().unwrap();
    until(&lane.turns, |_, running| running == 0).await;
    lane.run(|| Ok(())).await.unwrap();
}

#[tokio::test]
async fn a_panic_is_an_internal_error_and_frees_the_lane() {
    for lane in [Lane::new(1, 0), Lane::new(1, 1)] {
        for _ in 0..8 {
            let panicked = lane.run::<()>(|| panic!("a mistake")).await;
            assert_eq!(panicked.unwrap_err().to_string(), "internal error");
            assert_eq!(lane.run(|| Ok(1)).await.unwrap(), 1);
        }
    }
}

/// Returns a fair lane of one thread that is busy until `release` is dropped.
async fn busy(queue: usize) -> (Lane, Arc<Turns>, mpsc::Sender<()>) {
    let turns = Arc::new(Turns::new(1, queue));
    let lane = of_kind(&turns, Kind::SignUp);
    let (release, released) = mpsc::channel::<()>();
    let held = lane.clone();
    tokio::spawn(async move {
        held.run(move || {
            let _ = released.recv();
            Ok(())
        })
        .await
    });
    until(&turns, |waiting, running| (waiting, running) == (0, 1)).await;
    (lane, turns, release)
}

fn of_kind(turns: &Arc<Turns>, kind: Kind) -> Lane {
    Lane { turns: Arc::clone(turns), kind, threads: None }
}

fn load(turns: &Turns) -> (usize, usize) {
    let state = turns.state();
    (state.waiting.len(), state.running)
}

async fn until(turns: &Turns, is_reached: impl Fn(usize, usize) -> bool) {
    loop {
        let (waiting, running) = load(turns);
        if is_reached(waiting, running) {
            return;
        }
        tokio::task::yield_now().await;
    }
}

fn client(network: u8) -> Client {
    IpAddr::from([198, 51, network, 1]).into()
}

#[tokio::test]
async fn one_network_cannot_fill_the_queue_for_others() {
    let (sign_ups, turns, release) = busy(2).await;
    let (told, order) = mpsc::channel();
    let queue = |kind: Kind, network: u8, name: &'static str| {
        let (lane, told) = (of_kind(&turns, kind), told.clone());
        let run = move || {
            told.send(name).unwrap();
            Ok(())
        };
        tokio::spawn(async move { lane.run_for(client(network), run).await })
    };
    let first = queue(Kind::SignUp, 66, "first of the flood");
    until(&turns, |waiting, _| waiting == 1).await;
    let second = queue(Kind::SignUp, 66, "second of the flood");
    until(&turns, |waiting, _| waiting == 2).await;
    assert!(matches!(sign_ups.run_for(client(66), || Ok(())).await, Err(Error::Overloaded)));
    let sign_in = queue(Kind::SignIn, 1, "sign-in");
    // The newest job of the flood is displaced.
    assert!(matches!(second.await.unwrap(), Err(Error::Overloaded)));
    drop(release);
    first.await.unwrap().unwrap();
    sign_in.await.unwrap().unwrap();
    assert_eq!(order.try_iter().collect::<Vec<_>>(), ["first of the flood", "sign-in"]);
}

#[tokio::test]
async fn work_leaves_the_queue_when_its_caller_is_gone() {
    let (lane, turns, release) = busy(1).await;
    let (told, ran) = mpsc::channel();
    let other = lane.clone();
    let caller = tokio::spawn(async move { other.run(move || Ok(told.send(()))).await });
    until(&turns, |waiting, _| waiting == 1).await;
    assert!(matches!(lane.run(|| Ok(())).await, Err(Error::Overloaded)));
    caller.abort();
    let _ = caller.await;
    assert_eq!(load(&turns), (0, 1));
    let next = tokio::spawn(async move { lane.run(|| Ok(7)).await });
    drop(release);
    assert_eq!(next.await.unwrap().unwrap(), 7);
    assert!(ran.recv().is_err());
}

#[test]
fn reads_are_quick_again_after_enough_quick_reads() {
    let pace = Pace::default();
    assert_eq!(pace.measure(|| 7), 7);
    let quick_after = |read: Duration| {
        pace.add(read);
        pace.is_quick()
    };
    let quick = || (1..1_000).find(|_| quick_after(Duration::from_micros(10)));
    assert!(pace.is_quick());
    assert!(quick_after(Duration::from_millis(10)), "one read that the system interrupted");
    assert!(!quick_after(Duration::from_millis(10)));
    assert!(quick().is_some_and(|reads| (10..100).contains(&reads)));
    pace.add(Duration::from_secs(1));
    assert!(quick().is_some_and(|reads| (100..500).contains(&reads)));
    (0..300).for_each(|_| pace.add(Duration::from_micros(250)));
    assert!(!pace.is_quick() && !quick_after(Duration::MAX));
}
