//! Mutations of pickles: opcodes removed, repeated, exchanged and inserted; their arguments replaced.

use straightedge_random::Random;

use super::draw::{odd_number, pick, place};

/// Opcodes that a reader may meet, with a short argument where they take one.
const OPCODES: [&[u8]; 26] = [
    b"(",
    b")",
    b"}",
    b"]",
    b"N",
    b"t",
    b"R",
    b"Q",
    b"u",
    b"s",
    b"e",
    b"a",
    b"b",
    b"0",
    b".",
    b"\x85",
    b"\x86",
    b"\x87",
    b"\x88",
    b"\x89",
    b"h\x00",
    b"q\x00",
    b"j\x01\x00\x00\x00",
    b"K\x02",
    b"cos\nsystem\n",
    b"X\x01\x00\x00\x00a",
];

/// Changes a few opcodes.
pub(super) fn mutate(random: &mut Random, input: &[u8]) -> Vec<u8> {
    let mut ops = split(input);
    for _ in 0..=random.below(4) {
        if ops.is_empty() {
            break;
        }
        let (at, other) = (place(random, ops.len()), place(random, ops.len()));
        match random.below(8) {
            0 => drop(ops.remove(at)),
            1 => {
                let again = vec![ops[at].clone(); 1 + random.below(300)];
                ops.splice(at..at, again);
            }
            2 => ops.swap(at, other),
            3 => ops[at] = ops[other].clone(),
            4 => ops.insert(at, pick(random, &OPCODES).map(|op| op.to_vec()).unwrap_or_default()),
            5 => {
                let end = (at + random.below(30)).min(ops.len());
                let part = ops[at..end].to_vec();
                ops.splice(other..other, part);
            }
            _ => argument(random, &mut ops[at]),
        }
    }
    ops.concat()
}

/// Replaces bytes of an argument; the length of a text may then be a lie.
fn argument(random: &mut Random, op: &mut [u8]) {
    let odd = odd_number(random).to_le_bytes();
    let from = 1 + place(random, op.len().saturating_sub(1).min(6));
    let width = 1 + random.below(8);
    for (place, byte) in op.iter_mut().skip(from).zip(&odd[..width]) {
        *place = *byte;
    }
}

/// The opcodes with their arguments; what is cut off or unknown is one byte each.
fn split(mut rest: &[u8]) -> Vec<Vec<u8>> {
    let mut ops = Vec::new();
    while let Some(op) = rest.first() {
        let line = |from: usize| rest[from..].iter().position(|byte| *byte == b'\n').map(|at| from + at + 1);
        let counted = |width: usize| {
            let bytes = rest.get(1..1 + width)?;
            let len = bytes.iter().rev().fold(0usize, |len, byte| len << 8 | usize::from(*byte));
            len.checked_add(1 + width)
        };
        let len = match op {
            b'K' | b'q' | b'h' | 0x80 => Some(2),
            b'M' => Some(3),
            b'J' | b'r' | b'j' => Some(5),
            b'G' | 0x95 => Some(9),
            b'X' => counted(4),
            0x8a | 0x8c => counted(1),
            b'c' => line(1).and_then(line),
            _ => Some(1),
        };
        let (op, after) = rest.split_at(len.filter(|len| *len <= rest.len()).unwrap_or(1));
        ops.push(op.to_vec());
        rest = after;
    }
    ops
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opcodes_are_told_apart_and_join_to_the_same_bytes() {
        let pickle = b"\x80\x02ccollections\nOrderedDict\nq\x00)Rq\x01X\x03\x00\x00\x00abc\x8a\x02\x01\x02K\x07.";
        let ops = split(pickle);
        assert_eq!(ops.concat(), pickle);
        assert_eq!(ops.len(), 10, "{ops:?}");
        assert_eq!(split(b"X\xff\xff\xff\xffa").concat(), b"X\xff\xff\xff\xffa");
    }
}
