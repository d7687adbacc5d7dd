//! Writes results: to a file atomically, or to standard output; never panics.

use std::fs;
use std::io::{ErrorKind, Write, stdout};
use std::path::Path;

use straightedge::error::{Error, Result};

/// Writes to `path`, `-` being standard output. A file is replaced as a whole or left unchanged.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if path == Path::new("-") {
        return print_bytes(bytes);
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".part");
    let part = path.with_file_name(name);
    let written = fs::write(&part, bytes).and_then(|()| fs::rename(&part, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&part);
        unwritable(path, &error)
    })
}

/// Checks before the measurement that a report can be written to `path`.
pub(super) fn check_writable(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match fs::metadata(folder) {
        _ if path == Path::new("-") => Ok(()),
        Ok(folder) if folder.is_dir() && !path.is_dir() => Ok(()),
        Ok(_) => Err(unwritable(path, &ErrorKind::IsADirectory.into())),
        Err(error) => Err(unwritable(path, &error)),
    }
}

/// Prints to standard output; a closed pipe is no error.
pub(super) fn print(text: &str) -> Result<()> {
    print_bytes(text.as_bytes())
}

fn print_bytes(bytes: &[u8]) -> Result<()> {
    let mut out = stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(unwritable(Path::new("standard output"), &error)),
        _ => Ok(()),
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Error {
    Error::UnwritableFile { file: path.display().to_string(), why: error.to_string() }
}
