//! Mutations of numbers of seven bits a byte, which protocol buffers and the footer and pages of a Parquet file consist
//! of, and of the fields of a protocol buffer.

use straightedge_random::Random;

use super::bytes;
use super::draw::{odd_number, pick, place};

/// Bytes of a Parquet file after its footer: the footer's length, and four letters.
const TAIL: usize = 8;

/// A field of a protocol buffer with its key; an inner message is one field.
type Field = Vec<u8>;

/// Changes the fields of a protocol buffer, of one of its messages, or its bytes if it is none.
pub(super) fn message(random: &mut Random, input: &[u8]) -> Vec<u8> {
    let Some(mut fields) = fields(input) else {
        let mut input = input.to_vec();
        bytes::mutate(random, &mut input, None);
        return input;
    };
    let at = place(random, fields.len());
    match random.below(8) {
        0 => drop(fields.splice(at..fields.len().min(at + 1), [])),
        1 => fields.extend(fields.get(at).cloned()),
        2 => fields.rotate_left(at),
        3 => fields.truncate(at),
        _ => fields.get_mut(at).into_iter().for_each(|field| change(random, field)),
    }
    fields.concat()
}

/// Changes the number at a place that is likely to hold one, in the footer or before it; the footer's length follows.
pub(super) fn parquet(random: &mut Random, input: &[u8]) -> Vec<u8> {
    let length = || Some(u32::from_le_bytes(*input.get(..input.len().checked_sub(4)?)?.last_chunk()?) as usize);
    let start = length().and_then(|length| input.len().checked_sub(TAIL + length));
    let Some(start) = start.filter(|start| *start > 0) else {
        let mut input = input.to_vec();
        bytes::mutate(random, &mut input, None);
        return input;
    };
    let (mut pages, mut footer) = (input[..start].to_vec(), input[start..input.len() - TAIL].to_vec());
    for _ in 0..=random.below(3) {
        let part = if random.below(3) > 0 { &mut footer } else { &mut pages };
        let at = place(random, part.len());
        number(random, part, at);
    }
    let length = if random.below(16) == 0 { odd_number(random) as u32 } else { footer.len() as u32 };
    [&pages[..], &footer, &length.to_le_bytes(), &input[input.len() - 4..]].concat()
}

/// The fields of a message, each with its key; `None` if it is none.
fn fields(mut input: &[u8]) -> Option<Vec<Field>> {
    let mut fields = Vec::new();
    while !input.is_empty() {
        let (key, after) = read(input)?;
        let rest = match key & 7 {
            0 => read(after)?.1,
            1 => after.get(8..)?,
            2 => {
                let (length, after) = read(after)?;
                after.get(usize::try_from(length).ok()?..)?
            }
            5 => after.get(4..)?,
            _ => return None,
        };
        fields.push(input[..input.len() - rest.len()].to_vec());
        input = rest;
    }
    Some(fields)
}

/// Changes a field: its kind, its number or length, or what is inside.
fn change(random: &mut Random, field: &mut Field) {
    let Some((key, value)) = read(field) else { return };
    let inner = (key & 7 == 2).then(|| read(value)).flatten().map(|(_, inner)| inner.to_vec());
    match (random.below(6), inner) {
        (0, _) => number(random, field, 0),
        (1 | 2, Some(inner)) => {
            let length = if random.below(3) == 0 { odd_number(random) } else { inner.len() as u64 };
            *field = [written(key), written(length), inner].concat();
        }
        (_, Some(inner)) if !inner.is_empty() => {
            let inner = message(random, &inner);
            *field = [written(key), written(inner.len() as u64), inner].concat();
        }
        _ => {
            let at = written(key).len().min(field.len());
            number(random, field, at);
        }
    }
}

/// Replaces the number that begins at a place.
fn number(random: &mut Random, bytes: &mut Vec<u8>, at: usize) {
    let old = read(&bytes[at..]).map_or(0, |(_, rest)| bytes.len() - at - rest.len());
    let near = bytes.get(at).map(|byte| u64::from(byte & 0x7f) ^ 1);
    let new = [Some(odd_number(random)), near, Some(odd_number(random) >> 32)];
    let new = pick(random, &new).copied().flatten().unwrap_or_default();
    bytes.splice(at..at + old, written(new));
}

/// A number and what follows it.
fn read(input: &[u8]) -> Option<(u64, &[u8])> {
    let end = input.iter().take(10).position(|byte| byte & 0x80 == 0)?;
    let number = input[..=end].iter().rev().fold(0u64, |number, byte| number << 7 | u64::from(byte & 0x7f));
    Some((number, &input[end + 1..]))
}

fn written(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_fields_are_read_as_they_are_written() {
        for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
            assert_eq!(read(&[written(number), vec![7]].concat()), Some((number, &[7][..])), "{number}");
        }
        // A number, a text, an inner message and a float.
        let message = [&[0x08, 0xac, 0x02][..], &[0x12, 1, b'a'], &[0x1a, 2, 0x08, 1], &[0x25, 0, 0, 128, 63]];
        assert_eq!(fields(&message.concat()), Some(message.map(<[u8]>::to_vec).to_vec()));
        assert_eq!(fields(b"{\"a\": 1}"), None);
    }

    #[test]
    fn most_changes_of_a_message_leave_a_message() {
        let mut random = Random::new(1);
        let seed = [&[0x08, 0xac, 0x02][..], &[0x12, 1, b'a'], &[0x1a, 2, 0x08, 1]].concat();
        let whole = (0..1000).filter(|_| {
            let changed = message(&mut random, &seed);
            changed != seed && fields(&changed).is_some()
        });
        assert!(whole.count() > 600);
    }
}
