//! Latency of waiting for a device, and counters of waits.

use std::cell::{Cell, RefCell};

use futures::channel::oneshot;
use web_time::Instant;

use super::pacer::Mark;

/// Above this latency, times distinguish kernels only if these differ by much.
const COARSE_MS: f64 = 10.0;
/// Number of steps of the clock that are watched.
const STEPS: usize = 3;

/// Latency of waiting for an idle device.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::backend::gpu) struct Latency {
    /// Median of several waits, in milliseconds.
    pub(in crate::backend::gpu) ms: f64,
    /// Longest minus shortest wait.
    pub(in crate::backend::gpu) spread: f64,
}

impl Latency {
    /// Computes median and spread of several waits.
    pub(in crate::backend::gpu) fn of(mut waits: Vec<f64>) -> Self {
        waits.sort_by(f64::total_cmp);
        let (Some(first), Some(last)) = (waits.first(), waits.last()) else { return Self::default() };
        Self { ms: waits[waits.len() / 2], spread: last - first }
    }

    /// The same where the clock advances in steps of `grain` milliseconds: no wait is known to be shorter.
    pub(in crate::backend::gpu) fn with_grain(self, grain: f64) -> Self {
        Self { ms: self.ms.max(grain), ..self }
    }

    /// Whether the latency is too long for timing kernels that differ little.
    pub(in crate::backend::gpu) fn is_coarse(&self) -> bool {
        self.ms > COARSE_MS
    }
}

/// The shortest of several steps of a clock: a program that is interrupted sees a longer one now and then.
fn grain(now: impl Fn() -> f64) -> f64 {
    let next = |last: f64| std::iter::repeat_with(&now).find(|now| *now != last).unwrap_or(last);
    // The first step began before it was watched.
    let mut last = next(now());
    let mut least = f64::INFINITY;
    for _ in 0..STEPS {
        let now = next(last);
        least = least.min(now - last);
        last = now;
    }
    least
}

/// Waiting on this device: its latency and pending results.
pub(in crate::backend::gpu) struct Waits {
    started: Instant,
    /// Latency of an idle device.
    idle: Cell<Latency>,
    /// Whether empty submissions make the browser check for finished work.
    pub(super) nudges: Cell<bool>,
    /// Delays callbacks to multiples of this many milliseconds, for tests.
    grid_ms: Cell<Option<f64>>,
    /// Rounds the clock down to multiples of this many milliseconds, for tests.
    grain_ms: Cell<Option<f64>>,
    /// End of the previous batch.
    pub(super) before: RefCell<Option<Pending<()>>>,
}

thread_local! {
    static COUNTS: Cell<Counts> = Cell::default();
}

/// Work that this thread gave to devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Dispatches of kernels.
    pub dispatches: usize,
    /// Submissions of dispatches.
    pub submissions: usize,
    /// Waits for a device.
    pub waits: usize,
}

impl Counts {
    /// The totals so far.
    pub fn now() -> Self {
        COUNTS.get()
    }

    pub(in crate::backend::gpu) fn add(more: Self) {
        let Self { dispatches, submissions, waits } = Self::now();
        COUNTS.set(Self {
            dispatches: dispatches + more.dispatches,
            submissions: submissions + more.submissions,
            waits: waits + more.waits,
        });
    }
}

/// A result that the device has yet to deliver.
pub(in crate::backend::gpu) struct Pending<T> {
    pub(super) receiver: oneshot::Receiver<T>,
    pub(super) mark: Mark,
    /// The submission that delivers it, if known.
    pub(super) index: Option<wgpu::SubmissionIndex>,
}

impl Default for Waits {
    fn default() -> Self {
        Self {
            started: Instant::now(),
            idle: Cell::default(),
            nudges: Cell::new(false),
            grid_ms: Cell::new(None),
            grain_ms: Cell::new(None),
            before: RefCell::default(),
        }
    }
}

impl Waits {
    /// Milliseconds since the device was opened.
    pub(in crate::backend::gpu) fn now(&self) -> f64 {
        let now = self.elapsed();
        self.grain_ms.get().map_or(now, |grain| (now / grain).floor() * grain)
    }

    fn elapsed(&self) -> f64 {
        self.started.elapsed().as_secs_f64() * 1e3
    }

    /// Milliseconds by which the clock advances.
    pub(in crate::backend::gpu) fn grain(&self) -> f64 {
        grain(|| self.now())
    }

    /// Sets the latency of an idle device.
    pub(in crate::backend::gpu) fn set_idle(&self, wait: Latency) {
        self.idle.set(wait);
    }

    /// The latency of an idle device.
    pub(in crate::backend::gpu) fn idle(&self) -> Latency {
        self.idle.get()
    }

    /// Sets whether empty submissions are used to make the browser check for finished work.
    pub(in crate::backend::gpu) fn set_nudges(&self, nudges: bool) {
        self.nudges.set(nudges);
    }

    /// Delays callbacks to multiples of `ms`, as Firefox does.
    pub(in crate::backend::gpu) fn set_grid(&self, ms: Option<f64>) {
        self.grid_ms.set(ms);
    }

    /// Rounds the clock down to multiples of `ms`, as browsers do that hide precise times.
    pub(in crate::backend::gpu) fn set_grain(&self, ms: Option<f64>) {
        self.grain_ms.set(ms);
    }

    /// Sleeps until the next multiple of the grid.
    pub(in crate::backend::gpu) fn delay(&self) {
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(grid) = self.grid_ms.get() {
            let rest = grid - self.elapsed() % grid;
            std::thread::sleep(std::time::Duration::from_secs_f64(rest / 1e3));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found of a clock that is read every `reading` milliseconds, where the reading number `late` comes half a
    /// second late.
    fn found(step: f64, reading: f64, late: usize) -> f64 {
        let readings = Cell::new(0);
        grain(|| {
            readings.set(readings.get() + 1);
            let now = readings.get() as f64 * reading + if readings.get() > late { 500.0 } else { 0.0 };
            (now / step).floor() * step
        })
    }

    #[test]
    fn the_step_of_a_coarse_clock_is_found_also_by_a_program_that_is_interrupted() {
        for step in [100.0, 16.0, 1.0] {
            for late in [usize::MAX, 3, 50, 150, 250] {
                let found = found(step, 0.25, late);
                assert!((found - step).abs() <= 1e-9, "{found} of {step}, late at reading {late}");
            }
        }
        let fine = found(0.005, 0.25, usize::MAX);
        assert!((fine - 0.25).abs() <= 1e-9, "a clock finer than its readings: {fine}");
    }

    #[test]
    fn a_clock_of_a_tenth_of_a_second_is_as_coarse_as_a_wait_of_that_length() {
        let quick = Latency::of(vec![0.0, 0.0, 0.1]);
        assert!(!quick.is_coarse() && !quick.with_grain(1.0).is_coarse());
        assert!(quick.with_grain(16.0).is_coarse() && quick.with_grain(100.0).is_coarse());
        let slow = Latency::of(vec![100.0, 100.0, 103.0]).with_grain(1.0);
        assert_eq!((slow.ms, slow.spread), (100.0, 3.0));
    }
}
