//! The header of one safetensors file, checked against the file before a tensor is read. \[safetensors\]

use safetensors::tensor::{Metadata, TensorInfo};

use super::source::Files;
use crate::error::{Error, Result};

/// The format's own limit; the largest real headers take a few megabytes.
const MAX_HEADER: u64 = 100_000_000;

/// Bytes of the length that comes before the header.
const LENGTH: u64 = 8;

/// A checked header: its tensors lie side by side and fill the rest of the file exactly.
pub(super) struct Header {
    metadata: Metadata,
    /// Where in the file offset 0 of the tensors is.
    pub(super) data_start: u64,
}

impl Header {
    /// Reads the header of a file that exists and has `size` bytes.
    pub(super) async fn read(files: &dyn Files, file: &str, size: u64) -> Result<Self> {
        let length = header_length(files, file, size).await?;
        let data_start = LENGTH + length;
        let json = files.read(file, LENGTH..data_start).await?;
        let metadata: Metadata =
            serde_json::from_slice(&json).map_err(|error| malformed(file, format!("header: {error}")))?;
        let described = metadata.data_len() as u64;
        let present = size - data_start;
        if described != present {
            return Err(malformed(
                file,
                format!("the header describes {described} bytes of tensors, the file holds {present}"),
            ));
        }
        Ok(Self { metadata, data_start })
    }

    /// Format, shape and place of a tensor.
    pub(super) fn info(&self, name: &str) -> Option<&TensorInfo> {
        self.metadata.info(name)
    }

    /// Names of all tensors.
    pub(super) fn names(&self) -> Vec<String> {
        self.metadata.offset_keys()
    }
}

/// The length of the header, known to fit into the file.
async fn header_length(files: &dyn Files, file: &str, size: u64) -> Result<u64> {
    if usize::try_from(size).is_err() {
        let why = format!("{size} bytes are more than this machine or browser can address");
        return Err(Error::UnreadableFile { file: file.into(), why });
    }
    if size < LENGTH {
        return Err(malformed(file, format!("{size} bytes are too few for a header")));
    }
    let bytes = files.read(file, 0..LENGTH).await?;
    let bytes = bytes.try_into().map_err(|_| malformed(file, "its first 8 bytes cannot be read".into()))?;
    let length = u64::from_le_bytes(bytes);
    if length > MAX_HEADER {
        return Err(malformed(file, format!("a header of {length} bytes is over the limit of {MAX_HEADER}")));
    }
    if length > size - LENGTH {
        return Err(malformed(file, format!("a header of {length} bytes does not fit into the {size} of the file")));
    }
    Ok(length)
}

pub(super) fn malformed(file: &str, why: String) -> Error {
    Error::MalformedWeights { file: file.into(), why }
}
