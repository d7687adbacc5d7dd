//! Compares kernels that compute the same result, by timing whole submissions.
//!
//! The only timer that browsers offer is the time until the queue is empty. Waiting itself takes well under a
//! millisecond in most browsers, and up to the next tick of a 100 ms timer in Firefox (bug 1870699). So the work grows
//! until it takes much longer than waiting, and a kernel's time is that of twice the work minus once.

use crate::backend::gpu::device::Latency;
use crate::error::{Error, Result};

/// Minimum milliseconds of work before kernels are compared.
const ENOUGH_MS: f64 = 8.0;
/// Work must take this many times as long as waiting.
const OVER_WAIT: f64 = 4.0;
/// Milliseconds after which timing stops on devices with coarse times.
const COARSE_BUDGET_MS: f64 = 500.0;
/// Rounds in which the kernels take turns, so that other load on the machine slows all of them alike.
const ROUNDS: usize = 7;
/// Shortest and longest times of a kernel that do not count: browsers pause now and then.
const OUTLIERS: usize = 1;
/// A kernel this many times slower than the fastest is dropped before the work grows further, if it also takes longer
/// than [`ENOUGH_MS`]: shorter times differ by chance.
const HOPELESS: f64 = 4.0;
/// Another kernel replaces the first one, which is expected to be fastest, only if it takes less than this share of the
/// first one's time and is faster in every round but [`OUTLIERS`].
const MARGIN: f64 = 0.95;
/// Largest growth of the work between two measurements.
const GROWTH: f64 = 16.0;
/// The same with coarse times, so that work too short to measure does not become too long.
const COARSE_GROWTH: f64 = 4.0;

/// Kernels that can be timed on problems of growing size.
pub(super) trait Timed {
    /// Number of problem sizes.
    fn sizes(&self) -> usize;

    /// Compiles a kernel; `false` if the device's compiler refuses it.
    async fn compiles(&self, kernel: usize) -> bool;

    /// Milliseconds until the queue is empty after `repetitions` runs of a kernel on a problem of size index `size`.
    async fn ms(&self, kernel: usize, size: usize, repetitions: usize) -> Result<f64>;
}

/// Result of a contest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Outcome {
    /// Index of the winning kernel.
    pub(super) winner: usize,
    /// Size index of the timed problem, and milliseconds that the winner takes for one repetition.
    pub(super) size: usize,
    pub(super) ms: f64,
    /// Margin over the runner-up in every round, as a share of the runner-up's time; 0 if there is none.
    pub(super) margin: f64,
}

/// The amount of work for every kernel.
#[derive(Clone, Copy)]
struct Work {
    size: usize,
    repetitions: usize,
}

/// Milliseconds of one repetition over all rounds: median, and minimum and maximum without [`OUTLIERS`].
#[derive(Clone, Copy)]
struct Time {
    ms: f64,
    least: f64,
    most: f64,
}

impl Time {
    fn of(mut rounds: Vec<f64>) -> Self {
        rounds.sort_by(f64::total_cmp);
        Self { ms: rounds[rounds.len() / 2], least: rounds[OUTLIERS], most: rounds[rounds.len() - 1 - OUTLIERS] }
    }
}

/// Runs a contest of `count` kernels, the first of which is expected to win. Those that the device's compiler refuses do
/// not take part. If waits are too coarse to distinguish kernels, only the first one is timed.
///
/// # Errors
/// If the device fails, or refuses all kernels.
pub(super) async fn run_contest<T: Timed>(device: &T, count: usize, wait: Latency) -> Result<Outcome> {
    let mut field = Vec::new();
    for kernel in 0..count {
        if device.compiles(kernel).await {
            // The first run compiles the other kernels of the operation.
            device.ms(kernel, 0, 1).await?;
            field.push(kernel);
        }
        if wait.is_coarse() && !field.is_empty() {
            break;
        }
    }
    if field.is_empty() {
        let why = "its compiler refuses every kernel for an operation; update the driver, or measure on the CPU".into();
        return Err(Error::Gpu { what: "compiling kernels".into(), why });
    }
    let (work, totals) = grow(device, &mut field, wait).await?;
    let times = if wait.is_coarse() { coarse(&totals, work, wait) } else { fine(device, &field, work).await? };
    Ok(choose_winner(&field, &times, work))
}

/// Grows the work until the fastest kernel has enough, and drops much slower kernels. Returns the work and the time
/// that each remaining kernel took, wait included.
async fn grow<T: Timed>(device: &T, field: &mut Vec<usize>, wait: Latency) -> Result<(Work, Vec<f64>)> {
    let is_coarse = wait.is_coarse();
    let enough = if is_coarse { 2.0 * wait.ms } else { ENOUGH_MS.max(OVER_WAIT * wait.ms) };
    let mut work = Work { size: 0, repetitions: 1 };
    let mut spent = 0.0;
    loop {
        let mut totals = Vec::with_capacity(field.len());
        for &kernel in field.iter() {
            totals.push(work.steady_ms(device, kernel, wait).await?);
        }
        spent += totals.iter().sum::<f64>();
        let net = totals.iter().copied().fold(f64::INFINITY, f64::min) - wait.ms;
        let bound = wait.ms + 2.0 * wait.ms.max(wait.spread) + ENOUGH_MS.max(HOPELESS * net);
        let mut stays = totals.iter().map(|total| *total <= bound);
        field.retain(|_| stays.next().unwrap_or(false));
        totals.retain(|total| *total <= bound);
        if net >= enough || is_coarse && spent >= COARSE_BUDGET_MS && net > 0.0 {
            return Ok((work, totals));
        }
        let growth = if is_coarse { COARSE_GROWTH } else { GROWTH };
        work = work.grown(device.sizes(), (enough / net.max(enough / growth)).max(2.0));
    }
}

impl Work {
    async fn ms<T: Timed>(self, device: &T, kernel: usize) -> Result<f64> {
        device.ms(kernel, self.size, self.repetitions).await
    }

    /// Like [`Self::ms`], but a long time is measured again and the shorter one counts: the browser may have paused, or
    /// the driver may have compiled the kernel.
    async fn steady_ms<T: Timed>(self, device: &T, kernel: usize, wait: Latency) -> Result<f64> {
        let ms = self.ms(device, kernel).await?;
        let is_steady = wait.is_coarse() || ms < wait.ms + ENOUGH_MS;
        if is_steady { Ok(ms) } else { Ok(ms.min(self.ms(device, kernel).await?)) }
    }

    /// A larger problem; at the largest size, `factor` times the repetitions.
    fn grown(self, sizes: usize, factor: f64) -> Self {
        if self.size + 1 < sizes {
            return Self { size: self.size + 1, ..self };
        }
        let repetitions = (self.repetitions as f64 * factor).ceil() as usize;
        Self { repetitions, ..self }
    }
}

/// Times from one coarse measurement, which is exact to within one wait.
fn coarse(totals: &[f64], work: Work, wait: Latency) -> Vec<Time> {
    let time = |total: &f64| {
        let [most, ms, least] =
            [0.0, 0.5, 1.0].map(|share| (total - share * wait.ms).max(0.0) / work.repetitions as f64);
        Time { ms, least, most }
    };
    totals.iter().map(time).collect()
}

/// Differences between twice the work and once the work; kernels take turns.
async fn fine<T: Timed>(device: &T, field: &[usize], Work { size, repetitions }: Work) -> Result<Vec<Time>> {
    let mut slopes = vec![Vec::with_capacity(ROUNDS); field.len()];
    for _ in 0..ROUNDS {
        for (slopes, &kernel) in slopes.iter_mut().zip(field) {
            let once = device.ms(kernel, size, repetitions).await?;
            let twice = device.ms(kernel, size, 2 * repetitions).await?;
            slopes.push((twice - once).max(0.0) / repetitions as f64);
        }
    }
    Ok(slopes.into_iter().map(Time::of).collect())
}

/// The first kernel, unless another one is clearly faster.
fn choose_winner(field: &[usize], times: &[Time], Work { size, .. }: Work) -> Outcome {
    let fastest = |others: &mut dyn Iterator<Item = usize>| others.min_by(|a, b| times[*a].ms.total_cmp(&times[*b].ms));
    let best = fastest(&mut (0..field.len())).unwrap_or(0);
    let is_beaten = |by: Time, of: Time| by.ms < MARGIN * of.ms && by.most < of.least;
    let winner = match field.first() {
        Some(0) if !is_beaten(times[best], times[0]) => 0,
        _ => best,
    };
    let rival = fastest(&mut (0..field.len()).filter(|at| *at != winner));
    let margin = rival.map_or(f64::INFINITY, |rival| {
        let (own, other) = (times[winner], times[rival]);
        ((other.least - own.most) / other.ms).max(0.0)
    });
    Outcome { winner: field[winner], size, ms: times[winner].ms, margin }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use pollster::block_on;

    use super::*;

    /// A device simulated by its times.
    struct Simulated {
        /// Milliseconds of the problem of size 0 by kernel; each size takes eight times the one before.
        kernels: Vec<f64>,
        /// Kernels that its compiler refuses.
        refused: Vec<usize>,
        /// Milliseconds between the end of the work and the callback.
        latency: f64,
        /// Callbacks come at multiples of this many milliseconds.
        grid: f64,
        /// The clock shows multiples of this many milliseconds.
        grain: f64,
        /// Largest relative noise.
        noise: f64,
        /// Numbers of the runs, from 0, that a pause of so many milliseconds lengthens.
        pauses: Vec<(usize, f64)>,
        now: Cell<f64>,
        random: Cell<u64>,
        calls: RefCell<Vec<usize>>,
        /// Milliseconds of work of every call.
        work: RefCell<Vec<f64>>,
        /// Longest single stretch of work.
        longest: Cell<f64>,
    }

    impl Simulated {
        fn new(kernels: &[f64]) -> Self {
            Self {
                kernels: kernels.into(),
                refused: Vec::new(),
                latency: 0.4,
                grid: 0.0,
                grain: 0.0,
                noise: 0.0,
                pauses: Vec::new(),
                now: Cell::new(3.0),
                random: Cell::new(1),
                calls: RefCell::default(),
                work: RefCell::default(),
                longest: Cell::new(0.0),
            }
        }

        /// Between 0 and 1.
        fn random(&self) -> f64 {
            let next = self.random.get().wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            self.random.set(next);
            (next >> 40) as f64 / (1 << 24) as f64
        }

        fn duration(&self, work: f64) -> f64 {
            let started = self.now.get();
            let busy = work * (1.0 + self.noise * self.random());
            self.longest.set(self.longest.get().max(busy));
            let done = started + busy + self.latency;
            let observed = if self.grid > 0.0 { (done / self.grid).ceil() * self.grid } else { done };
            self.now.set(observed);
            self.shown(observed) - self.shown(started)
        }

        /// A time as the clock shows it.
        fn shown(&self, time: f64) -> f64 {
            if self.grain > 0.0 { (time / self.grain).floor() * self.grain } else { time }
        }

        fn wait(&self) -> Latency {
            Latency::of((0..5).map(|_| self.duration(0.0)).collect()).with_grain(self.grain)
        }

        fn run_contest(&self) -> Outcome {
            let wait = self.wait();
            block_on(run_contest(self, self.kernels.len(), wait)).expect("an outcome")
        }
    }

    impl Timed for Simulated {
        fn sizes(&self) -> usize {
            5
        }

        async fn compiles(&self, kernel: usize) -> bool {
            !self.refused.contains(&kernel)
        }

        async fn ms(&self, kernel: usize, size: usize, repetitions: usize) -> Result<f64> {
            assert!(!self.refused.contains(&kernel), "a kernel that was not compiled runs");
            let run = self.calls.borrow().len();
            self.calls.borrow_mut().push(kernel);
            let paused: f64 = self.pauses.iter().filter(|(at, _)| *at == run).map(|(_, ms)| ms).sum();
            let work = self.kernels[kernel] * 8f64.powi(size as i32) * repetitions as f64;
            self.work.borrow_mut().push(work);
            Ok(self.duration(work + paused))
        }
    }

    #[test]
    fn a_big_gpu_gets_work_until_its_kernels_can_be_told_apart() {
        // 64³ multiply-adds in 0.1 µs: five TFLOP/s, far shorter than a wait.
        let device = Simulated::new(&[1.0e-4, 0.8e-4, 3.0e-4]);
        let found = device.run_contest();
        assert_eq!(found.winner, 1);
        let expected = 0.8e-4 * 8f64.powi(4);
        assert!((found.ms - expected).abs() <= 1e-6 * expected && found.size == 4, "{found:?}");
        assert!((found.margin - 0.2).abs() <= 1e-6, "{found:?}");
        assert!(device.longest.get() <= 300.0, "{}", device.longest.get());
    }

    #[test]
    fn what_the_compiler_refuses_does_not_take_part() {
        let refusing = |refused: &[usize], grid| Simulated {
            refused: refused.into(),
            grid,
            ..Simulated::new(&[1.0e-4, 0.5e-4, 3.0e-4])
        };
        for (refused, winner) in [(&[1][..], 0), (&[0], 1), (&[0, 1], 2), (&[2], 1)] {
            assert_eq!(refusing(refused, 0.0).run_contest().winner, winner, "without {refused:?}");
        }
        for (refused, winner) in [(&[1][..], 0), (&[0], 1), (&[0, 1], 2)] {
            assert_eq!(refusing(refused, 100.0).run_contest().winner, winner, "coarse, without {refused:?}");
        }
        let none = refusing(&[0, 1, 2], 0.0);
        let found = block_on(run_contest(&none, 3, none.wait())).expect_err("nothing runs");
        assert!(found.to_string().contains("refuses every kernel"), "{found}");
    }

    #[test]
    fn a_slow_gpu_is_given_no_more_than_it_can_bear() {
        // 64³ multiply-adds in 5 ms.
        let device = Simulated::new(&[5.0, 100.0]);
        let found = device.run_contest();
        assert_eq!((found.winner, found.size), (0, 1));
        assert!((found.ms - 40.0).abs() <= 1e-6);
        assert!(device.longest.get() <= 100.0, "the slow kernel ran once: {}", device.longest.get());
    }

    #[test]
    fn a_pause_neither_drops_a_kernel_nor_ends_the_growth() {
        for run in 0..30 {
            for ms in [2.0, 20.0, 200.0] {
                let device = Simulated { pauses: vec![(run, ms)], ..Simulated::new(&[1.0e-4, 3.0e-4]) };
                let found = device.run_contest();
                assert_eq!((found.winner, found.size), (0, 4), "{ms} ms in run {run}: {found:?}");
                let expected = 1.0e-4 * 8f64.powi(4);
                assert!((found.ms - expected).abs() <= 1e-6 * expected, "{ms} ms in run {run}: {found:?}");
                assert!(found.margin < 1.0, "{ms} ms in run {run}: the other one competed");
            }
        }
    }

    #[test]
    fn a_pause_in_one_round_does_not_hide_a_faster_kernel() {
        for run in 0..60 {
            let device = Simulated { pauses: vec![(run, 20.0)], ..Simulated::new(&[1.0e-4, 0.6e-4]) };
            let found = device.run_contest();
            assert_eq!(found.winner, 1, "run {run}: {found:?}");
            assert!(found.margin > 0.3, "run {run}: {found:?}");
        }
    }

    #[test]
    fn noise_makes_no_winner() {
        for seed in 0..50 {
            let device = Simulated { noise: 0.3, random: Cell::new(seed), ..Simulated::new(&[1.0e-4, 0.97e-4]) };
            let found = device.run_contest();
            assert_eq!(found.winner, 0, "seed {seed}: {found:?}");
        }
        // A difference larger than the noise is found.
        let device = Simulated { noise: 0.1, ..Simulated::new(&[1.0e-4, 0.5e-4]) };
        let found = device.run_contest();
        assert!(found.winner == 1 && found.margin > 0.2, "{found:?}");
    }

    #[test]
    fn equal_kernels_leave_the_first_one_with_a_small_margin() {
        let found = Simulated::new(&[1.0e-4, 1.0e-4]).run_contest();
        assert_eq!((found.winner, found.margin), (0, 0.0));
        let alone = Simulated::new(&[1.0e-4]).run_contest();
        assert_eq!((alone.winner, alone.margin), (0, f64::INFINITY));
    }

    #[test]
    fn the_first_kernel_is_given_up_for_more_than_a_twentieth() {
        assert_eq!(Simulated::new(&[1.0e-4, 0.97e-4]).run_contest().winner, 0);
        assert_eq!(Simulated::new(&[1.0e-4, 0.93e-4]).run_contest().winner, 1);
    }

    #[test]
    fn the_middle_of_all_rounds_counts() {
        let Time { ms, least, most } = Time::of(vec![5.0, 1.0, 90.0, 3.0, 9.0]);
        assert_eq!((ms, least, most), (5.0, 3.0, 9.0), "without the shortest and the longest");
    }

    #[test]
    fn answers_on_a_grid_of_a_tenth_of_a_second_neither_take_long_nor_choose_by_chance() {
        for scale in [1e-5, 1e-4, 1e-3, 1.0] {
            let device = Simulated { grid: 100.0, ..Simulated::new(&[scale, 0.7 * scale]) };
            let (wait, began) = (device.wait(), device.now.get());
            assert!(wait.is_coarse());
            let found = block_on(run_contest(&device, 2, wait)).expect("an outcome");
            assert_eq!((found.winner, found.margin), (0, f64::INFINITY));
            let expected = scale * 8f64.powi(found.size as i32);
            assert!(found.ms >= expected / 3.0 && found.ms <= expected * 3.0, "{found:?} for {expected}");
            let took = device.now.get() - began;
            assert!(took <= 1500.0, "{took} ms");
        }
    }

    #[test]
    fn a_coarse_clock_neither_hides_the_work_nor_chooses_by_chance() {
        for grain in [16.0, 100.0] {
            for scale in [1e-5, 1e-4, 1e-3, 1.0] {
                let device = Simulated { grain, ..Simulated::new(&[scale, 0.7 * scale]) };
                let (wait, began) = (device.wait(), device.now.get());
                let found = block_on(run_contest(&device, 2, wait)).expect("an outcome");
                assert_eq!((found.winner, found.margin), (0, f64::INFINITY), "clock of {grain} ms");
                let expected = scale * 8f64.powi(found.size as i32);
                let is_near = found.ms >= expected / 3.0 && found.ms <= expected * 3.0;
                assert!(is_near, "clock of {grain} ms: {found:?} for {expected}");
                let took = device.now.get() - began;
                assert!(took <= 1500.0, "clock of {grain} ms: {took} ms");
            }
        }
    }

    #[test]
    fn every_kernel_works_for_eight_milliseconds_before_it_is_judged() {
        for scale in [1e-5, 1e-3, 0.1] {
            let device = Simulated { latency: 0.05, ..Simulated::new(&[scale, 0.8 * scale, 0.9 * scale]) };
            device.run_contest();
            let work = device.work.borrow();
            let judged = &work[work.len() - 2 * 3 * ROUNDS..];
            let least = judged.iter().copied().fold(f64::INFINITY, f64::min);
            assert!(least >= 8.0, "{least} ms where 64³ take {scale}");
        }
    }

    #[test]
    fn kernels_take_turns() {
        let device = Simulated::new(&[1.0, 1.1, 1.2]);
        device.run_contest();
        let calls = device.calls.borrow();
        let last = &calls[calls.len() - 2 * 3 * ROUNDS..];
        assert!(last.chunks(6).all(|round| round == [0, 0, 1, 1, 2, 2]), "{last:?}");
    }
}
