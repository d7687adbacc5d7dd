//! What waiting for a device takes, and how often it was done.

use std::cell::{Cell, RefCell};

use futures::channel::oneshot;
use web_time::Instant;

use super::pacer::Mark;

/// Where the answer of an idle device takes longer, times tell kernels apart only where these differ by much.
const COARSE_MS: f64 = 10.0;

/// What waiting for a device takes that has nothing to do.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::backend::gpu) struct Latency {
    /// The middle of several waits, in milliseconds.
    pub(in crate::backend::gpu) ms: f64,
    /// Between the shortest and the longest.
    pub(in crate::backend::gpu) spread: f64,
}

impl Latency {
    /// From several waits.
    pub(in crate::backend::gpu) fn of(mut waits: Vec<f64>) -> Self {
        waits.sort_by(f64::total_cmp);
        let (Some(first), Some(last)) = (waits.first(), waits.last()) else { return Self::default() };
        Self { ms: waits[waits.len() / 2], spread: last - first }
    }

    /// Whether it is too long for small differences between kernels to show.
    pub(in crate::backend::gpu) fn is_coarse(&self) -> bool {
        self.ms > COARSE_MS
    }
}

/// How waiting goes on this device, and how often it was done.
pub(in crate::backend::gpu) struct Waits {
    started: Instant,
    /// What the answer of an idle device takes.
    idle: Cell<Latency>,
    /// Whether empty submissions make the browser look.
    pub(super) nudges: Cell<bool>,
    /// Answers come at multiples of so many milliseconds; for tests.
    grid_ms: Cell<Option<f64>>,
    /// The end of the batch before.
    pub(super) before: RefCell<Option<Pending<()>>>,
}

thread_local! {
    static COUNTS: Cell<Counts> = Cell::default();
}

/// What devices were asked for by this thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Dispatches of kernels.
    pub dispatches: usize,
    /// Submissions of dispatches.
    pub submissions: usize,
    /// Waits for an answer.
    pub waits: usize,
}

impl Counts {
    /// All so far.
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

/// An answer that the device owes.
pub(in crate::backend::gpu) struct Pending<T> {
    pub(super) receiver: oneshot::Receiver<T>,
    pub(super) mark: Mark,
    /// The submission after which it comes, where that is known.
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

    /// Sets what the answer of an idle device takes.
    pub(in crate::backend::gpu) fn set_idle(&self, wait: Latency) {
        self.idle.set(wait);
    }

    /// What the answer of an idle device takes.
    pub(in crate::backend::gpu) fn idle(&self) -> Latency {
        self.idle.get()
    }

    /// Has empty submissions make the browser look, or not.
    pub(in crate::backend::gpu) fn set_nudges(&self, nudges: bool) {
        self.nudges.set(nudges);
    }

    /// Delays answers to multiples of so many milliseconds, as Firefox does.
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
