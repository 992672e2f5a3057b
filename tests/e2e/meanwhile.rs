//! Load: what others do while a test looks at something.

use std::sync::atomic::{AtomicBool, Ordering};

/// Something that is done again and again.
pub(crate) type Act<'a> = Box<dyn FnMut() + Send + 'a>;

/// Does each of `acts` again and again, on a thread of its own, for as long as `work` lasts.
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

/// Sets a flag when it goes, also when a test fails: nobody works on for ever.
pub(crate) struct SetAtLast<'a>(pub(crate) &'a AtomicBool);

impl Drop for SetAtLast<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
