//! The file of a report: written from the first finished block on, never replaced by less than it held.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use straightedge::error::{Error, Result};
use straightedge::event::Event;
use straightedge::report::Report;

use super::results::Destination;
use super::status::print_line;

/// Time between two writes while the measurement runs.
const INTERVAL: Duration = Duration::from_secs(1);

/// Where a measurement's report goes.
pub(super) struct ReportFile {
    place: Destination,
    /// Results in the file that was there before; `None` if it was absent, empty, or has been replaced.
    held: Option<usize>,
    /// `NAME.part`, which holds the new report as long as the earlier one has more results.
    part: Option<PathBuf>,
    written: Option<Instant>,
    /// Whether the file holds a report of this measurement.
    has_replaced: bool,
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
        Ok(Self { place, held, part: None, written: None, has_replaced: false, is_behind: false, has_failed: false })
    }

    pub(super) fn place(&self) -> &Destination {
        &self.place
    }

    /// Writes the report so far if this event, or one since the last time, added a result; at most once a second.
    pub(super) fn receive(&mut self, event: &Event, report: Option<&Report>) {
        self.is_behind |=
            matches!(event, Event::Block(_) | Event::Layer(_) | Event::Order { .. } | Event::HealedTogether { .. });
        let is_due = self.written.is_none_or(|written| written.elapsed() >= INTERVAL);
        let is_pending = self.is_behind && is_due;
        let (Some(report), Destination::File(_), true) = (report, &self.place, is_pending) else { return };
        let json = report.to_json();
        // Weights that come in parts may turn out to be damaged, and all results with them.
        let has_feed = report.ordered.as_ref().is_some_and(|ordered| ordered.feed.is_some());
        let is_certain = self.held.is_none() || !(report.model.sha256_claimed || has_feed);
        let written = if self.may_replace(report) && is_certain {
            self.place.write(json.as_bytes()).map(|()| (self.held, self.has_replaced) = (None, true))
        } else {
            self.write_part(json.as_bytes()).map(drop)
        };
        match written {
            Err(error) if !self.has_failed => {
                print_line(&format!("straightedge: warning: {error}; it is tried again until the measurement ends"));
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
            // If the report could not be written to its place, the part is its last copy.
            let is_over = |part: &mut PathBuf| kept.is_ok() || held(part).is_none_or(|results| results == 0);
            self.part.take_if(is_over).map(fs::remove_file);
            return kept;
        }
        let Destination::File(path) = &self.place else { return Ok(()) };
        let file = path.display().to_string();
        if results_in(report) == 0 {
            self.withdraw();
            print_line(&format!("straightedge: {file}: left as it was, since this measurement ended without a result"));
            return Ok(());
        }
        let place = match self.write_part(json.as_bytes()) {
            Ok(part) => part.display().to_string(),
            Err(error) => {
                self.part.take_if(|part| held(part).is_none()).map(fs::remove_file);
                self.place.keep_elsewhere(json.as_bytes()).ok_or(error)?
            }
        };
        let why = "it holds more than this measurement, which ended early".into();
        Err(Error::ResultElsewhere { file, why, place })
    }

    /// Deletes what was written of a measurement without results: they came from damaged weights.
    pub(super) fn withdraw(&mut self) {
        self.part.take().map(fs::remove_file);
        if let (Destination::File(path), true, None) = (&self.place, self.has_replaced, self.held) {
            let _ = fs::remove_file(path);
        }
    }

    /// Writes to a new file in the folder of the earlier report, the same every time.
    fn write_part(&mut self, json: &[u8]) -> Result<PathBuf> {
        let part = match &self.part {
            Some(part) => part.clone(),
            None => self.place.reserve()?,
        };
        self.part = Some(part.clone());
        Destination::File(part.clone()).write(json)?;
        Ok(part)
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
    use straightedge::report::{
        AppInfo, BlockReport, CurvePoint, Header, ModelInfo, Ordered, OtherInput, ProtocolInfo,
    };

    use super::*;

    /// A place in the temporary folder, and the events of a measurement that are recorded and received there.
    struct Scene {
        path: PathBuf,
        file: ReportFile,
        recorder: Recorder,
    }

    impl Scene {
        fn new(name: &str, earlier: Option<&Report>, is_claimed: bool) -> Self {
            Self::of(name, earlier, (is_claimed, false))
        }

        fn of(name: &str, earlier: Option<&Report>, (is_claimed, is_fed): (bool, bool)) -> Self {
            let path = std::env::temp_dir().join(format!("straightedge-{name}-{}.json", std::process::id()));
            let _ = fs::remove_file(&path);
            if let Some(earlier) = earlier {
                fs::write(&path, earlier.to_json()).expect("an earlier report");
            }
            let file = ReportFile::of(&path).expect("a place");
            let mut scene = Self { path, file, recorder: Recorder::default() };
            scene.receive(Event::Started(Box::new(Header {
                app: AppInfo::this(),
                model: ModelInfo { sha256_claimed: is_claimed, ..ModelInfo::default() },
                corpus: Default::default(),
                protocol: ProtocolInfo::new(&Protocol::default(), 10, 2, 0.0),
                device: Default::default(),
                ordered: Ordered { feed: is_fed.then(OtherInput::default), ..Ordered::default() },
            })));
            scene
        }

        /// Receives an event; returns the results that the file holds then.
        fn receive(&mut self, event: Event) -> Option<usize> {
            self.recorder.record(&event);
            self.file.receive(&event, self.recorder.report());
            held(&self.path)
        }

        fn report(&self) -> &Report {
            self.recorder.report().expect("a report")
        }

        fn a_second_passes(&mut self) {
            self.file.written = Instant::now().checked_sub(INTERVAL);
        }
    }

    fn block(block: usize) -> Event {
        Event::Block(Box::new(BlockReport { block, ..BlockReport::default() }))
    }

    fn step() -> Event {
        let point = CurvePoint { step: 1, value: None };
        Event::Curve(CurveEvent { block: 1, curve: "heal_linear".into(), point })
    }

    #[test]
    fn a_result_within_a_second_of_the_last_is_written_with_a_later_event() {
        let mut scene = Scene::new("behind", None, false);
        assert_eq!(held(&scene.path), None);
        assert_eq!(scene.receive(block(0)), Some(1));
        assert_eq!(scene.receive(block(1)), Some(1), "too soon");
        assert_eq!(scene.receive(step()), Some(1), "still");
        scene.a_second_passes();
        assert_eq!(scene.receive(step()), Some(2), "any event will do");
        scene.a_second_passes();
        fs::remove_file(&scene.path).expect("a report");
        assert_eq!(scene.receive(step()), None, "nothing is new");
    }

    #[test]
    fn weights_that_may_be_damaged_take_no_earlier_report_along() {
        let mut earlier = Scene::new("earlier", None, false);
        earlier.receive(block(0));
        let earlier = earlier.report().clone();
        for [is_claimed, is_fed] in [[true, false], [false, true], [false, false]] {
            let mut scene = Scene::of("claimed", Some(&earlier), (is_claimed, is_fed));
            let is_claimed = is_claimed || is_fed;
            scene.receive(block(0));
            scene.a_second_passes();
            let then = scene.receive(block(1));
            assert_eq!(then, Some(if is_claimed { 1 } else { 2 }), "one more than before");
            let part = scene.file.part.clone().expect("the first block was written to a part");
            assert_eq!(held(&part), Some(if is_claimed { 2 } else { 1 }));
            let (mut ended, left) = (scene.report().clone(), scene.path);
            if is_claimed {
                ended.blocks.clear();
            }
            scene.file.finish(&ended).expect("it is written");
            assert_eq!((held(&left), part.exists()), (Some(if is_claimed { 1 } else { 2 }), false));
        }
    }

    #[test]
    fn a_result_that_may_not_replace_another_is_kept_though_the_folder_takes_no_new_file() {
        let folder = std::env::temp_dir().join("straightedge-crowded");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        let mut earlier = Scene::new("held", None, false);
        earlier.receive(block(0));
        earlier.receive(block(1));
        let mut scene = Scene::new("crowded/report", Some(earlier.report()), false);
        // No name is left.
        while scene.file.place.reserve().is_ok() {}
        assert_eq!(scene.receive(block(0)), Some(2));
        let (report, path) = (scene.report().clone(), scene.path);
        let error = scene.file.finish(&report).expect_err("it holds less");
        let Error::ResultElsewhere { file, why, place } = &error else { panic!("{error}") };
        assert!(*file == path.display().to_string() && why.contains("it holds more"), "{error}");
        assert_eq!((held(&path), held(Path::new(place))), (Some(2), Some(1)), "{error}");
        assert!(!place.contains("crowded"), "{error}");
        let _ = (fs::remove_file(place), fs::remove_file(earlier.path), fs::remove_dir_all(folder));
    }

    #[test]
    fn what_came_from_damaged_weights_is_withdrawn() {
        let mut scene = Scene::new("withdrawn", None, true);
        assert_eq!(scene.receive(block(0)), Some(1));
        scene.file.withdraw();
        assert!(!scene.path.exists());
    }
}
