//! `cargo xtask build`: from sources to dist/, one step after the other.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde_json::Value;

use crate::atlas;
use crate::bundle;
use crate::command::{cargo, output, root, run, shown};
use crate::first_view;
use crate::offline;
use crate::progress::Progress;
use crate::share::Shared;
use crate::wasm;

const TARGET: &str = "wasm32-unknown-unknown";

/// How much time to spend on small and fast modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Link-time optimisation and wasm-opt, as it is hosted.
    Full,
    /// Quick to build: larger and slower modules, no first view before the page's module has arrived, nothing kept for
    /// visits without a network.
    Quick,
}

impl Effort {
    pub(crate) fn new(dev: bool) -> Self {
        if dev { Self::Quick } else { Self::Full }
    }
}

/// A build: how, and what the page says of where it lies.
#[derive(Clone, Debug, Args)]
pub(crate) struct Build {
    /// Skip link-time optimisation, wasm-opt and the first view: quicker to build, larger and slower modules.
    #[arg(long)]
    dev: bool,
    /// Folder of an atlas that the page lists as measured by its build; web/data/atlas, if there is one.
    #[arg(long, env = "STRAIGHTEDGE_ATLAS", value_name = "FOLDER")]
    atlas: Option<PathBuf>,
    #[command(flatten)]
    place: Place,
}

/// Where the page will lie. Without these it can lie anywhere and says nothing of it.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Place {
    /// Address that the page will have, for its preview and as its canonical address.
    #[arg(long, env = "STRAIGHTEDGE_SITE", value_name = "URL")]
    site: Option<String>,
    /// Address of the sources, which the page's foot links to.
    #[arg(long, env = "STRAIGHTEDGE_SOURCE", value_name = "URL")]
    source: Option<String>,
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

impl Build {
    /// What is hosted and tested; the environment says where it will lie.
    pub(crate) fn full() -> Self {
        let [site, source] = ["STRAIGHTEDGE_SITE", "STRAIGHTEDGE_SOURCE"].map(|name| env::var(name).ok());
        let atlas = env::var_os("STRAIGHTEDGE_ATLAS").map(Into::into);
        Self { dev: false, atlas, place: Place { site, source } }
    }

    /// What is served while the sources change.
    pub(crate) fn quick() -> Self {
        Self { dev: true, atlas: None, place: Place::default() }
    }

    /// Builds everything and returns the folder to be served.
    pub(crate) fn run(&self) -> Result<PathBuf> {
        self.run_and_tell(&|| Ok(()))
    }

    /// [`Build::run`]; `page_ready` is called as soon as the folder holds everything but the engine.
    pub(crate) fn run_and_tell(&self, page_ready: &dyn Fn() -> Result<()>) -> Result<PathBuf> {
        let (effort, commit) = (Effort::new(self.dev), commit());
        let mut progress = Progress::new(if effort == Effort::Full { 5 } else { 4 });
        ensure_target()?;
        let mut finish = |module: &Module, what| {
            progress.next(what);
            wasm::finish(module.bin, &compile(module, effort, commit.as_deref())?, effort)
        };
        let [page, worker] = &MODULES;
        let dist = root().join("dist");
        let mut finished = vec![finish(page, "the page")?];
        if effort == Effort::Quick {
            self.assemble(&finished, &dist, commit.as_deref())?;
            page_ready()?;
        }
        finished.push(finish(worker, "the engine, which takes longest")?);
        progress.next("the reader of Parquet files");
        let table = compile_selected("straightedge_table", &TABLE, "wasm-engine", effort, None)?;
        finished.push(wasm::finish_plain("table", &table, effort)?);
        if effort == Effort::Full {
            progress.next("the first view");
        }
        self.assemble(&finished, &dist, commit.as_deref())?;
        progress.next("the files of the site");
        offline::write(&dist, effort)?;
        bundle::print_sizes(&dist, effort)?;
        Ok(dist)
    }

    /// Puts the site together from these modules.
    fn assemble(&self, modules: &[PathBuf], dist: &Path, commit: Option<&str>) -> Result<()> {
        bundle::assemble(modules, dist)?;
        atlas::put(self.atlas.as_deref(), dist)?;
        let Place { site, source } = &self.place;
        Shared { site: site.as_deref(), source: source.as_deref(), commit }.write(dist)?;
        if Effort::new(self.dev) == Effort::Full { first_view::write(dist) } else { Ok(()) }
    }
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
    command.args(["--profile", if effort == Effort::Full { profile } else { "quick" }]);
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
