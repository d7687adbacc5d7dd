//! Helper workers take a share of the rows and of the solves: the digits are the same for any number of them, and
//! whenever they end.

mod common;

use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::thread;

use futures::channel::{mpsc, oneshot};
use futures::executor::block_on;
use futures::future::LocalBoxFuture;
use futures::{FutureExt, StreamExt};
use straightedge::event::{Event, Recorder};
use straightedge::job::{BackendChoice, GramMode, Job, Measure, Protocol, Training};
use straightedge::report::Report;
use straightedge::run::{Inputs, Text, measure_inputs};
use straightedge::weights::FolderFiles;
use straightedge::workers::{Limits, Message, Worker, Workers, serve};

/// A worker in its own thread, which ends after a given number of answers.
struct InThread {
    requests: mpsc::UnboundedSender<Message>,
    answered: Arc<Mutex<Answered>>,
}

#[derive(Default)]
struct Answered {
    waiting: VecDeque<oneshot::Sender<Message>>,
    rows: usize,
    solved: usize,
    left: usize,
}

impl InThread {
    fn start(answers: usize) -> Rc<Self> {
        let (requests, inbox) = mpsc::unbounded();
        let answered = Arc::new(Mutex::new(Answered { left: answers, ..Answered::default() }));
        let shared = Arc::clone(&answered);
        thread::spawn(move || {
            block_on(serve(inbox, |answer| {
                let mut answered = shared.lock().expect("no panic");
                let waiting = answered.waiting.pop_front();
                if answered.left == 0 {
                    answered.waiting.clear();
                } else if let Some(waiting) = waiting {
                    answered.left -= 1;
                    answered.rows += usize::from(!answer.singles.is_empty());
                    let _ = waiting.send(answer);
                }
            }));
        });
        Rc::new(Self { requests, answered })
    }
}

impl Worker for InThread {
    fn ask(&self, request: Message) -> LocalBoxFuture<'static, Option<Message>> {
        let (sender, answer) = oneshot::channel();
        let mut answered = self.answered.lock().expect("no panic");
        answered.solved += usize::from(request.head.contains("Solve"));
        answered.waiting.push_back(sender);
        self.requests.unbounded_send(request).expect("the thread lives");
        answer.map(Result::ok).boxed_local()
    }

    fn bytes(&self) -> u64 {
        1000
    }
}

fn measured(name: &str, measures: &[Measure], gram: GramMode, workers: &[Rc<InThread>]) -> Report {
    let job = Job {
        backend: BackendChoice::Cpu,
        measures: measures.iter().copied().collect(),
        protocol: Protocol { rows: 10 * 1024, seq_len: 64, gram, ..Protocol::default() },
        training: Training { probe_steps: 20, baseline_steps: 10, heal_steps: 1 },
        ..Job::new(name, "encyclopedia")
    };
    let text = std::fs::read(common::encyclopedia()).expect("a text");
    let mut inputs = Inputs::new(Rc::new(FolderFiles::new(common::fixture(name))), Text::Plain(text));
    let all = workers.iter().map(|worker| worker.clone() as Rc<dyn Worker>).collect();
    inputs.workers = Workers::new(all, Limits { memory: u64::MAX, hidden_size: 1 });
    let mut recorder = Recorder::default();
    block_on(measure_inputs(job, inputs).for_each(|event| {
        assert!(!matches!(event, Event::Failed(_)), "{event:?}");
        recorder.record(&event);
        async {}
    }));
    let mut report = recorder.into_report().expect("a report");
    assert!(!report.partial && report.blocks.iter().all(|block| block.r2_lin.is_some()));
    report.blocks.iter_mut().for_each(|block| block.row_microseconds.clear());
    Report { seconds: Default::default(), peak_memory: None, ..report }
}

const ALL: [Measure; 5] = [Measure::Fit, Measure::Swap, Measure::Layers, Measure::Baseline, Measure::Controls];

#[test]
fn with_any_number_of_workers_the_digits_are_the_same() {
    for name in ["tiny-gpt2", "tiny-gpt_neox", "tiny-bert"] {
        let alone = measured(name, &ALL, GramMode::Exact, &[]);
        for count in [1, 2, 6] {
            let workers: Vec<_> = (0..count).map(|_| InThread::start(usize::MAX)).collect();
            assert_eq!(measured(name, &ALL, GramMode::Exact, &workers), alone, "{name} with {count} workers");
            for worker in &workers {
                assert!(worker.answered.lock().expect("no panic").rows > 0, "{name}: each took rows");
            }
            assert!(workers[0].answered.lock().expect("no panic").solved > 0, "{name}: the first one solved");
        }
    }
}

#[test]
fn fast_sums_agree_with_any_number_of_workers() {
    let alone = measured("tiny-gpt2", &[Measure::Fit], GramMode::Fast, &[]);
    let helped = measured("tiny-gpt2", &[Measure::Fit], GramMode::Fast, &[InThread::start(usize::MAX)]);
    for (found, expected) in helped.blocks.iter().zip(&alone.blocks) {
        let (found, expected) = (found.r2_lin.expect("a value"), expected.r2_lin.expect("a value"));
        assert!((found - expected).abs() <= 1e-12, "{found} {expected}");
    }
}

#[test]
fn what_a_worker_that_ended_has_not_done_is_done_here() {
    let alone = measured("tiny-gpt2", &ALL, GramMode::Exact, &[]);
    for answers in [0, 1, 5, 9, 23] {
        let workers = [InThread::start(answers), InThread::start(usize::MAX)];
        assert_eq!(measured("tiny-gpt2", &ALL, GramMode::Exact, &workers), alone, "an end after {answers} answers");
    }
}
