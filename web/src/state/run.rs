//! One measurement on the page: worker replies in, display data out.

use straightedge_api::event::{Event, Progress, Recorder, Wait};
use straightedge_api::report::{BlockReport, Report, Warning};
use straightedge_api::trace::TraceSpan;

use crate::chart::profile::{Point, Profile};
use crate::comparison::overlay::Metric;
use crate::state::bundled::Expected;
use crate::state::order_status::{OrderStatus, Phase};
use straightedge_api::message::Reply;

/// Where a result comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Provenance {
    /// It is measured in this browser.
    #[default]
    Here,
    /// A report from a file, or one of this copy of the page.
    File,
    /// The fragment of a link.
    Link,
    /// A report at an address that a link names.
    Address(String),
}

impl Provenance {
    /// Whether it is a stranger's claim, which only measuring again verifies.
    pub fn is_claim(&self) -> bool {
        matches!(self, Self::Link | Self::Address(_))
    }
}

/// A measurement from start to end.
#[derive(Clone, Debug, Default)]
pub struct Run {
    status: OrderStatus,
    origin: Option<u32>,
    provenance: Provenance,
    recorder: Recorder,
    expected: Option<Expected>,
    /// Spans of what ran when.
    spans: Vec<TraceSpan>,
    /// Events that changed its report.
    results: usize,
}

impl Run {
    /// A newly ordered measurement; `expected` holds results known beforehand.
    pub fn start(number: u32, expected: Option<Expected>) -> Self {
        Self { status: OrderStatus::start(number), origin: Some(number), expected, ..Self::default() }
    }

    /// A measurement that extends this one and keeps its results.
    pub fn extend(&self, number: u32) -> Self {
        let recorder = self.report().cloned().map(Recorder::resume).unwrap_or_default();
        let (origin, expected) = (self.origin, self.expected.clone());
        Self { status: OrderStatus::start(number), origin, recorder, expected, ..Self::default() }
    }

    /// The same, begun at a [`straightedge_api::date`].
    pub fn dated(self, date: String) -> Self {
        Self { recorder: self.recorder.dated(date), ..self }
    }

    /// A report from a file, as if it had just been measured.
    pub fn opened(number: u32, report: Report) -> Self {
        Self::received(number, report, Provenance::File)
    }

    /// The same with where it comes from.
    pub fn received(number: u32, report: Report, provenance: Provenance) -> Self {
        let phase = if report.partial { Phase::Cancelled } else { Phase::Finished };
        let recorder = Recorder::resume(report);
        Self { status: OrderStatus::at(number, phase), origin: Some(number), provenance, recorder, ..Self::default() }
    }

    /// A report that was recorded with the page, shown until something is measured.
    pub fn recorded(report: Report) -> Self {
        Self { status: OrderStatus::at(0, Phase::Recorded), recorder: Recorder::resume(report), ..Self::default() }
    }

    /// Whether nothing was measured or opened yet.
    pub fn is_untouched(&self) -> bool {
        matches!(self.phase(), Phase::Idle | Phase::Recorded)
    }

    /// Handles a reply; replies of other measurements and after the end are ignored.
    pub fn receive(&mut self, reply: &Reply) {
        match self.status.receive(reply) {
            Some(Event::Span(span)) => self.spans.push(span.clone()),
            Some(event) => {
                self.recorder.record(event);
                self.results += usize::from(is_result(event));
            }
            None => {}
        }
    }

    /// Number of events so far that changed its results.
    pub fn results(&self) -> usize {
        self.results
    }

    /// What ran when, in order of completion.
    pub fn spans(&self) -> &[TraceSpan] {
        &self.spans
    }

    /// Cancels; the results stay.
    pub fn cancel(&mut self) {
        self.status.cancel();
    }

    /// Number of the measurement.
    pub fn number(&self) -> u32 {
        self.status.number()
    }

    /// Number of its first order, if any; later extensions have other numbers.
    pub fn origin(&self) -> Option<u32> {
        self.origin
    }

    /// Where it comes from.
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// Whether it was not measured in this browser.
    pub fn is_opened(&self) -> bool {
        self.provenance != Provenance::Here
    }

    /// Its phase.
    pub fn phase(&self) -> &Phase {
        self.status.phase()
    }

    /// Whether the engine is working on it.
    pub fn is_running(&self) -> bool {
        self.status.is_running()
    }

    /// Progress of its present stage, while it runs.
    pub fn progress(&self) -> Option<Progress> {
        self.status.progress()
    }

    /// Progress of a concurrent stage.
    pub fn concurrent(&self) -> Option<Progress> {
        self.status.concurrent()
    }

    /// What it waits for, if anything.
    pub fn waiting(&self) -> Option<&Wait> {
        self.status.waiting()
    }

    /// The report so far, once model and text are known.
    pub fn report(&self) -> Option<&Report> {
        self.recorder.report()
    }

    /// Blocks measured so far.
    pub fn blocks(&self) -> &[BlockReport] {
        self.report().map_or(&[], |report| &report.blocks)
    }

    /// The chart of the blocks so far.
    pub fn profile(&self, metric: Metric) -> Profile {
        let point = |block: &BlockReport| Point {
            block: block.block,
            value: metric.of(block),
            spread: whisker(block, metric),
            interval: metric.field().interval(block),
        };
        let expected = self.expected.as_ref().filter(|_| metric == Metric::Lin);
        Profile {
            blocks: self.report().map_or(0, |report| report.model.num_hidden_layers),
            points: self.blocks().iter().map(point).collect(),
            expected: expected.map(|expected| expected.r2_lin.clone()).unwrap_or_default(),
            overlay: Vec::new(),
            next: self.next_block(),
        }
        .covering()
    }

    /// The block that is measured now: the first one without a result, while it runs.
    fn next_block(&self) -> Option<usize> {
        let all = self.report().filter(|_| self.is_running())?.model.num_hidden_layers;
        (0..all).find(|number| self.blocks().iter().all(|block| block.block != *number))
    }

    /// Warnings so far.
    pub fn warnings(&self) -> &[Warning] {
        self.report().map_or(&[], |report| &report.warnings)
    }

    /// Results of the model known beforehand.
    pub fn expected(&self) -> Option<&Expected> {
        self.expected.as_ref()
    }
}

fn is_result(event: &Event) -> bool {
    matches!(
        event,
        Event::Started(_) | Event::Block(_) | Event::Layer(_) | Event::Order { .. } | Event::HealedTogether { .. }
    )
}

/// The 95 % interval; in reports without one, a standard deviation over the folds on either side of their mean.
fn whisker(block: &BlockReport, metric: Metric) -> Option<[f64; 2]> {
    let folds = || {
        let (mean, deviation) = (block.r2_cv_mean.filter(|_| metric == Metric::Lin)?, block.r2_cv_std?);
        Some([mean - deviation, mean + deviation])
    };
    metric.field().interval(block).map(|interval| [interval.low, interval.high]).or_else(folds)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use straightedge_api::error::Error;
    use straightedge_api::event::{FinalResults, Stage};
    use straightedge_api::job::Protocol;
    use straightedge_api::message::EngineMemory;
    use straightedge_api::report::{AppInfo, CorpusInfo, DeviceInfo, Header, Interval, ModelInfo, ProtocolInfo};

    /// A recorded measurement of a model with three blocks, the last of them null.
    pub(crate) fn recording() -> Vec<Event> {
        let header = Header {
            app: AppInfo::this(),
            model: ModelInfo { id: "m".into(), num_hidden_layers: 3, hidden_size: 8, ..Default::default() },
            corpus: CorpusInfo { id: "t".into(), ..Default::default() },
            protocol: ProtocolInfo::new(&Protocol::default(), 117, 24, 1e-10),
            device: DeviceInfo { backend: "cpu".into(), ..Default::default() },
            ordered: Default::default(),
        };
        // The mean over the folds is not R² of the last one.
        let block = |block, r2_lin: Option<f64>, r2_cv_std| {
            let r2_cv_mean = r2_lin.map(|r2| r2 - 0.01);
            Event::Block(Box::new(BlockReport { block, r2_lin, r2_cv_mean, r2_cv_std, rank: 8, ..Default::default() }))
        };
        let warning = Warning { code: "zero".into(), block: Some(2), text: "no held-out variance".into() };
        vec![
            Event::Progress(Progress { stage: Stage::Load, done: 10, total: 10, seconds: 1.0 }),
            Event::Started(Box::new(header)),
            Event::Progress(Progress { stage: Stage::Measure, done: 7488, total: 14976, seconds: 4.0 }),
            block(1, Some(-0.25), Some(0.01)),
            block(0, Some(0.999), Some(0.001)),
            Event::Warning(warning),
            block(2, None, None),
            block(0, Some(1.0), Some(0.0)),
            Event::Finished(FinalResults::default()),
        ]
    }

    fn replay(run: &mut Run, events: &[Event]) {
        for event in events {
            run.receive(&Reply::Event { run: run.number(), event: event.clone() });
        }
    }

    #[test]
    fn a_recording_gives_its_blocks_in_order_with_the_last_word_on_each() {
        let mut run = Run::start(1, None);
        replay(&mut run, &recording());
        let found: Vec<_> = run.blocks().iter().map(|block| (block.block, block.r2_lin)).collect();
        assert_eq!(found, [(0, Some(1.0)), (1, Some(-0.25)), (2, None)]);
        assert_eq!(run.warnings().len(), 1);
        assert_eq!(run.phase(), &Phase::Finished);
        assert_eq!(run.profile(Metric::Lin).next, None, "nothing is measured any more");
        let mut started = Run::start(2, None);
        replay(&mut started, &recording()[..4]);
        assert_eq!((started.profile(Metric::Lin).next, started.blocks().len()), (Some(0), 1));
        assert!(run.report().is_some_and(|report| !report.partial));
        assert_eq!(run.progress(), None);
    }

    #[test]
    fn without_an_interval_a_whisker_is_about_the_mean_of_the_folds() {
        let mut block = BlockReport { r2_lin: Some(0.5), r2_lin_scalar: Some(0.6), ..Default::default() };
        assert_eq!(whisker(&block, Metric::Lin), None);
        (block.r2_cv_mean, block.r2_cv_std) = (Some(0.375), Some(0.125));
        assert_eq!(whisker(&block, Metric::Lin), Some([0.25, 0.5]));
        assert_eq!(whisker(&block, Metric::Scalar), None, "folds have only the other R²");
        block.intervals = [("r2_lin".into(), Interval { low: 0.4, high: 0.7 })].into();
        assert_eq!(whisker(&block, Metric::Lin), Some([0.4, 0.7]));
    }

    #[test]
    fn a_second_measurement_adds_to_the_first_and_loses_nothing_when_it_is_cancelled() {
        let mut first = Run::start(1, None);
        replay(&mut first, &recording());
        let mut run = first.extend(2);
        assert_eq!((run.phase(), run.blocks().len()), (&Phase::Running, 3), "shown before the engine answers");
        assert_eq!((Run::default().origin(), run.number(), run.origin()), (None, 2, Some(1)));
        let started = recording().remove(1);
        let swapped = BlockReport {
            block: 0,
            r2_lin: Some(1.0),
            delta_ppl: [("linear".to_string(), Some(0.25))].into(),
            ..Default::default()
        };
        replay(&mut run, &[started, Event::Block(Box::new(swapped))]);
        run.cancel();
        assert_eq!(run.phase(), &Phase::Cancelled);
        assert_eq!(run.blocks().len(), 3);
        assert_eq!(run.blocks()[0].delta_ppl["linear"], Some(0.25));
        assert_eq!(run.blocks()[1].r2_lin, Some(-0.25), "of the first");
    }

    #[test]
    fn a_report_from_a_file_is_shown_as_what_it_is() {
        let mut first = Run::start(1, None);
        replay(&mut first, &recording()[..4]);
        let run = Run::opened(2, first.report().unwrap().clone());
        assert_eq!(run.phase(), &Phase::Cancelled, "half a measurement");
        assert_eq!(run.profile(Metric::Lin).points.len(), 1);
    }

    #[test]
    fn a_recording_is_shown_and_is_no_measurement() {
        let mut first = Run::start(1, None);
        replay(&mut first, &recording());
        let mut run = Run::recorded(first.report().unwrap().clone());
        replay(&mut run, &recording()[3..4]);
        assert_eq!((run.phase(), run.profile(Metric::Lin).points.len()), (&Phase::Recorded, 3));
        assert!(run.is_untouched() && Run::default().is_untouched() && !first.is_untouched());
    }

    #[test]
    fn cancelling_keeps_the_blocks_and_ends_listening() {
        let mut run = Run::start(1, None);
        let events = recording();
        replay(&mut run, &events[..4]);
        assert!(run.progress().is_some_and(|progress| progress.stage == Stage::Measure));
        run.cancel();
        replay(&mut run, &events[4..]);
        run.receive(&Reply::Ended { run: 1, memory: EngineMemory::default() });
        assert_eq!(run.phase(), &Phase::Cancelled);
        assert_eq!(run.blocks().len(), 1);
        assert!(run.report().is_some_and(|report| report.partial));
    }

    #[test]
    fn a_failure_keeps_the_blocks_and_its_reason() {
        let mut run = Run::start(1, None);
        let lost = Error::DeviceLost { why: "reset".into() };
        replay(&mut run, &recording()[..4]);
        replay(&mut run, &[Event::Failed(lost.clone())]);
        run.receive(&Reply::Ended { run: 1, memory: EngineMemory::default() });
        assert_eq!(run.phase(), &Phase::Failed(lost));
        assert_eq!(run.blocks().len(), 1);
    }

    #[test]
    fn replies_of_another_run_change_nothing() {
        let mut run = Run::start(2, None);
        for event in recording() {
            run.receive(&Reply::Event { run: 1, event });
        }
        run.receive(&Reply::Ended { run: 1, memory: EngineMemory::default() });
        assert_eq!(run.phase(), &Phase::Running);
        assert!(run.report().is_none());
    }
}
