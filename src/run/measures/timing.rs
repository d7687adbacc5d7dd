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
/// Seconds after which a measurement is no longer lengthened, whatever waiting takes on a busy machine.
const MOST: f64 = 10.0 * ENOUGH;
/// Most runs within one measurement.
const MOST_RUNS: usize = 1024;
/// Largest growth of the runs between two measurements.
const GROWTH: f64 = 16.0;

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
    let mut runs = 1;
    let (mut working, mut idle) = loop {
        let working = timed(backend, runs, &warm, &network, clock).await?;
        let idle = timed(backend, 0, &warm, &network, clock).await?;
        if working - idle >= ENOUGH || working >= MOST || runs == MOST_RUNS {
            break (vec![working], vec![idle]);
        }
        let growth = (ENOUGH / (working - idle).max(ENOUGH / GROWTH)).max(2.0);
        runs = ((runs as f64 * growth).ceil() as usize).min(MOST_RUNS);
    };
    while working.len() < REPETITIONS {
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

    /// A network of four rows on a simulated device.
    #[derive(Default)]
    struct Simulated {
        /// Seconds of a run.
        cost: f64,
        /// Seconds that the second run takes longer.
        pause: f64,
        /// Seconds between two readings of the clock beside the work.
        asking: f64,
        /// The clock shows multiples of this many seconds.
        grain: f64,
    }

    impl Simulated {
        fn microseconds(&self) -> Option<f64> {
            let backend = CpuBackend::new();
            let x = backend.upload("x", Shape::new(4, 1), &[0.5; 4]).expect("rows");
            let (now, runs) = (Cell::new(0.0), Cell::new(0));
            let network = || {
                runs.set(runs.get() + 1);
                now.set(now.get() + self.cost + if runs.get() == 2 { self.pause } else { 0.0 });
                Ok(x.clone())
            };
            let clock = || {
                now.set(now.get() + self.asking);
                if self.grain > 0.0 { (now.get() / self.grain).floor() * self.grain } else { now.get() }
            };
            block_on(by_clock(&backend, 4, network, &clock)).expect("a run")
        }
    }

    #[test]
    fn a_row_takes_its_share_of_the_shortest_run_without_what_asking_takes() {
        // Powers of two keep the sums exact.
        let asking = 2f64.powi(-13);
        for (exponent, pause) in [(-20, 0.0), (-16, 0.0), (-9, 0.0), (-1, 8.0)] {
            let cost = 2f64.powi(exponent);
            let found = Simulated { cost, pause, asking, ..Simulated::default() }.microseconds().expect("a time");
            let expected = cost / 4.0 * 1e6;
            assert!((found - expected).abs() <= 1e-12 * expected, "{found} µs where {expected} are spent");
        }
        assert_eq!(Simulated { asking, ..Simulated::default() }.microseconds(), None, "no difference");
    }

    #[test]
    fn a_clock_of_whole_milliseconds_is_given_enough_to_time() {
        for cost in [0.3e-3, 0.05e-3, 0.9e-3, 1.7e-3] {
            let device = Simulated { cost, asking: 0.2e-3, grain: 1e-3, ..Simulated::default() };
            let (found, expected) = (device.microseconds().expect("a time"), cost / 4.0 * 1e6);
            assert!((found - expected).abs() <= 0.15 * expected, "{found} µs where {expected} are spent");
        }
    }
}
