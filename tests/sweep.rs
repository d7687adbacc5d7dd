//! The sweep: rows may be stored anywhere, blocks are measured as they arrive, and spans record what ran when.

mod common;

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::ops::Range;
use std::path::Path;
use std::process::Command;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

use futures::executor::block_on;
use futures::future::LocalBoxFuture;
use futures::{FutureExt, StreamExt};
use straightedge::error::{Error, Result};
use straightedge::event::{Event, Recorder};
use straightedge::job::{BackendChoice, Blocks, Job, Measure, Protocol, Training};
use straightedge::report::Report;
use straightedge::run::{Inputs, Text, measure_inputs};
use straightedge::trace::{Lane, TraceSpan};
use straightedge::weights::{Files, FolderFiles, Weights};
use straightedge::workers::{Limits, Message, Worker, Workers};

fn job(name: &str, backend: BackendChoice, measures: &[Measure]) -> Job {
    Job {
        backend,
        measures: measures.iter().copied().collect(),
        protocol: Protocol { rows: 1280, seq_len: 64, ..Protocol::default() },
        training: Training { probe_steps: 40, baseline_steps: 20, heal_steps: 2, ..Training::default() },
        ..Job::new(name, "encyclopedia")
    }
}

fn events(job: Job, files: Rc<dyn Files>) -> Vec<Event> {
    let text = std::fs::read(common::encyclopedia()).expect("a text");
    block_on(measure_inputs(job, Inputs::new(files, Text::Plain(text))).collect())
}

fn folder(name: &str) -> Rc<dyn Files> {
    Rc::new(FolderFiles::new(common::fixture(name)))
}

/// The report, without times and system.
fn report(events: &[Event]) -> Report {
    let mut recorder = Recorder::default();
    events.iter().for_each(|event| recorder.record(event));
    let mut report = recorder.into_report().expect("a report");
    assert!(!report.partial, "{:?}", events.last());
    report.blocks.iter_mut().for_each(|block| block.row_microseconds.clear());
    Report { seconds: Default::default(), peak_memory: None, ..report }
}

#[test]
fn wherever_rows_wait_the_numbers_are_the_same() {
    for backend in common::backends() {
        for name in ["tiny-gpt2", "tiny-gpt_neox", "tiny-bert"] {
            let measures: &[Measure] = match backend {
                BackendChoice::Cpu => &Measure::ALL,
                _ => &[Measure::Fit, Measure::Swap, Measure::Layers, Measure::Controls],
            };
            let usual = job(name, backend, measures);
            // Two tensors of a batch fit on the device, two in memory, and all others go to the file.
            let tight = Job { row_memory: Some(2 * 4 * 1024 * 64), ..usual.clone() };
            let (usual, tight) = (report(&events(usual, folder(name))), report(&events(tight, folder(name))));
            assert_eq!(usual, tight, "{name} on {backend}");
            assert!(usual.blocks.iter().all(|block| block.cosine.is_some() && !block.controls.is_empty()), "{name}");
        }
    }
}

/// A model's files, with the ranges of weights read and the number of blocks reported by then.
struct Watched {
    files: FolderFiles,
    shown: Cell<usize>,
    read: RefCell<Vec<(Range<u64>, usize)>>,
    /// A range that does not arrive before a block is shown, or a long time is over.
    held: Option<Range<u64>>,
    /// A range that cannot be read.
    lost: Option<Range<u64>>,
}

impl Watched {
    fn new(folder: &Path) -> Self {
        let (shown, read) = (Cell::default(), RefCell::default());
        Self { files: FolderFiles::new(folder), shown, read, held: None, lost: None }
    }

    /// Measures the model with these files.
    fn measure(self: &Rc<Self>, name: &str, helpers: Vec<Rc<dyn Worker>>) -> Result<()> {
        let text = std::fs::read(common::encyclopedia()).expect("a text");
        let workers = Workers::new(helpers, Limits { memory: u64::MAX, hidden_size: 1 });
        let inputs = Inputs { workers, ..Inputs::new(self.clone(), Text::Plain(text)) };
        let mut stream = measure_inputs(job(name, BackendChoice::Cpu, &[Measure::Fit]), inputs);
        block_on(async {
            while let Some(event) = stream.next().await {
                match event {
                    Event::Block(_) => self.shown.set(self.shown.get() + 1),
                    Event::Failed(error) => return Err(error),
                    _ => {}
                }
            }
            Ok(())
        })
    }
}

impl Files for Watched {
    fn size<'a>(&'a self, file: &'a str) -> LocalBoxFuture<'a, Result<Option<u64>>> {
        self.files.size(file)
    }

    fn read<'a>(&'a self, file: &'a str, range: Range<u64>) -> LocalBoxFuture<'a, Result<Vec<u8>>> {
        let is_part = |part: &Range<u64>| range.start <= part.start && part.end <= range.end;
        let [is_held, is_lost] = [&self.held, &self.lost].map(|part| part.as_ref().is_some_and(is_part));
        let begun = Instant::now();
        let arrives = poll_fn(move |context| {
            if is_held && self.shown.get() == 0 && begun.elapsed() < Duration::from_secs(20) {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Ready(())
        });
        async move {
            arrives.await;
            if is_lost {
                return Err(Error::MissingFile { file: file.into(), hint: String::new() });
            }
            if file.ends_with(".safetensors") {
                self.read.borrow_mut().push((range.clone(), self.shown.get()));
            }
            self.files.read(file, range).await
        }
        .boxed_local()
    }

    /// Returned so that the file is not read for hashing.
    fn sha256(&self, _file: &str) -> Option<String> {
        Some("0".repeat(64))
    }
}

/// A helper worker that turns out to have ended after a long wait for its answer.
struct EndedLater;

impl Worker for EndedLater {
    fn ask(&self, _: Message) -> LocalBoxFuture<'static, Option<Message>> {
        let mut polled = 0;
        let ended = poll_fn(move |context| {
            context.waker().wake_by_ref();
            polled += 1;
            if polled < 1000 { Poll::Pending } else { Poll::Ready(None) }
        });
        ended.boxed_local()
    }

    fn bytes(&self) -> u64 {
        0
    }
}

fn parts(folder: &Path, names: &[&str]) -> Vec<Range<u64>> {
    let weights = block_on(Weights::open(Rc::new(FolderFiles::new(folder)))).expect("weights");
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    weights.parts(&names).into_iter().map(|(_, range)| range).collect()
}

#[test]
fn a_block_is_shown_before_later_ones_are_read_and_each_is_read_once() {
    let name = "tiny-gpt2";
    let folder = common::fixture(name);
    let files = Rc::new(Watched::new(&folder));
    files.measure(name, Vec::new()).expect("a report");
    let read = files.read.borrow();
    let when = |range: &Range<u64>| {
        let of_range: Vec<usize> =
            read.iter().filter(|(found, _)| found.start == range.start).map(|(_, shown)| *shown).collect();
        assert_eq!(of_range.len(), 1, "{range:?} is read once");
        of_range[0]
    };
    // Block ℓ is measured while the weights of ℓ + 2 are loading.
    let at = |block: usize| when(&weights(&folder, block));
    assert_eq!([at(0), at(1)], [0, 0]);
    assert!(at(3) >= 1, "block 0 is shown before block 3 is read: {}", at(3));
    assert_eq!(files.shown.get(), 4);
}

/// Where a weight of a block of `tiny-gpt2` lies.
fn weights(folder: &Path, block: usize) -> Range<u64> {
    let name = format!("h.{block}.mlp.c_fc.weight");
    let found = [format!("transformer.{name}"), name].map(|name| parts(folder, &[&name]));
    found.into_iter().flatten().next().expect("a weight")
}

#[test]
fn a_block_is_shown_while_the_weights_of_the_next_one_are_on_their_way() {
    let folder = common::fixture("tiny-gpt2");
    let held = weights(&folder, 1);
    let files = Rc::new(Watched { held: Some(held.clone()), ..Watched::new(&folder) });
    files.measure("tiny-gpt2", Vec::new()).expect("a report");
    let read = files.read.borrow();
    let shown =
        read.iter().find(|(range, _)| range.start <= held.start && held.end <= range.end).map(|(_, shown)| *shown);
    assert_eq!(shown, Some(1), "block 0 is shown before the weights of block 1 have come");
    assert_eq!(files.shown.get(), 4);
}

#[test]
fn every_block_before_weights_that_do_not_come_is_measured() {
    let folder = common::fixture("tiny-gpt2");
    // While a helper is waited for, the failure comes in the middle of the rows before.
    for helpers in [0, 1] {
        for block in 1..4 {
            let files = Rc::new(Watched { lost: Some(weights(&folder, block)), ..Watched::new(&folder) });
            let helpers: Vec<_> = (0..helpers).map(|_| Rc::new(EndedLater) as Rc<dyn Worker>).collect();
            let error = files.measure("tiny-gpt2", helpers).expect_err("no weights");
            assert!(matches!(&error, Error::MissingFile { file, .. } if file == "model.safetensors"), "{error}");
            assert_eq!(files.shown.get(), block);
        }
    }
}

#[test]
fn blocks_beyond_the_last_chosen_one_are_not_read() {
    let name = "tiny-llama";
    let folder = common::fixture(name);
    let files = Rc::new(Watched::new(&folder));
    let chosen = Job { blocks: Some(Blocks::of([1])), ..job(name, BackendChoice::Cpu, &[Measure::Fit]) };
    let found = report(&events(chosen, files.clone()));
    assert_eq!(found.blocks.iter().map(|block| block.block).collect::<Vec<_>>(), [1]);
    let is_read = |block: usize| {
        let tensor = format!("model.layers.{block}.mlp.up_proj.weight");
        let [range] = &parts(&folder, &[&tensor])[..] else { panic!("{tensor} is not there") };
        files.read.borrow().iter().any(|(found, _)| found.start == range.start)
    };
    assert_eq!([0, 1, 2, 3].map(is_read), [true, true, false, false]);
    let all = report(&events(job(name, BackendChoice::Cpu, &[Measure::Fit]), self::folder(name)));
    assert_eq!(found.blocks[0], all.blocks[1]);
}

#[test]
fn spans_tell_what_ran_of_every_block() {
    let events = events(job("tiny-gpt2", BackendChoice::Cpu, &[Measure::Fit, Measure::Swap]), folder("tiny-gpt2"));
    let spans: Vec<&TraceSpan> = events
        .iter()
        .filter_map(|event| match event {
            Event::Span(span) => Some(span),
            _ => None,
        })
        .collect();
    for lane in [Lane::Weights, Lane::Rows, Lane::Measures] {
        let mut blocks: Vec<usize> =
            spans.iter().filter(|span| span.lane == lane).filter_map(|span| span.block).collect();
        // The greedy order loads them again.
        blocks.sort_unstable();
        blocks.dedup();
        assert_eq!(blocks, [0, 1, 2, 3], "{lane:?}");
    }
    assert_eq!(spans.iter().filter(|span| span.lane == Lane::Perplexity).count(), 1);
    for span in spans {
        assert!(span.start >= 0.0 && span.busy >= 0.0 && span.busy <= span.seconds, "{span:?}");
    }
}

#[test]
fn a_trace_shows_when_the_weights_rows_and_solve_of_every_block_ran() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sweep-trace.json");
    let output = Command::new(env!("CARGO_BIN_EXE_straightedge"))
        .args(["measure", "calibration", "--backend", "cpu", "--rows", "1280", "--trace"])
        .arg(&file)
        .output()
        .expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let trace = std::fs::read_to_string(file).expect("a file");
    let trace: serde_json::Value = serde_json::from_str(&trace).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    let of = |name: &str| {
        let event = events.iter().find(|event| event["ph"] == "X" && event["name"] == name).expect(name);
        let [start, taken] = ["ts", "dur"].map(|field| event[field].as_f64().expect("microseconds"));
        start..start + taken
    };
    for block in 0..4 {
        let [weights, rows, solve] = ["weights", "rows", "solve"].map(|lane| of(&format!("{lane} {block}")));
        assert!(weights.start < weights.end && weights.end <= rows.start, "{block}: {weights:?}, {rows:?}");
        assert!(rows.start < rows.end && rows.end <= solve.start, "{block}: {rows:?}, {solve:?}");
        assert!(solve.start < solve.end, "{block}: {solve:?}");
    }
}
