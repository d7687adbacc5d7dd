//! Shows progress and waits on standard error, and formats amounts.

use std::cell::RefCell;
use std::io::{IsTerminal, Write, stderr};
use std::rc::Rc;
use std::time::{Duration, Instant};

use straightedge::event::{Event, Progress, ProgressPair, Wait};
use straightedge::visible::shown;
use straightedge::weights::Listener;

use super::status::print_line;

/// A callback that shows a file source's events before a measurement begins.
pub(super) fn listener() -> Listener {
    let line = RefCell::new(ProgressLine::new());
    Rc::new(move |event| match event {
        Event::Progress(progress) if progress.done < progress.total => {
            line.borrow_mut().show(&ProgressPair { main: Some(progress), concurrent: None });
        }
        Event::Progress(_) => line.borrow_mut().clear(),
        Event::Waiting(wait) => line.borrow_mut().note(&wait),
        Event::Warning(warning) => line.borrow_mut().interject(&format!("warning: {}", warning.text)),
        _ => {}
    })
}

/// A status line on standard error that is overwritten, if that is a terminal.
pub(super) struct ProgressLine {
    terminal: bool,
    shown: Option<Instant>,
    /// What was last waited for.
    awaited: Option<String>,
}

impl ProgressLine {
    const INTERVAL: Duration = Duration::from_millis(100);

    pub(super) fn new() -> Self {
        Self { terminal: stderr().is_terminal(), shown: None, awaited: None }
    }

    pub(super) fn show(&mut self, progress_pair: &ProgressPair) {
        let Some(main) = &progress_pair.main else { return };
        let due = self.shown.is_none_or(|shown| shown.elapsed() >= Self::INTERVAL) || main.done == main.total;
        if self.terminal && due {
            let concurrent = progress_pair
                .concurrent
                .map_or_else(String::new, |concurrent| format!(" · {}", concurrent.stage.label()));
            let _ = write!(stderr(), "\r\x1b[K{}{concurrent}", describe(main));
            self.shown = Some(Instant::now());
        }
    }

    pub(super) fn interject(&mut self, text: &str) {
        self.print_line(&format!("straightedge: {text}"));
    }

    /// Prints a permanent line about a wait: each time on a terminal. In a script's output, each reason appears once:
    /// minutes of silence look like a hanging program.
    pub(super) fn note(&mut self, wait: &Wait) {
        if self.terminal {
            self.print_line(&format!("waiting {}: {}", duration(wait.seconds), shown(&wait.why)));
        } else if self.awaited.as_ref() != Some(&wait.why) {
            self.print_line(&format!("waiting: {}", shown(&wait.why)));
        }
        self.awaited = Some(wait.why.clone());
    }

    /// Prints a permanent line.
    pub(super) fn print_line(&mut self, text: &str) {
        self.clear();
        print_line(text);
    }

    pub(super) fn clear(&mut self) {
        if self.shown.take().is_some() {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}

/// Megabytes, rounded for display.
pub(super) fn megabytes(bytes: u64) -> String {
    let megabytes = bytes as f64 / 1e6;
    if megabytes < 10.0 { format!("{megabytes:.1} MB") } else { format!("{megabytes:.0} MB") }
}

/// Seconds, minutes or hours, rounded like an estimate.
pub(super) fn duration(seconds: f64) -> String {
    match seconds {
        ..1.0 => "1 s".into(),
        ..100.0 => format!("{seconds:.0} s"),
        ..6000.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.0} h", seconds / 3600.0),
    }
}

fn describe(progress: &Progress) -> String {
    let (label, unit) = (progress.stage.label(), progress.stage.unit());
    if progress.total == 0 {
        return format!("{label} …");
    }
    let amount = |amount: f64| match unit {
        "bytes" => megabytes(amount as u64),
        unit => format!("{amount:.0} {unit}"),
    };
    let mut text = format!("{label}  {} of {}", amount(progress.done as f64), amount(progress.total as f64));
    if let Some((rate, left)) = progress.rate().zip(progress.seconds_left()) {
        text += &format!(", {}/s, {left:.0} s left", amount(rate));
    }
    text
}
