//! `cargo xtask …`: builds, serves, tests and times the project. Only Rust, Node and git must be installed by hand.

mod atlas;
mod bench;
mod bench_page;
mod build;
mod bundle;
mod calibration;
mod command;
mod commit;
mod compile;
mod continuations;
mod demo;
mod document;
mod drivers;
mod first_view;
mod fuzz;
mod hub;
mod install;
mod integrity;
mod licences;
mod modules;
mod offline;
mod package;
mod policy;
mod progress;
mod record;
mod reproduce;
mod serve;
mod share;
mod steps;
mod tally;
mod test;
mod wasm;
mod watch;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use straightedge_hub_mirror::synthetic::Shape;

use crate::bench::BenchArgs;
use crate::bench_page::BenchPageArgs;
use crate::build::Build;
use crate::drivers::Drivers;
use crate::package::What;
use crate::test::TestArgs;

/// Builds, serves and tests Straightedge.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Task {
    /// Build the page and its engine into dist/, a static folder for any web server and any path.
    Build(Build),
    /// Build a development version, serve it at a local address, and rebuild whenever a source file changes.
    Serve {
        /// Port of the local address; if it is in use, the next free one is taken.
        #[arg(long, default_value_t = 8080)]
        port: u16,
    },
    /// Run the tests, and install what they need if it is missing and can be installed.
    Test(TestArgs),
    /// Test kernels and page on the GPU drivers and in the browsers of this machine.
    #[command(subcommand)]
    Drivers(Drivers),
    /// Measure how fast the engine's parts run on this machine.
    Bench(BenchArgs),
    /// Measure how long the built page takes for a model with random weights, and how much memory.
    BenchPage(BenchPageArgs),
    /// Try the parsers of untrusted input on mutated files, which follow from a seed.
    Fuzz(fuzz::FuzzArgs),
    /// Check formatting, lints, documentation, licences and workflows, then run all tests, as CI does.
    Ci,
    /// Check licences, sources, duplicates, advisories and use of all dependencies.
    Policy,
    /// Write the licence notices of all linked dependencies.
    Licences {
        /// Write nothing: only check that no notice is missing.
        #[arg(long)]
        check: bool,
    },
    /// Pack a release into target/package/, with checksums.
    Package {
        /// Part to pack.
        what: What,
    },
    /// Build HEAD in two clones at different paths, and compare all files of dist/.
    Reproduce,
    /// Rate the built page with Lighthouse's settings of a desktop and of a phone.
    Lighthouse,
    /// Serve local models as the Hugging Face hub does: a mirror for a class, and a hub for tests.
    Hub(hub::HubArgs),
    /// Write a model with random weights for tests; by default in the shape of the smallest GPT-2, 548 MB.
    MadeModel {
        /// Folder to write.
        folder: PathBuf,
        /// Shape as LAYERSxWIDTH, with heads of width 64, a vocabulary of bytes and 128 positions.
        #[arg(long, value_parser = hub::shape)]
        shape: Option<Shape>,
        /// Write a Llama in BF16 instead, in the shape of this model, one file per block.
        #[arg(long, conflicts_with = "shape")]
        llama: Option<hub::Llama>,
        /// Number of blocks, if it is not that of the model.
        #[arg(long, conflicts_with = "shape")]
        blocks: Option<usize>,
        /// Seed of the weights.
        #[arg(long, default_value_t = 0)]
        seed: u64,
    },
    /// Regenerate the calibration model, whose linearity is known by construction.
    Calibration,
    /// Train demo models, continuing stopped runs, and bundle those that are finished.
    Train {
        /// Names of models, or `all`; without any, only bundle trained models.
        names: Vec<String>,
        /// Folder for models in training and for the saved states of stopped runs.
        #[arg(long, default_value = "target/demo")]
        out: PathBuf,
        /// Stop every run after this many steps; the same command continues it.
        #[arg(long)]
        steps: Option<usize>,
        /// Where to train; by default a GPU if there is one and the tools to build for it.
        #[arg(long, value_parser = ["cpu", "gpu"])]
        device: Option<String>,
    },
    /// Measure every bundled demo model, and write the reports, their summary and docs/models.md.
    Record {
        /// Only these models; all by default.
        names: Vec<String>,
        /// Measure nothing; only write the summary and docs/models.md from the recorded reports.
        #[arg(long, conflicts_with = "names")]
        tables: bool,
    },
    /// Measure a list of models, which the page then lists as measured by this build.
    Atlas(atlas::AtlasArgs),
    /// Take the screenshots of the documents, the icons and the link preview.
    Screenshot,
}

fn main() -> ExitCode {
    match run(Task::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cargo xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<()> {
    match task {
        Task::Build(build) => build.run().map(drop),
        Task::Serve { port } => serve::serve(port),
        Task::Test(args) => test::test(&args),
        Task::Drivers(what) => drivers::drivers(&what),
        Task::Bench(args) => bench::bench(&args),
        Task::BenchPage(args) => bench_page::bench_page(&args),
        Task::Fuzz(args) => fuzz::fuzz(&args),
        Task::Ci => test::ci(),
        Task::Policy => policy::policy(),
        Task::Licences { check } => {
            if check {
                licences::check()
            } else {
                licences::write()
            }
        }
        Task::Package { what } => package::package(what),
        Task::Reproduce => reproduce::reproduce(),
        Task::Lighthouse => test::lighthouse(),
        Task::Hub(args) => hub::hub(args),
        Task::MadeModel { folder, llama: Some(llama), blocks, seed, .. } => {
            hub::synthetic_llama(&folder, llama, blocks, seed)
        }
        Task::MadeModel { folder, shape, blocks, seed, .. } => {
            let shape = shape.unwrap_or(Shape { layers: blocks.unwrap_or(Shape::GPT2.layers), ..Shape::GPT2 });
            hub::synthetic_model(&folder, shape, seed)
        }
        Task::Calibration => calibration::write(),
        Task::Train { names, out, steps, device } => demo::train(&names, &out, steps, device.as_deref()),
        Task::Record { names, tables } => record::record(&names, tables),
        Task::Atlas(args) => atlas::atlas(&args),
        Task::Screenshot => test::screenshot(),
    }
}
