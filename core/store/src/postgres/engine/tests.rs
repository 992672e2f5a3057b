//! Tests of reads on a server with few connections.

use std::thread;

use tidings_cluster::{Cluster, is_installed};

use crate::Store;
use crate::location::Location;

#[test]
fn reads_wait_for_a_connection_of_a_server_that_has_none_free() {
    if !is_installed("reads on a server with few connections") {
        return;
    }
    // Three of them are for the writer, the watching thread and the test.
    let cluster = Cluster::builder().fast().set("max_connections", "6").start().expect("it is installed");
    let database = cluster.database();
    let store = Store::open(&Location::from(database.url())).unwrap();
    let read = || {
        let slow = "SELECT CAST(pg_sleep(0.05) AS text) || '1'";
        store.read(|tx| tx.one(slow, &[])?.take::<String>(0))
    };
    thread::scope(|scope| {
        let reads: Vec<_> = (0..16).map(|_| scope.spawn(read)).collect();
        for result in reads {
            assert_eq!(result.join().unwrap().unwrap(), "1");
        }
    });
}
