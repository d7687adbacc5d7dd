//! Polls a measurement to its end: shows progress, handles signals and panics, keeps finished results.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use futures::StreamExt;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::future::{Either, select};
use straightedge::cost::estimate_of_healing;
use straightedge::date::written;
use straightedge::error::Error;
use straightedge::event::{Event, MapDump, Progress, ProgressPair, Recorder, Stage};
use straightedge::job::Training;
use straightedge::report::Report;
use straightedge::run::Events;
use straightedge::trace::TraceSpan;

use super::crash;
use super::progress::{ProgressLine, duration};
use super::status::Status;
use super::tuning;

/// The current time as reports write it; 1970 if the clock is set earlier.
fn now() -> String {
    written(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64())
}

/// The results of a measurement, complete or not, and the error that ended it, if any.
pub(super) struct DriveOutcome {
    pub(super) report: Option<Report>,
    pub(super) maps: Vec<MapDump>,
    pub(super) spans: Vec<TraceSpan>,
    pub(super) failure: Option<Error>,
}

/// Runs `events` to the end, or until a signal, which gives [`Error::Cancelled`]. `training` is the job's.
pub(super) fn drive(events: Events, training: &Training) -> DriveOutcome {
    drive_with_listener(events, training, &mut |_, _| ())
}

/// [`drive`] with a callback for every event and the report so far.
pub(super) fn drive_with_listener(
    mut events: Events,
    training: &Training,
    receive: &mut dyn FnMut(&Event, Option<&Report>),
) -> DriveOutcome {
    tuning::load();
    let mut woken = catch_interrupts();
    let (mut line, mut pace, mut progress_pair) =
        (ProgressLine::new(), HealingPace::default(), ProgressPair::default());
    let (mut recorder, mut maps, mut spans, mut failure) =
        (Recorder::default().dated(now()), Vec::new(), Vec::new(), None);
    loop {
        // Ctrl-C also interrupts a wait for a server.
        let next = crash::catch(|| match pollster::block_on(select(events.next(), woken.next())) {
            Either::Left((event, _)) => Ok(event),
            Either::Right(_) => Err(Error::Cancelled),
        });
        let event = match next {
            Ok(Ok(Some(event))) => event,
            Ok(Ok(None)) => break,
            Ok(Err(cancelled)) => {
                failure = Some(cancelled);
                break;
            }
            Err(crashed) => {
                failure = Some(crashed);
                // Its parts may be in any state, also for being dropped.
                std::mem::forget(events);
                break;
            }
        };
        recorder.record(&event);
        receive(&event, recorder.report());
        match event {
            Event::Progress(progress) => {
                if let Some(step) = pace.step(progress)
                    && let Some(cost) = recorder.report().and_then(|report| cost(report, training, step))
                {
                    line.print_line(&cost);
                }
                progress_pair.receive(progress);
                line.show(&progress_pair);
            }
            Event::Warning(warning) => line.interject(&format!("warning: {}", warning.text)),
            Event::Waiting(wait) => line.note(&wait),
            Event::Map(map) => maps.push(*map),
            Event::Span(span) => spans.push(span),
            Event::Failed(error) => {
                if matches!(error, Error::DamagedWeights { .. }) {
                    maps.clear();
                }
                failure = Some(error);
            }
            Event::Started(_)
            | Event::Block(_)
            | Event::Layer(_)
            | Event::Curve(_)
            | Event::Order { .. }
            | Event::HealedTogether { .. }
            | Event::Opened(_)
            | Event::Step(_)
            | Event::Finished(_) => {}
        }
        if is_interrupted() {
            failure = Some(Error::Cancelled);
            break;
        }
    }
    line.clear();
    tuning::save();
    DriveOutcome { report: recorder.into_report(), maps, spans, failure }
}

/// Set by the first signal (interrupt, termination, hangup), which cancels the measurement; the second one ends the
/// program.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);
/// Wakes the measurement's poll loop.
static WAKE: Mutex<Option<UnboundedSender<()>>> = Mutex::new(None);

/// Returns a stream of these signals, until it is called again.
pub(super) fn catch_interrupts() -> UnboundedReceiver<()> {
    static HANDLER: Once = Once::new();
    let (wake, woken) = unbounded();
    *WAKE.lock().unwrap_or_else(PoisonError::into_inner) = Some(wake);
    HANDLER.call_once(|| {
        let handler = || {
            if INTERRUPTED.swap(true, Ordering::Relaxed) {
                std::process::exit(Status::Interrupted as i32);
            }
            if let Some(wake) = &*WAKE.lock().unwrap_or_else(PoisonError::into_inner) {
                let _ = wake.unbounded_send(());
            }
        };
        // Without a handler a signal just ends the program.
        let _ = ctrlc::set_handler(handler);
    });
    woken
}

/// Keeps hangups from a program that was started to ignore them, whose handler would receive them with the other signals.
/// Threads take this over from the one that starts them, so it comes before any other.
pub(super) fn keep_ignoring_hangups() {
    #[cfg(unix)]
    if ignores_hangups() {
        let mut hangup = nix::sys::signal::SigSet::empty();
        hangup.add(nix::sys::signal::Signal::SIGHUP);
        let _ = hangup.thread_block();
    }
}

/// Whether whoever started the program has it ignore hangups, as nohup does. Known on Linux only.
#[cfg(unix)]
fn ignores_hangups() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // Hangup is signal 1, the lowest bit.
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

/// Whether a signal has asked the program to end.
pub(super) fn is_interrupted() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}

/// The first steps of healing, whose duration tells how long all of them will take.
#[derive(Default)]
struct HealingPace {
    /// The end of the first step: what comes before, such as loading the model again, is no step.
    since: Option<Progress>,
    is_reported: bool,
}

impl HealingPace {
    /// Time that steps are watched for.
    const WATCHED: f64 = 1.0;

    /// Seconds of a step, once they are known.
    fn step(&mut self, now: Progress) -> Option<f64> {
        if self.is_reported || now.stage != Stage::Heal || now.done == 0 {
            return None;
        }
        let since = *self.since.get_or_insert(now);
        let seconds = now.seconds - since.seconds;
        self.is_reported = now.done > since.done && seconds >= Self::WATCHED;
        self.is_reported.then(|| seconds / (now.done - since.done) as f64)
    }
}

/// The estimated duration of healing for display, by the seconds of one of its first steps.
fn cost(report: &Report, training: &Training, step: f64) -> Option<String> {
    let cost = estimate_of_healing(report, training, step)?;
    let plural = if cost.blocks == 1 { "" } else { "s" };
    Some(format!("Healing {} block{plural}: about {}", cost.blocks, duration(cost.seconds)))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::ops::Range;
    use std::rc::Rc;

    use futures::future::LocalBoxFuture;
    use straightedge::error::Result;
    use straightedge::job::{BackendChoice, Job, Measure};
    use straightedge::report::*;
    use straightedge::run::{self, Text};
    use straightedge::weights::{FilePart, Files, MemoryFiles};

    use super::super::bundled;
    use super::*;

    /// A model that panics when its fifth part is needed, after the embedding and three blocks.
    struct Faulty(MemoryFiles, Cell<usize>);

    impl Files for Faulty {
        fn size<'a>(&'a self, file: &'a str) -> LocalBoxFuture<'a, Result<Option<u64>>> {
            self.0.size(file)
        }

        fn read<'a>(&'a self, file: &'a str, range: Range<u64>) -> LocalBoxFuture<'a, Result<Vec<u8>>> {
            self.0.read(file, range)
        }

        fn prepare<'a>(&'a self, _parts: &'a [FilePart]) -> LocalBoxFuture<'a, Result<()>> {
            self.1.set(self.1.get() + 1);
            assert!(self.1.get() < 5, "a planted\nfailure");
            Box::pin(async { Ok(()) })
        }

        fn sha256(&self, _file: &str) -> Option<String> {
            Some("0".repeat(64))
        }
    }

    #[test]
    fn a_panic_is_an_error_that_keeps_the_finished_blocks() {
        let calibration = bundled::find("calibration").expect("a bundled model");
        let (_, text) = bundled::text(calibration, 1280);
        let mut job = Job::new("m", "t");
        (job.backend, job.protocol.rows, job.protocol.folds) = (BackendChoice::Cpu, 1280, 2);
        let text: Text = text;
        let files = Rc::new(Faulty(bundled::files(calibration), Cell::default()));
        let outcome = drive(run::measure(job, files, text), &Training::default());
        let report = outcome.report.expect("a report");
        assert!(report.partial && !report.blocks.is_empty() && report.blocks.len() < 6, "{}", report.blocks.len());
        let message = outcome.failure.expect("a failure").sentence();
        assert!(message.contains("a planted failure") && message.contains("finished blocks are kept"), "{message}");
    }

    #[test]
    fn what_takes_long_is_announced_with_its_cost() {
        let header = Header {
            app: AppInfo::this(),
            model: ModelInfo { num_hidden_layers: 2, hidden_size: 64, ..ModelInfo::default() },
            corpus: CorpusInfo::default(),
            protocol: ProtocolInfo::new(&Default::default(), 100, 20, 0.0),
            device: DeviceInfo::default(),
            ordered: Default::default(),
        };
        let seconds = Seconds { forward: 8.0, solve: 2.0, ..Seconds::default() };
        let blocks = vec![BlockReport::default()];
        let mut report = Report { blocks, seconds, ..Report::from(header) };
        let mut announced = |measures: &[Measure]| {
            report.ordered = Some(Ordered { measures: measures.iter().copied().collect(), ..Ordered::default() });
            cost(&report, &Training { heal_steps: 20_000, ..Training::default() }, 0.25)
        };
        let both = [Measure::Heal, Measure::HealTogether];
        let costs = [&both[..1], &both[1..], &both].map(|measures| announced(measures).expect("a cost"));
        assert!(costs.iter().all(|cost| cost.starts_with("Healing 1 block: about ")), "{costs:?}");
        assert!(costs[0] != costs[1] && costs[2] != costs[0] && costs[2] != costs[1], "{costs:?}");
        assert_eq!(announced(&[Measure::Swap]), None);
        let spans = [0.2, 40.4, 250.0, 7200.0].map(duration);
        assert_eq!(spans, ["1 s", "40 s", "4 min", "2 h"]);
    }

    #[test]
    fn a_step_is_measured_after_the_first_one_and_told_once() {
        let mut pace = HealingPace::default();
        let mut step = |stage, done, seconds| pace.step(Progress { stage, done, total: 600, seconds });
        let early = [(Stage::Swap, 5, 3.0), (Stage::Heal, 0, 0.0), (Stage::Heal, 1, 40.0), (Stage::Heal, 2, 40.5)];
        assert_eq!(early.map(|(stage, done, seconds)| step(stage, done, seconds)), [None; 4]);
        assert_eq!(step(Stage::Heal, 4, 41.5), Some(0.5), "without the 40 seconds before the end of the first");
        assert_eq!(step(Stage::Heal, 5, 42.0), None);
    }
}
