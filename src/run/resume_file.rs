//! Storage for a sweep's saved state; natively a file.

use std::io::{self, Read, Write};

/// Storage for the last state of a sweep.
pub trait Resume {
    /// Its name, for errors.
    fn name(&self) -> String;

    /// The saved state; `None` if there is none.
    fn open(&self) -> io::Result<Option<Box<dyn Read>>>;

    /// Whether the next state should be saved; allows a limit on how often.
    fn is_due(&self) -> bool {
        true
    }

    /// Starts writing a state, which replaces the previous one when committed.
    fn save(&self) -> io::Result<Box<dyn Save + '_>>;

    /// Deletes the state once the measurement is complete.
    fn clear(&self);
}

/// A state being written. Until it is committed the previous one stays valid.
pub trait Save: Write {
    /// Replaces the previous state.
    fn commit(self: Box<Self>) -> io::Result<()>;
}

/// A state file.
#[cfg(not(target_arch = "wasm32"))]
pub struct ResumeFile(pub std::path::PathBuf);

#[cfg(not(target_arch = "wasm32"))]
impl Resume for ResumeFile {
    fn name(&self) -> String {
        self.0.display().to_string()
    }

    fn open(&self) -> io::Result<Option<Box<dyn Read>>> {
        match std::fs::File::open(&self.0) {
            Ok(file) => Ok(Some(Box::new(io::BufReader::new(file)))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes to a `.part` file first, so that the previous state stays whole until the new one is complete.
    fn save(&self) -> io::Result<Box<dyn Save + '_>> {
        let mut beside = self.0.clone().into_os_string();
        beside.push(".part");
        let file = io::BufWriter::new(std::fs::File::create(&beside)?);
        Ok(Box::new(StagedState { file, beside: beside.into(), place: &self.0 }))
    }

    fn clear(&self) {
        // A leftover file is harmless: the same measurement would resume from its last block.
        let _ = std::fs::remove_file(&self.0);
    }
}

#[cfg(not(target_arch = "wasm32"))]
struct StagedState<'a> {
    file: io::BufWriter<std::fs::File>,
    beside: std::path::PathBuf,
    place: &'a std::path::Path,
}

#[cfg(not(target_arch = "wasm32"))]
impl Write for StagedState<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Save for StagedState<'_> {
    fn commit(mut self: Box<Self>) -> io::Result<()> {
        self.file.flush()?;
        std::fs::rename(&self.beside, self.place)
    }
}
