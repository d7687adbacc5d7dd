//! GPU batches: their size changes no digit, and a measurement waits about once per batch and a few times per block,
//! regardless of latency.

mod common;

use std::rc::Rc;

use futures::StreamExt;
use futures::executor::block_on;
use straightedge::backend::gpu::{Counts, GpuBackend, Options};
use straightedge::event::{Event, Recorder};
use straightedge::job::{BackendChoice, Job, Measure, Protocol};
use straightedge::report::Report;
use straightedge::run::{Inputs, Text, measure_inputs};
use straightedge::weights::FolderFiles;

/// Folds of two batches, or of one where batches are larger.
const ROWS: usize = 7680;

/// A report of tiny-gpt2 without times and system, and the GPU's counters; `None` without a GPU.
fn measured(gpu: Options, measures: &[Measure]) -> Option<(Report, Counts)> {
    if !common::backends().contains(&BackendChoice::Gpu) {
        return None;
    }
    let job = Job {
        backend: BackendChoice::Gpu,
        measures: measures.iter().copied().collect(),
        protocol: Protocol { rows: ROWS, seq_len: 64, ..Protocol::default() },
        ..Job::new("tiny-gpt2", "encyclopedia")
    };
    let text = std::fs::read(common::encyclopedia()).expect("a text");
    let files = Rc::new(FolderFiles::new(common::fixture("tiny-gpt2")));
    let before = Counts::now();
    let events: Vec<Event> =
        block_on(measure_inputs(job, Inputs { gpu, ..Inputs::new(files, Text::Plain(text)) }).collect());
    let after = Counts::now();
    let mut recorder = Recorder::default();
    events.iter().for_each(|event| recorder.record(event));
    let mut report = recorder.into_report().expect("a report");
    assert!(!report.partial, "{:?}", events.last());
    report.blocks.iter_mut().for_each(|block| block.row_microseconds.clear());
    let counts = Counts {
        dispatches: after.dispatches - before.dispatches,
        submissions: after.submissions - before.submissions,
        waits: after.waits - before.waits,
    };
    Some((Report { seconds: Default::default(), peak_memory: None, ..report }, counts))
}

#[test]
fn the_size_of_batches_changes_no_digit() {
    let of = |batch_rows| {
        let options = Options { batch_rows: Some(batch_rows), ..Options::default() };
        measured(options, &[Measure::Fit, Measure::Swap, Measure::Layers, Measure::Controls])
    };
    let Some((usual, _)) = of(1024) else { return };
    let (large, _) = of(4096).expect("a GPU");
    assert!(usual.blocks.iter().all(|block| block.scatter.is_some() && !block.controls.is_empty()));
    assert_eq!(usual, large);
}

/// Waits while tuning the device.
fn tuning(options: Options) -> usize {
    let before = Counts::now().waits;
    block_on(GpuBackend::with(options)).expect("a device");
    Counts::now().waits - before
}

#[test]
fn answers_on_a_grid_of_a_tenth_of_a_second_are_waited_for_once_per_batch() {
    let options = Options { answer_grid_ms: Some(100.0), ..Options::default() };
    let Some((report, counts)) = measured(options, &[Measure::Fit]) else { return };
    let blocks = report.blocks.len();
    let batches = report.protocol.folds * 2;
    assert!(report.blocks.iter().all(|block| block.r2_lin.is_some()));
    // Scales, the end of the rows, second moments, cosines; and the tuning of the device.
    let (most, tuning) = (blocks * (batches + 4), tuning(options));
    assert!(counts.waits >= blocks * batches, "{counts:?}: is this counting?");
    assert!(counts.waits <= most + tuning, "{counts:?} for {blocks} blocks of {batches} batches after {tuning} waits");
}
