//! Tests of writing records in several time slices, and of floods.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::mpsc::channel;
use std::time::Instant;

use super::*;
use crate::account::Caller;
use crate::analysis::tests::log_date;
use crate::analysis::{Communication, GetSummary, LogEntry, Window, record};
use crate::record::answer::SUCCESS;
use crate::testing::{Service, service};

/// Returns a service whose journal defers no writes by itself.
fn held() -> (Service, Arc<Journal>) {
    let service = service();
    let journal = Arc::clone(&service.analysis().journal);
    assert!(journal.queue.must_defer());
    (service, journal)
}

fn visit(service: &Service, from: u32, user_agent: &str) {
    let communication = Communication {
        caller: &Caller::Guest,
        operation: Operation::new("GET", "/get_device"),
        path: "/get_device",
        status: 200,
        result: SUCCESS,
        address: IpAddr::V4(Ipv4Addr::from(from)),
        user_agent: user_agent.as_bytes(),
    };
    record(service, &communication);
}

/// Runs a write for a time slice that is over from the start, in a separate transaction, which fails if `commits` is
/// false. Returns the write and the outcome.
fn run(
    service: &Service,
    write: DeferredRecords,
    commits: bool,
) -> (DeferredRecords, Result<(), StoreError>) {
    let write = Arc::new(Mutex::new(Some(write)));
    let in_tx = Arc::clone(&write);
    let written = service.store().write(Isolation::Alone, move |tx| {
        let mut write = in_tx.lock().unwrap();
        write.as_mut().unwrap().write(tx, TimeSlice::until(Instant::now()))?;
        if commits { Ok(()) } else { Err(StoreError::Full) }
    });
    assert_eq!(written.is_ok(), commits);
    let write = write.lock().unwrap().take();
    (write.unwrap(), written)
}

fn write_slice(service: &Service, journal: &Arc<Journal>) -> ControlFlow<()> {
    let (mut write, written) = run(service, DeferredRecords::of(journal), true);
    write.done(written)
}

fn lines(service: &Service) -> Vec<LogEntry> {
    let day = Window { months: 0, days: 1, hours: 0 };
    log_date(service, &Caller::Operator, day, 1_000).unwrap().log
}

fn counted(service: &Service) -> (i64, i64) {
    let figures = service.call(&Caller::Guest, GetSummary {}).unwrap().fields().analysis;
    (figures.communication_avg, figures.total_visitor)
}

fn visits(service: &Service, count: usize) {
    for _ in 0..count {
        visit(service, 7, "app");
        service.clock().advance(1);
    }
}

fn line_count(service: &Service) -> i64 {
    service.number("SELECT count(*) FROM log")
}

#[test]
fn records_over_several_commits_stay_in_order_and_count_a_visitor_once() {
    let (service, journal) = held();
    visits(&service, 2_000);
    assert_eq!(
        (write_slice(&service, &journal), line_count(&service), journal.len()),
        (ControlFlow::Continue(()), 512, 1_488)
    );
    let mut slices = 1;
    while write_slice(&service, &journal) == ControlFlow::Continue(()) {
        slices += 1;
    }
    assert_eq!((slices, line_count(&service), journal.len()), (3, 2_000, 0));
    let log = lines(&service);
    assert!(log.is_sorted_by(|a, b| a.date == b.date + 1), "newest first, none missing");
    assert_eq!(counted(&service), (2_000, 1));
}

#[test]
fn a_deferred_write_ends_when_time_and_records_run_out_together() {
    let (service, journal) = held();
    for _ in 0..512 {
        visit(&service, 7, "app");
    }
    assert_eq!((write_slice(&service, &journal), line_count(&service)), (ControlFlow::Break(()), 512));
    // The next record defers another write.
    assert!(journal.queue.must_defer());
}

#[test]
fn records_of_a_failed_write_return_to_the_front_of_the_queue() {
    let (service, journal) = held();
    visits(&service, 700);
    let (mut write, refused) = run(&service, DeferredRecords::of(&journal), false);
    assert_eq!(journal.len(), 188);
    assert_eq!(write.done(refused), ControlFlow::Break(()));
    drop(write);
    assert_eq!((journal.len(), journal.lost(), line_count(&service)), (700, 0, 0));
    assert!(journal.queue.must_defer(), "the next record defers a write");
    while write_slice(&service, &journal) == ControlFlow::Continue(()) {}
    let log = lines(&service);
    assert!(log.len() == 700 && log.is_sorted_by(|a, b| a.date == b.date + 1));
}

#[test]
fn a_write_that_runs_again_after_a_rollback_writes_each_record_once() {
    let (service, journal) = held();
    visits(&service, 700);
    let (write, _) = run(&service, DeferredRecords::of(&journal), false);
    let (mut write, written) = run(&service, write, true);
    assert_eq!(write.done(written), ControlFlow::Continue(()));
    assert_eq!((line_count(&service), journal.len()), (512, 188));
    // Its next run ends it, so the next record defers another write; then it runs again.
    let (write, _) = run(&service, write, false);
    visit(&service, 7, "app");
    let (mut write, written) = run(&service, write, true);
    assert_eq!(write.done(written), ControlFlow::Break(()));
    service.store().flush().wait().unwrap();
    assert_eq!((line_count(&service), journal.len()), (701, 0));
    assert!(journal.queue.must_defer(), "no write is deferred");
    assert_eq!(counted(&service), (701, 1));
}

#[test]
fn a_report_waits_for_the_outcome_of_a_write_even_if_a_later_commit_is_known() {
    let (service, journal) = held();
    visit(&service, 7, "app");
    let (mut write, written) = run(&service, DeferredRecords::of(&journal), true);
    assert!(journal.must_settle() && !journal.has_pending());
    let later = service.store().write(Isolation::Alone, |tx| {
        tx.touch(crate::store::Topic::Counts);
        Ok::<_, StoreError>(())
    });
    later.unwrap();
    assert!(journal.must_settle());
    let _ = write.done(written);
    assert!(!journal.must_settle());
    // The same for a write that never learns the outcome.
    visit(&service, 7, "app");
    let (write, _) = run(&service, DeferredRecords::of(&journal), true);
    assert!(journal.must_settle());
    drop(write);
    assert!(!journal.must_settle());
}

#[test]
fn a_flush_includes_what_a_running_write_gives_back() {
    let (service, journal) = held();
    for from in 0..6_000 {
        visit(&service, from, "app");
    }
    let mut taken = Vec::new();
    while journal.len() > 0 {
        journal.queue.take(&mut taken);
    }
    journal.queue.begin_write();
    journal.queue.deferred_dropped();
    let (started, is_running) = channel();
    let (finish, may_finish) = channel::<()>();
    let running = service.store().submit(Isolation::Alone, move |_| {
        let _ = started.send(());
        let _ = may_finish.recv();
        Ok::<_, StoreError>(())
    });
    is_running.recv().unwrap();
    std::thread::scope(|scope| {
        let flush = scope.spawn(|| service.analysis().flush());
        while service.store().waiting() == 0 {
            std::thread::yield_now();
        }
        journal.queue.give_back(taken.drain(..));
        journal.queue.end_write();
        drop(finish);
        flush.join().unwrap().unwrap();
    });
    running.wait().unwrap();
    assert_eq!((line_count(&service), journal.len()), (6_000, 0));
}

#[test]
fn a_flood_leaves_room_for_other_clients_and_is_counted_completely() {
    let (service, journal) = held();
    for _ in 0..40_000 {
        visit(&service, 7, "app");
    }
    assert_eq!((journal.len(), journal.lost()), (24_576, 40_000 - 24_576));
    visit(&service, 8, "app");
    assert_eq!(journal.len(), 24_577, "a different client has its own limit");
    // Now two thousand a second are allowed; a different user agent does not make a different client.
    service.clock().advance(500);
    for n in 0..2_000 {
        visit(&service, 7, &format!("app {n}"));
    }
    assert_eq!(journal.len(), 24_577 + 1_000);
    journal.queue.deferred_dropped();
    while journal.must_settle() {
        journal.settle(service.store()).unwrap();
        service.clock().advance(1_000);
    }
    assert_eq!(line_count(&service), 25_577);
    assert_eq!(counted(&service).0, 42_001);
}

#[test]
fn crawler_communications_without_a_line_are_counted_as_crawlers() {
    let (service, journal) = held();
    for _ in 0..24_600 {
        visit(&service, 7, "Googlebot/2.1 (+http://www.google.com/bot.html)");
    }
    while write_slice(&service, &journal) == ControlFlow::Continue(()) {}
    assert_eq!((journal.lost(), journal.crawled()), (24, 24_600));
}

#[test]
fn visitors_are_written_a_limited_number_at_a_time() {
    let (service, journal) = held();
    for n in 0..1_000 {
        visit(&service, 7, &format!("app {n}"));
    }
    let mut records = Vec::new();
    journal.queue.take(&mut records);
    let calendar = Arc::clone(&service.analysis().calendar);
    let written = service.store().write(Isolation::Alone, move |tx| {
        write(tx, &calendar, &mut RequestKeys::default(), &records, TimeSlice::unlimited())
    });
    assert_eq!(written.unwrap().records, 512);
}
