//! How long a network takes on this device, without the time that asking takes.

use web_time::Instant;

use crate::backend::Backend;
use crate::error::Result;
use crate::pause::pause;
use crate::report::finite;

/// Measurements of which the shortest counts: whatever else the machine does only adds to one.
const REPETITIONS: usize = 5;
/// Seconds that one measurement should last, so that a coarse clock and the way to the device matter little.
const ENOUGH: f64 = 5e-3;
/// Most runs within one measurement.
const MOST_RUNS: usize = 64;

/// Microseconds per row of `network`, which returns `rows` rows; `None` where the clock sees no difference.
pub(super) async fn row_microseconds<B: Backend>(
    backend: &B,
    rows: usize,
    network: impl Fn() -> Result<B::Tensor>,
) -> Result<Option<f64>> {
    // The first run prepares kernels and memory.
    let warm = network()?;
    wait(backend, &warm).await?;
    let once = timed(backend, 1, &warm, &network).await?;
    let runs = ((ENOUGH / once).ceil() as usize).clamp(1, MOST_RUNS);
    let (mut working, mut idle) = (Vec::new(), Vec::new());
    for _ in 0..REPETITIONS {
        working.push(timed(backend, runs, &warm, &network).await?);
        idle.push(timed(backend, 0, &warm, &network).await?);
    }
    let seconds = (shortest(&working) - shortest(&idle)) / runs as f64;
    Ok(finite(seconds / rows as f64 * 1e6).filter(|microseconds| *microseconds > 0.0))
}

/// Seconds that a device with nothing else to do takes for `runs` runs and one read.
async fn timed<B: Backend>(
    backend: &B,
    runs: usize,
    warm: &B::Tensor,
    network: &impl Fn() -> Result<B::Tensor>,
) -> Result<f64> {
    pause().await;
    let started = Instant::now();
    let mut last = warm.clone();
    for _ in 0..runs {
        last = network()?;
    }
    wait(backend, &last).await?;
    Ok(started.elapsed().as_secs_f64())
}

/// Waits until the device has done all that leads to `tensor`.
async fn wait<B: Backend>(backend: &B, tensor: &B::Tensor) -> Result<()> {
    backend.read(&backend.gather(tensor, &[0])?).await.map(drop)
}

fn shortest(values: &[f64]) -> f64 {
    values.iter().copied().fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use pollster::block_on;

    use super::*;
    use crate::backend::Shape;
    use crate::cpu::CpuBackend;

    #[test]
    fn sixteen_times_the_work_takes_longer_per_row() {
        let backend = CpuBackend::new();
        let (rows, d) = (256, 256);
        let x = backend.upload("x", Shape::new(rows, d), &vec![0.5; rows * d]).expect("rows");
        let weight = backend.upload("weight", Shape::new(d, d), &vec![1e-3; d * d]).expect("a weight");
        let product = |times: usize| {
            let network = || (0..times).try_fold(x.clone(), |x, _| backend.linear(&x, &weight, None));
            block_on(row_microseconds(&backend, rows, network)).expect("a run").expect("a time")
        };
        let (one, many) = (product(1), product(16));
        // Loose, because the machine that runs the tests does other things as well.
        assert!(many > 3.0 * one, "16 products take {many} µs, one takes {one} µs");
    }
}
