//! The footer of a file: where the pages of a column lie.

use std::ops::Range;

use crate::thrift::{Found, Result, walk};

/// Letters at both ends of a file.
const MAGIC: &[u8] = b"PAR1";
/// The same of a file whose footer is encrypted.
const ENCRYPTED: &[u8] = b"PARE";
/// Bytes of a file after its footer: the footer's length, and the letters.
const TAIL: usize = 8;
/// Most elements of a schema, and most groups of rows: one costs a few dozen bytes here, and one in the file.
const MOST_ELEMENTS: usize = 1 << 16;
/// Repetitions of an element.
const REQUIRED: i64 = 0;
const REPEATED: i64 = 2;
/// The type of texts.
const BYTE_ARRAY: i64 = 6;
/// Compressions by their numbers.
const CODECS: [&str; 8] = ["UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW"];

/// A column of texts.
pub(crate) struct Column {
    pub(crate) chunks: Vec<Chunk>,
    /// Elements of the schema on the way to the column, itself included, that may be absent: a value whose level is
    /// lower is null.
    pub(crate) highest_level: u32,
}

/// The column's part in a group of rows.
pub(crate) struct Chunk {
    pub(crate) rows: u64,
    /// Where its pages lie in the file.
    pub(crate) pages: Range<usize>,
    /// Whether its pages are compressed by Snappy.
    pub(crate) is_compressed: bool,
}

/// Finds a column by its path of names, joined by full stops.
///
/// # Errors
/// A damaged footer; a column that is missing, has other values than texts, or is compressed otherwise.
pub(crate) fn column(file: &[u8], name: &str) -> Result<Column> {
    let footer = footer(file)?;
    let leaf = leaf(&schema(footer)?, name)?;
    let chunks =
        chunks(footer, leaf.index)?.into_iter().map(|chunk| chunk.checked(file.len())).collect::<Result<_>>()?;
    Ok(Column { chunks, highest_level: leaf.highest_level })
}

fn footer(file: &[u8]) -> Result<&[u8]> {
    let end = file.len().checked_sub(TAIL).filter(|end| *end >= MAGIC.len() && file.starts_with(MAGIC));
    let Some(end) = end else { return Err("it is no Parquet file".into()) };
    let (length, magic) = file[end..].split_at(TAIL - MAGIC.len());
    if magic != MAGIC {
        return Err(if magic == ENCRYPTED { "it is encrypted" } else { "its end is missing" }.into());
    }
    let length = length.first_chunk().map_or(0, |length| u32::from_le_bytes(*length));
    let start = usize::try_from(length).ok().and_then(|length| end.checked_sub(length));
    start.map(|start| &file[start..end]).ok_or_else(|| "its metadata is longer than the file".into())
}

/// An element of the schema; elements follow each other in the order of the tree.
#[derive(Default)]
struct Element<'a> {
    name: &'a [u8],
    kind: Option<i64>,
    repetition: i64,
    children: usize,
}

fn schema(footer: &[u8]) -> Result<Vec<Element<'_>>> {
    let mut elements: Vec<Element> = Vec::new();
    walk(footer, &mut |path, found| {
        if let ([2], Found::Structure) = (path, &found) {
            elements.push(Element::default());
        }
        let Some(element) = elements.last_mut() else { return Ok(()) };
        match (path, found) {
            ([2, 1], Found::Number(kind)) => element.kind = Some(kind),
            ([2, 3], Found::Number(repetition)) => element.repetition = repetition,
            ([2, 4], Found::Text(name)) => element.name = name,
            ([2, 5], Found::Number(children)) => element.children = usize::try_from(children).unwrap_or(0),
            _ => {}
        }
        if elements.len() > MOST_ELEMENTS { Err(format!("it has more than {MOST_ELEMENTS} columns")) } else { Ok(()) }
    })?;
    Ok(elements)
}

/// A column's place among all columns of the schema.
struct Leaf {
    index: usize,
    highest_level: u32,
}

/// A group of columns whose children follow.
struct Open<'n> {
    left: usize,
    /// Required path of its child, if this group may hold the wanted column.
    path: Option<&'n [u8]>,
    highest_level: u32,
    is_list: bool,
}

fn leaf(schema: &[Element<'_>], name: &str) -> Result<Leaf> {
    let Some((root, elements)) = schema.split_first() else { return Err("it has no schema".into()) };
    let mut open = vec![Open { left: root.children, path: Some(name.as_bytes()), highest_level: 0, is_list: false }];
    let mut leaves = 0;
    let mut found = None;
    for element in elements {
        while open.pop_if(|group| group.left == 0).is_some() {}
        let Some(group) = open.last_mut() else { break };
        group.left -= 1;
        let path = group.path.and_then(|path| path.strip_prefix(element.name));
        let highest_level = group.highest_level + u32::from(element.repetition != REQUIRED);
        let is_list = group.is_list || element.repetition == REPEATED;
        if element.children > 0 {
            let path = path.and_then(|path| path.strip_prefix(b"."));
            open.push(Open { left: element.children, path, highest_level, is_list });
            continue;
        }
        if path == Some(b"") {
            if is_list {
                return Err(format!("column {name} holds lists"));
            }
            if element.kind != Some(BYTE_ARRAY) {
                return Err(format!("column {name} holds no texts"));
            }
            found = Some(Leaf { index: leaves, highest_level });
        }
        leaves += 1;
    }
    if open.iter().any(|group| group.left > 0) {
        return Err("its schema is damaged".into());
    }
    found.ok_or_else(|| format!("it has no column {name}"))
}

/// A chunk as the footer claims it.
#[derive(Default)]
struct DeclaredChunk {
    rows: i64,
    codec: Option<i64>,
    size: i64,
    data: i64,
    dictionary: Option<i64>,
    is_elsewhere: bool,
}

/// The chunks of the column at `index` of all groups.
fn chunks(footer: &[u8], index: usize) -> Result<Vec<DeclaredChunk>> {
    let mut groups: Vec<DeclaredChunk> = Vec::new();
    let mut columns = 0;
    walk(footer, &mut |path, found| {
        match (path, &found) {
            ([4], Found::Structure) => {
                groups.push(DeclaredChunk::default());
                columns = 0;
            }
            ([4, 1], Found::Structure) => columns += 1,
            _ => {}
        }
        let Some(group) = groups.last_mut() else { return Ok(()) };
        let is_requested = columns == index + 1;
        match (path, found) {
            ([4, 3], Found::Number(rows)) => group.rows = rows,
            ([4, 1, 1], Found::Text(file)) if is_requested => group.is_elsewhere = !file.is_empty(),
            ([4, 1, 3, 4], Found::Number(codec)) if is_requested => group.codec = Some(codec),
            ([4, 1, 3, 7], Found::Number(size)) if is_requested => group.size = size,
            ([4, 1, 3, 9], Found::Number(place)) if is_requested => group.data = place,
            ([4, 1, 3, 11], Found::Number(place)) if is_requested => group.dictionary = Some(place),
            _ => {}
        }
        if groups.len() > MOST_ELEMENTS { Err(format!("it has more than {MOST_ELEMENTS} groups")) } else { Ok(()) }
    })?;
    Ok(groups)
}

impl DeclaredChunk {
    /// The chunk, if it lies in a file of `length` bytes.
    fn checked(self, length: usize) -> Result<Chunk> {
        let Some(codec) = self.codec else { return Err("a group of rows lacks its column".into()) };
        let codec = usize::try_from(codec).ok().and_then(|codec| CODECS.get(codec)).unwrap_or(&"an unknown codec");
        if !CODECS[..2].contains(codec) {
            return Err(format!("it is compressed with {codec}, not with Snappy"));
        }
        if self.is_elsewhere {
            return Err("a column lies in another file".into());
        }
        // Some writers put 0 where there is no dictionary.
        let start = self.dictionary.filter(|place| (1..self.data).contains(place)).unwrap_or(self.data);
        let end = start.checked_add(self.size).and_then(|end| usize::try_from(end).ok()).filter(|end| *end <= length);
        let pages = usize::try_from(start).ok().zip(end).map(|(start, end)| start..end);
        let pages = pages.filter(|pages| pages.start <= pages.end);
        let rows = u64::try_from(self.rows).ok();
        match rows.zip(pages) {
            Some((rows, pages)) => Ok(Chunk { rows, pages, is_compressed: *codec == CODECS[1] }),
            None => Err("a place in its metadata lies outside the file".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn element(name: &'static str, repetition: i64, children: usize) -> Element<'static> {
        Element { name: name.as_bytes(), kind: (children == 0).then_some(BYTE_ARRAY), repetition, children }
    }

    #[test]
    fn a_column_is_found_by_its_path() {
        let schema = [
            element("schema", 0, 3),
            element("a", 1, 2),
            element("b", 0, 0),
            element("text", 1, 0),
            element("text", 0, 0),
            element("many", 2, 1),
            element("text", 0, 0),
        ];
        let found = |name| leaf(&schema, name).map(|leaf| (leaf.index, leaf.highest_level));
        assert_eq!(found("text"), Ok((2, 0)));
        assert_eq!(found("a.b"), Ok((0, 1)));
        assert_eq!(found("a.text"), Ok((1, 2)));
        assert_eq!(found("a"), Err("it has no column a".into()));
        assert_eq!(found("many.text"), Err("column many.text holds lists".into()));
        for damaged in [&schema[..6], &schema[..1], &[]] {
            assert!(leaf(damaged, "text").is_err(), "{} elements", damaged.len());
        }
    }

    #[test]
    fn places_outside_the_file_are_refused() {
        let declared = |data, size, dictionary| {
            let declared = DeclaredChunk { rows: 3, codec: Some(1), size, data, dictionary, is_elsewhere: false };
            declared.checked(100).map(|chunk| chunk.pages)
        };
        assert_eq!(declared(10, 20, None), Ok(10..30));
        assert_eq!(declared(10, 20, Some(4)), Ok(4..24));
        assert_eq!(declared(10, 20, Some(0)), Ok(10..30), "no dictionary");
        for (data, size) in [(90, 11), (-1, 5), (5, -1), (i64::MAX, 1), (1, i64::MAX), (101, 0)] {
            assert!(declared(data, size, None).is_err(), "{data} {size}");
        }
        let zstd = DeclaredChunk { codec: Some(6), ..DeclaredChunk::default() };
        assert!(zstd.checked(100).is_err_and(|why| why.contains("ZSTD")));
    }
}
