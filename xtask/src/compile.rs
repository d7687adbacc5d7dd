//! Compiles a module for the browser with Cargo, and finds the file.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::command::{cargo, output, root, run, shown};
use crate::commit::name_commit;
use crate::modules::{Effort, Module, TARGET};

/// Adds the standard library for wasm if it is missing.
pub(crate) fn ensure_target() -> Result<()> {
    let mut rustc = Command::new("rustc");
    rustc.current_dir(root()).args(["--print", "target-libdir", "--target", TARGET]);
    if output(&mut rustc).is_some_and(|folder| Path::new(&folder).is_dir()) {
        return Ok(());
    }
    run(Command::new("rustup").current_dir(root()).args(["target", "add", TARGET]))
        .with_context(|| format!("the standard library for {TARGET} is missing; install rustup, or that library"))
}

/// Compiles one module and returns the path of the file.
pub(crate) fn compile(module: &Module, effort: Effort, commit: Option<&str>) -> Result<PathBuf> {
    compile_selected(module.bin, &module.selection(), module.profile, effort, commit)
}

/// The same for the target `name`, selected by the Cargo arguments in `selection`.
pub(crate) fn compile_selected(
    name: &str,
    selection: &[&str],
    profile: &str,
    effort: Effort,
    commit: Option<&str>,
) -> Result<PathBuf> {
    let mut command = cargo();
    command.arg("build").args(selection);
    command.args(["--profile", if effort == Effort::Full { profile } else { "dev" }]);
    command.arg("--message-format=json-render-diagnostics");
    name_commit(&mut command, commit);
    eprintln!("$ {}", shown(&command));
    let output = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().context("cargo does not start")?;
    if !output.status.success() {
        bail!("the module {name} does not compile");
    }
    artifact(&String::from_utf8_lossy(&output.stdout), name)
        .with_context(|| format!("cargo did not say where it put the module {name}"))
}

/// The wasm file of a target, from Cargo's messages, one JSON object per line.
fn artifact(messages: &str, name: &str) -> Option<PathBuf> {
    messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).find_map(|message| {
        let ours = message["reason"] == "compiler-artifact" && message["target"]["name"] == name;
        let files = message["filenames"].as_array().filter(|_| ours)?;
        files.iter().filter_map(Value::as_str).find(|file| file.ends_with(".wasm")).map(PathBuf::from)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_artifact_is_the_wasm_file_of_the_binary_asked_for() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","target":{"name":"serde"},"filenames":["/t/libserde.rlib"]}"#,
            "\n",
            r#"{"reason":"compiler-artifact","target":{"name":"worker"},"filenames":["/t/worker.wasm"]}"#,
            "\n",
            r#"{"reason":"compiler-artifact","target":{"name":"page"},"filenames":["/t/page.d","/t/page.wasm"]}"#,
            "\n",
            r#"{"reason":"build-finished","success":true}"#,
        );
        assert_eq!(artifact(messages, "page"), Some("/t/page.wasm".into()));
        assert_eq!(artifact(messages, "absent"), None);
    }
}
