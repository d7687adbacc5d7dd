//! The pages of a column in a group of rows.

use std::borrow::Cow;

use crate::footer::Chunk;
use crate::runs::runs;
use crate::thrift::{Found, Result, walk};

/// Most bytes that one byte of Snappy's data decompresses to: a copy of 64 bytes takes three.
const EXPANSION: usize = 22;
/// Encodings by their numbers.
const ENCODINGS: [&str; 10] = [
    "PLAIN",
    "GROUP_VAR_INT",
    "PLAIN_DICTIONARY",
    "RLE",
    "BIT_PACKED",
    "DELTA_BINARY_PACKED",
    "DELTA_LENGTH_BYTE_ARRAY",
    "DELTA_BYTE_ARRAY",
    "RLE_DICTIONARY",
    "BYTE_STREAM_SPLIT",
];
/// Those of texts one after another, and of places in a dictionary.
const PLAIN: i64 = 0;
const DICTIONARY: [i64; 2] = [2, 8];
/// That of levels in files of 2013.
const BIT_PACKED: i64 = 4;
/// Kinds of pages.
const DATA: i64 = 0;
const DICTIONARY_PAGE: i64 = 2;
const DATA_V2: i64 = 3;

/// Texts that were read, at most `most` bytes.
pub(crate) struct Texts {
    pub(crate) joined: String,
    pub(crate) most: usize,
}

impl Texts {
    fn push(&mut self, text: &str, times: u64) -> Result<()> {
        let free = (self.most - self.joined.len()) as u64;
        if times.saturating_mul(text.len() as u64) > free {
            return Err(format!("its texts repeat themselves to more than {} bytes", self.most));
        }
        let times = if text.is_empty() { 0 } else { times };
        (0..times).for_each(|_| self.joined.push_str(text));
        Ok(())
    }
}

/// The header of a page.
#[derive(Default)]
struct Header {
    kind: Option<i64>,
    /// Bytes after the header.
    size: i64,
    values: i64,
    encoding: i64,
    level_encoding: i64,
    /// Bytes of the levels of nulls and of lists, in pages of the second version.
    levels: [i64; 2],
    is_compressed: bool,
}

impl Header {
    /// The header that `pages` begin with, and what follows it.
    fn read(pages: &[u8]) -> Result<(Self, &[u8])> {
        let mut header = Self { is_compressed: true, ..Self::default() };
        let length = walk(pages, &mut |path, found| {
            match (path, found) {
                ([1], Found::Number(kind)) => header.kind = Some(kind),
                ([3], Found::Number(size)) => header.size = size,
                ([5 | 7 | 8, 1], Found::Number(values)) => header.values = values,
                ([5 | 7, 2] | [8, 4], Found::Number(encoding)) => header.encoding = encoding,
                ([5, 3], Found::Number(encoding)) => header.level_encoding = encoding,
                ([8, 5], Found::Number(bytes)) => header.levels[0] = bytes,
                ([8, 6], Found::Number(bytes)) => header.levels[1] = bytes,
                ([8, 7], Found::Truth(is_compressed)) => header.is_compressed = is_compressed,
                _ => {}
            }
            Ok(())
        })?;
        Ok((header, &pages[length..]))
    }
}

/// Appends the texts of a chunk of `file`; nulls add nothing.
///
/// # Errors
/// Damaged pages, other encodings, text that is not UTF-8, or more of it than there may be.
pub(crate) fn append(file: &[u8], chunk: &Chunk, highest_level: u32, texts: &mut Texts) -> Result<()> {
    let mut rest = &file[chunk.pages.clone()];
    let mut left = chunk.rows;
    let mut dictionary = None;
    while left > 0 {
        let (header, after) = Header::read(rest)?;
        let stored = usize::try_from(header.size).ok().and_then(|size| after.split_at_checked(size));
        let Some((stored, after)) = stored else { return Err("a page lies outside its column".into()) };
        rest = after;
        let count = u64::try_from(header.values).map_err(|_| "a page has fewer than no values")?;
        match header.kind {
            Some(DICTIONARY_PAGE) => dictionary = Some(Dictionary::read(&decompress(chunk, stored)?, count)?),
            Some(DATA | DATA_V2) => {
                left = left.checked_sub(count).ok_or("its pages hold more rows than it claims")?;
                let page = Page::read(chunk, &header, stored, highest_level)?;
                page.append(&header, dictionary.as_ref(), texts)?;
            }
            // An index, which says where pages lie.
            _ => {}
        }
    }
    Ok(())
}

/// The bytes of a page, decompressed.
fn decompress<'p>(chunk: &Chunk, stored: &'p [u8]) -> Result<Cow<'p, [u8]>> {
    if !chunk.is_compressed || stored.is_empty() {
        return Ok(stored.into());
    }
    let damaged = |error: snap::Error| format!("a page is damaged ({error})");
    let length = snap::raw::decompress_len(stored).map_err(damaged)?;
    if length > EXPANSION * stored.len() {
        return Err(format!("a page of {} bytes claims to hold {length}", stored.len()));
    }
    snap::raw::Decoder::new().decompress_vec(stored).map(Cow::from).map_err(damaged)
}

/// A page of data without its levels.
struct Page<'p> {
    values: Cow<'p, [u8]>,
    /// Where they begin.
    start: usize,
    /// Texts that are not null.
    present: u64,
}

impl<'p> Page<'p> {
    fn read(chunk: &Chunk, header: &Header, stored: &'p [u8], highest_level: u32) -> Result<Self> {
        let longer = || "the levels of a page are longer than the page".to_owned();
        if header.kind == Some(DATA_V2) {
            let [nulls, lists] = header.levels.map(|bytes| usize::try_from(bytes).ok());
            let ends = nulls.zip(lists).and_then(|(nulls, lists)| Some((lists, lists.checked_add(nulls)?)));
            let (start, end) = ends.filter(|(_, end)| *end <= stored.len()).ok_or_else(longer)?;
            let levels = &stored[start..end];
            let present = present(levels, highest_level, header.values as u64)?;
            let values = &stored[end..];
            let values = if header.is_compressed { decompress(chunk, values)? } else { values.into() };
            return Ok(Self { values, start: 0, present });
        }
        let values = decompress(chunk, stored)?;
        if highest_level == 0 {
            return Ok(Self { values, start: 0, present: header.values as u64 });
        }
        if header.level_encoding == BIT_PACKED {
            return Err("its levels are encoded as in files of 2013".into());
        }
        let (levels, _) = sized(&values).ok_or_else(longer)?;
        let present = present(levels, highest_level, header.values as u64)?;
        let start = size_of::<u32>() + levels.len();
        Ok(Self { values, start, present })
    }

    fn append(&self, header: &Header, dictionary: Option<&Dictionary>, texts: &mut Texts) -> Result<()> {
        let mut values = &self.values[self.start..];
        match header.encoding {
            PLAIN => (0..self.present).try_for_each(|_| {
                let (text, rest) = sized(values).ok_or("a page ends within a text")?;
                values = rest;
                texts.push(utf8(text)?, 1)
            }),
            encoding if DICTIONARY.contains(&encoding) => {
                let dictionary = dictionary.ok_or("a page refers to no dictionary")?;
                // A page of nulls alone may have no bytes.
                let Some((width, places)) = values.split_first() else {
                    return runs(&[], 0, self.present, &mut |_, _| Ok(()));
                };
                runs(places, u32::from(*width), self.present, &mut |place, times| {
                    texts.push(dictionary.text(place)?, times)
                })
            }
            encoding => {
                let name = usize::try_from(encoding).ok().and_then(|encoding| ENCODINGS.get(encoding));
                let name = name.unwrap_or(&"no known encoding");
                Err(format!("its texts are encoded as {name}, not plainly or by a dictionary"))
            }
        }
    }
}

/// How many of `count` values are present: those with the highest level.
fn present(levels: &[u8], highest_level: u32, count: u64) -> Result<u64> {
    if highest_level == 0 {
        return Ok(count);
    }
    let mut present = 0;
    let width = u32::BITS - highest_level.leading_zeros();
    runs(levels, width, count, &mut |level, times| {
        present += if level == highest_level { times } else { 0 };
        Ok(())
    })?;
    Ok(present)
}

/// Texts that pages refer to by their places.
struct Dictionary {
    joined: String,
    /// The end of each text.
    ends: Vec<usize>,
}

impl Dictionary {
    fn read(mut page: &[u8], count: u64) -> Result<Self> {
        let (mut joined, mut ends) = (String::new(), Vec::new());
        for _ in 0..count {
            let Some((text, rest)) = sized(page) else {
                return Err(format!("a dictionary does not hold {count} texts"));
            };
            page = rest;
            joined.push_str(utf8(text)?);
            ends.push(joined.len());
        }
        Ok(Self { joined, ends })
    }

    fn text(&self, place: u32) -> Result<&str> {
        let place = place as usize;
        let end = self.ends.get(place).ok_or("a page refers to a text that its dictionary does not have")?;
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        Ok(&self.joined[start..*end])
    }
}

/// The bytes after their length in four bytes, and what follows them.
fn sized(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = data.split_first_chunk()?;
    rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)
}

fn utf8(text: &[u8]) -> Result<&str> {
    std::str::from_utf8(text).map_err(|error| format!("a text is not UTF-8 ({error})"))
}
