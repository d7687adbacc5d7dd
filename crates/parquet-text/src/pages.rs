//! The pages of a column of texts, checked before the library decodes them.
//!
//! A damaged page can make the library panic, reserve gigabytes or go on for seconds: it trusts the number of bytes after
//! decompression, the number of values of a dictionary, that a page holds all values that its levels announce, and that
//! a list that it skips ends within the file. Here pages are read as they are stored, decompressed by the length that
//! Snappy's own data begins with, and refused where they do not hold what they claim.

use std::io::{self, ErrorKind, Read};

use bytes::{Buf, Bytes};
use parquet::basic::{Compression, Encoding};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;

use crate::thrift::check_page;

/// Most bytes that one byte of Snappy's data decompresses to: a copy of 64 bytes takes three.
const EXPANSION: usize = 22;
/// Bytes of a length, which precedes each text and the levels of a page.
const LENGTH: usize = 4;
/// A length that no page has room for: an error of the library, where the end of a page makes it panic.
const NO_TEXT: [u8; LENGTH] = i32::MAX.to_le_bytes();

/// Pages of a column of one row group.
pub(crate) struct Pages {
    stored: SerializedPageReader<File>,
    is_compressed: bool,
    /// Whether texts may be null.
    is_optional: bool,
    has_dictionary: bool,
    /// Rows of the group that no page has held yet.
    left: u64,
}

impl Pages {
    /// The pages of column `at` of `group` in `file`.
    ///
    /// # Errors
    /// A compression other than Snappy.
    pub(crate) fn new(file: Bytes, group: &RowGroupMetaData, at: usize) -> Result<Self> {
        let chunk = group.column(at);
        let is_compressed = match chunk.compression() {
            Compression::UNCOMPRESSED => false,
            Compression::SNAPPY => true,
            other => return refuse(format!("it is compressed with {other}, not with Snappy")),
        };
        let is_optional = chunk.column_descr().max_def_level() > 0;
        let as_stored = chunk.clone().into_builder().set_compression(Compression::UNCOMPRESSED).build()?;
        let left = u64::try_from(group.num_rows())?;
        let stored = SerializedPageReader::new(File(file).into(), &as_stored, usize::try_from(left)?, None)?;
        Ok(Self { stored, is_compressed, is_optional, has_dictionary: false, left })
    }

    /// The page as the library may decode it.
    fn checked(&mut self, mut page: Page) -> Result<Page> {
        match &mut page {
            Page::DataPage { buf, encoding, num_values, def_level_encoding, .. } => {
                *buf = self.decompress(buf, 0)?;
                let levels = if self.is_optional { levels_of(buf, *def_level_encoding)? } else { 0 };
                *buf = self.data(buf, levels, *encoding, *num_values)?;
            }
            Page::DataPageV2 {
                buf,
                encoding,
                num_values,
                def_levels_byte_len,
                rep_levels_byte_len,
                is_compressed,
                ..
            } => {
                let levels = *def_levels_byte_len as usize + *rep_levels_byte_len as usize;
                if levels > buf.len() {
                    return refuse("the levels of a page are longer than the page".into());
                }
                if *is_compressed {
                    *buf = self.decompress(buf, levels)?;
                }
                *buf = self.data(buf, levels, *encoding, *num_values)?;
            }
            Page::DictionaryPage { buf, num_values, .. } => {
                *buf = self.decompress(buf, 0)?;
                self.has_dictionary = true;
                if texts_in(buf)? != *num_values as usize {
                    return refuse(format!("a dictionary does not hold {num_values} texts"));
                }
            }
        }
        Ok(page)
    }

    /// The bytes of a data page, whose values follow its levels.
    fn data(&mut self, page: &Bytes, levels: usize, encoding: Encoding, rows: u32) -> Result<Bytes> {
        let Some(left) = self.left.checked_sub(u64::from(rows)) else {
            return refuse("its pages hold more rows than it claims".into());
        };
        self.left = left;
        match encoding {
            Encoding::PLAIN => {
                texts_in(&page[levels..])?;
                Ok([page, &NO_TEXT[..]].concat().into())
            }
            Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY if self.has_dictionary => Ok(page.clone()),
            Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY => refuse("a page refers to no dictionary".into()),
            // Their data claim a number of values of their own, for which the library makes room unseen.
            other => refuse(format!("its texts are encoded as {other}, not plainly or by a dictionary")),
        }
    }

    /// `stored` with all bytes from `start` on decompressed.
    fn decompress(&self, stored: &Bytes, start: usize) -> Result<Bytes> {
        let compressed = &stored[start..];
        if !self.is_compressed || compressed.is_empty() {
            return Ok(stored.clone());
        }
        let damaged = |error: snap::Error| ParquetError::General(format!("a page is damaged ({error})"));
        let length = snap::raw::decompress_len(compressed).map_err(damaged)?;
        if length > EXPANSION * compressed.len() {
            return refuse(format!("a page of {} bytes claims to hold {length}", compressed.len()));
        }
        let mut plain = vec![0; start + length];
        plain[..start].copy_from_slice(&stored[..start]);
        snap::raw::Decoder::new().decompress(compressed, &mut plain[start..]).map_err(damaged)?;
        Ok(plain.into())
    }
}

/// Bytes of the levels at the start of a page of the first version.
#[expect(deprecated, reason = "the encoding is told from others only to refuse it")]
fn levels_of(page: &[u8], encoding: Encoding) -> Result<usize> {
    if encoding == Encoding::BIT_PACKED {
        return refuse("its levels are encoded as in files of 2013".into());
    }
    let length = page.first_chunk().map(|length| u32::from_le_bytes(*length) as usize);
    match length.and_then(|length| length.checked_add(LENGTH)).filter(|end| *end <= page.len()) {
        Some(end) => Ok(end),
        None => refuse("the levels of a page are longer than the page".into()),
    }
}

/// Number of texts, each after its length, that make up `values`.
fn texts_in(mut values: &[u8]) -> Result<usize> {
    let mut count = 0;
    while let Some((length, rest)) = values.split_first_chunk() {
        let Some(rest) = rest.get(u32::from_le_bytes(*length) as usize..) else {
            return refuse("a text is longer than its page".into());
        };
        values = rest;
        count += 1;
    }
    if values.is_empty() { Ok(count) } else { refuse("a page ends within a text".into()) }
}

/// A file whose end is an error for who reads on: the library skips what is not there as often as a header says.
struct File(Bytes);

impl Length for File {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }
}

impl ChunkReader for File {
    type T = Rest;

    fn get_read(&self, start: u64) -> Result<Rest> {
        let start = usize::try_from(start)?;
        let Some(page) = self.0.get(start..) else { return refuse("a page lies outside the file".into()) };
        check_page(page)?;
        Ok(Rest(self.0.slice(start..)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.0.get_bytes(start, length)
    }
}

/// The bytes of a file from some place on.
struct Rest(Bytes);

impl Read for Rest {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = into.len().min(self.0.len());
        if count == 0 && !into.is_empty() {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.0.copy_to_slice(&mut into[..count]);
        Ok(count)
    }
}

fn refuse<T>(why: String) -> Result<T> {
    Err(ParquetError::General(why))
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.stored.get_next_page()?;
        page.map(|page| self.checked(page)).transpose()
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.stored.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.stored.skip_next_page()
    }
}
