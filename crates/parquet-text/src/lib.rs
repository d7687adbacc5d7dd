//! Reads the texts in a column of a Parquet file, the format of data sets on the hub. \[parquet\]
//!
//! The command line calls [`texts`]. For the page this crate becomes a wasm module of its own, without bindings, loaded
//! when a text needs it: see `module`.

#[cfg(target_arch = "wasm32")]
pub mod module;
mod pages;
mod thrift;

use bytes::Bytes;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::data_type::ByteArrayType;
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::pages::Pages;

/// Rows that a file may claim besides those of its length: nulls take next to no bytes, but time.
const MOST_ROWS: u64 = 1 << 20;
/// Rows that a file may claim per byte of its length.
const ROWS_PER_BYTE: u64 = 64;
/// Bytes that the texts may have besides those of the file's length: a dictionary repeats a text in a few bits.
const MOST_TEXT: usize = 1 << 22;
/// Bytes that the texts may have per byte of the file's length.
const TEXT_PER_BYTE: usize = 256;
/// Rows read at once.
const ROWS: usize = 1024;

/// All texts of a column, concatenated; a null adds nothing.
///
/// # Errors
/// A damaged file, a missing column, or values other than UTF-8, as a clause.
pub fn texts(file: Vec<u8>, column: &str) -> Result<String, String> {
    // No file is known on which the reader still panics; in the page this would trap the module, and the engine report it.
    let found = std::panic::catch_unwind(|| read(file, column).map_err(|error| error.to_string()));
    found.unwrap_or_else(|_| Err("its metadata is damaged".into()))
}

fn read(file: Vec<u8>, column: &str) -> Result<String> {
    let file = Bytes::from(file);
    thrift::check_footer(&file)?;
    let reader = SerializedFileReader::new(file.clone())?;
    let columns = reader.metadata().file_metadata().schema_descr();
    let named = |at: &usize| columns.column(*at).path().string() == column;
    let at = (0..columns.num_columns()).find(named);
    let at = at.ok_or_else(|| ParquetError::General(format!("it has no column {column}")))?;
    if columns.column(at).max_rep_level() > 0 {
        return Err(ParquetError::General(format!("column {column} holds lists")));
    }
    let rows = reader.metadata().row_groups().iter().map(|group| u64::try_from(group.num_rows()).unwrap_or(u64::MAX));
    let rows = rows.fold(0u64, u64::saturating_add);
    if rows > MOST_ROWS + ROWS_PER_BYTE * file.len() as u64 {
        return Err(ParquetError::General(format!("{} bytes cannot hold {rows} rows", file.len())));
    }
    let most = MOST_TEXT.saturating_add(file.len().saturating_mul(TEXT_PER_BYTE));
    let mut text = String::new();
    for group in 0..reader.num_row_groups() {
        let group = reader.metadata().row_group(group);
        let chunk = group.column(at);
        check(chunk)?;
        let pages = Pages::new(file.clone(), group, at)?;
        match get_column_reader(chunk.column_descr_ptr(), Box::new(pages)) {
            ColumnReader::ByteArrayColumnReader(rows) => append(rows, &mut text, most)?,
            _ => return Err(ParquetError::General(format!("column {column} holds no texts"))),
        }
    }
    Ok(text)
}

/// Refuses places before the file, on which the reader panics.
fn check(chunk: &ColumnChunkMetaData) -> Result<()> {
    let places = [Some(chunk.data_page_offset()), chunk.dictionary_page_offset(), Some(chunk.compressed_size())];
    let is_before = places.into_iter().flatten().any(|place| place < 0);
    let is_beyond = places.into_iter().flatten().try_fold(0i64, i64::checked_add).is_none();
    match is_before || is_beyond {
        true => Err(ParquetError::General("a place in its metadata lies outside the file".into())),
        false => Ok(()),
    }
}

/// Appends the texts of a row group, at most until `most` bytes.
fn append(mut rows: ColumnReaderImpl<ByteArrayType>, text: &mut String, most: usize) -> Result<()> {
    loop {
        let (mut present, mut values) = (Vec::new(), Vec::new());
        let (read, ..) = rows.read_records(ROWS, Some(&mut present), None, &mut values)?;
        if read == 0 {
            return Ok(());
        }
        for value in &values {
            let value = std::str::from_utf8(value.data());
            let value = value.map_err(|error| ParquetError::General(format!("a text is not UTF-8 ({error})")))?;
            if text.len() + value.len() > most {
                return Err(ParquetError::General(format!("its texts repeat themselves to more than {most} bytes")));
            }
            text.push_str(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parquet::basic::{Compression, Encoding};
    use parquet::data_type::ByteArray;
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
        assert_eq!(texts(table(&rows, 1234), "text").expect("texts"), lines.concat());
        // Both versions of pages, with a dictionary and without.
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            let properties = || WriterProperties::builder().set_writer_version(version);
            let plain = properties().set_dictionary_enabled(false).set_column_encoding("text".into(), Encoding::PLAIN);
            for properties in [properties(), plain] {
                assert_eq!(texts(written(&rows, 1234, properties), "text").expect("texts"), lines.concat());
            }
        }
        let delta = WriterProperties::builder()
            .set_dictionary_enabled(false)
            .set_column_encoding("text".into(), Encoding::DELTA_BYTE_ARRAY);
        let why = texts(written(&rows, 1234, delta), "text").expect_err("an encoding that is not read");
        assert!(why.contains("encoded as DELTA_BYTE_ARRAY"), "{why}");
    }

    #[test]
    fn damaged_files_and_other_columns_are_refused_with_a_reason() {
        let rows: Vec<Option<&[u8]>> = vec![Some(b"a line\n"); 200];
        let file = table(&rows, 100);
        for (column, why) in [("no such", "no column"), ("id", "no texts")] {
            assert!(texts(file.clone(), column).expect_err(column).contains(why));
        }
        for end in [0, 3, 8, file.len() / 2, file.len() - 1] {
            assert!(texts(file[..end].to_vec(), "text").is_err(), "{end} bytes of {}", file.len());
        }
        assert!(texts(table(&[Some(b"\xff\xfe")], 1), "text").expect_err("not UTF-8").contains("UTF-8"));
        // Whichever byte is altered, the result is an error or a text, never a panic.
        for at in 0..file.len() {
            let mut altered = file.clone();
            altered[at] ^= 0x55;
            let _ = read(altered, "text");
        }
    }
}
