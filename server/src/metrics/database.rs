//! The metrics of a database on a PostgreSQL server.

use prometheus::core::Collector;
use prometheus::{Gauge, GaugeVec, IntCounter, IntCounterVec, Opts, Registry};
use tidings_core::stats::ServerGauges;

use super::NAMESPACE;

/// Returns what the server and its standbys report. The labels are the names of at most 16 standbys.
pub(super) fn registry(server: &ServerGauges) -> prometheus::Result<Registry> {
    let registry = Registry::new_custom(Some(NAMESPACE.to_owned()), None)?;
    let add = |collector: Box<dyn Collector>| registry.register(collector);
    add(Box::new(gauge("write_lanes", "Write lanes that all servers hold.", number(server.lanes))?))?;
    let readers = vector("read_connections", "Connections for reading by state.", &["state"])?;
    readers.with_label_values(&["busy"]).set(number(server.readers_busy as u64));
    readers.with_label_values(&["idle"]).set(number((server.readers - server.readers_busy) as u64));
    add(Box::new(readers))?;
    let waiting = "Reads that wait for a connection.";
    add(Box::new(gauge("reads_waiting", waiting, number(server.reads_waiting as u64))?))?;
    for (name, help, value) in
        [("reads_waited_total", "Reads that had to wait for a connection.", server.reads_waited)]
    {
        let counter = IntCounter::new(name, help)?;
        counter.inc_by(value);
        add(Box::new(counter))?;
    }
    let retries = Opts::new("transactions_retried_total", "Transactions that were tried again by reason.");
    let retries = IntCounterVec::new(retries, &["reason"])?;
    for (reason, count) in [
        ("conflict", server.retries.conflict),
        ("connection", server.retries.connection),
        ("server", server.retries.server),
    ] {
        retries.with_label_values(&[reason]).inc_by(count);
    }
    add(Box::new(retries))?;
    let lag = "Seconds until a standby had replayed a recent commit, as the primary measured it.";
    let lag = vector("replication_lag_seconds", lag, &["standby", "state"])?;
    for follower in &server.followers {
        let seconds = number(follower.lag_ms.unsigned_abs()) / 1_000.0;
        lag.with_label_values(&[&*follower.name, &*follower.state]).set(seconds);
    }
    add(Box::new(lag))?;
    Ok(registry)
}

fn gauge(name: &str, help: &str, value: f64) -> prometheus::Result<Gauge> {
    let gauge = Gauge::new(name, help)?;
    gauge.set(value);
    Ok(gauge)
}

fn vector(name: &str, help: &str, labels: &[&str]) -> prometheus::Result<GaugeVec> {
    GaugeVec::new(Opts::new(name, help), labels)
}

#[expect(clippy::cast_precision_loss, reason = "a gauge needs no more than 52 bits")]
fn number(value: u64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use prometheus::TextEncoder;
    use tidings_core::stats::{Follower, Retries};

    use super::*;

    #[test]
    fn the_page_has_the_connections_the_retries_and_the_standbys() {
        let server = ServerGauges {
            lanes: 3,
            readers: 5,
            readers_busy: 2,
            reads_waiting: 1,
            reads_waited: 7,
            retries: Retries { conflict: 4, connection: 1, server: 0 },
            followers: vec![Follower { name: "b".into(), state: "sync".into(), lag_ms: 20 }],
        };
        let page = TextEncoder::new().encode_to_string(&registry(&server).unwrap().gather()).unwrap();
        let samples: Vec<&str> = page.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            samples,
            [
                r#"tidings_read_connections{state="busy"} 2"#,
                r#"tidings_read_connections{state="idle"} 3"#,
                "tidings_reads_waited_total 7",
                "tidings_reads_waiting 1",
                r#"tidings_replication_lag_seconds{standby="b",state="sync"} 0.02"#,
                r#"tidings_transactions_retried_total{reason="conflict"} 4"#,
                r#"tidings_transactions_retried_total{reason="connection"} 1"#,
                r#"tidings_transactions_retried_total{reason="server"} 0"#,
                "tidings_write_lanes 3",
            ]
        );
    }
}
