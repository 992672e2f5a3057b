//! A table of fixed size for what is remembered of failures, found by a keyed hash.
//!
//! Each key belongs to one bucket of [`WAYS`] slots, and no key can be chosen to belong to a certain one. A bucket that
//! is full gives up the entry that is worth least, so a flood of new keys takes the place of other small entries and
//! never of one that makes its client wait.

use crate::clock::Monotonic;

/// Slots of a bucket.
const WAYS: usize = 8;

/// What is remembered under a key; its default is what nothing is remembered of.
pub(super) trait State: Default {
    /// What is lost when this is forgotten, less is forgotten first; `None` when it is nothing.
    fn worth(&self, now: Monotonic) -> Option<Worth>;
}

/// Whether it makes its client wait now, how many failures it counts, when the last was.
pub(super) type Worth = (bool, u8, Monotonic);

#[derive(Default)]
struct Slot<S> {
    key: u64,
    state: S,
}

/// `BUCKETS` buckets, each made when it is first needed.
pub(super) struct Table<S, const BUCKETS: usize> {
    buckets: Vec<Option<Box<[Slot<S>; WAYS]>>>,
    /// The bucket that is looked at next for being out of date.
    sweep: usize,
}

impl<S: State, const BUCKETS: usize> Table<S, BUCKETS> {
    /// The most bytes that a table takes, with what an allocator may add to each bucket.
    pub(super) const BYTES_MAX: usize = BUCKETS * (size_of::<Option<Box<()>>>() + Self::BUCKET_BYTES + 16);
    const BUCKET_BYTES: usize = size_of::<[Slot<S>; WAYS]>();

    /// An empty table, which takes no memory.
    pub(super) const fn new() -> Self {
        Self { buckets: Vec::new(), sweep: 0 }
    }

    /// What is remembered under a key.
    pub(super) fn get(&mut self, key: u64, now: Monotonic) -> Option<&mut S> {
        let slots = self.buckets.get_mut(Self::bucket(key))?.as_mut()?;
        let slot = slots.iter_mut().find(|slot| slot.key == key && slot.state.worth(now).is_some())?;
        Some(&mut slot.state)
    }

    /// The same, new where there is nothing yet.
    pub(super) fn entry(&mut self, key: u64, now: Monotonic) -> &mut S {
        self.sweep(now);
        let slots = self.buckets[Self::bucket(key)]
            .get_or_insert_with(|| Box::new(std::array::from_fn(|_| Slot::default())));
        let known = slots.iter().position(|slot| slot.key == key && slot.state.worth(now).is_some());
        let place = known.unwrap_or_else(|| {
            let least = (0..WAYS).min_by_key(|place| slots[*place].state.worth(now)).unwrap_or_default();
            slots[least] = Slot { key, state: S::default() };
            least
        });
        &mut slots[place].state
    }

    /// Gives back the memory of one bucket, each time another, when all in it is out of date.
    fn sweep(&mut self, now: Monotonic) {
        self.buckets.resize_with(BUCKETS, || None);
        let bucket = &mut self.buckets[self.sweep];
        if bucket.as_ref().is_some_and(|slots| slots.iter().all(|slot| slot.state.worth(now).is_none())) {
            *bucket = None;
        }
        self.sweep = (self.sweep + 1) % BUCKETS;
    }

    fn bucket(key: u64) -> usize {
        const { assert!(BUCKETS.is_power_of_two(), "a mask chooses the bucket") };
        usize::try_from(key & (BUCKETS as u64 - 1)).expect("less than the buckets")
    }

    /// The bytes it takes now.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.buckets.capacity() * size_of::<Option<Box<()>>>()
            + self.buckets.iter().flatten().count() * (Self::BUCKET_BYTES + 16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Monotonic = Monotonic::from_millis(0);
    /// When nothing counts any more.
    const LATER: Monotonic = Monotonic::from_millis(100);

    #[derive(Default)]
    struct Failures(u8);

    impl State for Failures {
        fn worth(&self, now: Monotonic) -> Option<Worth> {
            (self.0 > 0 && now < LATER).then_some((self.0 > 5, self.0, NOW))
        }
    }

    #[test]
    fn a_full_bucket_gives_up_what_is_worth_least() {
        let mut table = Table::<Failures, 1>::new();
        for key in 0..8 {
            table.entry(key, NOW).0 = u8::try_from(key + 2).unwrap();
        }
        for key in 100..1_000 {
            table.entry(key, NOW).0 = 1;
        }
        let kept: Vec<u64> = (0..8).filter(|key| table.get(*key, NOW).is_some()).collect();
        assert_eq!(kept, [1, 2, 3, 4, 5, 6, 7], "one place is left to the flood");
        assert!(table.get(999, NOW).is_some(), "the newest is remembered");
    }

    #[test]
    fn what_is_out_of_date_is_nothing_and_its_memory_is_given_back() {
        let mut table = Table::<Failures, 4>::new();
        for key in 0..32 {
            table.entry(key, NOW).0 = 9;
        }
        let full = table.bytes();
        assert!(full <= Table::<Failures, 4>::BYTES_MAX);
        assert!(table.get(1, LATER).is_none());
        for _ in 0..4 {
            table.entry(1, LATER).0 = 0;
        }
        assert!(table.bytes() < full, "{} of {full}", table.bytes());
    }
}
