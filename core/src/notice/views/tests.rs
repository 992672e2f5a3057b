use std::sync::mpsc::channel;
use std::thread;
use std::time::Instant;

use super::*;
use crate::Tidings;
use crate::account::Caller;
use crate::notice::reader::Reader;
use crate::notice::{self, Draft};
use crate::record::error::Error;
use crate::store::Isolation;
use crate::store::testing::once;
use crate::testing::{Service, service};

/// Creates a service whose views do not defer a flush.
fn held() -> (Service, Arc<ViewCounter>) {
    let service = service();
    let counter = Arc::clone(service.notice().cache.views());
    counter.is_deferred.store(true, Ordering::Release);
    (service, counter)
}

fn notice(tidings: &Tidings) -> String {
    let draft = Draft { title: Some("t".into()), post: Some("p".into()), ..Draft::default() };
    tidings.call(&Caller::Operator, notice::Insert { draft }).unwrap().id.to_string()
}

fn read(tidings: &Tidings, id: &str) -> i64 {
    tidings.call(&Caller::Guest, notice::Get { notice_obi: id.into(), html: None }).unwrap().notice_list.view
}

/// Returns the views of every notice in the database.
fn stored(tidings: &Tidings) -> Vec<i64> {
    let notices = tidings.store().read(|tx| sql::all(tx)).unwrap();
    notices.iter().map(|(notice, _)| notice.view).collect()
}

/// Returns the views of the newest notice: as shown after a reload, and as stored in the database.
fn loaded(tidings: &Tidings) -> (i64, i64) {
    let snapshot = tidings.notice().cache.reload(tidings.store());
    (snapshot.list(&Reader::Guest, tidings.now()).notices()[0].view, stored(tidings)[0])
}

fn flush(tidings: &Tidings) {
    tidings.store().flush().wait().unwrap();
}

/// Creates 70 notices, which are more than one flush without time writes, and reads each once.
fn seventy(service: &Service) -> Vec<String> {
    let ids: Vec<_> = std::iter::repeat_with(|| notice(service)).take(70).collect();
    for id in &ids {
        read(service, id);
    }
    ids
}

/// Runs a flush without time, and then `ends`, in one transaction.
fn run(
    service: &Service,
    flush: &Arc<Mutex<Flush>>,
    ends: impl Fn() -> Result<(), StoreError> + Send + 'static,
) -> Result<(), StoreError> {
    let flush = Arc::clone(flush);
    service.store().write(Isolation::Alone, move |tx| {
        flush.lock().unwrap().write(tx, TimeSlice::until(Instant::now()))?;
        ends()
    })
}

#[test]
fn views_of_others_are_those_of_a_state_between_two_flushes() {
    let (service, counter) = held();
    let id = notice(&service);
    assert_eq!(read(&service, &id), 1);
    let others = |meanwhile: &dyn Fn()| {
        let read = || {
            let stored = service.store().read(sql::views)?;
            meanwhile();
            Ok::<_, StoreError>(stored)
        };
        counter.others(read).unwrap()
    };
    let is_taken = others(&|| {
        service.store().defer(Flush::new(&counter)).unwrap();
        flush(&service);
    });
    assert!(!is_taken);
    assert_eq!(read(&service, &id), 2);
    let five = |tx: &mut dyn Tx| tx.run("UPDATE notice SET view = view + 5", &[]);
    service.store().write::<_, StoreError>(Isolation::Alone, five).unwrap();
    assert!(others(&|| {}));
    assert_eq!(read(&service, &id), 8);
    assert_eq!(loaded(&service).0, 8);
}

#[test]
fn a_view_is_shown_exactly_once_before_during_and_after_its_commit() {
    let (service, counter) = held();
    let id = notice(&service);
    assert_eq!((read(&service, &id), read(&service, &id)), (1, 2));
    assert_eq!(loaded(&service), (2, 0), "before the flush");
    service.store().defer(Flush::new(&counter)).unwrap();
    let (written, is_written) = channel();
    let (commit, may_commit) = channel::<()>();
    // This write is in the same commit, after the views.
    let wait = once(move |_| {
        written.send(()).unwrap();
        let _ = may_commit.recv();
        Ok(())
    });
    service.store().defer(wait).unwrap();
    let committed = service.store().flush();
    is_written.recv().unwrap();
    assert!(lock(&counter.state).is_committing);
    assert_eq!(read(&service, &id), 3, "a view waits for nothing");
    thread::scope(|threads| {
        let load = threads.spawn(|| loaded(&service));
        drop(commit);
        // The third view may also have been flushed.
        let (shown, stored) = load.join().unwrap();
        assert!(shown == 3 && stored >= 2, "{shown}, {stored}");
    });
    committed.wait().unwrap();
    flush(&service);
    assert_eq!(loaded(&service), (3, 3), "after the commit");
    assert_eq!(read(&service, &id), 4);
}

#[test]
fn views_that_the_database_refuses_are_written_with_the_next_flush() {
    let (service, counter) = held();
    let id = notice(&service);
    assert_eq!(read(&service, &id), 1);
    let flush_once = Arc::new(Mutex::new(Flush::new(&counter)));
    let in_tx = Arc::clone(&flush_once);
    let refused = service.store().write(Isolation::Alone, move |tx| {
        tx.run("ALTER TABLE notice RENAME TO gone", &[])?;
        in_tx.lock().unwrap().write(tx, TimeSlice::unlimited())
    });
    assert!(matches!(refused, Err(StoreError::Other(_))), "{refused:?}");
    assert_eq!(flush_once.lock().unwrap().done(refused), ControlFlow::Break(()));
    assert_eq!(loaded(&service), (1, 0));
    // The next view defers a flush again.
    assert_eq!(read(&service, &id), 2);
    flush(&service);
    assert_eq!(loaded(&service), (2, 2));
}

#[test]
fn views_whose_commit_fails_are_written_with_the_next_flush() {
    let service = service();
    let id = notice(&service);
    assert_eq!((read(&service, &id), read(&service, &id)), (1, 2));
    service.fail_a_commit();
    assert_eq!(loaded(&service), (2, 0));
    assert_eq!(read(&service, &id), 3);
    flush(&service);
    assert_eq!(loaded(&service), (3, 3));
}

#[test]
fn views_beyond_the_time_of_a_commit_are_written_in_turn_with_the_next() {
    let (service, counter) = held();
    let ids = seventy(&service);
    for round in 0..3 {
        for id in ids.iter().filter(|_| round > 0) {
            read(&service, id);
        }
        let flush = Arc::new(Mutex::new(Flush::new(&counter)));
        let written = run(&service, &flush, || Ok(()));
        assert_eq!(flush.lock().unwrap().done(written), ControlFlow::Continue(()));
        assert!(counter.is_deferred.load(Ordering::Acquire), "no view defers another flush");
    }
    let views = stored(&service);
    let times = |n| views.iter().filter(|views| **views == n).count();
    assert_eq!([1, 2, 3].map(times), [32, 32, 6], "every notice is flushed in turn");
    assert_eq!(loaded(&service).0, 3);
    // The rest is flushed by the store.
    service.store().defer(Flush::new(&counter)).unwrap();
    while stored(&service).iter().any(|views| *views < 3) {
        flush(&service);
    }
    assert!(stored(&service).iter().all(|views| *views == 3));
}

#[test]
fn a_flush_that_runs_again_after_a_rollback_writes_each_view_once() {
    let (service, counter) = held();
    let ids = seventy(&service);
    let flush_twice = Arc::new(Mutex::new(Flush::new(&counter)));
    assert!(run(&service, &flush_twice, || Err(StoreError::Full)).is_err());
    assert_eq!(stored(&service).iter().sum::<i64>(), 0);
    // As if a view had deferred another flush, which waits until the end.
    assert!(!counter.is_deferred.swap(true, Ordering::AcqRel));
    read(&service, &ids[0]);
    let written = run(&service, &flush_twice, || Ok(()));
    assert!(counter.is_deferred.load(Ordering::Acquire), "the other flush is still deferred");
    assert_eq!(flush_twice.lock().unwrap().done(written), ControlFlow::Break(()));
    assert_eq!(stored(&service).iter().filter(|views| **views > 0).count(), 32);
    service.store().defer(Flush::new(&counter)).unwrap();
    while stored(&service).iter().sum::<i64>() < 71 {
        flush(&service);
    }
    assert_eq!((stored(&service).iter().sum::<i64>(), loaded(&service)), (71, (1, 1)));
}

#[test]
fn a_flush_ends_if_a_view_has_deferred_another_flush() {
    let (service, counter) = held();
    seventy(&service);
    let (flush_once, again) = (Arc::new(Mutex::new(Flush::new(&counter))), Arc::clone(&counter));
    let written = run(&service, &flush_once, move || {
        again.is_deferred.store(true, Ordering::Release);
        Ok(())
    });
    assert_eq!(flush_once.lock().unwrap().done(written), ControlFlow::Break(()));
}

#[test]
fn views_for_which_the_store_has_no_room_are_written_with_the_next_flush() {
    let service = service();
    let id = notice(&service);
    // The notice is cached before the store is full.
    service.call(&Caller::Guest, notice::List::default()).unwrap();
    let (go, wait) = channel::<()>();
    let held = service.store().submit(Isolation::Alone, move |_| {
        let _ = wait.recv();
        Ok::<_, StoreError>(())
    });
    let full = || service.store().defer(once(|_| Ok(()))).is_err();
    while !full() {}
    assert_eq!(read(&service, &id), 1);
    drop(go);
    held.wait().unwrap();
    // The view is deferred once the queue is empty.
    while service.store().flush().wait().is_err() {}
    assert_eq!(loaded(&service), (1, 0));
    assert_eq!(read(&service, &id), 2);
    flush(&service);
    assert_eq!(loaded(&service), (2, 2));
}

#[test]
fn views_of_a_removed_notice_are_forgotten() {
    let service = service();
    let (gone, kept) = (notice(&service), notice(&service));
    read(&service, &gone);
    service.call(&Caller::Operator, notice::Remove { notice_obi: gone.clone() }).unwrap();
    read(&service, &kept);
    let counter = service.notice().cache.views();
    let ids: Vec<_> = lock(&counter.state).counts.keys().map(ToString::to_string).collect();
    assert_eq!(ids, [kept]);
    flush(&service);
    assert_eq!(loaded(&service), (1, 1));
}

#[test]
fn pending_views_of_a_removed_notice_are_discarded() -> Result<(), Error> {
    let (service, counter) = held();
    let (gone, kept) = (notice(&service), notice(&service));
    assert_eq!((read(&service, &gone), read(&service, &kept)), (1, 1));
    service.call(&Caller::Operator, notice::Remove { notice_obi: gone.clone() })?;
    service.store().defer(Flush::new(&counter))?;
    flush(&service);
    assert_eq!(loaded(&service), (1, 1));
    Ok(())
}
