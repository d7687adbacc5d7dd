//! Reads the files named by arguments.

use std::fs;
use std::path::Path;

use straightedge::error::{Error, Result};
use straightedge::report::Report;

/// Reads a whole file.
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| Error::UnreadableFile { file: path.display().to_string(), why: error.to_string() })
}

/// Reads a report.
pub(super) fn report(path: &Path) -> Result<Report> {
    let file = path.display().to_string();
    let json = String::from_utf8(bytes(path)?)
        .map_err(|error| Error::MalformedReport { file: file.clone(), why: error.to_string() })?;
    Report::from_json(&file, &json)
}

/// The last part of a path, as an identifier for reports.
pub(super) fn name(path: &Path) -> String {
    let full = path.canonicalize().unwrap_or_else(|_| path.into());
    full.file_name().unwrap_or(full.as_os_str()).to_string_lossy().into_owned()
}
