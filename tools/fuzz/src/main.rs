//! The fuzzer as a program; `cargo xtask fuzz` builds and starts it.

use std::fs::{self, File};
use std::io::{Seek, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use straightedge_fuzz::campaign::{Source, Tally, keep, run};
use straightedge_fuzz::target::Target;
use straightedge_fuzz::targets::all;
use straightedge_fuzz::trial::trial;

/// Tries the parsers of untrusted input on mutated files.
#[derive(Parser)]
struct Args {
    /// Targets by name; all by default.
    targets: Vec<String>,
    /// Executions of each target.
    #[arg(long, default_value_t = 10_000)]
    runs: usize,
    /// Seed of all draws.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Number of the first execution.
    #[arg(long, default_value_t = 0)]
    first: usize,
    /// Folder for inputs that fail.
    #[arg(long, default_value = "target/fuzz")]
    out: PathBuf,
    /// Only run this file with the target.
    #[arg(long)]
    file: Option<PathBuf>,
    /// List the targets.
    #[arg(long)]
    list: bool,
}

fn main() -> ExitCode {
    match fuzz(&Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(why) => {
            eprintln!("straightedge-fuzz: {why}");
            ExitCode::from(2)
        }
    }
}

fn fuzz(args: &Args) -> Result<bool, String> {
    let targets = chosen(&args.targets)?;
    if args.list {
        targets.iter().for_each(|target| println!("{:12} {}", target.name, target.about));
        return Ok(true);
    }
    if let Some(file) = &args.file {
        let input = fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let found: Vec<_> = targets.iter().map(|target| (target.name, trial(target, &input))).collect();
        found.iter().for_each(|(name, outcome)| match outcome {
            Ok(true) => println!("{name}: accepted"),
            Ok(false) => println!("{name}: refused"),
            Err(failure) => println!("{name}: {failure}"),
        });
        return Ok(found.iter().all(|(_, outcome)| outcome.is_ok()));
    }
    fs::create_dir_all(&args.out).map_err(|error| format!("{}: {error}", args.out.display()))?;
    let mut is_clean = true;
    for target in targets {
        let tally = executed(args, target)?;
        let (count, seconds) = (tally.executions, tally.duration.as_secs_f64());
        println!(
            "{:12} {count:>8} executions in {seconds:.1} s, {} accepted, {} causes of failure",
            target.name,
            tally.accepted,
            tally.found.len()
        );
        for line in keep(target, &tally, &args.out).map_err(|error| error.to_string())? {
            println!("{line}");
            is_clean = false;
        }
    }
    Ok(is_clean)
}

/// Runs a target. An input that ends the program itself, as by a stack overflow, stays in a file.
fn executed(args: &Args, target: &Target) -> Result<Tally, String> {
    let path = args.out.join(format!("{}.now", target.name));
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut now = File::create(&path).map_err(failed)?;
    let mut written = Ok(());
    let tally = run(target, args.seed, args.first..args.first.saturating_add(args.runs), |execution| {
        let number = format!("{execution:>20} is the last execution that began");
        written = now.rewind().and_then(|()| now.write_all(number.as_bytes()));
    });
    written.map_err(failed)?;
    fs::remove_file(&path).map_err(failed)?;
    if args.runs == 1 {
        let file = args.out.join(format!("{}-{}", target.name, args.first));
        fs::write(&file, Source::new(target, args.seed).input(args.first)).map_err(|error| error.to_string())?;
    }
    Ok(tally)
}

fn chosen(names: &[String]) -> Result<Vec<&'static Target>, String> {
    let known = || all().iter().map(|target| target.name).collect::<Vec<_>>().join(", ");
    match names {
        [] => Ok(all().iter().collect()),
        names => names
            .iter()
            .map(|name| {
                let found = all().iter().find(|target| target.name == name);
                found.ok_or_else(|| format!("{name}: no such target; choose from {}", known()))
            })
            .collect(),
    }
}
