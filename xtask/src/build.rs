//! `cargo xtask build`: from sources to dist/, one step after the other.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::bundle;
use crate::command::{cargo, output, root, run, shown};
use crate::first_view;
use crate::offline;
use crate::wasm;

const TARGET: &str = "wasm32-unknown-unknown";

/// How much time to spend on small and fast modules.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Link-time optimisation and wasm-opt, as it is hosted.
    Full,
    /// The development profile as it is.
    Quick,
}

impl Effort {
    pub(crate) fn new(dev: bool) -> Self {
        if dev { Self::Quick } else { Self::Full }
    }
}

/// A module for the browser.
pub(crate) struct Module {
    /// Cargo package.
    package: &'static str,
    /// Name of the Cargo binary and of the files in dist/.
    pub(crate) bin: &'static str,
    /// Features of the package that make it; another module's dependencies stay out.
    pub(crate) feature: &'static str,
    profile: &'static str,
}

/// The page, small because it paints first, and the engine in its worker.
pub(crate) const MODULES: [Module; 2] = [
    Module { package: "straightedge-web", bin: "page", feature: "page", profile: "wasm-page" },
    Module { package: "straightedge-web", bin: "worker", feature: "worker", profile: "wasm-engine" },
];

/// The engine's own checks in a browser, which tests serve beside the page.
pub(crate) const CHECKS: Module =
    Module { package: "straightedge-web", bin: "checks", feature: "checks", profile: "wasm-engine" };

/// The engine with its benchmarks, built as the engine of the page is.
pub(crate) const BENCH: Module =
    Module { package: "straightedge-bench", bin: "bench", feature: "browser", profile: "wasm-engine" };

/// Cargo arguments for the reader of tables: a module without bindings, which the engine loads when a text asks for it.
pub(crate) const TABLE: [&str; 5] = ["--package", "straightedge-table", "--lib", "--target", TARGET];

impl Module {
    /// Its file in dist/.
    pub(crate) fn file(&self) -> String {
        format!("{}_bg.wasm", self.bin)
    }

    /// Cargo arguments that select this module for the browser.
    pub(crate) fn selection(&self) -> [&'static str; 9] {
        let Self { package, bin, feature, .. } = self;
        ["--package", package, "--bin", bin, "--no-default-features", "--features", feature, "--target", TARGET]
    }
}

/// Builds everything and returns the folder to be served.
pub(crate) fn build(effort: Effort) -> Result<PathBuf> {
    ensure_target()?;
    let commit = commit();
    let mut finished = Vec::new();
    for module in &MODULES {
        let compiled = compile(module, effort, commit.as_deref())?;
        finished.push(wasm::finish(module.bin, &compiled, effort)?);
    }
    let compiled = compile_selected("straightedge_table", &TABLE, "wasm-engine", effort, None)?;
    finished.push(wasm::finish_plain("table", &compiled, effort)?);
    let dist = root().join("dist");
    bundle::assemble(&finished, &dist)?;
    first_view::write(&dist)?;
    offline::write(&dist, effort)?;
    bundle::print_sizes(&dist, effort)?;
    Ok(dist)
}

/// A copy of the finished page with the module of checks in it; returns its folder.
pub(crate) fn with_checks(dist: &Path) -> Result<PathBuf> {
    let compiled = compile(&CHECKS, Effort::Full, None)?;
    let module = wasm::finish(CHECKS.bin, &compiled, Effort::Quick)?;
    let site = compiled.with_file_name("site-under-test");
    bundle::gather(&[dist, &module], &site)?;
    Ok(site)
}

/// Adds the standard library for wasm where it is missing.
pub(crate) fn ensure_target() -> Result<()> {
    let mut rustc = Command::new("rustc");
    rustc.current_dir(root()).args(["--print", "target-libdir", "--target", TARGET]);
    if output(&mut rustc).is_some_and(|folder| Path::new(&folder).is_dir()) {
        return Ok(());
    }
    run(Command::new("rustup").current_dir(root()).args(["target", "add", TARGET]))
        .with_context(|| format!("the standard library for {TARGET} is missing; install rustup, or that library"))
}

/// The commit that the reports name, marked where the sources differ from it.
pub(crate) fn commit() -> Option<String> {
    output(Command::new("git").current_dir(root()).args([
        "describe",
        "--always",
        "--dirty",
        "--abbrev=12",
        "--exclude=*",
    ]))
}

/// Lets reports of what `command` compiles name `commit`, unless the environment names one.
pub(crate) fn name_commit(command: &mut Command, commit: Option<&str>) {
    if let Some(commit) = commit.filter(|_| env::var_os("STRAIGHTEDGE_COMMIT").is_none()) {
        command.env("STRAIGHTEDGE_COMMIT", commit);
    }
}

/// Compiles one module and returns where Cargo put it.
pub(crate) fn compile(module: &Module, effort: Effort, commit: Option<&str>) -> Result<PathBuf> {
    compile_selected(module.bin, &module.selection(), module.profile, effort, commit)
}

/// The same of the target `name` that the arguments of Cargo in `selection` select.
fn compile_selected(
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

/// The wasm file of a target among Cargo's messages, one JSON object per line.
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
