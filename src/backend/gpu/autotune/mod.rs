//! Autotuning: which of several kernels for one operation is fastest on the device, and at which rate.
//!
//! Kernels compete on small problems (`contest.rs`) when the operation is first needed. The first kernel of a list is
//! the one expected to be fastest; another one is used only where it is clearly faster. Clear winners are cached
//! between runs (`cache.rs`); rates are measured again whenever a device is opened.

mod cache;
mod contest;
mod problems;

use std::cell::{Cell, RefCell};

use super::choice::KernelChoice;
use super::device::{Device, Engine, Latency};
use super::kernels::exact::Exact;
use crate::error::Result;

pub use cache::{adopt, load, snapshot, to_save};
use contest::{Outcome, Timed, run_contest};
pub use problems::product_flops;
use problems::{Norms, Products, SecondMoments};

/// Floating-point operations per millisecond that any GPU reaches: lower measurements are taken for errors.
const LEAST_FLOPS_PER_MS: f64 = 1e7;
/// Number of waits whose median is taken.
const WAITS: usize = 3;

/// The contest of exact second moments.
const EXACT: &str = "exact second moments";

thread_local! {
    /// Contests held in this run.
    static CONTESTS: Cell<usize> = const { Cell::new(0) };
    /// The browser's name of the device, which wgpu does not expose.
    static NAME: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Number of contests held in this run, not counting those with a single kernel.
pub fn contests_run() -> usize {
    CONTESTS.get()
}

/// Sets the browser's name of the device: vendor and architecture.
pub fn name_device(name: Option<String>) {
    NAME.set(name);
}

/// Tunes the kernels that every model needs, and measures their rate.
pub(super) async fn tune(engine: &Engine) -> Result<KernelChoice> {
    measure_wait(engine).await?;
    let products = Products::new(engine);
    let (product, outcome) =
        choose(engine, "product", &products.variants, |variant| variant.kernel.name.into(), &products).await?;
    let flops_per_ms = products.flops(outcome.size) / outcome.ms.max(1e-6);
    let least = if engine.device.probe.is_software { 0.0 } else { LEAST_FLOPS_PER_MS };
    let mut choice = KernelChoice::new(product, flops_per_ms.max(least));
    let norms = Norms::new(engine);
    choice.reduction =
        choose_kernel(engine, "rows", &norms.reductions, |reduction| format!("{reduction:?}"), &norms).await?;
    Ok(choice)
}

/// The kernel for exact second moments, and its cost: one multiplication of two values takes as long as this many
/// floating-point operations of a matrix product.
pub(super) async fn tune_exact(engine: &Engine, choice: &KernelChoice) -> Result<(Exact, Option<f64>)> {
    let moments = SecondMoments::new(engine, choice)?;
    if engine.waits.idle().is_coarse() {
        let name = |exact: &Exact| format!("{exact:?}");
        return Ok((choose_kernel(engine, EXACT, &moments.kernels, name, &moments).await?, None));
    }
    let (exact, outcome) = choose(engine, EXACT, &moments.kernels, |exact| format!("{exact:?}"), &moments).await?;
    Ok((exact, Some(outcome.ms * choice.flops_per_ms / moments.products(outcome.size))))
}

/// Measures the latency of waiting, and whether empty submissions shorten it.
async fn measure_wait(engine: &Engine) -> Result<()> {
    let mut wait = waits(engine).await?;
    if wait.is_coarse() {
        engine.waits.set_nudges(true);
        let nudged = waits(engine).await?;
        engine.waits.set_nudges(nudged.ms < 0.5 * wait.ms);
        wait = if nudged.ms < 0.5 * wait.ms { nudged } else { wait };
    }
    engine.waits.set_idle(wait);
    Ok(())
}

async fn waits(engine: &Engine) -> Result<Latency> {
    engine.wait().await?;
    let mut waits = Vec::with_capacity(WAITS);
    for _ in 0..WAITS {
        let started = engine.waits.now();
        engine.wait().await?;
        waits.push(engine.waits.now() - started);
    }
    Ok(Latency::of(waits))
}

/// The kernel to use, without its rate: times nothing if there is only one, or if the cache has a winner.
async fn choose_kernel<K: Copy>(
    engine: &Engine,
    contest: &str,
    kernels: &[K],
    name: impl Fn(&K) -> String,
    timed: &impl Timed,
) -> Result<K> {
    if kernels.len() == 1 {
        return Ok(kernels[0]);
    }
    match cached_winner(engine, contest, kernels, &name) {
        Some(index) => Ok(kernels[index]),
        None if engine.waits.idle().is_coarse() => Ok(kernels[0]),
        None => choose(engine, contest, kernels, name, timed).await.map(|(kernel, _)| kernel),
    }
}

/// The kernel to use and how long it takes.
async fn choose<K: Copy>(
    engine: &Engine,
    contest: &str,
    kernels: &[K],
    name: impl Fn(&K) -> String,
    timed: &impl Timed,
) -> Result<(K, Outcome)> {
    let wait = engine.waits.idle();
    let known = match cached_winner(engine, contest, kernels, &name) {
        None if kernels.len() == 1 || wait.is_coarse() => Some(0),
        winner => winner,
    };
    if let Some(index) = known {
        let outcome = run_contest(&SingleKernel { timed, index }, 1, wait).await?;
        return Ok((kernels[index], outcome));
    }
    let outcome = run_contest(timed, kernels.len(), wait).await?;
    CONTESTS.set(contests_run() + 1);
    let winner = kernels[outcome.winner];
    cache::note(contest, &name(&winner), outcome.margin, &device_key(&engine.device));
    Ok((winner, outcome))
}

fn cached_winner<K>(engine: &Engine, contest: &str, kernels: &[K], name: &impl Fn(&K) -> String) -> Option<usize> {
    let winner = cache::winner(contest, &device_key(&engine.device))?;
    kernels.iter().position(|kernel| name(kernel) == winner)
}

/// The device on one line: name if known, driver, software or hardware, and limits.
fn device_key(device: &Device) -> String {
    let info = &device.probe.info;
    let name = NAME.with_borrow(Clone::clone).or_else(|| info.adapter.clone()).unwrap_or_default();
    let limits: Vec<_> = info.limits.values().map(u64::to_string).collect();
    let software = if device.probe.is_software { "software" } else { "hardware" };
    let key = format!("{name}, {}, {software}, {}", info.driver.as_deref().unwrap_or_default(), limits.join(" "));
    key.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Times only one of several kernels.
struct SingleKernel<'t, T> {
    timed: &'t T,
    index: usize,
}

impl<T: Timed> Timed for SingleKernel<'_, T> {
    fn sizes(&self) -> usize {
        self.timed.sizes()
    }

    async fn ms(&self, _kernel: usize, size: usize, repetitions: usize) -> Result<f64> {
        self.timed.ms(self.index, size, repetitions).await
    }
}
