//! The benchmarks as a native program; `cargo xtask bench` builds and starts it.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread::available_parallelism;

use clap::Parser;
use straightedge::workers::Workers;
use straightedge_bench::results::{Host, Peer, Results};
use straightedge_bench::settings::{Device, Part, Settings, Shape};
use straightedge_bench::{suite, table};

/// Measures how fast the engine's parts run on this machine.
#[derive(Parser)]
struct Args {
    /// Backends to measure.
    #[arg(long, value_delimiter = ',', default_value = "gpu,cpu", value_parser = device)]
    backend: Vec<Device>,
    /// Measure only these parts: kernels, gram, solve, whole, growth.
    #[arg(long, value_delimiter = ',')]
    parts: Option<Vec<Part>>,
    /// The model as LAYERSxWIDTH; 12x768 unless the processor emulates the GPU.
    #[arg(long)]
    shape: Option<Shape>,
    /// Rows of the complete measurement.
    #[arg(long)]
    rows: Option<usize>,
    /// Megabytes of rows that the complete measurement may hold on the device.
    #[arg(long, value_name = "MB")]
    row_memory: Option<u64>,
    /// Tokens per window.
    #[arg(long, default_value_t = 128)]
    seq_len: usize,
    /// Seed of weights and tokens.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Also write all results as JSON.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Write all results to this file and print no table.
    #[arg(long, hide = true)]
    keep: Option<PathBuf>,
    /// Print the settings as JSON, for a browser's worker, and measure nothing.
    #[arg(long, hide = true)]
    print_settings: bool,
    /// Print the results of an earlier run from this JSON file and measure nothing.
    #[arg(long, conflicts_with = "print_settings")]
    results: Option<PathBuf>,
    /// Add the results of other programs from these JSON files.
    #[arg(long, hide = true)]
    peers: Vec<PathBuf>,
}

fn device(name: &str) -> Result<Device, String> {
    serde_json::from_value(name.into()).map_err(|_| "choose gpu, cpu or gpu,cpu".into())
}

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("straightedge-bench: {why}");
            ExitCode::from(2)
        }
    }
}

fn run(args: &Args) -> Result<(), String> {
    let settings = Settings {
        devices: args.backend.clone(),
        parts: args.parts.clone().unwrap_or_else(|| Part::ALL.to_vec()),
        shape: args.shape,
        rows: args.rows,
        row_memory: args.row_memory.map(|megabytes| megabytes.saturating_mul(1 << 20)),
        seq_len: args.seq_len,
        seed: args.seed,
    };
    if args.print_settings {
        println!("{}", serde_json::to_string(&settings).map_err(|error| error.to_string())?);
        return Ok(());
    }
    let mut results: Results = match &args.results {
        Some(path) => read(path)?,
        None => pollster::block_on(suite::run(&settings, host(), Workers::default(), &|what| eprintln!("… {what}"))),
    };
    for path in &args.peers {
        results.peers.extend(read::<Vec<Peer>>(path)?);
    }
    results.host.commit = results.host.commit.or_else(|| host().commit);
    for path in args.out.iter().chain(&args.keep) {
        let json = serde_json::to_string_pretty(&results).map_err(|error| error.to_string())?;
        fs::write(path, json + "\n").map_err(|error| format!("{}: {error}", path.display()))?;
    }
    if args.keep.is_none() {
        print!("{}", table::table(&results));
    }
    match results.devices.iter().find_map(|device| device.failure.as_ref()) {
        Some(failure) => Err(failure.clone()),
        None => Ok(()),
    }
}

fn read<T: serde::de::DeserializeOwned>(path: &PathBuf) -> Result<T, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}

fn host() -> Host {
    Host {
        system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        processor: processor(),
        threads: available_parallelism().map_or(1, Into::into),
        load: load(),
        version: env!("CARGO_PKG_VERSION").into(),
        commit: std::env::var("BENCH_COMMIT").ok(),
    }
}

/// The processor's name, on Linux only.
fn processor() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("model name"))?;
    Some(line.trim_start_matches([' ', '\t', ':']).to_owned())
}

fn load() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}
