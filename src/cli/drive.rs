//! Polls a measurement to its end: progress on the terminal, Ctrl-C, and whatever was finished kept.

use std::io::{IsTerminal, Write, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures::StreamExt;
use straightedge::error::Error;
use straightedge::event::{Event, MapDump, Progress, Recorder};
use straightedge::report::Report;
use straightedge::run::Events;

/// How a measurement ended, and all that it finished.
pub(super) struct Driven {
    pub(super) report: Option<Report>,
    pub(super) maps: Vec<MapDump>,
    pub(super) failure: Option<Error>,
}

/// Runs `events` to the end, or until Ctrl-C, which ends in [`Error::Cancelled`].
pub(super) fn drive(mut events: Events) -> Driven {
    let interrupted = interrupt_flag();
    let mut line = ProgressLine::new();
    let (mut recorder, mut maps, mut failure) = (Recorder::default(), Vec::new(), None);
    while let Some(event) = pollster::block_on(events.next()) {
        recorder.record(&event);
        match event {
            Event::Progress(progress) => line.show(&progress),
            Event::Warning(warning) => line.interject(&format!("warning: {}", warning.text)),
            Event::Map(map) => maps.push(*map),
            Event::Failed(error) => failure = Some(error),
            Event::Started(_)
            | Event::Block(_)
            | Event::Layer(_)
            | Event::Curve(_)
            | Event::Greedy(_)
            | Event::Finished(_) => {}
        }
        if interrupted.load(Ordering::Relaxed) {
            failure = Some(Error::Cancelled);
            break;
        }
    }
    line.clear();
    Driven { report: recorder.into_report(), maps, failure }
}

/// Set by the first Ctrl-C; the second one ends the program at once.
fn interrupt_flag() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let seen = flag.clone();
    let handler = move || {
        if seen.swap(true, Ordering::Relaxed) {
            std::process::exit(super::Status::Interrupted as i32);
        }
    };
    // Without a handler Ctrl-C ends the program, which loses the partial report and nothing else.
    let _ = ctrlc::set_handler(handler);
    flag
}

/// One line on standard error that is written over, when that is a terminal.
struct ProgressLine {
    terminal: bool,
    shown: Option<Instant>,
}

impl ProgressLine {
    const INTERVAL: Duration = Duration::from_millis(100);

    fn new() -> Self {
        Self { terminal: stderr().is_terminal(), shown: None }
    }

    fn show(&mut self, progress: &Progress) {
        let due = self.shown.is_none_or(|shown| shown.elapsed() >= Self::INTERVAL) || progress.done == progress.total;
        if self.terminal && due {
            let _ = write!(stderr(), "\r\x1b[K{}", describe(progress));
            self.shown = Some(Instant::now());
        }
    }

    fn interject(&mut self, text: &str) {
        self.clear();
        eprintln!("straightedge: {text}");
    }

    fn clear(&mut self) {
        if self.shown.take().is_some() {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}

fn describe(progress: &Progress) -> String {
    let (label, unit) = (progress.stage.label(), progress.stage.unit());
    if progress.total == 0 {
        return format!("{label} …");
    }
    let mut text = format!("{label}  {} of {} {unit}", progress.done, progress.total);
    if let Some((rate, left)) = progress.rate().zip(progress.seconds_left()) {
        text += &format!(", {rate:.0} {unit}/s, {left:.0} s left");
    }
    text
}
