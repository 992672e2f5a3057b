//! Mutates inputs by small changes.

use tidings_vectors::Random;

/// Boundary numbers, and texts that many parsers treat specially.
const TOKENS: [&str; 40] = [
    "0",
    "-0",
    "-1",
    "1",
    "127",
    "128",
    "255",
    "256",
    "32767",
    "32768",
    "65535",
    "65536",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "18446744073709551616",
    "1e308",
    "1e999",
    "NaN",
    "inf",
    "0x10",
    "0.1",
    "\0",
    "\u{feff}",
    "\u{301}",
    "\u{fb2c}",
    "\u{202e}",
    "가",
    "🦀",
    "\r\n",
    "\"",
    "\\",
    "%00",
    "%",
    "../",
];

/// Boundary numbers of binary formats, in little-endian order.
const BOUNDS: [[u8; 4]; 4] = [[0xff; 4], [0; 4], [0xff, 0xff, 0xff, 0x7f], [0, 0, 0, 0x80]];

/// The maximum length of an input in bytes, unless an example is longer.
pub const LENGTH_MAX: usize = 64 << 10;

pub fn input(random: &mut Random, examples: &[Vec<u8>], dictionary: &[&str]) -> Vec<u8> {
    let mut input = random.pick(examples).clone();
    let most = input.len().max(LENGTH_MAX);
    // Mostly make few changes, so that the input stays similar to its example.
    let most_changes = 1 << random.below(5);
    let changes = 1 + random.below(most_changes);
    for _ in 0..changes {
        change(random, &mut input, examples, dictionary);
        input.truncate(most);
    }
    input
}

fn change(random: &mut Random, input: &mut Vec<u8>, examples: &[Vec<u8>], dictionary: &[&str]) {
    let at = random.below(input.len() + 1);
    let long = 1 << random.below(10);
    let end = (at + 1 + random.below(long)).min(input.len());
    let byte = random.below(input.len());
    match random.below(14) {
        0 if !input.is_empty() => input[byte] ^= 1 << random.below(8),
        1 if !input.is_empty() => input[byte] = random.number().to_le_bytes()[0],
        2 => input.truncate(at),
        3 => drop(input.drain(at..end)),
        4 => {
            let part = input[at..end].to_vec();
            let to = random.below(input.len() + 1);
            insert(input, to, &part);
        }
        5 => {
            let part = input[at..end].to_vec();
            let most = 1 << random.below(9);
            let times = 1 + random.below(most);
            insert(input, at, &part.repeat(times.min(LENGTH_MAX / part.len().max(1))));
        }
        6 => {
            let other = random.pick(examples);
            let from = random.below(other.len() + 1);
            input.truncate(at);
            input.extend_from_slice(&other[from..]);
        }
        7 => {
            let other = random.pick(examples);
            let from = random.below(other.len() + 1);
            let to = (from + 1 + random.below(long)).min(other.len());
            insert(input, at, &other[from..to]);
        }
        8 => insert(input, at, &random.number().to_le_bytes()[..=random.below(8)]),
        9 => number(random, input, at),
        10 => {
            // Overwrite bytes with a boundary number of a binary format.
            let bound = random.pick(&BOUNDS);
            let width = *random.pick(&[1, 2, 4]);
            for (byte, bound) in input.iter_mut().skip(at).zip(bound.iter().take(width)) {
                *byte = *bound;
            }
        }
        11 | 12 if !dictionary.is_empty() => insert(input, at, random.pick(dictionary).as_bytes()),
        _ => insert(input, at, random.pick(&TOKENS).as_bytes()),
    }
}

/// Replaces a decimal number at or after a position with another number.
fn number(random: &mut Random, input: &mut Vec<u8>, at: usize) {
    let Some(from) = input.iter().skip(at).position(u8::is_ascii_digit).map(|behind| at + behind) else {
        return;
    };
    let digits = input[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = random.pick(&TOKENS[..26]).bytes();
    input.splice(from..from + digits, number);
}

fn insert(input: &mut Vec<u8>, at: usize, part: &[u8]) {
    input.splice(at..at, part.iter().copied());
}
