//! Memory of the engine: the peak, and what a measurement needs, estimated before it is taken.

use crate::error::{Error, Result};
use crate::job::{Job, Measure};
use crate::model::{self, ModelConfig};
use crate::platform::parallel::threads;
use crate::weights::Weights;

/// Bytes in a megabyte.
const MEGABYTE: u64 = 1_000_000;
/// Matrices of d_in × d_in and of d_out × d_out that one thread's solve holds at its peak, in addition to the sums:
/// measured in Chromium, 4.5 of the first and 5.5 of the second.
const SOLVE_MATRICES: f64 = 6.0;
/// Copies of x and y of all rows that a trained measure holds: the captured ones, those scaled for the training, and those on
/// the device, which on a CPU are in the same memory.
const COPIES: f64 = 3.0;
/// Threads that share a solve: the headline fit and the remainder are computed concurrently.
const SOLVE_THREADS: usize = 2;

/// The sums of second moments that exist at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sums {
    pub(super) d_in: u64,
    pub(super) d_out: u64,
    pub(super) folds: u64,
    /// Blocks whose sums exist at once.
    pub(super) blocks: u64,
    /// Rows of a block that a measure holds at once, see [`held_rows`].
    pub(super) rows: u64,
}

/// How many of `rows` the measures of a job hold at once.
pub(super) fn held_rows(job: &Job, rows: u64) -> u64 {
    let hold = [Measure::Probes, Measure::FurtherProbes, Measure::Degrees, Measure::Baseline];
    if hold.iter().any(|measure| job.measures.contains(measure)) { rows } else { 0 }
}

impl Sums {
    /// Bytes of the sums and of a solve on `threads` threads, and of the rows that measures after it hold.
    fn bytes(self, threads: usize) -> u64 {
        let Self { d_in, d_out, folds, blocks, rows } = self;
        let [d_in, d_out, folds, blocks, rows] = [d_in, d_out, folds, blocks, rows].map(|count| count as f64);
        let sums = folds * (d_in * d_in + d_in * d_out) + d_out * d_out;
        let solve = threads.min(SOLVE_THREADS) as f64 * SOLVE_MATRICES * (d_in * d_in + d_out * d_out);
        // The conversion saturates.
        (8.0 * (blocks * sums + solve) + 4.0 * COPIES * rows * (d_in + d_out)) as u64
    }
}

/// Refuses sums that do not fit into the memory that is left; `what` names them.
///
/// # Errors
/// [`Error::NeedsMemory`].
pub(super) fn check(what: &str, sums: Sums) -> Result<()> {
    fits(what, sums, threads(), free_bytes())
}

fn fits(what: &str, sums: Sums, threads: usize, limit: Option<u64>) -> Result<()> {
    match exceeded(sums.bytes(threads), limit) {
        Some((needed, limit)) => {
            let Sums { d_in, d_out, folds, rows, .. } = sums;
            let held = if rows > 0 { format!(", and {rows} rows that its measures hold") } else { String::new() };
            let what = format!("{what} with {d_in} inputs, {d_out} outputs and {folds} folds{held}");
            Err(Error::NeedsMemory { what, needed, limit })
        }
        None => Ok(()),
    }
}

/// Refuses to load a whole model, as generation and healing do, if it does not fit into the memory that is left.
///
/// # Errors
/// [`Error::ModelMemory`], and those of a model whose tensors are missing or of another shape.
pub(super) fn check_model(config: &ModelConfig, weights: &Weights) -> Result<()> {
    match exceeded(model::stored(config, weights, model::ModelParts::WithHead)?.f32_bytes(), free_bytes()) {
        Some((needed, limit)) => Err(Error::ModelMemory { needed, limit }),
        None => Ok(()),
    }
}

/// Megabytes needed and left, if more are needed.
fn exceeded(needed: u64, limit: Option<u64>) -> Option<(u64, u64)> {
    let limit = limit.filter(|limit| needed > *limit)?;
    Some((needed.div_ceil(MEGABYTE), limit / MEGABYTE))
}

/// All that a browser can address, less what was in use before the first measurement: the module, a model's tokenizer,
/// a text. What a measurement takes later is free again after it, although the memory never shrinks.
#[cfg(target_arch = "wasm32")]
fn free_bytes() -> Option<u64> {
    static FIRST: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    Some((1 << 32) - FIRST.get_or_init(|| peak().unwrap_or_default()))
}

/// Bytes that the system can give, if it says so.
#[cfg(not(target_arch = "wasm32"))]
fn free_bytes() -> Option<u64> {
    let all = std::fs::read_to_string("/proc/meminfo").ok()?;
    let kibibytes = all.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(kibibytes.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

/// Bytes of linear memory, which only grows.
#[cfg(target_arch = "wasm32")]
pub(super) fn peak() -> Option<u64> {
    const PAGE: u64 = 1 << 16;
    Some(core::arch::wasm32::memory_size::<0>() as u64 * PAGE)
}

/// Peak resident bytes of the process, if the system reports it.
#[cfg(not(target_arch = "wasm32"))]
pub(super) fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kibibytes = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(kibibytes.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_that_do_not_fit_are_refused_with_their_size() {
        let sums = |d_in, d_out, folds| Sums { d_in, d_out, folds, blocks: 1, rows: 0 };
        // 65 536² entries are 0 on 32 bits.
        let wide = fits("rows", sums(16, 65_536, 2), 1, Some(1 << 32)).expect_err("too wide").to_string();
        assert!(wide.contains("65536 outputs") && wide.contains("about 240") && wide.contains("4294 MB"), "{wide}");
        assert!(fits("rows", sums(16, 65_536, 2), 2, None).is_ok(), "nothing is known");
        assert!(fits("rows", sums(768, 768, 5), 2, Some(1 << 30)).is_ok());
        assert!(fits("rows", sums(768, 768, 500), 1, Some(1 << 32)).is_err());
        assert_eq!(sums(u64::MAX, u64::MAX, u64::MAX / 2).bytes(1), u64::MAX);
    }

    #[test]
    fn rows_that_measures_hold_are_refused_with_their_number() {
        let job = |measures: &[Measure]| Job { measures: measures.iter().copied().collect(), ..Job::new("m", "t") };
        assert_eq!(held_rows(&job(&[Measure::Fit, Measure::Conjunction]), 7), 0);
        let sums = |rows| Sums { d_in: 768, d_out: 768, folds: 5, blocks: 1, rows };
        for measure in [Measure::Probes, Measure::FurtherProbes, Measure::Degrees, Measure::Baseline] {
            let rows = held_rows(&job(&[Measure::Fit, measure]), 5_000_000);
            let many = fits("a block", sums(rows), 2, Some(64 << 30)).expect_err("too many").to_string();
            assert!(many.contains("5000000 rows") && many.contains("about 92"), "{many}");
        }
        assert!(fits("a block", sums(0), 2, Some(64 << 30)).is_ok());
    }

    #[test]
    fn the_estimate_is_within_a_fifth_of_the_peaks_seen_in_chromium() {
        // Peaks of linear memory, of which 10 MB are the module and its data.
        for (d_in, d_out, folds, megabytes) in
            [(768, 768, 200, 1963), (768, 768, 20, 253), (768, 64, 20, 132), (64, 768, 20, 46), (16, 4000, 2, 849)]
        {
            let seen = f64::from(megabytes - 10) * 1e6;
            let share = Sums { d_in, d_out, folds, blocks: 1, rows: 0 }.bytes(1) as f64 / seen;
            assert!((0.98..1.2).contains(&share), "{d_in} × {d_out}, {folds} folds: {share} of the peak");
        }
    }
}
