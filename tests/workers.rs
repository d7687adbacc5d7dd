//! Helper workers take a share of the rows and of the solves: the digits are the same for any number of them, and
//! whenever they end.

mod common;

use std::collections::VecDeque;
use std::ops::Range;
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use futures::channel::{mpsc, oneshot};
use futures::executor::block_on;
use futures::future::LocalBoxFuture;
use futures::{FutureExt, StreamExt};
use straightedge::event::{Event, Recorder};
use straightedge::job::{BackendChoice, GramMode, Job, Measure, Protocol, Training};
use straightedge::report::Report;
use straightedge::run::{Inputs, Resume, ResumeFile, Text, measure_inputs};
use straightedge::trace::{Lane, TraceSpan};
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

/// Workers that keep the score of the first block back until a second block is to be solved.
#[derive(Default)]
struct Together {
    asked: Mutex<usize>,
    more: Condvar,
}

impl Together {
    fn ask(&self) {
        *self.asked.lock().expect("no panic") += 1;
        self.more.notify_all();
    }

    /// Whether two were asked for, before long.
    fn wait(&self) -> bool {
        let asked = self.asked.lock().expect("no panic");
        let long = Duration::from_secs(60);
        *self.more.wait_timeout_while(asked, long, |asked| *asked < 2).expect("no panic").0 >= 2
    }
}

/// A worker that answers together with the others.
struct Patient {
    worker: Rc<InThread>,
    together: Arc<Together>,
}

impl Worker for Patient {
    fn ask(&self, request: Message) -> LocalBoxFuture<'static, Option<Message>> {
        let is_solve = request.head.contains("\"Solve\"");
        let answer = self.worker.ask(request);
        if !is_solve {
            return answer;
        }
        self.together.ask();
        let together = Arc::clone(&self.together);
        let (sender, second) = oneshot::channel();
        thread::spawn(move || sender.send(together.wait()));
        let answer = async {
            assert!(second.await.expect("the thread ends"), "only one block is solved at a time");
            answer.await
        };
        answer.boxed_local()
    }

    fn bytes(&self) -> u64 {
        self.worker.bytes()
    }
}

fn measured(name: &str, measures: &[Measure], gram: GramMode, workers: &[Rc<InThread>]) -> Report {
    let job = Job {
        backend: BackendChoice::Cpu,
        measures: measures.iter().copied().collect(),
        protocol: Protocol { rows: 10 * 1024, seq_len: 64, gram, ..Protocol::default() },
        training: Training { probe_steps: 20, baseline_steps: 10, heal_steps: 1, ..Training::default() },
        ..Job::new(name, "encyclopedia")
    };
    let all = workers.iter().map(|worker| worker.clone() as Rc<dyn Worker>).collect();
    report_of(&events(job, all, None, |_| false))
}

/// The events of a measurement up to the first for which `ends` is true.
fn events(job: Job, workers: Vec<Rc<dyn Worker>>, resume: Option<&Path>, ends: impl Fn(&Event) -> bool) -> Vec<Event> {
    let text = std::fs::read(common::encyclopedia()).expect("a text");
    let files = Rc::new(FolderFiles::new(common::fixture(&job.model)));
    let mut inputs = Inputs::new(files, Text::Plain(text));
    inputs.workers = Workers::new(workers, Limits { memory: u64::MAX, hidden_size: 1 });
    inputs.resume = resume.map(|path| Rc::new(ResumeFile(path.into())) as Rc<dyn Resume>);
    let (mut stream, mut events) = (measure_inputs(job, inputs), Vec::new());
    block_on(async {
        while let Some(event) = stream.next().await {
            assert!(!matches!(event, Event::Failed(_)), "{event:?}");
            let is_last = ends(&event);
            events.push(event);
            if is_last {
                break;
            }
        }
    });
    events
}

/// The complete report of these events, without times and memory.
fn report_of(events: &[Event]) -> Report {
    let mut recorder = Recorder::default();
    events.iter().for_each(|event| recorder.record(event));
    let mut report = recorder.into_report().expect("a report");
    assert!(!report.partial && report.blocks.iter().all(|block| block.r2_lin.is_some()));
    report.blocks.iter_mut().for_each(|block| block.row_microseconds.clear());
    Report { date: None, seconds: Default::default(), peak_memory: None, ..report }
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
fn spans_tell_when_every_worker_was_at_work() {
    let job = Job {
        backend: BackendChoice::Cpu,
        protocol: Protocol { rows: 10 * 1024, seq_len: 64, ..Protocol::default() },
        ..Job::new("tiny-gpt2", "encyclopedia")
    };
    let workers = (0..2).map(|_| InThread::start(usize::MAX) as Rc<dyn Worker>).collect();
    let spans: Vec<TraceSpan> = events(job, workers, None, |_| false)
        .into_iter()
        .filter_map(|event| if let Event::Span(span) = event { Some(span) } else { None })
        .collect();
    let of = |lane, worker, block| {
        let mut found = spans.iter().filter(|span| (span.lane, span.worker, span.block) == (lane, worker, Some(block)));
        let span = found.next().unwrap_or_else(|| panic!("{lane:?} {worker} {block}: {spans:?}"));
        assert!(found.next().is_none(), "one span for all rows: {spans:?}");
        assert!(span.busy > 0.0 && span.busy <= span.seconds + 1e-6, "{span:?}");
        span.start..span.start + span.seconds
    };
    // Both clocks are the machine's, read one after the other.
    let within = |inner: Range<f64>, outer: Range<f64>| {
        assert!(inner.start >= outer.start - 0.01 && inner.end <= outer.end + 0.01, "{inner:?} in {outer:?}");
    };
    for block in 0..4 {
        for worker in [1, 2] {
            within(of(Lane::Rows, worker, block), of(Lane::Rows, 0, block));
        }
        within(of(Lane::Solve, 1, block), of(Lane::Solve, 0, block));
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

#[test]
fn on_a_gpu_each_worker_solves_a_block_of_its_own_while_later_rows_run() {
    let job = || Job {
        backend: BackendChoice::Gpu,
        protocol: Protocol { rows: 1280, seq_len: 64, ..Protocol::default() },
        ..Job::new("tiny-gpt2", "encyclopedia")
    };
    let patient = |answers: &[usize], together: &Arc<Together>| -> Vec<Rc<dyn Worker>> {
        let worker = |answers: &usize| Patient { worker: InThread::start(*answers), together: together.clone() };
        answers.iter().map(|answers| Rc::new(worker(answers)) as Rc<dyn Worker>).collect()
    };
    let alone = report_of(&events(job(), Vec::new(), None, |_| false));
    assert_eq!(alone.blocks.len(), 4);
    for answers in [[usize::MAX; 3], [3, usize::MAX, 5]] {
        let together = Arc::default();
        let report = report_of(&events(job(), patient(&answers, &together), None, |_| false));
        assert_eq!(*together.asked.lock().expect("no panic"), 4, "each block is solved by one worker");
        assert_eq!(report, alone, "ends after {answers:?} answers");
    }

    // Interrupted while several blocks are unfinished, and resumed.
    let state = Path::new(env!("CARGO_TARGET_TMPDIR")).join("solved-at-once");
    let _ = std::fs::remove_file(&state);
    let rows = |span: &TraceSpan| span.lane == Lane::Rows && span.worker == 0;
    let stop = |event: &Event| matches!(event, Event::Span(span) if rows(span) && span.block == Some(3));
    events(job(), patient(&[usize::MAX; 2], &Arc::default()), Some(&state), stop);
    assert!(state.is_file(), "a state was saved");
    let rest = events(job(), vec![InThread::start(usize::MAX), InThread::start(usize::MAX)], Some(&state), |_| false);
    let rows: Vec<_> = rest
        .iter()
        .filter_map(|event| match event {
            Event::Span(span) if rows(span) => span.block,
            _ => None,
        })
        .collect();
    assert!(rows[0] > 0, "block 0 is not run again: {rows:?}");
    assert_eq!(report_of(&rest), alone);
}
