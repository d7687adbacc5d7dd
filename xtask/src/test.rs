//! `cargo xtask test` and `cargo xtask ci`: every check of the project, in one order, with one summary.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use clap::ValueEnum;

use crate::build::{BENCH, CHECKS, Effort, MODULES, TABLE, build, ensure_target, with_checks};
use crate::command::{cargo, root, run};
use crate::install;
use crate::serve::Site;
use crate::steps::Steps;

/// Where browser tests find the page: below the root, as on many hosts.
const PREFIX: &str = "/hosted/below/a/path/";

/// One part of the tests.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// The engine and its command line, natively, on GPU and CPU.
    Engine,
    /// The page's logic, natively and without an engine.
    Page,
    /// The tools, the calibration model that they make, and the training of the demo models.
    Tools,
    /// The built page with its engine in a real Chromium, with WebGPU and without.
    Browser,
}

/// Runs the tests asked for, all of them if none are named.
pub(crate) fn test(parts: &[Part]) -> Result<()> {
    let mut steps = Steps::default();
    add_tests(&mut steps, parts);
    steps.finish()
}

/// Formatting, lints and documentation for every target, then all tests.
pub(crate) fn ci() -> Result<()> {
    let mut steps = Steps::default();
    steps.step("formatting", || run(cargo().args(["fmt", "--all", "--check"])));
    steps.step("lints", lint);
    steps.step("documentation", || {
        run(cargo().env("RUSTDOCFLAGS", "-D warnings").args([
            "doc",
            "--workspace",
            "--no-deps",
            "--document-private-items",
        ]))
    });
    add_tests(&mut steps, &[]);
    steps.finish()
}

/// Takes the README's pictures.
pub(crate) fn screenshot() -> Result<()> {
    install::driver()?;
    let browser = install::browser()?;
    node(&["screenshot.mjs", "../../docs"], build(Effort::Full)?, &browser)
}

/// Clippy on everything native and on both modules for the browser.
fn lint() -> Result<()> {
    ensure_target()?;
    let deny = ["--", "-D", "warnings"];
    run(cargo().args(["clippy", "--workspace", "--all-targets"]).args(deny))?;
    MODULES
        .iter()
        .chain([&CHECKS, &BENCH])
        .try_for_each(|module| run(cargo().arg("clippy").args(module.selection()).args(deny)))?;
    run(cargo().arg("clippy").args(TABLE).args(deny))
}

fn add_tests(steps: &mut Steps, parts: &[Part]) {
    let wanted = |part| parts.is_empty() || parts.contains(&part);
    if wanted(Part::Engine) {
        let has_adapter = steps.step("GPU adapter", install::adapter).is_some();
        steps.step("engine tests", || engine(has_adapter));
    }
    if wanted(Part::Page) {
        steps.step("page tests", || run(cargo().args(["test", "--package", "straightedge-web", "--lib"])));
    }
    if wanted(Part::Tools) {
        let tools = ["xtask", "straightedge-train", "straightedge-mirror", "straightedge-table", "straightedge-bench"];
        let packages = tools.iter().flat_map(|name| ["--package", name]);
        steps.step("tool tests", || run(cargo().arg("test").args(packages)));
    }
    if wanted(Part::Browser) {
        steps.step("browser and driver", || install::driver().and_then(|()| install::browser())).and_then(|browser| {
            let site = steps.step("build", || with_checks(&build(Effort::Full)?))?;
            steps.step("browser tests", || node(&["--test", "--test-concurrency=1"], site, &browser))
        });
    }
}

/// Runs Node.js in tests/browser, with the built page served for it.
fn node(arguments: &[&str], dist: PathBuf, browser: &Path) -> Result<()> {
    let url = Site::new(dist, PREFIX).start(0)?;
    let mut node = Command::new("node");
    node.current_dir(root().join("tests/browser")).args(arguments);
    run(node.env("STRAIGHTEDGE_URL", url).env("CHROMIUM", browser).env("XTASK", env::current_exe()?))
}

/// Once an adapter is there, a GPU test that finds none has failed.
fn engine(has_adapter: bool) -> Result<()> {
    let mut command = cargo();
    command.args(["test", "--package", "straightedge", "--package", "straightedge-arithmetic"]);
    if has_adapter || env::var_os("CI").is_some() {
        command.env("REQUIRE_GPU", "1");
    }
    run(&mut command)
}
