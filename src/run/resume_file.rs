//! Storage for a sweep's saved state; natively a file.

use std::io::{self, Read, Write};

/// What every saved state begins with.
pub(super) const MAGIC: &[u8; 8] = b"sweep\0\0\x02";

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

    /// Whether a state has room for the maps of all blocks that were asked for.
    fn takes_maps(&self) -> bool {
        true
    }

    /// Starts writing a state, which replaces the previous one when committed.
    fn save(&self) -> io::Result<Box<dyn Save + '_>>;

    /// Deletes the state once the measurement is complete, or its weights turned out to be damaged.
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

    /// Writes to a `.part` file first, so that the previous state stays whole until the new one is complete. A link
    /// stays a link.
    fn save(&self) -> io::Result<Box<dyn Save + '_>> {
        let place = self.0.canonicalize().unwrap_or_else(|_| self.0.clone());
        let (part, file) = create_part(&place)?;
        Ok(Box::new(StagedState { file: io::BufWriter::new(file), part, place, is_committed: false }))
    }

    fn clear(&self) {
        // A leftover file is harmless: the same measurement would resume from its last block.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Creates a file that did not exist: `NAME.part`, or a similar name if that is taken. What a killed program left of
/// its state is replaced, no other file is.
#[cfg(not(target_arch = "wasm32"))]
fn create_part(place: &std::path::Path) -> io::Result<(std::path::PathBuf, std::fs::File)> {
    let mut found = Err(io::ErrorKind::AlreadyExists.into());
    for number in 1..=MOST_NAMES {
        let mut name = place.file_name().unwrap_or_default().to_owned();
        name.push(if number == 1 { ".part".into() } else { format!(".{number}.part") });
        let part = place.with_file_name(name);
        if is_state(&part) {
            std::fs::remove_file(&part)?;
        }
        match std::fs::OpenOptions::new().write(true).create_new(true).open(&part) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => found = Err(error),
            created => return created.map(|file| (part, file)),
        }
    }
    found
}

/// Whether a file begins like a saved state.
#[cfg(not(target_arch = "wasm32"))]
fn is_state(path: &std::path::Path) -> bool {
    let is_file = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    let mut start = [0; MAGIC.len()];
    is_file && std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *MAGIC
}

/// Most names tried for a `.part` file.
#[cfg(not(target_arch = "wasm32"))]
const MOST_NAMES: usize = 100;

#[cfg(not(target_arch = "wasm32"))]
struct StagedState {
    file: io::BufWriter<std::fs::File>,
    part: std::path::PathBuf,
    place: std::path::PathBuf,
    is_committed: bool,
}

#[cfg(not(target_arch = "wasm32"))]
impl Write for StagedState {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Save for StagedState {
    fn commit(mut self: Box<Self>) -> io::Result<()> {
        self.file.flush()?;
        // Replace the previous state only once this one survives a loss of power.
        self.file.get_ref().sync_all()?;
        std::fs::rename(&self.part, &self.place)?;
        self.is_committed = true;
        Ok(())
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Drop for StagedState {
    /// A state that was not written to its end is of no use.
    fn drop(&mut self) {
        if !self.is_committed {
            let _ = std::fs::remove_file(&self.part);
        }
    }
}
