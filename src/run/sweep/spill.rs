//! A file for rows that do not fit into memory.

use std::collections::BTreeMap;
use std::io::Result as IoResult;
use std::rc::Rc;

use crate::error::{Error, Result};

/// A private file of this process, deleted when it ends.
pub trait ScratchFile {
    /// Writes all bytes from offset `at` on, which may lie beyond the end.
    ///
    /// # Errors
    /// I/O errors of the platform.
    fn write(&self, at: u64, bytes: &[u8]) -> IoResult<()>;

    /// Fills `bytes` from offset `at` on.
    ///
    /// # Errors
    /// I/O errors of the platform, and too few bytes.
    fn read(&self, at: u64, bytes: &mut [u8]) -> IoResult<()>;
}

/// A scratch file with its free ranges.
pub(super) struct SpillFile {
    file: Rc<dyn ScratchFile>,
    end: u64,
    /// Free offsets by size in bytes: batches come in few sizes.
    free: BTreeMap<u64, Vec<u64>>,
}

impl SpillFile {
    pub(super) fn new(file: Rc<dyn ScratchFile>) -> Self {
        Self { file, end: 0, free: BTreeMap::new() }
    }

    /// Writes values and returns their byte offset.
    pub(super) fn write(&mut self, values: &[f32]) -> Result<u64> {
        let bytes = 4 * values.len() as u64;
        let at = self.free.get_mut(&bytes).and_then(Vec::pop).unwrap_or(self.end);
        self.end = self.end.max(at + bytes);
        self.file
            .write(at, bytemuck::cast_slice(values))
            .map_err(|error| Error::UnwritableFile { file: "temporary file of rows".into(), why: error.to_string() })?;
        Ok(at)
    }

    /// Reads `len` values from byte offset `at` on.
    pub(super) fn read(&self, at: u64, len: usize) -> Result<Vec<f32>> {
        let mut values = vec![0.0f32; len];
        self.file
            .read(at, bytemuck::cast_slice_mut(&mut values))
            .map_err(|error| Error::UnreadableFile { file: "temporary file of rows".into(), why: error.to_string() })?;
        Ok(values)
    }

    /// Frees a range.
    pub(super) fn free(&mut self, at: u64, bytes: u64) {
        self.free.entry(bytes).or_default().push(at);
    }

    /// Bytes of the file.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> u64 {
        self.end
    }
}

/// The platform's temporary file, created on the first write; without one, memory takes all rows.
#[cfg(not(target_arch = "wasm32"))]
pub(in crate::run) fn temporary() -> Option<Rc<dyn ScratchFile>> {
    Some(Rc::new(native::TemporaryFile::default()))
}

/// In a browser the caller opens the file and passes it in.
#[cfg(target_arch = "wasm32")]
pub(in crate::run) fn temporary() -> Option<Rc<dyn ScratchFile>> {
    None
}

#[cfg(not(target_arch = "wasm32"))]
mod native {
    use std::cell::RefCell;
    use std::fs::File;
    use std::io::{ErrorKind, Read, Result, Seek, SeekFrom, Write};

    /// The system deletes the file when the process ends, even on a crash.
    #[derive(Default)]
    pub(super) struct TemporaryFile(RefCell<Option<File>>);

    impl super::ScratchFile for TemporaryFile {
        fn write(&self, at: u64, bytes: &[u8]) -> Result<()> {
            let mut file = self.0.borrow_mut();
            let file = match &mut *file {
                Some(file) => file,
                none => none.insert(tempfile::tempfile()?),
            };
            file.seek(SeekFrom::Start(at))?;
            file.write_all(bytes)
        }

        fn read(&self, at: u64, bytes: &mut [u8]) -> Result<()> {
            let mut file = self.0.borrow_mut();
            let file = file.as_mut().ok_or(ErrorKind::NotFound)?;
            file.seek(SeekFrom::Start(at))?;
            file.read_exact(bytes)
        }
    }
}
