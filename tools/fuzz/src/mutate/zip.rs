//! Mutations of zip archives: entries changed, removed, repeated and renamed, laid out anew, and the fields of headers
//! and directory replaced.

use straightedge_random::Random;

use super::draw::{odd_number, place};
use super::{bytes, pickle};

/// Signatures with the bytes that follow each and hold its fields.
const RECORDS: [(&[u8], usize); 5] =
    [(b"PK\x01\x02", 46), (b"PK\x05\x06", 22), (b"PK\x06\x06", 56), (b"PK\x06\x07", 20), (b"PK\x03\x04", 30)];

/// A name and its bytes.
type Entry = (Vec<u8>, Vec<u8>);

/// Changes an archive.
pub(super) fn mutate(random: &mut Random, input: &[u8]) -> Vec<u8> {
    let Some(mut entries) = entries(input).filter(|entries| !entries.is_empty()) else {
        let mut input = input.to_vec();
        bytes::mutate(random, &mut input, None);
        return input;
    };
    match random.below(8) {
        0 => {
            let mut input = input.to_vec();
            field(random, &mut input);
            return input;
        }
        1 => shuffle(random, &mut entries),
        _ => {
            for (name, data) in &mut entries {
                if name.ends_with(b"data.pkl") {
                    *data = pickle::mutate(random, data);
                }
            }
        }
    }
    let mut archive = write(&entries, random.below(3));
    if random.below(6) == 0 {
        field(random, &mut archive);
    }
    archive
}

/// Removes, repeats, renames or changes an entry.
fn shuffle(random: &mut Random, entries: &mut Vec<Entry>) {
    let (at, other) = (place(random, entries.len()), place(random, entries.len()));
    match random.below(6) {
        0 => drop(entries.remove(at)),
        1 => entries.push(entries[at].clone()),
        2 => {
            let name = entries[other].0.clone();
            entries[at].0 = name;
        }
        3 => bytes::mutate(random, &mut entries[at].0, None),
        4 => entries[at].1.truncate(random.below(64)),
        _ => bytes::mutate(random, &mut entries[at].1, None),
    }
}

/// Replaces a field of a header or of the directory.
fn field(random: &mut Random, archive: &mut [u8]) {
    let (signature, len) = RECORDS[random.below(RECORDS.len())];
    let found: Vec<usize> =
        archive.windows(4).enumerate().filter(|(_, four)| *four == signature).map(|(at, _)| at).collect();
    if found.is_empty() {
        return;
    }
    let at = found[random.below(found.len())] + 4 + random.below(len - 4);
    let odd = odd_number(random).to_le_bytes();
    let width = [1, 2, 4, 8][random.below(4)];
    for (place, byte) in archive.iter_mut().skip(at).zip(&odd[..width]) {
        *place = *byte;
    }
}

fn number(bytes: &[u8], at: usize, width: usize) -> Option<usize> {
    let found = bytes.get(at..at.checked_add(width)?)?;
    found.iter().rev().try_fold(0usize, |sum, byte| sum.checked_mul(256)?.checked_add((*byte).into()))
}

/// The entries of an intact archive without compression and of less than 4 GiB.
fn entries(archive: &[u8]) -> Option<Vec<Entry>> {
    let end = archive.windows(4).rposition(|four| four == b"PK\x05\x06")?;
    let mut at = number(archive, end + 16, 4)?;
    let mut entries = Vec::new();
    while archive.get(at..at + 4)? == b"PK\x01\x02" {
        let (size, start) = (number(archive, at + 20, 4)?, number(archive, at + 42, 4)?);
        let lengths = [28, 30, 32].map(|field| number(archive, at + field, 2).unwrap_or_default());
        let name = archive.get(at + 46..at + 46 + lengths[0])?.to_vec();
        let data = start + 30 + number(archive, start + 26, 2)? + number(archive, start + 28, 2)?;
        entries.push((name, archive.get(data..data.checked_add(size)?)?.to_vec()));
        at += 46 + lengths.iter().sum::<usize>();
    }
    Some(entries)
}

/// An archive of these entries: bare, as PyTorch lays it out, or with extra fields.
pub(crate) fn write(entries: &[Entry], layout: usize) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, data) in entries {
        let start = archive.len() as u32;
        let size = (data.len() as u32).to_le_bytes();
        let padding = match layout {
            0 => 0,
            1 => {
                let least = archive.len() + 30 + name.len() + 4;
                least.next_multiple_of(64) - least + 4
            }
            _ => 16,
        };
        let name_len = (name.len() as u16).to_le_bytes();
        archive.extend(
            [&b"PK\x03\x04"[..], &[0; 14], &size, &size, &name_len, &(padding as u16).to_le_bytes(), name].concat(),
        );
        archive.extend(vec![0; padding]);
        archive.extend(data);
        let has_descriptor = layout == 1 && !data.is_empty();
        if has_descriptor {
            archive.extend([0xdd; 16]);
        }
        let head = [0, 0, 0, 0, if has_descriptor { 8 } else { 0 }, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        directory.extend(
            [&b"PK\x01\x02"[..], &head, &size, &size, &name_len, &[0; 12], &start.to_le_bytes(), name].concat(),
        );
    }
    let (start, len, count) = (archive.len() as u32, directory.len() as u32, (entries.len() as u16).to_le_bytes());
    archive.extend(directory);
    archive.extend(
        [&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &len.to_le_bytes(), &start.to_le_bytes(), &[0; 2]].concat(),
    );
    archive
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_of_every_layout_is_read_back() {
        let built: Vec<Entry> =
            vec![(b"a/data.pkl".into(), b".".into()), (b"a/data/0".into(), vec![1; 40]), (b"e".into(), vec![])];
        for layout in 0..3 {
            assert_eq!(entries(&write(&built, layout)).as_ref(), Some(&built), "{layout}");
        }
    }
}
