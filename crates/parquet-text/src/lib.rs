//! Reads the texts in a column of a Parquet file, the format of data sets on the hub, by its specification
//! (github.com/apache/parquet-format). A file comes from anywhere: nothing is reserved because it claims something, and
//! the time to read it grows with its length alone. The library `parquet`, which trusts what a file claims, only writes
//! the files of the tests.
//!
//! The command line calls [`texts`]. For the page this crate becomes a wasm module of its own, without bindings, loaded
//! when a text needs it: see `module`.

mod footer;
#[cfg(target_arch = "wasm32")]
pub mod module;
mod pages;
mod runs;
mod thrift;

use crate::footer::{Chunk, Column};
use crate::pages::Texts;
use crate::thrift::Result;

/// Rows that a file may claim besides those of its length: nulls take next to no bytes, but time.
const MOST_ROWS: u64 = 1 << 20;
/// Rows that a file may claim per byte of its length.
const ROWS_PER_BYTE: u64 = 64;
/// Bytes that the texts may have besides those of the file's length: a dictionary repeats a text in a few bits.
const MOST_TEXT: usize = 1 << 22;
/// Bytes that the texts may have per byte of the file's length.
const TEXT_PER_BYTE: usize = 256;

/// All texts of a column, concatenated; a null adds nothing.
///
/// # Errors
/// A damaged file, a missing column, or values other than UTF-8, as a clause.
pub fn texts(file: &[u8], column: &str) -> Result<String> {
    let Column { chunks, highest_level } = footer::column(file, column)?;
    let rows = chunks.iter().fold(0u64, |rows, chunk| rows.saturating_add(chunk.rows));
    if rows > MOST_ROWS + ROWS_PER_BYTE * file.len() as u64 {
        return Err(format!("{} bytes cannot hold {rows} rows", file.len()));
    }
    disjoint(&chunks, file.len())?;
    let most = MOST_TEXT.saturating_add(file.len().saturating_mul(TEXT_PER_BYTE));
    let mut texts = Texts { joined: String::new(), most };
    chunks.iter().try_for_each(|chunk| pages::append(file, chunk, highest_level, &mut texts))?;
    Ok(texts.joined)
}

/// Refuses groups of rows that claim more pages than there are: those that they share would be read again and again.
fn disjoint(chunks: &[Chunk], length: usize) -> Result<()> {
    let claimed = chunks.iter().fold(0usize, |bytes, chunk| bytes.saturating_add(chunk.pages.len()));
    if claimed > length { Err("its groups of rows share their pages".into()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parquet::basic::{Compression, Encoding};
    use parquet::data_type::{ByteArray, ByteArrayType};
    use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder, WriterVersion};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use super::*;

    /// A Parquet file with these texts, in groups of `rows`, compressed as on the hub.
    fn table(texts: &[Option<&[u8]>], rows: usize) -> Vec<u8> {
        written(texts, rows, WriterProperties::builder())
    }

    fn written(texts: &[Option<&[u8]>], rows: usize, properties: WriterPropertiesBuilder) -> Vec<u8> {
        let schema = "message schema { REQUIRED INT64 id; OPTIONAL BYTE_ARRAY text (STRING); }";
        let schema = Arc::new(parse_message_type(schema).expect("a schema"));
        let properties = properties.set_compression(Compression::SNAPPY).build();
        let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).expect("a writer");
        for (group, texts) in texts.chunks(rows).enumerate() {
            let mut columns = writer.next_row_group().expect("a group");
            let mut ids = columns.next_column().expect("a column").expect("two columns");
            let numbers: Vec<i64> = (0..texts.len()).map(|at| (group * rows + at) as i64).collect();
            ids.typed::<parquet::data_type::Int64Type>().write_batch(&numbers, None, None).expect("ids");
            ids.close().expect("ids");
            let mut column = columns.next_column().expect("a column").expect("two columns");
            let levels: Vec<i16> = texts.iter().map(|text| i16::from(text.is_some())).collect();
            let values: Vec<ByteArray> = texts.iter().flatten().map(|text| ByteArray::from(text.to_vec())).collect();
            column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None).expect("texts");
            column.close().expect("texts");
            columns.close().expect("a group");
        }
        writer.into_inner().expect("a file")
    }

    #[test]
    fn rows_are_joined_as_they_are_over_all_groups() {
        let lines: Vec<String> = (0..3000)
            .map(|at| if at % 7 == 0 { String::new() } else { format!(" = line {} é = \n", at % 100) })
            .collect();
        let mut rows: Vec<Option<&[u8]>> = lines.iter().map(|line| Some(line.as_bytes())).collect();
        rows.insert(5, None);
        assert_eq!(texts(&table(&rows, 1234), "text").expect("texts"), lines.concat());
        // Both versions of pages, with a dictionary and without.
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            let properties = || WriterProperties::builder().set_writer_version(version);
            let plain = properties().set_dictionary_enabled(false).set_column_encoding("text".into(), Encoding::PLAIN);
            for properties in [properties(), plain] {
                assert_eq!(texts(&written(&rows, 1234, properties), "text").expect("texts"), lines.concat());
            }
        }
        let delta = WriterProperties::builder()
            .set_dictionary_enabled(false)
            .set_column_encoding("text".into(), Encoding::DELTA_BYTE_ARRAY);
        // Many pages, of which the later ones leave the dictionary.
        let small = WriterProperties::builder()
            .set_data_page_row_count_limit(100)
            .set_write_batch_size(50)
            .set_dictionary_page_size_limit(500);
        assert_eq!(texts(&written(&rows, 1234, small), "text").expect("texts"), lines.concat());
        let why = texts(&written(&rows, 1234, delta), "text").expect_err("an encoding that is not read");
        assert!(why.contains("encoded as DELTA_BYTE_ARRAY"), "{why}");
    }

    #[test]
    fn a_column_without_nulls_has_no_levels() {
        let schema = parse_message_type("message schema { REQUIRED BYTE_ARRAY text (STRING); }").expect("a schema");
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            let properties = WriterProperties::builder().set_writer_version(version).build();
            let mut writer =
                SerializedFileWriter::new(Vec::new(), schema.clone().into(), properties.into()).expect("a writer");
            let mut group = writer.next_row_group().expect("a group");
            let mut column = group.next_column().expect("a column").expect("one column");
            let values = ["a", "", "b"].map(ByteArray::from);
            column.typed::<ByteArrayType>().write_batch(&values, None, None).expect("texts");
            column.close().expect("texts");
            group.close().expect("a group");
            assert_eq!(texts(&writer.into_inner().expect("a file"), "text"), Ok("ab".into()));
        }
    }

    #[test]
    fn damaged_files_and_other_columns_are_refused_with_a_reason() {
        let rows: Vec<Option<&[u8]>> = vec![Some(b"a line\n"); 200];
        let file = table(&rows, 100);
        for (column, why) in [("no such", "no column"), ("id", "no texts")] {
            assert!(texts(&file, column).expect_err(column).contains(why));
        }
        for end in [0, 3, 8, file.len() / 2, file.len() - 1] {
            assert!(texts(&file[..end], "text").is_err(), "{end} bytes of {}", file.len());
        }
        // Two groups of rows that claim the same pages, over and over.
        let column = |_| footer::column(&file, "text").expect("a column").chunks.remove(0);
        let shared: Vec<Chunk> = (0..1000).map(column).collect();
        assert!(disjoint(&shared, file.len()).is_err() && disjoint(&shared[..1], file.len()).is_ok());
        assert!(texts(&table(&[Some(b"\xff\xfe")], 1), "text").expect_err("not UTF-8").contains("UTF-8"));
        // Whichever byte is altered, the result is an error or a text, never a panic.
        for at in 0..file.len() {
            let mut altered = file.clone();
            altered[at] ^= 0x55;
            let _ = texts(&altered, "text");
        }
    }
}
