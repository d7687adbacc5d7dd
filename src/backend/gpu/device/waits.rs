//! Latency of waiting for a device, and counters of waits.

use std::cell::{Cell, RefCell};

use futures::channel::oneshot;
use web_time::Instant;

use super::pacer::Mark;

/// Above this latency, times distinguish kernels only if these differ by much.
const COARSE_MS: f64 = 10.0;

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

    /// Whether the latency is too long for timing kernels that differ little.
    pub(in crate::backend::gpu) fn is_coarse(&self) -> bool {
        self.ms > COARSE_MS
    }
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
            before: RefCell::default(),
        }
    }
}

impl Waits {
    /// Milliseconds since the device was opened.
    pub(in crate::backend::gpu) fn now(&self) -> f64 {
        self.started.elapsed().as_secs_f64() * 1e3
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

    /// Sleeps until the next multiple of the grid.
    pub(in crate::backend::gpu) fn delay(&self) {
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(grid) = self.grid_ms.get() {
            let rest = grid - self.now() % grid;
            std::thread::sleep(std::time::Duration::from_secs_f64(rest / 1e3));
        }
    }
}
