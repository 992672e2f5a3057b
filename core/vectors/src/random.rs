/// The word model, the demo data, the fuzz driver and the tests rely on the exact sequence of a seed, so it must not change, nor
/// depend on the machine. Not suitable for secrets. Source: `SplitMix64`, Steele, Lea and Flood, *Fast splittable pseudorandom
/// number generators*, OOPSLA 2014.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// 0 when `end` is 0. The bias is negligible for an `end` far below 2^64.
    pub fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.number() % end.max(1) as u64).expect("the remainder is below a `usize`")
    }

    /// From -1 to 1.
    pub fn uniform(&mut self) -> f32 {
        #[expect(clippy::cast_precision_loss, reason = "24 bits are exact")]
        let steps = (self.number() >> 40) as f32;
        steps / 8_388_608.0 - 1.0
    }

    /// Panics when `list` is empty.
    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }

    /// By the Fisher-Yates method.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for end in (1..list.len()).rev() {
            list.swap(end, self.below(end + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_that_of_the_source() {
        let mut random = Random::new(1_234_567);
        let numbers = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973];
        assert_eq!([random.number(), random.number()], numbers);
    }

    #[test]
    fn a_shuffled_list_has_the_same_elements() {
        let (mut random, mut list) = (Random::new(1), [0, 1, 2, 3, 4, 5, 6, 7]);
        random.shuffle(&mut list);
        assert_ne!(list, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert!(list.contains(random.pick(&[0, 7])));
        list.sort_unstable();
        assert_eq!(list, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(random.below(0), 0);
    }
}
