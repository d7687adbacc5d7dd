//! The directory of a zip archive as PyTorch writes it: entries stored without compression, sizes of 64 bits.
//!
//! Only the end of the file is read. Every entry is checked against its neighbours, so that none overlaps another or
//! lies outside the file.

use std::collections::BTreeMap;
use std::ops::Range;

use super::fault::{Fault, damaged, excerpt, unsupported};
use crate::weights::source::{Files, refuse_pointer};

/// Bytes read first from the file's end; the directory of most models fits.
const TAIL: u64 = 64 << 10;
/// Most bytes of a directory: about a hundred thousand tensors.
const MAX_DIRECTORY: u64 = 16 << 20;
/// Bytes of a local header without name and extra field.
const LOCAL: u64 = 30;
/// PyTorch starts the data of every entry at a multiple of this, by an extra field of at least 4 bytes.
const ALIGNMENT: u64 = 64;
/// Most bytes of that extra field with sizes of 64 bits.
const MAX_PADDING: u64 = 4 + 28 + ALIGNMENT;
/// Bytes of a descriptor behind the data, with sizes of 32 or 64 bits.
const DESCRIPTORS: [u64; 2] = [16, 24];

/// A zip archive in a source of files.
pub(super) struct Archive<'a> {
    files: &'a dyn Files,
    file: &'a str,
    entries: BTreeMap<String, ZipEntry>,
}

/// An entry of the directory.
#[derive(Clone, Debug)]
struct ZipEntry {
    /// Offset of its local header.
    start: u64,
    /// Offset of what follows it: the next local header, or the directory.
    end: u64,
    /// Bytes of its data.
    size: u64,
    /// Whether a descriptor follows the data.
    has_descriptor: bool,
}

impl<'a> Archive<'a> {
    /// Reads the directory of a file of `size` bytes.
    pub(super) async fn open(files: &'a dyn Files, file: &'a str, size: u64) -> Result<Self, Fault> {
        let tail_start = size.saturating_sub(TAIL);
        let tail = files.read(file, tail_start..size).await?;
        let Some(end) = end_record(&tail) else {
            return Err(no_archive(files, file, size).await?);
        };
        let mut directory = Directory::of_end_record(&tail, end, tail_start)?;
        if let Some(record) = zip64_record(&tail, end)? {
            let range = record..record.saturating_add(ZIP64_RECORD);
            if range.end > tail_start + end as u64 {
                return Err(damaged("its end record points outside the file"));
            }
            let bytes = within_or_read(files, file, &tail, tail_start, range).await?;
            directory = Directory::of_zip64(&bytes, record)?;
        }
        directory.check()?;
        let bytes = within_or_read(files, file, &tail, tail_start, directory.range.clone()).await?;
        Ok(Self { files, file, entries: entries(&bytes, &directory)? })
    }

    /// Names of all entries.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// Bytes of an entry's data; `None` if there is no such entry.
    pub(super) fn size(&self, name: &str) -> Option<u64> {
        self.entries.get(name).map(|entry| entry.size)
    }

    /// Byte range of an entry's data. In PyTorch's own layout it follows from the directory, which saves one request
    /// per tensor; in any other layout the local header is read.
    pub(super) async fn data(&self, name: &str) -> Result<Range<u64>, Fault> {
        let entry = self.entries.get(name).ok_or_else(|| damaged(format!("it lacks {}", excerpt(name))))?;
        let header = entry.start + LOCAL + name.len() as u64;
        let start = match start_by_layout(entry, header) {
            Some(start) => start,
            None => self.start_by_header(entry, name).await?,
        };
        Ok(start..start + entry.size)
    }

    async fn start_by_header(&self, entry: &ZipEntry, name: &str) -> Result<u64, Fault> {
        let wrong = || damaged(format!("the header of {} contradicts the directory", excerpt(name)));
        let bytes = self.files.read(self.file, entry.start..entry.start + LOCAL).await?;
        let signature = number::<4>(&bytes, 0).ok_or_else(wrong)?;
        let lengths = [26, 28].map(|at| number::<2>(&bytes, at).unwrap_or_default());
        let start = entry.start + LOCAL + lengths[0] + lengths[1];
        match start.checked_add(entry.size) {
            Some(end) if signature == 0x0403_4b50 && lengths[0] == name.len() as u64 && end <= entry.end => Ok(start),
            _ => Err(wrong()),
        }
    }

    /// Announces ranges that are read next, so that a remote source fetches neighbours at once.
    pub(super) async fn prepare(&self, ranges: Vec<Range<u64>>) -> Result<(), Fault> {
        let parts: Vec<_> = ranges.into_iter().map(|range| (self.file.to_owned(), range)).collect();
        Ok(self.files.prepare(&parts).await?)
    }

    /// Reads a range of the file.
    pub(super) async fn read(&self, range: Range<u64>) -> Result<Vec<u8>, Fault> {
        Ok(self.files.read(self.file, range).await?)
    }
}

/// The data's start if what follows it ends the entry exactly and what precedes it is no more than its alignment.
fn start_by_layout(entry: &ZipEntry, header: u64) -> Option<u64> {
    // An empty entry of PyTorch has none although it says so.
    let descriptors = if entry.has_descriptor && entry.size > 0 { &DESCRIPTORS[..] } else { &[0] };
    let starts = descriptors.iter().map(|descriptor| entry.end.checked_sub(descriptor + entry.size));
    let plain = |start: u64| start == header;
    let aligned = |start: u64| start.is_multiple_of(ALIGNMENT) && (header + 4..header + MAX_PADDING).contains(&start);
    starts.flatten().find(|&start| plain(start) || aligned(start))
}

/// Offset of the end record in the file's tail: the last one whose comment ends with the file.
fn end_record(tail: &[u8]) -> Option<usize> {
    let last = tail.len().checked_sub(END_RECORD)?;
    let is_end = |&at: &usize| {
        number::<4>(tail, at) == Some(0x0605_4b50) && number::<2>(tail, at + 20) == Some((last - at) as u64)
    };
    (0..=last).rev().find(is_end)
}

/// Bytes of the end record without a comment.
const END_RECORD: usize = 22;
/// Bytes of the end record with 64-bit sizes.
const ZIP64_RECORD: u64 = 56;
/// Bytes of the record that locates it, just before the other end record.
const ZIP64_LOCATOR: usize = 20;

/// File offset of the end record with 64-bit sizes, if there is one.
fn zip64_record(tail: &[u8], end: usize) -> Result<Option<u64>, Fault> {
    let Some(at) = end.checked_sub(ZIP64_LOCATOR).filter(|&at| number::<4>(tail, at) == Some(0x0706_4b50)) else {
        return Ok(None);
    };
    number::<8>(tail, at + 8).map(Some).ok_or_else(|| damaged("its end record is cut off"))
}

/// Place and number of the entries.
struct Directory {
    range: Range<u64>,
    count: u64,
    /// Offset of the record behind it.
    limit: u64,
}

impl Directory {
    fn of_end_record(tail: &[u8], end: usize, tail_start: u64) -> Result<Self, Fault> {
        let fields = (number::<2>(tail, end + 10), number::<4>(tail, end + 12), number::<4>(tail, end + 16));
        Self::new(fields, tail_start + end as u64)
    }

    fn of_zip64(record: &[u8], limit: u64) -> Result<Self, Fault> {
        if number::<4>(record, 0) != Some(0x0606_4b50) {
            return Err(damaged("its end record points to something else"));
        }
        Self::new((number::<8>(record, 32), number::<8>(record, 40), number::<8>(record, 48)), limit)
    }

    fn new(fields: (Option<u64>, Option<u64>, Option<u64>), limit: u64) -> Result<Self, Fault> {
        let (Some(count), Some(len), Some(start)) = fields else { return Err(damaged("its end record is cut off")) };
        Ok(Self { range: start..start.saturating_add(len), count, limit })
    }

    fn check(&self) -> Result<(), Fault> {
        let len = self.range.end - self.range.start;
        if self.range.end > self.limit {
            return Err(damaged("its directory lies outside the file"));
        }
        if len > MAX_DIRECTORY {
            return Err(unsupported(format!("its directory of {len} bytes is over the limit of {MAX_DIRECTORY}")));
        }
        Ok(())
    }
}

/// Parses the directory and checks that its entries do not overlap.
fn entries(bytes: &[u8], directory: &Directory) -> Result<BTreeMap<String, ZipEntry>, Fault> {
    let (mut found, mut at) = (BTreeMap::new(), 0);
    while at < bytes.len() {
        let (name, entry, len) = entry(&bytes[at..])?;
        if found.insert(name.clone(), entry).is_some() {
            return Err(damaged(format!("it has two entries {}", excerpt(&name))));
        }
        at += len;
    }
    if found.len() as u64 != directory.count {
        return Err(damaged(format!("it has {} entries, its end record says {}", found.len(), directory.count)));
    }
    let mut by_place: Vec<_> = found.iter_mut().collect();
    by_place.sort_by_key(|(_, entry)| entry.start);
    let starts: Vec<u64> = by_place.iter().map(|(_, entry)| entry.start).chain([directory.range.start]).collect();
    for ((name, entry), &next) in by_place.into_iter().zip(&starts[1..]) {
        let end = entry.start.checked_add(LOCAL + name.len() as u64).and_then(|data| data.checked_add(entry.size));
        if end.is_none_or(|end| end > next) {
            return Err(damaged(format!("{} overlaps what follows it", excerpt(name))));
        }
        entry.end = next;
    }
    Ok(found)
}

/// The first entry: name, place, and bytes of its record.
fn entry(bytes: &[u8]) -> Result<(String, ZipEntry, usize), Fault> {
    let cut = || damaged("its directory is cut off");
    let short = |at| number::<2>(bytes, at).ok_or_else(cut);
    let long = |at| number::<4>(bytes, at).ok_or_else(cut);
    if long(0)? != 0x0201_4b50 {
        return Err(damaged("its directory holds something else than entries"));
    }
    let [flags, method] = [short(8)?, short(10)?];
    let [name_len, extra_len, comment_len] = [short(28)? as usize, short(30)? as usize, short(32)? as usize];
    let name = bytes.get(46..46 + name_len).ok_or_else(cut)?;
    let name = String::from_utf8(name.to_vec()).map_err(|_| damaged("an entry's name is not UTF-8"))?;
    let extra = bytes.get(46 + name_len..46 + name_len + extra_len).ok_or_else(cut)?;
    let [stored, size, start] = wide([long(20)?, long(24)?, long(42)?], extra)?;
    if flags & 1 != 0 {
        return Err(unsupported("the archive is encrypted"));
    }
    if method != 0 || stored != size {
        return Err(unsupported(format!("{} is compressed, so that it cannot be read in parts", excerpt(&name))));
    }
    Ok((
        name,
        ZipEntry { start, end: start, size, has_descriptor: flags & 8 != 0 },
        46 + name_len + extra_len + comment_len,
    ))
}

/// Stored size, size and offset of an entry, each from the extra field if it does not fit into 32 bits.
fn wide([stored, size, start]: [u64; 3], extra: &[u8]) -> Result<[u64; 3], Fault> {
    let mut wide = zip64_field(extra).unwrap_or_default();
    let mut next = |value: u64| -> Result<u64, Fault> {
        if value != 0xffff_ffff {
            return Ok(value);
        }
        let (found, rest) = wide.split_first_chunk().ok_or_else(|| damaged("an entry lacks its size"))?;
        wide = rest;
        Ok(u64::from_le_bytes(*found))
    };
    // The extra field has the sizes in the reverse order of the record.
    let (size, stored) = (next(size)?, next(stored)?);
    Ok([stored, size, next(start)?])
}

/// The extra field with 64-bit values.
fn zip64_field(mut extra: &[u8]) -> Option<&[u8]> {
    loop {
        let (id, len) = (number::<2>(extra, 0)?, number::<2>(extra, 2)? as usize);
        let field = extra.get(4..4 + len)?;
        if id == 1 {
            return Some(field);
        }
        extra = &extra[4 + len..];
    }
}

/// The little-endian number of `N` bytes at an offset.
fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<u64> {
    let found = bytes.get(at..at.checked_add(N)?)?;
    let mut wide = [0; 8];
    wide[..N].copy_from_slice(found);
    Some(u64::from_le_bytes(wide))
}

async fn within_or_read(
    files: &dyn Files,
    file: &str,
    tail: &[u8],
    tail_start: u64,
    range: Range<u64>,
) -> Result<Vec<u8>, Fault> {
    match range.start.checked_sub(tail_start) {
        Some(at) => {
            let held = tail.get(at as usize..(range.end - tail_start) as usize);
            held.map(<[u8]>::to_vec).ok_or_else(|| damaged("its directory lies outside the file"))
        }
        None => Ok(files.read(file, range).await?),
    }
}

/// What a file without an end record is, by its first bytes.
async fn no_archive(files: &dyn Files, file: &str, size: u64) -> Result<Fault, Fault> {
    let beginning = files.read(file, 0..size.min(512)).await?;
    refuse_pointer(file, &beginning)?;
    let is_tar = beginning.get(257..262) == Some(b"ustar");
    Ok(match &beginning[..] {
        // A pickle of protocol 2 or later.
        [0x80, 2..=5, ..] => unsupported("it has the format of PyTorch before version 1.6"),
        _ if is_tar => unsupported("it has the format of PyTorch before version 0.2"),
        [b'P', b'K', ..] => damaged("its end is missing"),
        _ => damaged("it is no zip archive"),
    })
}
