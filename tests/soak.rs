//! Measurements, cancels and changes of the model in one process leave nothing allocated behind.
//!
//! The system's memory says little: an allocator keeps what was freed. So this program counts what is allocated.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::rc::Rc;
use std::sync::atomic::{AtomicI64, Ordering};

use futures::StreamExt;
use futures::executor::block_on;
use straightedge::backend::gpu::Memory;
use straightedge::event::{Event, Stage};
use straightedge::job::{BackendChoice, Job, Measure, Protocol, Training};
use straightedge::run::{Text, measure};
use straightedge::weights::FolderFiles;

/// Bytes allocated at present.
static LIVE: AtomicI64 = AtomicI64::new(0);

struct Counting;

#[allow(unsafe_code, reason = "an allocator is unsafe by definition; this one only counts what it passes on")]
// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: the caller's promises are the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as i64, Ordering::Relaxed);
        // SAFETY: the caller's promises are the system's.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Rounds until everything is allocated that stays: thread pools, kept tokenizers, tables.
const FIRST: usize = 2;
/// Bytes that the rounds may add in all: a queue or table that grew once more.
const SLACK: i64 = 4 << 10;

fn job(backend: BackendChoice, model: &str, measures: &[Measure]) -> Job {
    Job {
        backend,
        measures: measures.iter().copied().collect(),
        protocol: Protocol { rows: 640, seq_len: 64, ..Protocol::default() },
        training: Training { probe_steps: 4, baseline_steps: 4, heal_steps: 1, ..Training::default() },
        ..Job::new(model, "encyclopedia")
    }
}

/// Measures until the end, or until the stage `cancelled` is reported; returns the number of blocks seen.
fn run(job: Job, cancelled: Option<Stage>) -> usize {
    let text = std::fs::read(common::encyclopedia()).expect("a text");
    let files = Rc::new(FolderFiles::new(common::fixture(&job.model)));
    let mut events = measure(job, files, Text::Plain(text));
    let mut blocks = 0;
    block_on(async {
        while let Some(event) = events.next().await {
            match event {
                Event::Block(_) => blocks += 1,
                Event::Failed(error) => panic!("{error}"),
                Event::Progress(progress) if Some(progress.stage) == cancelled => break,
                _ => {}
            }
        }
    });
    blocks
}

/// Two models, the first with these measures, and a cancelled measurement.
fn round(backend: BackendChoice, measures: &[Measure]) {
    assert!(run(job(backend, "tiny-gpt2", measures), None) >= 4);
    assert!(run(job(backend, "tiny-llama", &[Measure::Fit]), None) >= 4);
    run(job(backend, "tiny-gpt2", &[Measure::Fit, Measure::Swap]), Some(Stage::Measure));
}

/// Rounds of which only the first ones may add to what is allocated.
fn soak(backend: BackendChoice, measures: &[Measure], more: usize) {
    let mut live = Vec::new();
    for _ in 0..FIRST + more {
        round(backend, measures);
        live.push(LIVE.load(Ordering::Relaxed));
        assert_eq!(Memory::now().allocated, 0, "{backend:?}: bytes on the device");
    }
    let grown = live[FIRST + more - 1] - live[FIRST - 1];
    assert!(grown <= SLACK, "{backend:?}: {grown} bytes in {more} rounds: {live:?}");
}

#[test]
fn nothing_stays_allocated_from_one_measurement_to_the_next() {
    let most = [Measure::Fit, Measure::Swap, Measure::Layers, Measure::Probes, Measure::Conjunction];
    soak(BackendChoice::Cpu, &most, 12);
    if common::gpu().is_some() {
        soak(BackendChoice::Gpu, &[Measure::Fit, Measure::Swap], 4);
    }
}
