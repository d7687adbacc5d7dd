//! A temporary file for rows that memory has no room for; it is gone with the process, however that ends.

#[cfg(not(target_arch = "wasm32"))]
pub(super) use native::Spill;

#[cfg(not(target_arch = "wasm32"))]
mod native {
    use std::collections::BTreeMap;
    use std::fs::File;
    use std::io::{Read, Result as IoResult, Seek, SeekFrom, Write};

    use crate::error::{Error, Result};

    /// The file, once something is written.
    #[derive(Default)]
    pub(crate) struct Spill {
        file: Option<File>,
        end: u64,
        /// Places that are free, by their bytes: rows of a batch come in few sizes.
        free: BTreeMap<u64, Vec<u64>>,
    }

    impl Spill {
        /// Writes values and tells from which byte on; `None` where there can be no file.
        pub(crate) fn write(&mut self, values: &[f32]) -> Result<Option<u64>> {
            let bytes = 4 * values.len() as u64;
            let at = self.free.get_mut(&bytes).and_then(Vec::pop).unwrap_or(self.end);
            self.end = self.end.max(at + bytes);
            self.put(at, bytemuck::cast_slice(values)).map_err(|error| Error::UnwritableFile {
                file: "temporary file of rows".into(),
                why: error.to_string(),
            })?;
            Ok(Some(at))
        }

        fn put(&mut self, at: u64, bytes: &[u8]) -> IoResult<()> {
            let file = match &mut self.file {
                Some(file) => file,
                none => none.insert(tempfile::tempfile()?),
            };
            file.seek(SeekFrom::Start(at))?;
            file.write_all(bytes)
        }

        /// So many values from a byte on.
        pub(crate) fn read(&mut self, at: u64, len: usize) -> Result<Vec<f32>> {
            let mut values = vec![0.0f32; len];
            self.get(at, bytemuck::cast_slice_mut(&mut values)).map_err(|error| Error::UnreadableFile {
                file: "temporary file of rows".into(),
                why: error.to_string(),
            })?;
            Ok(values)
        }

        fn get(&mut self, at: u64, bytes: &mut [u8]) -> IoResult<()> {
            let file = self.file.as_mut().ok_or(std::io::ErrorKind::NotFound)?;
            file.seek(SeekFrom::Start(at))?;
            file.read_exact(bytes)
        }

        /// Gives a place back.
        pub(crate) fn free(&mut self, at: u64, bytes: u64) {
            self.free.entry(bytes).or_default().push(at);
        }

        /// Bytes of the file.
        #[cfg(test)]
        pub(crate) fn bytes(&self) -> u64 {
            self.end
        }
    }
}

/// A browser's worker has no such file yet: memory takes all rows.
#[cfg(target_arch = "wasm32")]
#[derive(Default)]
pub(super) struct Spill;

#[cfg(target_arch = "wasm32")]
impl Spill {
    /// There is no file.
    pub(super) fn write(&mut self, _values: &[f32]) -> crate::error::Result<Option<u64>> {
        Ok(None)
    }

    /// Nothing was written.
    pub(super) fn read(&mut self, _at: u64, _len: usize) -> crate::error::Result<Vec<f32>> {
        Ok(Vec::new())
    }

    /// Nothing is taken.
    pub(super) fn free(&mut self, _at: u64, _bytes: u64) {}
}
