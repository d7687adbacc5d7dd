//! GPU batches: their size changes no digit, and a measurement waits about once per batch and a few times per block,
//! regardless of latency and of the clock.

mod common;

use std::rc::Rc;

use futures::StreamExt;
use futures::executor::block_on;
use straightedge::backend::gpu::{Counts, Exact, GpuBackend, KernelChoice, Options, Reduction, VARIANTS, autotune};
use straightedge::event::{Event, Progress, Recorder, Stage};
use straightedge::job::{BackendChoice, Job, Measure, Protocol};
use straightedge::report::Report;
use straightedge::run::{Inputs, Text, measure_inputs};
use straightedge::weights::FolderFiles;

/// Folds of two batches, or of one where batches are larger.
const ROWS: usize = 7680;
/// Enough where batches do not matter.
const FEW_ROWS: usize = 1280;

/// A measurement of tiny-gpt2.
struct Measured {
    /// The report without times and system.
    report: Report,
    counts: Counts,
    /// Whether a time per row was measured, for each network and replacement of each block.
    is_timed: Vec<bool>,
    /// Kernels that were prepared, and of how many, as the events tell it.
    prepared: Vec<(u64, u64)>,
}

fn has_gpu() -> bool {
    common::backends().contains(&BackendChoice::Gpu)
}

/// The work given to devices since `before`.
fn since(before: Counts) -> Counts {
    let now = Counts::now();
    Counts {
        dispatches: now.dispatches - before.dispatches,
        submissions: now.submissions - before.submissions,
        waits: now.waits - before.waits,
    }
}

/// Measures so many rows.
fn measured(gpu: Options, rows: usize, measures: &[Measure]) -> Measured {
    let job = Job {
        backend: BackendChoice::Gpu,
        measures: measures.iter().copied().collect(),
        protocol: Protocol { rows, seq_len: 64, ..Protocol::default() },
        ..Job::new("tiny-gpt2", "encyclopedia")
    };
    let text = std::fs::read(common::encyclopedia()).expect("a text");
    let files = Rc::new(FolderFiles::new(common::fixture("tiny-gpt2")));
    let before = Counts::now();
    let events: Vec<Event> =
        block_on(measure_inputs(job, Inputs { gpu, ..Inputs::new(files, Text::Plain(text)) }).collect());
    let counts = since(before);
    let mut recorder = Recorder::default();
    events.iter().for_each(|event| recorder.record(event));
    let mut report = recorder.into_report().expect("a report");
    assert!(!report.partial, "{:?}", events.last());
    let times = report.blocks.iter_mut().flat_map(|block| std::mem::take(&mut block.row_microseconds).into_values());
    let prepared = events.iter().filter_map(|event| match event {
        Event::Progress(Progress { stage: Stage::Device, done, total, .. }) => Some((*done, *total)),
        _ => None,
    });
    let is_timed = times.map(|time| time.is_some()).collect();
    let report = Report { seconds: Default::default(), peak_memory: None, ..report };
    Measured { report, counts, is_timed, prepared: prepared.collect() }
}

#[test]
fn the_size_of_batches_changes_no_digit_and_kernels_are_counted_while_they_are_prepared() {
    let of = |batch_rows| {
        let options = Options { batch_rows: Some(batch_rows), ..Options::default() };
        measured(options, ROWS, &[Measure::Fit, Measure::Swap, Measure::Layers, Measure::Controls])
    };
    if !has_gpu() {
        return;
    }
    let Measured { report: usual, is_timed, prepared, .. } = of(1024);
    assert_counted(&prepared);
    let Measured { report: large, .. } = of(4096);
    assert!(is_timed.len() >= 2 * usual.blocks.len() && is_timed.iter().any(|is_timed| *is_timed), "{is_timed:?}");
    assert!(usual.blocks.iter().all(|block| block.scatter.is_some() && !block.controls.is_empty()));
    assert_eq!(usual, large);
}

/// Asserts that kernels are counted while they are prepared.
fn assert_counted(prepared: &[(u64, u64)]) {
    let (first, counted) = prepared.split_first().expect("a stage");
    assert_eq!(*first, (0, 0), "before the device is open");
    let total = counted.first().map_or(0, |(_, total)| *total);
    // Products for any inner width do not compete.
    let reductions = total.checked_sub(VARIANTS.len() as u64 - 1).expect("all products");
    assert!((1..=Reduction::ALL.len() as u64).contains(&reductions), "{prepared:?}");
    assert!(counted.iter().all(|(_, of)| *of == total), "{prepared:?}");
    let mut steps: Vec<_> = counted.iter().map(|(done, _)| *done).collect();
    steps.dedup();
    assert!(steps.len() >= 4 && steps.is_sorted(), "{prepared:?}");
    assert_eq!((steps[0], steps[steps.len() - 1]), (0, total));
}

/// The kernels that are chosen, and the work of choosing them.
fn tuning(options: Options) -> (KernelChoice, Counts) {
    let before = Counts::now();
    let backend = block_on(GpuBackend::with(options)).expect("a device");
    (backend.kernel_choice(), since(before))
}

/// Gives the GPU a name for which no winner is cached; returns the number of contests so far, or `None` without a GPU.
fn unknown_device() -> Option<usize> {
    has_gpu().then(|| {
        autotune::name_device(Some("a GPU that was never timed".into()));
        autotune::contests_run()
    })
}

/// Asserts that a device on which times say little gets the kernels that suit hardware, without a further contest.
fn assert_untimed(choice: &KernelChoice, contests: usize) {
    assert_eq!(autotune::contests_run(), contests, "a contest would be decided by chance");
    let chosen = (choice.variant.kernel.name, choice.reduction, choice.exact);
    assert_eq!(chosen, (VARIANTS[1].kernel.name, Reduction::ALL[0], Exact::ALL[0]));
}

#[test]
fn answers_on_a_grid_of_a_tenth_of_a_second_are_waited_for_once_per_batch() {
    let Some(contests) = unknown_device() else { return };
    let options = Options { answer_grid_ms: Some(100.0), ..Options::default() };
    let Measured { report, counts, .. } = measured(options, ROWS, &[Measure::Fit]);
    let blocks = report.blocks.len();
    let batches = report.protocol.folds * 2;
    assert!(report.blocks.iter().all(|block| block.r2_lin.is_some()));
    let (choice, opening) = tuning(options);
    assert_untimed(&choice, contests);
    // Scales, the end of the rows, second moments, cosines; and the tuning of the device.
    let most = blocks * (batches + 4) + opening.waits;
    assert!(counts.waits >= blocks * batches, "{counts:?}: is this counting?");
    assert!(counts.waits <= most, "{counts:?} for {blocks} blocks of {batches} batches after {opening:?}");
    // How finely work is cut depends on what else the machine does; the tests of the pacer have a clock of their own.
}

#[test]
fn a_clock_of_a_tenth_of_a_second_is_believed_no_more_than_it_shows() {
    let Some(contests) = unknown_device() else { return };
    let options = Options { clock_grain_ms: Some(100.0), ..Options::default() };
    let Measured { report, is_timed, .. } = measured(options, FEW_ROWS, &[Measure::Fit, Measure::Swap]);
    assert!(!is_timed.is_empty() && is_timed.iter().all(|is_timed| !is_timed), "times per row: {is_timed:?}");
    let (choice, _) = tuning(options);
    assert_untimed(&choice, contests);
    assert!(report.blocks.iter().all(|block| block.r2_lin.is_some()));
}
