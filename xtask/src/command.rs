//! Child processes and their folders.

use std::env;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// The root of the repository.
///
/// Cargo says where it is at run time; the path seen at compile time may belong to another clone that shares the
/// target folder.
pub(crate) fn root() -> PathBuf {
    let manifest = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let mut root = PathBuf::from(manifest);
    root.pop();
    root
}

/// A folder below Cargo's target folder.
pub(crate) fn target(name: &str) -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |folder| root().join(folder)).join(name)
}

/// Cargo itself, in the root folder.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root());
    // Cargo's variables about this program's own package must not reach other packages.
    for (name, _) in env::vars_os().filter(|(name, _)| is_package_variable(name)) {
        cargo.env_remove(name);
    }
    cargo
}

fn is_package_variable(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_"))
}

/// npm under its name on this system.
pub(crate) fn npm() -> Command {
    Command::new(if cfg!(windows) { "npm.cmd" } else { "npm" })
}

/// Prints a command, runs it to the end and fails unless it succeeds.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    eprintln!("$ {}", shown(command));
    let status = command.stdin(Stdio::null()).status().with_context(|| format!("{} does not start", name(command)))?;
    if !status.success() {
        bail!("{} failed ({status})", shown(command));
    }
    Ok(())
}

/// [`run`] that also collects the command's standard output, even if it fails.
pub(crate) fn listen(command: &mut Command, output: &mut String) -> Result<()> {
    eprintln!("$ {}", shown(command));
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("{} does not start", name(command)))?;
    let printed = child.stdout.take().expect("standard output is piped");
    for line in BufReader::new(printed).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        println!("{line}");
        output.push_str(&line);
        output.push('\n');
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("{} failed ({status})", shown(command));
    }
    Ok(())
}

/// The trimmed output of a quiet command; `None` if it is missing or fails.
pub(crate) fn output(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A command as typed, without the folder of its program.
pub(crate) fn shown(command: &Command) -> String {
    let arguments = command.get_args().map(|argument| argument.to_string_lossy().into_owned());
    [name(command)].into_iter().chain(arguments).collect::<Vec<_>>().join(" ")
}

fn name(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    program.file_stem().unwrap_or(program.as_os_str()).to_string_lossy().into_owned()
}
