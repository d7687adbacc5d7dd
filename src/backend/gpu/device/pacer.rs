//! Plans how much work one submission holds, from measured rates and the actual times of submissions.
//!
//! Times are milliseconds. Estimates use the rates that [`crate::backend::gpu::autotune`] measured when the device was
//! opened. A device can become slower afterwards: phones throttle, and other programs compete for it.

use std::cell::Cell;

/// Maximum estimated time of one dispatch: the desktop stays responsive.
const DISPATCH_MS: f64 = 16.0;
/// Maximum estimated time of one submission. If the device becomes ten times slower, it takes a fifth of a second, well
/// under the timeout after which an operating system resets a GPU.
const SUBMISSION_MS: f64 = 20.0;
/// Less work than this says nothing about the rate, unless the device took so much longer.
const LEAST_MS: f64 = 4.0;
/// Maximum slowdown from one observation: the host may have noticed the end late.
const STEP: f64 = 2.0;
/// Maximum slowdown relative to the measured rates.
const MOST: f64 = 256.0;

/// Plans submissions.
#[derive(Default)]
pub(in crate::backend::gpu) struct Pacer(Cell<State>);

/// A point in the stream of submissions.
#[derive(Clone, Copy, Debug)]
pub(in crate::backend::gpu) struct Mark {
    /// Estimated work of all submissions up to this point.
    submitted: f64,
    /// Time of the last of them.
    at: f64,
}

#[derive(Clone, Copy)]
struct State {
    /// Actual time divided by estimated time, at least 1.
    slowdown: f64,
    /// Estimated work that is recorded but not submitted.
    recorded: f64,
    /// Estimated work of all submissions.
    submitted: f64,
    /// Estimated work that is known to be finished, and when the host learned of it.
    done: (f64, f64),
    /// When work was last submitted to an idle device.
    busy_since: f64,
    /// Time of the last submission.
    last: f64,
}

impl Default for State {
    fn default() -> Self {
        Self { slowdown: 1.0, recorded: 0.0, submitted: 0.0, done: (0.0, 0.0), busy_since: 0.0, last: 0.0 }
    }
}

impl Pacer {
    /// Maximum estimated time of one dispatch.
    pub(in crate::backend::gpu) fn dispatch_ms(&self) -> f64 {
        DISPATCH_MS / self.0.get().slowdown
    }

    /// Whether the recorded work must be submitted before a dispatch of `ms` is recorded.
    pub(in crate::backend::gpu) fn is_full(&self, ms: f64) -> bool {
        let State { slowdown, recorded, .. } = self.0.get();
        recorded > 0.0 && (recorded + ms) * slowdown > SUBMISSION_MS
    }

    /// Adds a dispatch of `ms` to the recorded work.
    pub(in crate::backend::gpu) fn record(&self, ms: f64) {
        let state = self.0.get();
        self.0.set(State { recorded: state.recorded + ms, ..state });
    }

    /// Counts the recorded work as submitted at `now`.
    pub(in crate::backend::gpu) fn submit(&self, now: f64) {
        let mut state = self.0.get();
        if state.submitted <= state.done.0 {
            state.busy_since = now;
        }
        state.submitted += state.recorded;
        (state.recorded, state.last) = (0.0, now);
        self.0.set(state);
    }

    /// The end of all submitted work.
    pub(in crate::backend::gpu) fn mark(&self) -> Mark {
        let State { submitted, last, .. } = self.0.get();
        Mark { submitted, at: last }
    }

    /// Corrects the plan when the host learns at `now` that all work up to `mark` is finished. `since` is when it began
    /// to wait; the notification itself takes up to `latency`.
    ///
    /// Upper bound of the work's time: since the device began it. Lower bound: since the host had submitted all of it,
    /// if the host really had to wait. The plan changes only where it violates a bound.
    pub(in crate::backend::gpu) fn complete(&self, mark: Mark, since: f64, now: f64, latency: f64) {
        let mut state = self.0.get();
        let estimated = mark.submitted - state.done.0;
        if estimated > 0.0 {
            let most = now - state.done.1.max(state.busy_since);
            let had_to_wait = now - since > latency;
            let least = if had_to_wait { now - mark.at.max(state.done.1) - latency } else { 0.0 };
            let planned = estimated * state.slowdown;
            // At a rate that was measured far too high, any work is estimated as short.
            if planned < least && (planned >= LEAST_MS || least - planned >= LEAST_MS) {
                state.slowdown *= (least / planned).min(STEP);
            } else if planned > most && planned >= LEAST_MS {
                state.slowdown *= most / planned;
            }
            state.slowdown = state.slowdown.clamp(1.0, MOST);
            state.done = (mark.submitted, now);
        }
        self.0.set(state);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    /// A device that runs submissions in order and takes `slowdown` times the estimate.
    struct Device {
        pacer: Pacer,
        slowdown: f64,
        now: f64,
        /// Milliseconds that the host needs per submission.
        host: f64,
        /// When the device becomes idle.
        free: f64,
        recorded: f64,
        longest: f64,
        submissions: usize,
        /// The host learns of the end of work at multiples of this many milliseconds, as in Firefox.
        grid: f64,
    }

    impl Device {
        fn new(slowdown: f64, host: f64) -> Self {
            let pacer = Pacer::default();
            Self { pacer, slowdown, now: 0.0, host, free: 0.0, recorded: 0.0, longest: 0.0, submissions: 0, grid: 0.0 }
        }

        fn submit(&mut self) {
            self.now += self.host;
            let takes = self.slowdown * self.recorded;
            self.longest = self.longest.max(takes);
            self.submissions += 1;
            self.free = self.free.max(self.now) + takes;
            self.recorded = 0.0;
            self.pacer.submit(self.now);
        }

        /// Records work in dispatches, as operations do, and waits for the end of the previous batch.
        fn batch(&mut self, ms: f64, before: &mut VecDeque<(Mark, f64)>) {
            let mut rest = ms;
            while rest > 0.0 {
                let piece = rest.min(self.pacer.dispatch_ms());
                if self.pacer.is_full(piece) {
                    self.submit();
                }
                self.pacer.record(piece);
                self.recorded += piece;
                rest -= piece;
            }
            self.submit();
            before.push_back((self.pacer.mark(), self.free));
            if before.len() > 1
                && let Some((mark, end)) = before.pop_front()
            {
                let since = self.now;
                self.now = since.max(end) + 0.1;
                if self.grid > 0.0 {
                    self.now = (self.now / self.grid).ceil() * self.grid;
                }
                self.pacer.complete(mark, since, self.now, self.grid.max(0.5));
            }
        }

        fn run(&mut self, batches: usize, ms: f64) {
            let mut before = VecDeque::new();
            (0..batches).for_each(|_| self.batch(ms, &mut before));
        }
    }

    #[test]
    fn no_submission_takes_a_fifth_of_a_second_on_a_device_that_turns_ten_times_slower() {
        let mut device = Device::new(1.0, 0.1);
        device.run(10, 100.0);
        assert!(device.longest <= SUBMISSION_MS, "{}", device.longest);
        device.slowdown = 10.0;
        device.run(10, 100.0);
        assert!(device.longest <= 200.0, "{}", device.longest);
        device.longest = 0.0;
        device.run(10, 100.0);
        assert!(device.longest <= 2.0 * SUBMISSION_MS, "corrected: {}", device.longest);

        device.slowdown = 1.0;
        device.run(10, 100.0);
        assert!(device.pacer.dispatch_ms() >= 0.9 * DISPATCH_MS, "and back: {}", device.pacer.dispatch_ms());
    }

    #[test]
    fn a_rate_that_was_measured_far_too_high_is_corrected_although_all_work_looks_short() {
        let mut device = Device::new(200.0, 0.1);
        device.run(10, 1.0);
        assert!(device.longest >= 200.0, "at first nothing is known: {}", device.longest);
        device.longest = 0.0;
        device.run(10, 1.0);
        assert!(device.longest <= 2.0 * SUBMISSION_MS, "{}", device.longest);
    }

    #[test]
    fn what_every_submission_costs_beside_its_work_does_not_slow_the_plan() {
        let pacer = Pacer::default();
        for at in 0..50 {
            let at = 10.0 * f64::from(at);
            pacer.record(0.2);
            pacer.submit(at);
            pacer.complete(pacer.mark(), at, at + 3.0, 0.5);
        }
        assert_eq!(pacer.dispatch_ms(), DISPATCH_MS);
    }

    #[test]
    fn short_work_that_was_heard_of_late_slows_the_plan_by_little_in_the_end() {
        let pacer = Pacer::default();
        let batch = |at: f64, ms: f64| {
            pacer.record(0.5);
            pacer.submit(at);
            pacer.complete(pacer.mark(), at, at + ms, 0.5);
        };
        (0..20).for_each(|index| batch(1000.0 * f64::from(index), 900.0));
        assert!(pacer.dispatch_ms() <= DISPATCH_MS / 100.0, "{}", pacer.dispatch_ms());
        (20..40).for_each(|index| batch(1000.0 * f64::from(index), 1.0));
        assert!(pacer.dispatch_ms() >= DISPATCH_MS / 8.0, "{}", pacer.dispatch_ms());
    }

    #[test]
    fn a_slow_host_is_not_taken_for_a_slow_device() {
        let mut device = Device::new(1.0, 40.0);
        device.run(20, 100.0);
        assert!(device.pacer.dispatch_ms() >= 0.9 * DISPATCH_MS, "{}", device.pacer.dispatch_ms());
    }

    #[test]
    fn answers_on_a_grid_of_100_ms_cut_the_work_no_finer() {
        let run = |slowdown, grid| {
            let mut device = Device { grid, ..Device::new(slowdown, 0.1) };
            device.run(20, 60.0);
            (device.pacer.dispatch_ms(), device.submissions)
        };
        let (precise, late) = (run(1.0, 0.0), run(1.0, 100.0));
        assert_eq!(precise, (DISPATCH_MS, 20 * 4), "four dispatches a batch, each a submission");
        assert_eq!(late, precise);
        // A device that really is slow is noticed in spite of the grid, and by no more than it is slow.
        let (precise, late) = (run(10.0, 0.0), run(10.0, 100.0));
        assert!(late.0 <= DISPATCH_MS / 4.0 && late.0 >= 0.8 * precise.0, "{late:?} where {precise:?}");
    }

    #[test]
    fn a_faster_device_gets_no_more_than_was_planned() {
        let mut device = Device::new(0.1, 0.1);
        device.run(20, 100.0);
        assert_eq!(device.pacer.dispatch_ms(), DISPATCH_MS);
    }

    #[test]
    fn a_late_observation_is_forgotten_again() {
        let pacer = Pacer::default();
        let batch = |at: f64, observed: f64| {
            pacer.record(20.0);
            pacer.submit(at);
            pacer.complete(pacer.mark(), at, observed, 0.5);
        };
        // The host was busy for a second before it noticed the end.
        batch(0.0, 1000.0);
        assert_eq!(pacer.dispatch_ms(), DISPATCH_MS / STEP, "one observation slows it by no more than that");
        // Idle time does not count as the device's.
        batch(3000.0, 3020.0);
        assert_eq!(pacer.dispatch_ms(), DISPATCH_MS);
        batch(5000.0, 5020.0);
        assert_eq!(pacer.dispatch_ms(), DISPATCH_MS);
    }

    #[test]
    fn the_delay_of_an_observation_does_not_slow_the_plan() {
        let pacer = Pacer::default();
        for at in [0.0, 200.0, 400.0] {
            pacer.record(20.0);
            pacer.submit(at);
            pacer.complete(pacer.mark(), at, at + 120.0, 100.0);
        }
        assert_eq!(pacer.dispatch_ms(), DISPATCH_MS);
    }
}
