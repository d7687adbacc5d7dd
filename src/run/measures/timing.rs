//! Times a network on this device, without the time that submission and readback take.

use web_time::Instant;

use crate::backend::Backend;
use crate::error::Result;
use crate::platform::yielding::yield_now;
use crate::report::finite;

/// Repetitions; the shortest counts, because other load on the machine only adds time.
const REPETITIONS: usize = 3;
/// Seconds per measurement, long enough for a coarse clock and the submission overhead to matter little.
const ENOUGH: f64 = 8e-3;
/// Most runs within one measurement.
const MOST_RUNS: usize = 64;

/// Microseconds per row of `network`, which returns `rows` rows. `None` if the clock sees no difference, or the
/// backend's waits are too coarse.
pub(super) async fn row_microseconds<B: Backend>(
    backend: &B,
    rows: usize,
    network: impl Fn() -> Result<B::Tensor>,
) -> Result<Option<f64>> {
    if backend.has_coarse_times() {
        return Ok(None);
    }
    let started = Instant::now();
    by_clock(backend, rows, network, &|| started.elapsed().as_secs_f64()).await
}

/// `row_microseconds` with a given clock in seconds.
async fn by_clock<B: Backend>(
    backend: &B,
    rows: usize,
    network: impl Fn() -> Result<B::Tensor>,
    clock: &impl Fn() -> f64,
) -> Result<Option<f64>> {
    // The first run prepares kernels and memory.
    let warm = network()?;
    wait(backend, &warm).await?;
    let once = timed(backend, 1, &warm, &network, clock).await?;
    let runs = ((ENOUGH / once).ceil() as usize).clamp(1, MOST_RUNS);
    let (mut working, mut idle) = (Vec::new(), Vec::new());
    for _ in 0..REPETITIONS {
        working.push(timed(backend, runs, &warm, &network, clock).await?);
        idle.push(timed(backend, 0, &warm, &network, clock).await?);
    }
    let seconds = (shortest(&working) - shortest(&idle)) / runs as f64;
    Ok(finite(seconds / rows as f64 * 1e6).filter(|microseconds| *microseconds > 0.0))
}

/// Seconds that an otherwise idle device takes for `runs` runs and one readback.
async fn timed<B: Backend>(
    backend: &B,
    runs: usize,
    warm: &B::Tensor,
    network: &impl Fn() -> Result<B::Tensor>,
    clock: &impl Fn() -> f64,
) -> Result<f64> {
    yield_now().await;
    let started = clock();
    let mut last = warm.clone();
    for _ in 0..runs {
        last = network()?;
    }
    wait(backend, &last).await?;
    Ok(clock() - started)
}

/// Waits until the device has computed `tensor`.
async fn wait<B: Backend>(backend: &B, tensor: &B::Tensor) -> Result<()> {
    backend.read(&backend.gather(tensor, &[0])?).await.map(drop)
}

fn shortest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use pollster::block_on;

    use super::*;
    use crate::backend::Shape;
    use crate::backend::cpu::CpuBackend;

    /// The reported time of four rows of a network that takes `cost` seconds, with a submission overhead and a delay in
    /// the first timed run. Powers of two keep the sums exact.
    fn microseconds(cost: f64) -> Option<f64> {
        let backend = CpuBackend::new();
        let x = backend.upload("x", Shape::new(4, 1), &[0.5; 4]).expect("rows");
        let (now, runs) = (Cell::new(0.0), Cell::new(0));
        let network = || {
            runs.set(runs.get() + 1);
            now.set(now.get() + cost + if runs.get() == 3 { 8.0 } else { 0.0 });
            Ok(x.clone())
        };
        let clock = || {
            now.set(now.get() + 2f64.powi(-13));
            now.get()
        };
        block_on(by_clock(&backend, 4, network, &clock)).expect("a run")
    }

    #[test]
    fn a_row_takes_its_share_of_the_shortest_run_without_what_asking_takes() {
        for exponent in [-20, -9, -1] {
            let (found, expected) =
                (microseconds(2f64.powi(exponent)).expect("a time"), 2f64.powi(exponent) / 4.0 * 1e6);
            assert!((found - expected).abs() <= 1e-12 * expected, "{found} µs where {expected} are spent");
        }
        assert_eq!(microseconds(0.0), None, "no difference");
    }
}
