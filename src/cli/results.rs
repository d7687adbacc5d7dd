//! Writes results: to a file, which is replaced as a whole; straight into a pipe or device; or to standard output.
//!
//! Only where a folder takes no new file is the file itself written over. A result is never lost: what cannot be written
//! to its place goes to the temporary folder, or else to standard output.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write, stdout};
use std::path::{Path, PathBuf};

use straightedge::error::{Error, Result};
use straightedge::visible::visible_lines;

/// Most symbolic links that are followed.
const MAX_LINKS: usize = 40;
/// Most names tried for a `.part` file.
const MAX_NAMES: usize = 100;

/// Where a result goes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Destination {
    Standard,
    /// A file, or a name for one, without symbolic links.
    File(PathBuf),
    /// A pipe or device, which takes bytes as they come.
    Stream(PathBuf),
}

impl Destination {
    /// The place that an argument names, `-` being standard output.
    ///
    /// # Errors
    /// If nothing can be written there.
    pub(super) fn of(path: &Path) -> Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::Standard);
        }
        let failed = |error: io::Error| unwritable(path, &error);
        let target = target(path).map_err(failed)?;
        match fs::metadata(&target) {
            Ok(found) if found.is_dir() => Err(failed(ErrorKind::IsADirectory.into())),
            Ok(found) if !found.is_file() => Ok(Self::Stream(target)),
            Ok(_) => {
                OpenOptions::new().write(true).open(&target).map_err(failed)?;
                Ok(Self::File(target))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                // Only creating the file shows that name and folder are usable.
                OpenOptions::new().write(true).create_new(true).open(&target).map_err(failed)?;
                fs::remove_file(&target).map_err(failed)?;
                Ok(Self::File(target))
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// The file that is at a path, for comparison; nothing is checked.
    pub(super) fn named(path: &Path) -> Self {
        Self::File(target(path).unwrap_or_else(|_| path.to_owned()))
    }

    /// Writes a result. A file is replaced as a whole or left unchanged.
    pub(super) fn write(&self, bytes: &[u8]) -> Result<()> {
        match self {
            Self::Standard => print_bytes(bytes),
            Self::File(path) => replace(path, bytes).map_err(|error| unwritable(path, &error)),
            Self::Stream(path) => {
                let written = OpenOptions::new().write(true).open(path).and_then(|mut file| file.write_all(bytes));
                written.map_err(|error| unwritable(path, &error))
            }
        }
    }

    /// Creates an empty file in the same folder, with a similar name.
    pub(super) fn reserve(&self) -> Result<PathBuf> {
        let Self::File(path) = self else { return Err(unwritable(Path::new("-"), &ErrorKind::Unsupported.into())) };
        let created = create_part(folder(path), path.file_name().unwrap_or_default());
        created.map(|(path, _)| path).map_err(|error| unwritable(path, &error))
    }

    /// [`Destination::write`], or else to the temporary folder or standard output; the error then says where.
    pub(super) fn keep(&self, bytes: &[u8]) -> Result<()> {
        self.write(bytes).map_err(|error| match error {
            Error::UnwritableFile { file, why } => {
                let name = Path::new(&file).file_name().unwrap_or_default();
                let place = match write_new(&std::env::temp_dir(), name, bytes) {
                    Ok(path) => path.display().to_string(),
                    Err(_) if *self != Self::Standard && print_bytes(bytes).is_ok() => "standard output".into(),
                    Err(_) => return Error::UnwritableFile { file, why },
                };
                Error::ResultElsewhere { file, why, place }
            }
            other => other,
        })
    }
}

/// Refuses two options that name one file.
pub(super) fn check_distinct(places: &[(&str, &Destination)]) -> Result<()> {
    for (at, (option, place)) in places.iter().enumerate() {
        if let Some((other, _)) =
            places[..at].iter().find(|(_, known)| known == place && !matches!(place, Destination::Stream(_)))
        {
            let value = match place {
                Destination::File(path) | Destination::Stream(path) => path.display().to_string(),
                Destination::Standard => "-".into(),
            };
            let hint = format!("{other} names the same place; give each its own");
            return Err(Error::InvalidSetting { field: (*option).into(), value, hint });
        }
    }
    Ok(())
}

/// Refuses results that would replace a file that is read.
pub(super) fn check_unread(read: &[(&str, &Path)], written: &[(&str, &Destination)]) -> Result<()> {
    for (option, path) in read {
        let read = Destination::named(path);
        written.iter().try_for_each(|result| check_distinct(&[(option, &read), *result]))?;
    }
    Ok(())
}

/// Writes a file, which is replaced as a whole.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    Destination::of(path)?.write(bytes)
}

/// Writes a new file in `folder` with a name like `name` and returns its path; never touches a file that exists.
fn write_new(folder: &Path, name: &OsStr, bytes: &[u8]) -> io::Result<PathBuf> {
    let (path, mut file) = create_part(folder, name)?;
    // A name must not lead to bytes that a loss of power takes along.
    match file.write_all(bytes).and_then(|()| file.sync_all()) {
        Ok(()) => Ok(path),
        Err(error) => {
            let _ = fs::remove_file(&path);
            Err(error)
        }
    }
}

/// Creates a file that did not exist: `NAME.part`, or a similar name if that is taken or too long.
fn create_part(folder: &Path, name: &OsStr) -> io::Result<(PathBuf, File)> {
    let mut found = Err(ErrorKind::AlreadyExists.into());
    for number in 0..MAX_NAMES {
        let mut part = name.to_owned();
        match number {
            0 => part.push(".part"),
            number if number % 2 == 0 => part.push(format!(".{number}.part")),
            // Names of the other kind are too long.
            number => part = format!("straightedge.{}.{number}.part", std::process::id()).into(),
        }
        let path = folder.join(part);
        found = OpenOptions::new().write(true).create_new(true).open(&path).map(|file| (path, file));
        match &found {
            Err(error) if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::InvalidFilename) => {}
            _ => return found,
        }
    }
    found
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = folder(path);
    let name = path.file_name().unwrap_or_default();
    let earlier = fs::metadata(path);
    match write_new(folder, name, bytes) {
        Ok(part) => {
            let renamed = match &earlier {
                Ok(earlier) => fs::set_permissions(&part, earlier.permissions()),
                Err(_) => Ok(()),
            };
            renamed.and_then(|()| fs::rename(&part, path)).inspect_err(|_| {
                let _ = fs::remove_file(&part);
            })
        }
        // The file may be changed, but nothing may be added to its folder.
        Err(error) if error.kind() == ErrorKind::PermissionDenied && earlier.is_ok() => fs::write(path, bytes),
        Err(error) => Err(error),
    }
}

/// Follows symbolic links, also to a file that does not exist yet.
fn target(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        match fs::symlink_metadata(&path) {
            Ok(found) if found.is_symlink() => path = folder(&path).join(fs::read_link(&path)?),
            _ => {
                let name = path.file_name().ok_or(ErrorKind::IsADirectory)?;
                return Ok(folder(&path).canonicalize()?.join(name));
            }
        }
    }
    Err(ErrorKind::NotFound.into())
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Prints lines to standard output, of which nothing can control the terminal; a closed pipe is no error.
pub(super) fn print(text: &str) -> Result<()> {
    print_bytes(visible_lines(text).as_bytes())
}

fn print_bytes(bytes: &[u8]) -> Result<()> {
    let mut out = stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(unwritable(Path::new("standard output"), &error)),
        _ => Ok(()),
    }
}

fn unwritable(path: &Path, error: &io::Error) -> Error {
    Error::UnwritableFile { file: path.display().to_string(), why: error.to_string() }
}
