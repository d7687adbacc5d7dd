//! PyTorch's archives and Parquet files.

use std::rc::Rc;
use std::sync::Arc;

use futures::executor::block_on;
use parquet::basic::{Compression, Encoding};
use parquet::data_type::{ByteArray, ByteArrayType};
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use straightedge::weights::{MemoryFiles, Weights};

use super::weights::read;
use crate::target::Refusal;

pub(super) fn torch_seeds() -> Vec<Vec<u8>> {
    vec![
        include_bytes!("../../../../tests/fixtures/torch/plain.bin").to_vec(),
        include_bytes!("../../../../tests/fixtures/torch/nested.bin").to_vec(),
    ]
}

/// Reads every tensor of a file that is in order.
pub(super) fn torch(input: &[u8]) -> Result<(), Refusal> {
    let files = MemoryFiles::default().with("pytorch_model.bin", input.to_vec());
    read(&block_on(Weights::open(Rc::new(files)))?)
}

pub(super) fn parquet_seeds() -> Vec<Vec<u8>> {
    let lines: Vec<String> = (0..40).map(|at| format!(" = line {} é = \n", at % 7)).collect();
    vec![
        table(&lines, Compression::SNAPPY, true, WriterVersion::PARQUET_1_0).unwrap_or_default(),
        table(&lines[..3], Compression::UNCOMPRESSED, false, WriterVersion::PARQUET_1_0).unwrap_or_default(),
        table(&lines, Compression::SNAPPY, false, WriterVersion::PARQUET_2_0).unwrap_or_default(),
        table(&lines[..9], Compression::SNAPPY, true, WriterVersion::PARQUET_2_0).unwrap_or_default(),
    ]
}

/// A Parquet file with a column of texts, with a dictionary or without; version 2 has pages of another form.
fn table(
    lines: &[String],
    compression: Compression,
    dictionary: bool,
    version: WriterVersion,
) -> parquet::errors::Result<Vec<u8>> {
    let schema = Arc::new(parse_message_type("message schema { OPTIONAL BYTE_ARRAY text (STRING); }")?);
    let properties = WriterProperties::builder().set_compression(compression).set_dictionary_enabled(dictionary);
    let properties = match dictionary {
        true => properties,
        // Without a dictionary, version 2 has an encoding that is refused.
        false => properties.set_encoding(Encoding::PLAIN),
    };
    let properties = properties.set_writer_version(version).build();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))?;
    for texts in lines.chunks(25) {
        let mut group = writer.next_row_group()?;
        if let Some(mut column) = group.next_column()? {
            let levels: Vec<i16> = (0..texts.len()).map(|at| i16::from(at % 5 > 0)).collect();
            let present = texts.iter().zip(&levels).filter(|(_, level)| **level > 0);
            let values: Vec<ByteArray> = present.map(|(text, _)| ByteArray::from(text.as_str())).collect();
            column.typed::<ByteArrayType>().write_batch(&values, Some(&levels), None)?;
            column.close()?;
        }
        group.close()?;
    }
    writer.into_inner()
}

/// Reads the texts of a file.
pub(super) fn parquet(input: &[u8]) -> Result<(), Refusal> {
    let found = straightedge_parquet_text::texts(input, "text");
    found.map(drop).map_err(|why| {
        // The engine puts the reason into this sentence.
        let error = straightedge_api::error::Error::NotTheFile { what: "text.parquet".into(), why, hint: "h".into() };
        Refusal { kind: "parquet".into(), sentence: error.sentence() }
    })
}
