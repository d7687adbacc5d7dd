//! `cargo xtask bench`: times the engine's parts natively, in Chromium or in Node.js on Dawn, and other programs for
//! comparison. The package `bench/` does the timing; this builds it and starts it where it should run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use clap::Args;
use serde_json::Value;

use crate::bundle::copy;
use crate::command::{cargo, output, root, run};
use crate::commit::commit;
use crate::compile::{compile, ensure_target};
use crate::install;
use crate::modules::{BENCH, Effort};
use crate::serve::Site;
use crate::wasm;

/// Files of other libraries that the browser loads, and their paths on the site.
const LIBRARIES: [(&str, &str); 5] = [
    ("onnxruntime-web/dist/ort.webgpu.min.mjs", "onnxruntime-web/ort.webgpu.min.mjs"),
    ("onnxruntime-web/dist/ort-wasm-simd-threaded.asyncify.mjs", "onnxruntime-web/ort-wasm-simd-threaded.asyncify.mjs"),
    (
        "onnxruntime-web/dist/ort-wasm-simd-threaded.asyncify.wasm",
        "onnxruntime-web/ort-wasm-simd-threaded.asyncify.wasm",
    ),
    ("@tensorflow/tfjs-core/dist/tf-core.min.js", "tfjs/tf-core.min.js"),
    ("@tensorflow/tfjs-backend-webgpu/dist/tf-backend-webgpu.min.js", "tfjs/tf-backend-webgpu.min.js"),
];

/// Where the benchmarks run, and the options passed on to them.
#[derive(Args)]
pub(crate) struct BenchArgs {
    /// Run the engine's wasm module in Chromium.
    #[arg(long)]
    browser: bool,
    /// Run the engine's wasm module in Node.js on Dawn.
    #[arg(long, conflicts_with = "browser")]
    node: bool,
    /// Measure other programs as well: transformers natively, onnxruntime-web and TensorFlow.js in Chromium.
    #[arg(long, conflicts_with = "node")]
    peers: bool,
    /// Build without link-time optimisation: quicker to build, slower to run.
    #[arg(long)]
    dev: bool,
    /// Options of the benchmarks, after `--`: --backend, --parts, --shape, --rows, --row-memory, --seq-len, --seed, --out; `--
    /// --help` explains them.
    #[arg(last = true)]
    options: Vec<String>,
}

pub(crate) fn bench(args: &BenchArgs) -> Result<()> {
    let bench = Bench { args, effort: Effort::new(args.dev), folder: root().join("target/bench") };
    fs::create_dir_all(&bench.folder)?;
    match (args.browser, args.node) {
        (true, _) => bench.in_chromium(),
        (_, true) => bench.in_node(),
        _ => bench.natively(),
    }
}

struct Bench<'a> {
    args: &'a BenchArgs,
    effort: Effort,
    /// Files exchanged between the programs.
    folder: PathBuf,
}

impl Bench<'_> {
    fn natively(&self) -> Result<()> {
        if !self.args.peers {
            return run(self.program().args(&self.args.options));
        }
        let (results, peers) = (self.file("native.json"), self.file("python.json"));
        let mut program = self.program();
        run(program.args(&self.args.options).arg("--keep").arg(&results))?;
        self.python(&results, &peers)?;
        self.show(&results, &[peers])
    }

    fn in_chromium(&self) -> Result<()> {
        let browser = install::browser()?;
        self.packages()?;
        let (settings, results, peers) = (self.settings()?, self.file("chromium.json"), self.file("libraries.json"));
        let mut node = Command::new("node");
        node.current_dir(scripts()).arg("chromium.mjs").args([&settings, &results]);
        if self.args.peers {
            node.arg(&peers);
        }
        let url = Site::new(self.site()?, "/").start(0)?;
        run(node.env("BENCH_URL", url).env("CHROMIUM", browser))?;
        self.show(&results, if self.args.peers { std::slice::from_ref(&peers) } else { &[] })
    }

    fn in_node(&self) -> Result<()> {
        self.packages()?;
        let (settings, results) = (self.settings()?, self.file("node.json"));
        let engine = self.site()?.join("engine");
        let mut node = Command::new("node");
        node.current_dir(scripts()).arg("node.mjs").args([&engine, &settings, &results]);
        run(&mut node)?;
        self.show(&results, &[])
    }

    /// The native program, ready for arguments.
    fn program(&self) -> Command {
        let mut program = cargo();
        program.args(["run", "--quiet", "--package", "straightedge-bench", "--bin", "straightedge-bench"]);
        if self.effort == Effort::Full {
            program.arg("--release");
        }
        if let Some(commit) = commit() {
            program.env("BENCH_COMMIT", commit);
        }
        program.arg("--");
        program
    }

    /// The settings that result from the options, as a file.
    fn settings(&self) -> Result<PathBuf> {
        let settings = output(self.program().args(&self.args.options).arg("--print-settings"));
        let settings = settings.context("the benchmarks refuse these options; see: cargo xtask bench -- --help")?;
        let file = self.file("settings.json");
        fs::write(&file, settings)?;
        Ok(file)
    }

    /// Prints the results of another run, and writes them if requested.
    fn show(&self, results: &Path, peers: &[PathBuf]) -> Result<()> {
        let mut program = self.program();
        program.args(&self.args.options).arg("--results").arg(results);
        for file in peers {
            program.arg("--peers").arg(file);
        }
        run(&mut program)
    }

    /// A folder with the wasm module and the files that run it.
    fn site(&self) -> Result<PathBuf> {
        ensure_target()?;
        let module = wasm::finish(BENCH.bin, &compile(&BENCH, self.effort, None)?, self.effort)?;
        let site = self.folder.join("site");
        if site.exists() {
            fs::remove_dir_all(&site)?;
        }
        copy(&module, &site.join("engine"))?;
        for file in ["index.html", "engine.js", "peers.js"] {
            copy(&scripts().join(file), &site.join(file))?;
        }
        if self.args.peers {
            for (from, to) in LIBRARIES {
                copy(&scripts().join("node_modules").join(from), &site.join(to))?;
            }
        }
        Ok(site)
    }

    fn packages(&self) -> Result<()> {
        install::packages(&scripts())
    }

    /// Runs the Python scripts with the shape and rows in `results`.
    fn python(&self, results: &Path, peers: &Path) -> Result<()> {
        let python = self.environment()?;
        let found: Value = serde_json::from_slice(&fs::read(results)?)?;
        let mut whole = found["devices"].as_array().into_iter().flatten().map(|device| &device["whole"]);
        let whole = whole.rfind(|whole| whole.is_object());
        let whole = whole.context("there is no complete measurement to compare with; leave --parts whole in")?;
        let number = |value: &Value| value.as_u64().unwrap_or(0);
        let (layers, width) = (number(&whole["shape"]["layers"]), number(&whole["shape"]["width"]));
        let heads = if width % 64 == 0 { width / 64 } else { 1 };
        let sizes = [layers, width, heads, number(&whole["rows"]), number(&found["settings"]["seq_len"])];
        let mut script = Command::new(python);
        script.arg(root().join("tools/bench/python/paper.py")).args(sizes.map(|size| size.to_string())).arg(peers);
        run(&mut script)
    }

    /// A Python environment with everything the script needs, created on first use.
    fn environment(&self) -> Result<PathBuf> {
        let environment = self.folder.join("python");
        let python = environment.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
        let wanted = fs::read_to_string(root().join("tools/bench/python/requirements.txt"))?;
        let installed = environment.join("requirements.txt");
        if fs::read_to_string(&installed).is_ok_and(|installed| installed == wanted) {
            return Ok(python);
        }
        run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
        let install = ["-m", "pip", "install", "--quiet", "--no-cache-dir", "-r"];
        run(Command::new(&python).args(install).arg(root().join("tools/bench/python/requirements.txt")))?;
        fs::write(installed, wanted)?;
        Ok(python)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// The scripts for Chromium and Node.js, with their packages.
fn scripts() -> PathBuf {
    root().join("tools/bench/browser")
}
