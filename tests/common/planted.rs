//! Captured rows with a known relation of outputs to inputs, and their report.

use std::rc::Rc;

use futures::StreamExt;
use futures::executor::block_on;
use straightedge::event::{Event, Recorder};
use straightedge::job::{BackendChoice, Job, Measure, Training};
use straightedge::platform::random::Random;
use straightedge::report::{BlockReport, Report};
use straightedge::run::{self, Events, RowsInputs};
use straightedge::weights::MemoryFiles;

use super::assert_close;
use super::synthetic::{f32s, safetensors};

const FILE: &str = "rows.safetensors";
/// Rows per window.
pub(crate) const WINDOW: usize = 32;

/// Rows x with their outputs y.
pub(crate) struct Rows {
    /// Inputs per row.
    pub(crate) d: usize,
    /// Row-major, `(n, d)`.
    pub(crate) x: Vec<f32>,
    /// Row-major, `(n, d_out)`.
    pub(crate) y: Vec<f32>,
}

impl Rows {
    /// `n` rows drawn by `x`, with the outputs that `y` gives them.
    pub(crate) fn new(
        n: usize,
        d: usize,
        random: &mut Random,
        mut x: impl FnMut(&mut Random) -> Vec<f64>,
        y: impl Fn(&[f64]) -> Vec<f64>,
    ) -> Self {
        let mut rows = Self { d, x: Vec::new(), y: Vec::new() };
        for _ in 0..n {
            let row = x(random);
            rows.x.extend(row.iter().map(|&value| value as f32));
            // y is computed from x as rounded to f32.
            let row: Vec<f64> = row.iter().map(|&value| f64::from(value as f32)).collect();
            rows.y.extend(y(&row).into_iter().map(|value| value as f32));
        }
        rows
    }

    /// The report of a measurement, with the last of five folds held out.
    pub(crate) fn fit(&self, backend: BackendChoice, measures: &[Measure], training: Training) -> Report {
        self.fit_in_folds(5, backend, measures, training)
    }

    /// The same with the last of so many folds held out.
    pub(crate) fn fit_in_folds(
        &self,
        folds: usize,
        backend: BackendChoice,
        measures: &[Measure],
        training: Training,
    ) -> Report {
        let n = self.x.len() / self.d;
        let d_out = self.y.len() / n;
        let bytes = safetensors(&[f32s("x", &[n, self.d], &self.x), f32s("y", &[n, d_out], &self.y)]);
        let mut job = Job::new("planted", "planted");
        job.protocol.seq_len = WINDOW;
        job.protocol.rows = n;
        job.protocol.folds = folds;
        job.measures = measures.iter().copied().collect();
        (job.backend, job.training) = (backend, training);
        finished(run::fit(job, RowsInputs::new(Rc::new(MemoryFiles::default().with(FILE, bytes)), FILE)))
    }
}

/// The report at the end of a measurement that does not fail.
pub(crate) fn finished(mut events: Events) -> Report {
    let mut recorder = Recorder::default();
    block_on(async {
        while let Some(event) = events.next().await {
            if let Event::Failed(error) = &event {
                panic!("{error}");
            }
            recorder.record(&event);
        }
    });
    let report = recorder.into_report().expect("a report");
    assert!(!report.partial);
    report
}

/// Normal elements of variance 1/cols, row-major.
pub(crate) fn matrix(rows: usize, cols: usize, random: &mut Random) -> Vec<f64> {
    (0..rows * cols).map(|_| random.normal() / (cols as f64).sqrt()).collect()
}

/// The product of a row-major matrix and a vector.
pub(crate) fn times(matrix: &[f64], x: &[f64]) -> Vec<f64> {
    matrix.chunks_exact(x.len()).map(|row| row.iter().zip(x).map(|(m, x)| m * x).sum()).collect()
}

/// Normal inputs of mean 1 and deviation 2.
pub(crate) fn normal(d: usize) -> impl FnMut(&mut Random) -> Vec<f64> {
    move |random| (0..d).map(|_| 1.0 + 2.0 * random.normal()).collect()
}

/// The block of a report that has one.
pub(crate) fn only(report: &Report) -> &BlockReport {
    let [block] = &report.blocks[..] else { panic!("one block") };
    block
}

/// Compares two training curves step by step.
pub(crate) fn assert_same_course(name: &str, found: &BlockReport, expected: &BlockReport, tolerance: f64) {
    let (found, expected) = (&found.curves[name], &expected.curves[name]);
    assert!(!expected.is_empty() && found.len() == expected.len(), "{name}: {} of {}", found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found.step, expected.step, "{name}");
        let what = format!("{name} at {}", found.step);
        assert_close(&what, found.value, expected.value.expect("a value"), tolerance);
    }
}
