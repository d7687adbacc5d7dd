//! Takes times on a machine with other load.

use web_time::Instant;

use straightedge::backend::Backend;
use straightedge::error::Result;
use straightedge::platform::yielding::yield_now;

/// Repetitions; the shortest counts, because other load only adds time.
const REPETITIONS: usize = 3;
/// Milliseconds per repetition, enough for clock resolution and submission overhead to matter little.
const ENOUGH_MS: f64 = 120.0;
/// Most runs within a repetition.
const MOST_RUNS: usize = 256;

/// Milliseconds of one run of `work`, including the wait for the device.
pub(crate) async fn shortest<B: Backend>(backend: &B, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
    // The first run prepares kernels and memory.
    timed(backend, 1, &mut work).await?;
    let once = timed(backend, 1, &mut work).await?;
    let runs = ((ENOUGH_MS / once) as usize).clamp(1, MOST_RUNS);
    let mut shortest = once;
    for _ in 0..REPETITIONS {
        shortest = f64::min(shortest, timed(backend, runs, &mut work).await? / runs as f64);
    }
    Ok(shortest)
}

async fn timed<B: Backend>(backend: &B, runs: usize, work: &mut impl FnMut() -> Result<()>) -> Result<f64> {
    yield_now().await;
    let started = Instant::now();
    for _ in 0..runs {
        work()?;
    }
    backend.wait().await?;
    Ok(started.elapsed().as_secs_f64() * 1e3)
}

/// Milliseconds of `work` on this thread alone.
pub(crate) fn shortest_here(mut work: impl FnMut()) -> f64 {
    let mut shortest = f64::INFINITY;
    for _ in 0..REPETITIONS {
        let started = Instant::now();
        work();
        shortest = shortest.min(started.elapsed().as_secs_f64() * 1e3);
    }
    shortest
}
