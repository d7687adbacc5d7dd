//! Mutations of bytes, lines and length fields.

use straightedge_random::Random;

use super::draw::{odd_number, pick, place};

/// Bytes after which an input is not made longer.
const LONGEST: usize = 1 << 16;

/// A few bytes replaced, removed, repeated or inserted; new ones come from `signs` if there are any.
pub(super) fn mutate(random: &mut Random, input: &mut Vec<u8>, signs: Option<&[u8]>) {
    for _ in 0..=random.below(3) {
        let at = place(random, input.len());
        let byte = match signs.and_then(|signs| pick(random, signs)) {
            Some(&sign) if random.below(8) > 0 => sign,
            _ => random.below(256) as u8,
        };
        match random.below(9) {
            0 if at < input.len() => drop(input.remove(at)),
            1 => input.truncate(at),
            2 => input.insert(at, byte),
            3 if input.len() < LONGEST => {
                let end = (at + random.below(64)).min(input.len());
                let part = input[at..end].repeat(1 + random.below(4));
                input.splice(at..at, part);
            }
            4 => drop(input.drain(at..(at + random.below(64)).min(input.len()))),
            5 if at < input.len() => input[at] ^= 1 << random.below(8),
            6 => number(random, input, at),
            _ if at < input.len() => input[at] = byte,
            _ => input.push(byte),
        }
    }
}

/// Writes an odd number of one to eight bytes, little-endian.
fn number(random: &mut Random, input: &mut [u8], at: usize) {
    let bytes = odd_number(random).to_le_bytes();
    let width = [1, 2, 4, 8][random.below(4)];
    for (place, byte) in input.iter_mut().skip(at).zip(&bytes[..width]) {
        *place = *byte;
    }
}

/// Bytes with length fields: one is changed where it is likely, at the end or the beginning, or two inputs are joined.
pub(super) fn records(random: &mut Random, input: &[u8], others: &[Vec<u8>]) -> Vec<u8> {
    let mut input = input.to_vec();
    let len = input.len();
    match random.below(4) {
        // Footers are at the end.
        0 => {
            let at = len.saturating_sub(1 + random.below(16));
            number(random, &mut input, at);
        }
        1 => {
            let at = len.saturating_sub(1 + random.below(400));
            let end = (at + 1 + random.below(3)).min(len);
            input[at..end].iter_mut().for_each(|byte| *byte = [0, 0x7f, 0x80, 0xff, *byte ^ 1][random.below(5)]);
        }
        2 => {
            let at = random.below(64).min(len);
            number(random, &mut input, at);
        }
        _ => {
            if let Some(other) = pick(random, others) {
                input.truncate(place(random, len));
                input.extend(&other[place(random, other.len()).min(other.len())..]);
            }
        }
    }
    if random.below(2) == 0 {
        mutate(random, &mut input, None);
    }
    input
}

/// Lines of words between tabs: words replaced, lines removed, repeated and taken from other inputs.
pub(super) fn lines(random: &mut Random, input: &[u8], others: &[Vec<u8>]) -> Vec<u8> {
    let mut lines: Vec<Vec<Vec<u8>>> = input
        .split(|byte| *byte == b'\n')
        .map(|line| line.split(|byte| *byte == b'\t').map(Into::into).collect())
        .collect();
    for _ in 0..=random.below(3) {
        let at = place(random, lines.len());
        match random.below(5) {
            0 if lines.len() > 1 => drop(lines.remove(at)),
            1 => {
                let again = vec![lines[at].clone(); 1 + random.below(100)];
                lines.splice(at..at, again);
            }
            2 => lines[at].push(odd_number(random).to_string().into_bytes()),
            3 => {
                let word = place(random, lines[at].len());
                lines[at][word] = odd_number(random).to_string().into_bytes();
            }
            _ => {
                let other = pick(random, others).and_then(|other| other.split(|byte| *byte == b'\n').next_back());
                lines[at].extend(other.map(<[u8]>::to_vec));
            }
        }
    }
    let lines: Vec<Vec<u8>> = lines.iter().map(|words| words.join(&b'\t')).collect();
    lines.join(&b'\n')
}
