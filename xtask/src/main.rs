//! `cargo xtask …`: builds, serves, tests and times the project. Only Rust, Node and git must be installed by hand.

mod atlas;
mod bench;
mod build;
mod bundle;
mod calibration;
mod command;
mod commit;
mod compile;
mod demo;
mod document;
mod drivers;
mod first_view;
mod hub;
mod install;
mod licences;
mod modules;
mod offline;
mod package;
mod policy;
mod progress;
mod record;
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
    /// Build quickly, serve at a local address, and rebuild whenever a source file changes.
    Serve {
        /// Port of the local address; if it is in use, the next free one.
        #[arg(long, default_value_t = 8080)]
        port: u16,
    },
    /// Install missing test requirements where possible, and run the tests.
    Test(TestArgs),
    /// Test kernels and page on the GPU drivers and in the browsers of this machine.
    #[command(subcommand)]
    Drivers(Drivers),
    /// Time the engine's parts on this machine.
    Bench(BenchArgs),
    /// Check formatting, lints, documentation, licences and workflows, then run all tests, as CI does.
    Ci,
    /// Check licences, sources, duplicates, advisories and use of all dependencies.
    Policy,
    /// Write the licence notices of everything that is linked in.
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
    /// Rate the built page with Lighthouse's desktop settings.
    Lighthouse,
    /// Serve local models as the Hugging Face hub does: a mirror for a class, and a hub for tests.
    Hub(hub::HubArgs),
    /// Write a model with random weights for tests; by default in the smallest GPT-2's shape, 548 MB.
    MadeModel {
        /// Folder to write.
        folder: PathBuf,
        /// Shape as LAYERSxWIDTH, with heads of width 64, a vocabulary of bytes and 128 positions.
        #[arg(long, value_parser = hub::shape)]
        shape: Option<Shape>,
        /// Write a Llama in BF16 in this model's shape, one file per block.
        #[arg(long, conflicts_with = "shape")]
        llama: Option<hub::Llama>,
        /// Number of blocks of that Llama; by default as many as in the model itself.
        #[arg(long, requires = "llama")]
        blocks: Option<usize>,
        /// Seed of the weights.
        #[arg(long, default_value_t = 0)]
        seed: u64,
    },
    /// Regenerate the calibration model, whose linearity is known by construction.
    Calibration,
    /// Train demo models, or resume stopped runs, and bundle the finished ones.
    Train {
        /// Names of models, or `all`; without any, only bundle trained models.
        names: Vec<String>,
        /// Folder for models in training and for the saved states of stopped runs.
        #[arg(long, default_value = "target/demo")]
        out: PathBuf,
        /// Stop every run after this many steps, to resume later.
        #[arg(long)]
        steps: Option<usize>,
        /// Device to train on; by default a GPU if there is one and its build tools are installed.
        #[arg(long, value_parser = ["cpu", "gpu"])]
        device: Option<String>,
    },
    /// Measure every bundled demo model, and write reports, their summary and docs/models.md.
    Record {
        /// Names of models; all by default.
        names: Vec<String>,
        /// Measure nothing; only write the summary and tables of recorded reports.
        #[arg(long, conflicts_with = "names")]
        tables: bool,
    },
    /// Measure a list of models, which the page then lists.
    Atlas(atlas::AtlasArgs),
    /// Take the documents' pictures, the icons, and the preview picture for links to the page.
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
        Task::Lighthouse => test::lighthouse(),
        Task::Hub(args) => hub::hub(args),
        Task::MadeModel { folder, llama: Some(llama), blocks, seed, .. } => {
            hub::synthetic_llama(&folder, llama, blocks, seed)
        }
        Task::MadeModel { folder, shape, seed, .. } => hub::made_model(&folder, shape.unwrap_or(Shape::GPT2), seed),
        Task::Calibration => calibration::write(),
        Task::Train { names, out, steps, device } => demo::train(&names, &out, steps, device.as_deref()),
        Task::Record { names, tables } => record::record(&names, tables),
        Task::Atlas(args) => atlas::atlas(&args),
        Task::Screenshot => test::screenshot(),
    }
}
