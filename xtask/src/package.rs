//! `cargo xtask package`: packs a release with checksums into target/package/.

use std::env::consts::{ARCH, EXE_SUFFIX, OS};
use std::fs::{self, File};
use std::io::{Write, copy};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::ValueEnum;
use sha2::{Digest, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::build::Build;
use crate::bundle::files;
use crate::command::{cargo, root, run, target};
use crate::commit::{commit, name_commit};
use crate::licences;

/// A part of a release.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum What {
    /// The command line for this system.
    Cli,
    /// The page, for any web server.
    Site,
}

/// Packs it and prints the path.
pub(crate) fn package(what: What) -> Result<()> {
    let folder = target("package");
    fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let version = env!("CARGO_PKG_VERSION");
    let archive = match what {
        What::Cli => pack(&folder.join(format!("straightedge-{version}-{OS}-{ARCH}.zip")), &command_line()?)?,
        What::Site => pack(&folder.join(format!("straightedge-{version}-site.zip")), &site()?)?,
    };
    let sum = checksum(&archive)?;
    println!("{}\n{sum}", archive.display());
    fs::write(archive.with_added_extension("sha256"), sum).context("the checksum cannot be written")
}

/// A file and its name in an archive.
type Entry = (PathBuf, String);

/// The program with its licences.
fn command_line() -> Result<Vec<Entry>> {
    let mut build = cargo();
    build.args(["build", "--release", "--locked", "--package", "straightedge"]);
    name_commit(&mut build, commit().as_deref());
    run(&mut build)?;
    let program = format!("straightedge{EXE_SUFFIX}");
    let documents = ["README.md", "LICENSE-MIT", "LICENSE-APACHE"].map(|name| (root().join(name), name.to_owned()));
    let licences = (root().join(licences::FILE), "licences.txt".to_owned());
    Ok(documents.into_iter().chain([licences, (target("release").join(&program), program)]).collect())
}

/// Everything in dist/.
fn site() -> Result<Vec<Entry>> {
    let dist = Build::full().run()?;
    let named = |file: PathBuf| {
        let parts = file.strip_prefix(&dist)?.components().map(|part| part.as_os_str().to_string_lossy());
        let name = parts.collect::<Vec<_>>().join("/");
        Ok((file, name))
    };
    files(&dist)?.into_iter().map(named).collect()
}

/// Writes an archive of these files, with the program among them executable.
fn pack(archive: &Path, entries: &[Entry]) -> Result<PathBuf> {
    let file = File::create(archive).with_context(|| format!("{} cannot be written", archive.display()))?;
    let mut zip = ZipWriter::new(file);
    for (file, name) in entries {
        let mode = if name.starts_with("straightedge") { 0o755 } else { 0o644 };
        let options =
            SimpleFileOptions::default().compression_method(CompressionMethod::Deflated).unix_permissions(mode);
        zip.start_file(name, options)?;
        copy(&mut File::open(file).with_context(|| format!("{} cannot be read", file.display()))?, &mut zip)?;
    }
    zip.finish()?.flush()?;
    Ok(archive.to_owned())
}

/// A line that `sha256sum --check` reads.
fn checksum(file: &Path) -> Result<String> {
    let bytes = fs::read(file).with_context(|| format!("{} cannot be read", file.display()))?;
    let digest: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{digest}  {}\n", file.file_name().unwrap_or_default().to_string_lossy()))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn an_archive_holds_its_files_and_keeps_the_program_executable() {
        let archive = std::env::temp_dir().join(format!("straightedge-package-{}.zip", std::process::id()));
        let manifest = root().join("xtask/Cargo.toml");
        let entries =
            [(manifest.clone(), "data/a.toml".into()), (manifest.clone(), format!("straightedge{EXE_SUFFIX}"))];
        pack(&archive, &entries).expect("an archive");
        let mut zip = zip::ZipArchive::new(File::open(&archive).expect("a file")).expect("an archive");
        assert_eq!(zip.len(), 2);
        assert_eq!(zip.by_index(1).expect("a program").unix_mode().map(|mode| mode & 0o777), Some(0o755));
        let mut text = String::new();
        zip.by_name("data/a.toml").expect("a file").read_to_string(&mut text).expect("a text");
        assert_eq!(text, fs::read_to_string(manifest).expect("a manifest"));
        let sum = checksum(&archive).expect("a checksum");
        assert!(sum.len() > 66 && sum[64..].starts_with("  straightedge-package-"), "{sum}");
        fs::remove_file(archive).expect("it goes");
    }
}
