//! Totals of allocations as metrics, for the load benchmark. Only the feature `count-allocations` compiles this module, because
//! counting makes every allocation slower. SQLite allocates with C's `malloc`, so its allocations are not counted.

use mimalloc::MiMalloc;
use prometheus::PullingGauge;
use stats_alloc::StatsAlloc;

#[global_allocator]
static ALLOCATOR: StatsAlloc<MiMalloc> = StatsAlloc::new(MiMalloc);

/// In the default registry, which the metrics page includes.
pub(crate) fn register() {
    gauge("tidings_allocations", "Allocations and reallocations so far.", || {
        let stats = ALLOCATOR.stats();
        stats.allocations + stats.reallocations
    });
    gauge(
        "tidings_allocated_bytes",
        "Bytes of all allocations so far, and of the growth of reallocations.",
        || ALLOCATOR.stats().bytes_allocated,
    );
}

#[expect(clippy::cast_precision_loss, reason = "a benchmark stays below 2^52")]
fn gauge(name: &str, help: &str, total: fn() -> usize) {
    let gauge = PullingGauge::new(name, help, Box::new(move || total() as f64));
    let registered = gauge.and_then(|gauge| prometheus::register(Box::new(gauge)));
    registered.expect("the names are valid, and each is registered once");
}
