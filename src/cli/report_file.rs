//! The file of a report: written from the first finished block on, never replaced by less than it held.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use straightedge::error::{Error, Result};
use straightedge::event::Event;
use straightedge::report::Report;

use super::results::Destination;
use super::status::tell;

/// Time between two writes while the measurement runs.
const INTERVAL: Duration = Duration::from_secs(1);

/// Where a measurement's report goes.
pub(super) struct ReportFile {
    place: Destination,
    /// Results in the file that was there before; `None` if it was absent, empty, or has been replaced.
    held: Option<usize>,
    /// A partial report that does not yet hold more than the earlier one.
    beside: Option<PathBuf>,
    written: Option<Instant>,
    /// Whether there are results that were not written yet.
    is_behind: bool,
    has_failed: bool,
}

impl ReportFile {
    /// The file that `path` names.
    ///
    /// # Errors
    /// If nothing can be written there.
    pub(super) fn of(path: &Path) -> Result<Self> {
        let place = Destination::of(path)?;
        let held = match &place {
            Destination::File(path) => held(path),
            Destination::Standard | Destination::Stream(_) => None,
        };
        Ok(Self { place, held, beside: None, written: None, is_behind: false, has_failed: false })
    }

    pub(super) fn place(&self) -> &Destination {
        &self.place
    }

    /// Writes the report so far if this event, or one since the last time, added a result; at most once a second.
    pub(super) fn receive(&mut self, event: &Event, report: Option<&Report>) {
        self.is_behind |=
            matches!(event, Event::Block(_) | Event::Layer(_) | Event::Order { .. } | Event::HealedTogether { .. });
        let is_due = self.written.is_none_or(|written| written.elapsed() >= INTERVAL);
        let is_wanted = self.is_behind && is_due;
        let (Some(report), Destination::File(_), true) = (report, &self.place, is_wanted) else { return };
        let json = report.to_json();
        let written = if self.may_replace(report) {
            self.place.write(json.as_bytes()).map(|()| self.held = None)
        } else {
            self.write_beside(json.as_bytes()).map(drop)
        };
        match written {
            Err(error) if !self.has_failed => {
                tell(&format!("straightedge: warning: {error}; it is tried again until the measurement ends"));
                self.has_failed = true;
            }
            _ => {}
        }
        (self.written, self.is_behind) = (Some(Instant::now()), false);
    }

    /// Writes the report, complete or not.
    ///
    /// # Errors
    /// If it cannot be written to its place; the error says where it is instead.
    pub(super) fn finish(mut self, report: &Report) -> Result<()> {
        let json = report.to_json();
        if self.may_replace(report) {
            let kept = self.place.keep(json.as_bytes());
            self.beside.take().map(fs::remove_file);
            return kept;
        }
        let Destination::File(path) = &self.place else { return Ok(()) };
        let file = path.display().to_string();
        if results_in(report) == 0 {
            // What was written beside came from damaged weights.
            self.beside.take().map(fs::remove_file);
            tell(&format!("straightedge: {file}: left as it was, since this measurement ended without a result"));
            return Ok(());
        }
        let place = self.write_beside(json.as_bytes())?.display().to_string();
        let why = "it holds more than this measurement, which ended early".into();
        Err(Error::ResultElsewhere { file, why, place })
    }

    /// Writes beside the earlier report, to the same file every time.
    fn write_beside(&mut self, json: &[u8]) -> Result<PathBuf> {
        let beside = match &self.beside {
            Some(beside) => beside.clone(),
            None => self.place.reserve()?,
        };
        self.beside = Some(beside.clone());
        Destination::File(beside.clone()).write(json)?;
        Ok(beside)
    }

    fn may_replace(&self, report: &Report) -> bool {
        self.held.is_none_or(|held| !report.partial || results_in(report) > held)
    }
}

/// Results in a file; of a file that is no report, none.
fn held(path: &Path) -> Option<usize> {
    let bytes = fs::read(path).ok().filter(|bytes| !bytes.is_empty())?;
    let report = String::from_utf8(bytes).ok().and_then(|json| Report::from_json("", &json).ok());
    Some(report.map_or(0, |report| results_in(&report)))
}

/// Blocks, layers, steps of orders, and what was healed together.
fn results_in(report: &Report) -> usize {
    let steps: usize = report.orders.values().map(Vec::len).sum();
    report.blocks.len() + report.layers.len() + steps + report.healed_together.len()
}

#[cfg(test)]
mod tests {
    use straightedge::event::{CurveEvent, Recorder};
    use straightedge::job::Protocol;
    use straightedge::report::{AppInfo, BlockReport, CurvePoint, Header, ProtocolInfo};

    use super::*;

    #[test]
    fn a_result_within_a_second_of_the_last_is_written_with_a_later_event() {
        let path = std::env::temp_dir().join(format!("straightedge-behind-{}.json", std::process::id()));
        let mut file = ReportFile::of(&path).expect("a place");
        let mut recorder = Recorder::default();
        let mut receive = |file: &mut ReportFile, event: Event| {
            recorder.record(&event);
            file.receive(&event, recorder.report());
            held(&path)
        };
        let block = |block| Event::Block(Box::new(BlockReport { block, ..BlockReport::default() }));
        let point = CurvePoint { step: 1, value: None };
        let step = || Event::Curve(CurveEvent { block: 1, curve: "heal_linear".into(), point });
        let header = Header {
            app: AppInfo::this(),
            model: Default::default(),
            corpus: Default::default(),
            protocol: ProtocolInfo::new(&Protocol::default(), 10, 2, 0.0),
            device: Default::default(),
            ordered: Default::default(),
        };
        assert_eq!(receive(&mut file, Event::Started(Box::new(header))), None);
        assert_eq!(receive(&mut file, block(0)), Some(1));
        assert_eq!(receive(&mut file, block(1)), Some(1), "too soon");
        assert_eq!(receive(&mut file, step()), Some(1), "still");
        file.written = Instant::now().checked_sub(INTERVAL);
        assert_eq!(receive(&mut file, step()), Some(2), "any event will do");
        file.written = Instant::now().checked_sub(INTERVAL);
        fs::remove_file(&path).expect("a report");
        assert_eq!(receive(&mut file, step()), None, "nothing is new");
    }
}
