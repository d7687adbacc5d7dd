//! Autotuning: which of several kernels for one operation is fastest on the device, and at which rate.
//!
//! Kernels compete on small problems (`contest.rs`) when the operation is first needed. The first kernel of a list is
//! the one expected to be fastest; another one is used only where it is clearly faster. Clear winners are cached
//! between runs (`cache.rs`); rates are measured again whenever a device is opened.

mod cache;
mod contest;
mod problems;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use super::choice::KernelChoice;
use super::device::{AdapterReport, Device, Engine, Latency};
use super::kernels::exact::Exact;
use crate::error::Result;
use crate::platform::yielding::yield_now;

pub use cache::{adopt, load, snapshot, to_save};
use contest::{Outcome, Timed, run_contest};
pub use problems::product_flops;
use problems::{Norms, Products, SecondMoments};

/// Floating-point operations per millisecond that any GPU reaches: lower measurements are taken for errors.
const LEAST_FLOPS_PER_MS: f64 = 1e7;
/// Floating-point operations per millisecond that no GPU reaches in f32, several times those of the fastest: with a
/// higher rate, one submission would hold any amount of work.
const MOST_FLOPS_PER_MS: f64 = 3e11;
/// One multiplication of exact second moments costs no less: a multiply-add of a matrix product counts as two.
const LEAST_EXACT_FLOPS: f64 = 2.0;
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

/// Tunes the kernels that every model needs, and measures their rate. `on_progress` receives how many kernels of how
/// many are done with: compiled, or not needed.
pub(super) async fn tune(engine: &Engine, on_progress: &dyn Fn(usize, usize)) -> Result<KernelChoice> {
    let (products, norms) = (Products::new(engine), Norms::new(engine));
    let total = products.variants.len() + norms.reductions.len();
    on_progress(0, total);
    measure_wait(engine).await?;
    let compiled = |count| on_progress(count, total);
    let timed = Watched::new(&products, &compiled);
    let (product, outcome) =
        choose(engine, "product", &products.variants, |variant| variant.kernel.name.into(), &timed).await?;
    let flops_per_ms = rate(products.flops(outcome.size), outcome.ms, engine.device.probe.is_software);
    let mut choice = KernelChoice::new(product, flops_per_ms);
    let compiled = |count| on_progress(products.variants.len() + count, total);
    compiled(0);
    let timed = Watched::new(&norms, &compiled);
    choice.reduction =
        choose_kernel(engine, "rows", &norms.reductions, |reduction| format!("{reduction:?}"), &timed).await?;
    on_progress(total, total);
    Ok(choice)
}

/// Floating-point operations per millisecond, within what is plausible; the time may have been too short for the clock.
fn rate(flops: f64, ms: f64, is_software: bool) -> f64 {
    let least = if is_software { 0.0 } else { LEAST_FLOPS_PER_MS };
    (flops / ms).clamp(least, MOST_FLOPS_PER_MS)
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
    let flops = outcome.ms * choice.flops_per_ms / moments.products(outcome.size);
    Ok((exact, Some(flops.max(LEAST_EXACT_FLOPS))))
}

/// Measures the latency of waiting, and whether empty submissions shorten it.
async fn measure_wait(engine: &Engine) -> Result<()> {
    let mut wait = waits(engine).await?;
    let grain = engine.waits.grain();
    if wait.is_coarse() {
        engine.waits.set_nudges(true);
        let nudged = waits(engine).await?;
        engine.waits.set_nudges(nudged.ms < 0.5 * wait.ms);
        wait = if nudged.ms < 0.5 * wait.ms { nudged } else { wait };
    }
    engine.waits.set_idle(wait.with_grain(grain));
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
    if let Some(index) = cached_winner(engine, contest, kernels, &name)
        && timed.compiles(index).await
    {
        let outcome = run_contest(&SingleKernel { timed, index }, 1, wait).await?;
        return Ok((kernels[index], outcome));
    }
    let outcome = run_contest(timed, kernels.len(), wait).await?;
    let winner = kernels[outcome.winner];
    if kernels.len() > 1 && !wait.is_coarse() {
        CONTESTS.set(contests_run() + 1);
        cache::note(contest, &name(&winner), outcome.margin, &key_of(&engine.device));
    }
    Ok((winner, outcome))
}

fn cached_winner<K>(engine: &Engine, contest: &str, kernels: &[K], name: &impl Fn(&K) -> String) -> Option<usize> {
    let winner = cache::winner(contest, &key_of(&engine.device))?;
    kernels.iter().position(|kernel| name(kernel) == winner)
}

fn key_of(device: &Device) -> String {
    device_key(NAME.with_borrow(Clone::clone), &device.probe)
}

/// The device on one line: the browser's name or the driver's, driver, software or hardware, and limits.
fn device_key(name: Option<String>, device: &AdapterReport) -> String {
    let info = &device.info;
    let name = name.or_else(|| info.adapter.clone()).unwrap_or_default();
    let limits: Vec<_> = info.limits.values().map(u64::to_string).collect();
    let software = if device.is_software { "software" } else { "hardware" };
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

    async fn compiles(&self, _kernel: usize) -> bool {
        self.timed.compiles(self.index).await
    }

    async fn ms(&self, _kernel: usize, size: usize, repetitions: usize) -> Result<f64> {
        self.timed.ms(self.index, size, repetitions).await
    }
}

/// Tells how many of several kernels have run, and so have been compiled.
struct Watched<'t, T> {
    timed: &'t T,
    on_progress: &'t dyn Fn(usize),
    ran: RefCell<BTreeSet<usize>>,
}

impl<'t, T> Watched<'t, T> {
    fn new(timed: &'t T, on_progress: &'t dyn Fn(usize)) -> Self {
        Self { timed, on_progress, ran: RefCell::default() }
    }
}

impl<T: Timed> Timed for Watched<'_, T> {
    fn sizes(&self) -> usize {
        self.timed.sizes()
    }

    async fn compiles(&self, kernel: usize) -> bool {
        self.timed.compiles(kernel).await
    }

    async fn ms(&self, kernel: usize, size: usize, repetitions: usize) -> Result<f64> {
        let ms = self.timed.ms(kernel, size, repetitions).await?;
        if self.ran.borrow_mut().insert(kernel) {
            (self.on_progress)(self.ran.borrow().len());
            yield_now().await;
        }
        Ok(ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::DeviceInfo;

    fn adapter(name: Option<&str>, is_software: bool, buffer: u64) -> AdapterReport {
        let limits = [("maxBufferSize".to_owned(), buffer), ("maxStorageBuffersPerShaderStage".to_owned(), 8)].into();
        let info = DeviceInfo {
            backend: "gpu".into(),
            adapter: name.map(str::to_owned),
            driver: None,
            features: Vec::new(),
            limits,
        };
        AdapterReport { info, is_software }
    }

    #[test]
    fn devices_without_a_name_are_told_apart_by_what_else_is_known() {
        let plain = device_key(None, &adapter(None, false, 1 << 28));
        assert_eq!(plain, ", , hardware, 268435456 8");
        let others = [
            device_key(None, &adapter(None, true, 1 << 28)),
            device_key(None, &adapter(None, false, 1 << 31)),
            device_key(Some("vendor".into()), &adapter(None, false, 1 << 28)),
            device_key(Some("vendor architecture".into()), &adapter(None, false, 1 << 28)),
        ];
        for (at, other) in others.iter().enumerate() {
            assert!(*other != plain && !others[..at].contains(other), "{other}");
        }
        let named = device_key(None, &adapter(Some("A\tGPU\nof two lines"), false, 1 << 28));
        assert_eq!(named, "A GPU of two lines, , hardware, 268435456 8", "one line of the cache holds it");
        let by_browser = device_key(Some("vendor".into()), &adapter(Some("a GPU"), false, 1 << 28));
        assert!(by_browser.starts_with("vendor, "), "the browser's name comes first: {by_browser}");
    }

    #[test]
    fn a_rate_is_finite_however_short_the_time_was() {
        assert_eq!(rate(2e9, 0.5, false), 4e9);
        for flops in [2.0 * 64f64.powi(3), 2.0 * 8192.0 * 1024f64.powi(2)] {
            assert_eq!(rate(flops, 0.0, false), MOST_FLOPS_PER_MS);
            assert_eq!(rate(flops, 0.0, true), MOST_FLOPS_PER_MS);
            assert_eq!(rate(flops, 1e9, false), LEAST_FLOPS_PER_MS);
        }
        assert_eq!(rate(2e9, 1e6, true), 2e3, "an emulated adapter may be as slow as it is");
    }
}
