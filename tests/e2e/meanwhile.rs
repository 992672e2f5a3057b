//! Runs background load during a test.

use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) type Act<'a> = Box<dyn FnMut() + Send + 'a>;

/// Runs `work` while one thread for each of `acts` calls it repeatedly.
pub(crate) fn meanwhile<T>(acts: Vec<Act<'_>>, work: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _over = SetAtLast(&over);
        for mut act in acts {
            let over = &over;
            scope.spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    act();
                }
            });
        }
        work()
    })
}

/// Sets a flag when dropped, also when a test panics, so that the threads always stop.
pub(crate) struct SetAtLast<'a>(pub(crate) &'a AtomicBool);

impl Drop for SetAtLast<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
