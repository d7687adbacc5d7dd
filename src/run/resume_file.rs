//! Where the state of a sweep is kept: any place that a platform has, natively a file.

use std::io::{self, Read, Write};

/// A place that keeps the last state of a sweep.
pub trait Resume {
    /// Its name, for errors.
    fn name(&self) -> String;

    /// The state that was saved; `None` where there is none.
    fn open(&self) -> io::Result<Option<Box<dyn Read>>>;

    /// Whether it is worth its time to save a state now.
    fn is_due(&self) -> bool {
        true
    }

    /// Begins a state, which takes the place of the one before when it is complete.
    fn save(&self) -> io::Result<Box<dyn Save + '_>>;

    /// Forgets the state of a measurement that is complete.
    fn clear(&self);
}

/// A state being saved. Until it is committed the one before counts.
pub trait Save: Write {
    /// Makes it the one that counts.
    fn commit(self: Box<Self>) -> io::Result<()>;
}

/// A file that keeps the state.
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

    /// Written beside it first, so that the state before stays whole until this one is.
    fn save(&self) -> io::Result<Box<dyn Save + '_>> {
        let mut beside = self.0.clone().into_os_string();
        beside.push(".part");
        let file = io::BufWriter::new(std::fs::File::create(&beside)?);
        Ok(Box::new(StagedState { file, beside: beside.into(), place: &self.0 }))
    }

    fn clear(&self) {
        // Whoever measures the same again goes on from the last block; nothing is lost but room on the disk.
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
