//! Many executions of a target on inputs drawn from a seed, and the inputs that failed.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use straightedge_random::Random;

use crate::minimise::minimise;
use crate::mutate::mutate;
use crate::target::Target;
use crate::trial::{Failure, trial};

/// Causes after which a target is given up.
const MOST_CAUSES: usize = 30;

/// What a campaign found.
#[derive(Debug, Default)]
pub struct Tally {
    /// Executions.
    pub executions: usize,
    /// Inputs that were accepted; the others were refused as documented.
    pub accepted: usize,
    /// Failures by cause: the first input, shortened, with its execution.
    pub found: BTreeMap<String, Found>,
    /// Time taken.
    pub duration: Duration,
}

/// An input that failed.
#[derive(Debug)]
pub struct Found {
    /// Which execution it was.
    pub execution: usize,
    /// Why it failed.
    pub failure: Failure,
    /// The shortened input.
    pub input: Vec<u8>,
    /// How many executions had this cause.
    pub count: usize,
}

/// Where every input of an execution comes from.
pub struct Source<'a> {
    target: &'a Target,
    seeds: Vec<Vec<u8>>,
    seed: u64,
}

impl<'a> Source<'a> {
    /// The inputs of a target that follow from a seed.
    pub fn new(target: &'a Target, seed: u64) -> Self {
        Self { target, seeds: (target.seeds)(), seed }
    }

    /// The input of an execution, which depends on nothing but the seed and its number.
    pub fn input(&self, execution: usize) -> Vec<u8> {
        let name = self.target.name.bytes().fold(0, |sum: u64, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
        let mut random = Random::stream(self.seed, &[name, execution as u64]);
        mutate(self.target.format, &self.seeds, &mut random)
    }
}

/// Runs some executions; `on_execution` receives the number of each before it starts.
pub fn run(target: &Target, seed: u64, executions: Range<usize>, mut on_execution: impl FnMut(usize)) -> Tally {
    let (source, started, mut tally) = (Source::new(target, seed), Instant::now(), Tally::default());
    for execution in executions {
        on_execution(execution);
        let input = source.input(execution);
        tally.executions += 1;
        match trial(target, &input) {
            Ok(is_accepted) => tally.accepted += usize::from(is_accepted),
            Err(failure) => {
                let cause = failure.cause();
                if let Some(known) = tally.found.get_mut(&cause) {
                    known.count += 1;
                    continue;
                }
                let is_same = |input: &[u8]| trial(target, input).is_err_and(|other| other.cause() == cause);
                let input = minimise(&input, is_same);
                let failure = trial(target, &input).err().unwrap_or(failure);
                tally.found.insert(cause, Found { execution, failure, input, count: 1 });
                if tally.found.len() >= MOST_CAUSES {
                    break;
                }
            }
        }
    }
    tally.duration = started.elapsed();
    tally
}

/// Writes the inputs that failed into a folder, and returns a line about each.
///
/// # Errors
/// If the folder cannot be written.
pub fn keep(target: &Target, tally: &Tally, folder: &Path) -> io::Result<Vec<String>> {
    let folder = folder.join(target.name);
    let mut lines = Vec::new();
    for found in tally.found.values() {
        fs::create_dir_all(&folder)?;
        let file: PathBuf = folder.join(format!("execution-{}", found.execution));
        fs::write(&file, &found.input)?;
        let bytes = found.input.len();
        let Found { failure, count, .. } = found;
        lines.push(format!("{}: {failure} ({count} times; {bytes} bytes in {})", target.name, file.display()));
    }
    Ok(lines)
}
