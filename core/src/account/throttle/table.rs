//! A table of fixed size for failures, looked up by a keyed hash.
//!
//! A key belongs to one bucket of [`WAYS`] entries; attackers cannot choose the bucket because the hash is keyed. A
//! new entry in a full bucket replaces the least important one, so a flood of new keys replaces other small entries,
//! but not the entry of a client that has to wait.

/// The number of entries of a bucket.
pub(super) const WAYS: usize = 8;

/// A point in time in milliseconds, of the clock that all users of a table share.
pub(super) type Moment = i64;

/// The state of a key; the default is the state of an unknown key.
pub(super) trait State: Default {
    /// Returns the importance of the state: the least important state is replaced first. `None` means that the state
    /// is out of date.
    fn worth(&self, now: Moment) -> Option<Worth>;
}

/// The importance of a state: whether the client has to wait now, the number of failures, and the time of the last
/// failure.
pub(super) type Worth = (bool, u8, Moment);

/// The state of a key.
#[derive(Default)]
pub(super) struct Entry<S> {
    pub(super) key: u64,
    pub(super) state: S,
}

/// The entries of a bucket. Those that are not used have the default state.
pub(super) struct Bucket<S>(pub(super) [Entry<S>; WAYS]);

impl<S: State> Default for Bucket<S> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Entry::default()))
    }
}

impl<S: State> Bucket<S> {
    /// Returns the state of a key, or `None` if it is unknown or out of date.
    pub(super) fn get(&mut self, key: u64, now: Moment) -> Option<&mut S> {
        let known = |entry: &&mut Entry<S>| entry.key == key && entry.state.worth(now).is_some();
        self.0.iter_mut().find(known).map(|entry| &mut entry.state)
    }

    /// Returns the state of a key, inserting the default state if the key is unknown or out of date.
    pub(super) fn entry(&mut self, key: u64, now: Moment) -> &mut S {
        let Self(entries) = self;
        let known = entries.iter().position(|entry| entry.key == key && entry.state.worth(now).is_some());
        let place = known.unwrap_or_else(|| {
            let least = (0..WAYS).min_by_key(|place| entries[*place].state.worth(now)).unwrap_or_default();
            entries[least] = Entry { key, state: S::default() };
            least
        });
        &mut entries[place].state
    }
}

/// A table of `BUCKETS` buckets, each of which is allocated when it is first used.
pub(super) struct Table<S, const BUCKETS: u64> {
    buckets: Vec<Option<Box<Bucket<S>>>>,
    /// The next bucket to check for being out of date.
    sweep: usize,
}

impl<S: State, const BUCKETS: u64> Table<S, BUCKETS> {
    /// The maximum size of a table in bytes, including an estimate of the allocator's overhead per bucket.
    pub(super) const BYTES_MAX: usize =
        Self::LENGTH * (size_of::<Option<Box<()>>>() + Self::BUCKET_BYTES + 16);
    const BUCKET_BYTES: usize = size_of::<Bucket<S>>();
    #[expect(clippy::cast_possible_truncation, reason = "a few thousand")]
    const LENGTH: usize = BUCKETS as usize;

    /// Returns an empty table, which allocates no memory.
    pub(super) const fn new() -> Self {
        Self { buckets: Vec::new(), sweep: 0 }
    }

    /// Returns the state of a key, or `None` if it is unknown or out of date.
    pub(super) fn get(&mut self, key: u64, now: Moment) -> Option<&mut S> {
        self.buckets.get_mut(Self::bucket(key))?.as_mut()?.get(key, now)
    }

    /// Returns the state of a key, inserting the default state if the key is unknown or out of date.
    pub(super) fn entry(&mut self, key: u64, now: Moment) -> &mut S {
        self.sweep(now);
        self.buckets[Self::bucket(key)].get_or_insert_default().entry(key, now)
    }

    /// Frees one bucket if all its entries are out of date. Each call checks the next bucket.
    fn sweep(&mut self, now: Moment) {
        self.buckets.resize_with(Self::LENGTH, || None);
        let bucket = &mut self.buckets[self.sweep];
        let is_counted = |entry: &Entry<S>| entry.state.worth(now).is_some();
        if bucket.as_ref().is_some_and(|bucket| !bucket.0.iter().any(is_counted)) {
            *bucket = None;
        }
        self.sweep = (self.sweep + 1) % Self::LENGTH;
    }

    fn bucket(key: u64) -> usize {
        usize::try_from(bucket_of(key, BUCKETS)).expect("the number of buckets is a usize")
    }

    /// Returns the current size of the table in bytes.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.buckets.capacity() * size_of::<Option<Box<()>>>()
            + self.buckets.iter().flatten().count() * (Self::BUCKET_BYTES + 16)
    }
}

/// Returns the bucket of a key, of so many.
pub(super) const fn bucket_of(key: u64, buckets: u64) -> u64 {
    assert!(buckets.is_power_of_two(), "a mask chooses the bucket");
    key & (buckets - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = 0;
    /// The time from which all failures are out of date.
    const LATER: Moment = 100;

    #[derive(Default)]
    struct Failures(u8);

    impl State for Failures {
        fn worth(&self, now: Moment) -> Option<Worth> {
            (self.0 > 0 && now < LATER).then_some((self.0 > 5, self.0, NOW))
        }
    }

    #[test]
    fn a_new_entry_replaces_the_least_important_one_of_a_full_bucket() {
        let mut table = Table::<Failures, 1>::new();
        for key in 0..8 {
            table.entry(key, NOW).0 = u8::try_from(key + 2).unwrap();
        }
        for key in 100..1_000 {
            table.entry(key, NOW).0 = 1;
        }
        let kept: Vec<u64> = (0..8).filter(|key| table.get(*key, NOW).is_some()).collect();
        assert_eq!(kept, [1, 2, 3, 4, 5, 6, 7], "the flood replaces one entry only");
        assert!(table.get(999, NOW).is_some(), "the newest entry is stored");
    }

    #[test]
    fn entries_that_are_out_of_date_are_unknown_and_their_memory_is_freed() {
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
