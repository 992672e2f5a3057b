//! Content codings: what a client accepts, and the compression of responses. gzip is computed when a response is sent for the
//! first time. Brotli is about a fifth smaller, but takes 30 times as long. So it is only for responses that several callers share
//! and that are requested again: one thread computes it once for each of them, in the background, and until then clients get gzip.

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use brotli::enc::BrotliEncoderParams;
use bytes::Bytes;
use crossbeam_channel::{Receiver, Sender};
use flate2::Compression;
use flate2::write::GzEncoder;
use http::HeaderMap;
use http::header::ACCEPT_ENCODING;
use tidings_core::answer::Encoded;

use crate::filter::accept::weight_of;
use crate::filter::forms::Forms as _;
use crate::filter::lane;

pub(crate) const WORTH_COMPRESSING: usize = 1_024;
/// The largest response that is compressed with Brotli, in bytes.
const BROTLI_MAX: usize = 2 * 1024 * 1024;
/// The base-2 logarithms of the smallest and the largest window. A window of the size of the response finds the same repetitions
/// as a larger one. The encoder's memory is 36 MiB or less with the largest window, and 3 MiB for 40 kB.
const WINDOW_BITS: std::ops::RangeInclusive<u8> = 10..=20;
const QUEUE: usize = 64;
/// The thread rests this many times as long as it worked, so that it uses at most a fifth of a core even if responses of usual
/// sizes change continuously. The largest take longer than a quarter of [`REST_MAX`].
const REST: u32 = 4;
const REST_MAX: Duration = Duration::from_secs(1);

/// A client accepts these codings at least as much as an uncompressed response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Accepted {
    /// False if the client prefers gzip. The client may accept gzip as well.
    pub(crate) brotli: bool,
    pub(crate) gzip: bool,
}

impl Accepted {
    /// `*` stands for gzip, but not for Brotli: only a client that names it surely decodes it. A client that accepts nothing, not
    /// even an uncompressed response, gets an uncompressed one. Source: RFC 9110 section 12.5.3.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        const CODINGS: [&[&str]; 4] = [&["br"], &["gzip", "x-gzip"], &["identity"], &["*"]];
        let mut weights = [None; 4];
        let lines = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|line| line.to_str().ok());
        for coding in lines.flat_map(|line| line.split(',')) {
            let (name, parameters) = coding.split_once(';').unwrap_or((coding, ""));
            let is = |known: &&str| known.eq_ignore_ascii_case(name.trim());
            if let Some(known) = CODINGS.iter().position(|names| names.iter().any(is)) {
                weights[known].get_or_insert_with(|| weight_of(parameters));
            }
        }
        let [brotli, gzip, identity, other] = weights;
        let weight = |given: Option<f32>| given.unwrap_or(0.0);
        let (brotli, gzip, identity) = (weight(brotli), weight(gzip.or(other)), weight(identity.or(other)));
        Self {
            brotli: brotli > 0.0 && brotli >= gzip && brotli >= identity,
            gzip: gzip > 0.0 && gzip >= identity,
        }
    }
}

pub(crate) fn gzip(bytes: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 3), Compression::default());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("writing to memory does not fail").into()
}

#[derive(Clone, Copy)]
pub(crate) enum Level {
    /// The next level takes 2.5 times as long for 2 % less; the previous one hardly compresses better than gzip.
    Answer = 10,
    File = 11,
}

fn brotli(bytes: &[u8], level: Level) -> Bytes {
    let window = WINDOW_BITS.clone().find(|bits| bytes.len() + 16 <= 1 << bits).unwrap_or(*WINDOW_BITS.end());
    let parameters = BrotliEncoderParams {
        quality: level as i32,
        lgwin: window.into(),
        size_hint: bytes.len(),
        ..BrotliEncoderParams::default()
    };
    let mut compressed = Vec::with_capacity(bytes.len() / 4);
    brotli::BrotliCompress(&mut &*bytes, &mut compressed, &parameters)
        .expect("writing to memory does not fail");
    compressed.into()
}

type Job = (Weak<Encoded>, Level);

pub(crate) struct Compressor(Sender<Job>);

impl Compressor {
    pub(crate) fn new() -> Self {
        let (jobs, next) = crossbeam_channel::bounded(QUEUE);
        std::thread::spawn(move || {
            lane::lower_priority();
            run(&next);
        });
        Self(jobs)
    }

    /// Queues a response that a client with these codings asked for, if Brotli is worth it. Never blocks.
    pub(crate) fn offer(&self, response: &Arc<Encoded>, accepted: Accepted, level: Level) {
        let fits = (WORTH_COMPRESSING..=BROTLI_MAX).contains(&response.json().len());
        if accepted.brotli
            && fits
            && response.claim_brotli()
            && self.0.try_send((Arc::downgrade(response), level)).is_err()
        {
            response.release_brotli();
        }
    }
}

fn run(jobs: &Receiver<Job>) {
    for (response, level) in jobs {
        let Some(response) = response.upgrade() else { continue };
        let began = Instant::now();
        // A mistake in the encoder must not end the thread.
        if catch_unwind(AssertUnwindSafe(|| compress(&response, level))).is_err() {
            tracing::error!("a response could not be compressed with Brotli");
        }
        drop(response);
        std::thread::sleep((began.elapsed() * REST).min(REST_MAX));
    }
}

fn compress(response: &Encoded, level: Level) {
    // Copied only if it is stored, without the spare capacity.
    let made = brotli(response.json(), level);
    // A client that does not accept gzip may have been the first: computing it here could make others wait for this thread.
    let other = response.gzip().unwrap_or(response.json());
    if made.len() <= other.len() / 10 * 9 {
        response.set_brotli(Bytes::copy_from_slice(&made));
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    fn accepted(lines: &[impl AsRef<[u8]>]) -> Accepted {
        let line = |line: &[u8]| (ACCEPT_ENCODING, HeaderValue::from_bytes(line).unwrap());
        Accepted::of(&lines.iter().map(|bytes| line(bytes.as_ref())).collect())
    }

    const BOTH: Accepted = Accepted { brotli: true, gzip: true };
    const GZIP: Accepted = Accepted { brotli: false, gzip: true };
    const BROTLI: Accepted = Accepted { brotli: true, gzip: false };
    const NONE: Accepted = Accepted { brotli: false, gzip: false };

    #[test]
    fn the_coding_with_the_greatest_weight_is_used() {
        for (header, expected) in [
            ("gzip, deflate, br, zstd", BOTH),
            ("BR , x-GZIP", BOTH),
            ("gzip; q = 0", NONE),
            ("gzip;q =0, br", BROTLI),
            ("gzip;;q=0", NONE),
            ("gzip;x=1;q=0", NONE),
            ("", NONE),
            ("zstd, deflate", NONE),
            ("gzip;q=x, br;q=NaN", NONE),
            ("gzip;q=-1, br;q=", NONE),
        ] {
            assert_eq!(accepted(&[header]), expected, "{header}");
        }
        assert_eq!(accepted(&["br", "gzip"]), BOTH);
        assert_eq!(accepted(&[b"\xff, br".as_slice(), b"gzip"]), GZIP);
        assert_eq!(Accepted::of(&HeaderMap::new()), NONE);
    }

    /// Returns the text of a weight in thousandths, in one of the forms that RFC 9110 allows.
    fn q(thousandths: u16) -> String {
        match thousandths {
            1_000 => "1.000".into(),
            _ => format!("0.{thousandths:03}").trim_end_matches('0').to_owned(),
        }
    }

    proptest! {
        #[test]
        fn the_choice_follows_the_weights_in_any_order_and_spelling(
            weights in prop::array::uniform4(prop::option::of(prop_oneof![Just(0_u16), Just(1_000), 0..=1_000_u16])),
            order in Just([0, 1, 2, 3]).prop_shuffle(),
            is_upper in any::<bool>(),
            space in "[ \t]{0,2}",
            split in any::<bool>(),
        ) {
            let names = ["br", "gzip", "identity", "*"];
            let coding = |at: usize| {
                let name = if is_upper { names[at].to_uppercase() } else { names[at].to_owned() };
                Some(format!("{space}{name}{space};{space}q={}{space}", q(weights[at]?)))
            };
            let codings: Vec<String> = order.into_iter().filter_map(coding).collect();
            let accepted = if split { accepted(&codings) } else { accepted(&[codings.join(",")]) };
            let [brotli, gzip, identity, other] = weights;
            let of = |own: Option<u16>| own.or(other).unwrap_or(0);
            let (brotli, gzip, identity) = (brotli.unwrap_or(0), of(gzip), of(identity));
            prop_assert_eq!(accepted.brotli, brotli > 0 && brotli >= gzip.max(identity));
            prop_assert_eq!(accepted.gzip, gzip > 0 && gzip >= identity);
        }
    }

    fn long() -> Arc<Encoded> {
        let numbers: Vec<String> = (0..2_000).map(|number| format!("number {}", number * 7_919)).collect();
        Arc::new(Encoded::new(numbers.join(", ")))
    }

    fn idle() -> (Compressor, Receiver<Job>) {
        let (jobs, next) = crossbeam_channel::bounded(QUEUE);
        (Compressor(jobs), next)
    }

    #[test]
    fn a_response_of_medium_size_is_queued_once_when_it_is_asked_for_again() {
        let (compressor, jobs) = idle();
        let response = long();
        for (accepted, queued) in [(BOTH, 0), (GZIP, 0), (GZIP, 0), (BOTH, 1), (BOTH, 1), (BOTH, 1)] {
            compressor.offer(&response, accepted, Level::Answer);
            assert_eq!(jobs.len(), queued);
        }
        for size in [WORTH_COMPRESSING - 1, BROTLI_MAX + 1] {
            let other = Arc::new(Encoded::new(vec![b' '; size]));
            for _ in 0..3 {
                compressor.offer(&other, BOTH, Level::Answer);
            }
        }
        assert_eq!(jobs.len(), 1);
    }

    #[test]
    fn a_response_that_finds_the_queue_full_is_queued_later() {
        let (compressor, jobs) = idle();
        let ask_twice = |response: &Arc<Encoded>| {
            compressor.offer(response, BOTH, Level::Answer);
            compressor.offer(response, BOTH, Level::Answer);
        };
        let responses: Vec<_> = (0..=QUEUE).map(|_| long()).collect();
        responses.iter().for_each(ask_twice);
        assert_eq!(jobs.len(), QUEUE);
        assert!(Weak::ptr_eq(&jobs.recv().unwrap().0, &Arc::downgrade(&responses[0])));
        compressor.offer(&responses[QUEUE], BOTH, Level::Answer);
        let last = jobs.try_iter().last().unwrap();
        assert!(Weak::ptr_eq(&last.0, &Arc::downgrade(&responses[QUEUE])));
    }

    #[test]
    fn replaced_responses_are_skipped_and_the_others_get_a_dense_form() {
        let (compressor, jobs) = idle();
        let (replaced, response) = (long(), long());
        for _ in 0..2 {
            compressor.offer(&replaced, BROTLI, Level::Answer);
            compressor.offer(&response, BROTLI, Level::Answer);
        }
        drop(replaced);
        drop(compressor);
        run(&jobs);
        let mut unpacked = Vec::new();
        brotli::BrotliDecompress(&mut &**response.brotli().unwrap(), &mut unpacked).unwrap();
        assert_eq!(unpacked, *response.json());
    }

    #[test]
    fn a_dense_form_is_dropped_unless_it_is_a_tenth_smaller_than_gzip() {
        // Bytes without repetitions, as in a picture.
        let next = |n: &u32| Some(n ^ (n << 13)).map(|n| n ^ (n >> 17)).map(|n| n ^ (n << 5));
        let noise: Vec<u8> =
            std::iter::successors(Some(1_u32), next).take(1_024).flat_map(u32::to_le_bytes).collect();
        let noise = Encoded::new(noise);
        noise.compress(gzip);
        compress(&noise, Level::File);
        assert!(noise.brotli().is_none());
        let text = long();
        text.compress(gzip);
        compress(&text, Level::Answer);
        assert!(text.brotli().unwrap().len() * 10 <= text.gzip().unwrap().len() * 9);
    }
}
