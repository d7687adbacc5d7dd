//! The events of a running measurement, as plain data.
//!
//! A report is the sum of its events: the command line and the page both build it with [`Recorder`], so that a
//! cancelled or failed measurement keeps every finished block.

use serde::{Deserialize, Serialize};

use crate::continuation::{Opening, Step};
use crate::error::Error;
pub use crate::progress::{Progress, ProgressPair, Stage};
use crate::report::{
    BlockReport, CurvePoint, Header, HealedTogether, LayerReport, ModelInfo, OrderStep, Report, Seconds, Warning,
};
use crate::trace::TraceSpan;

/// One message from the engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// Progress of a stage.
    Progress(Progress),
    /// Model, corpus, protocol and device are known; the first block comes later.
    Started(Box<Header>),
    /// A block is measured. A later event for the same block replaces it, with more fields filled.
    Block(Box<BlockReport>),
    /// A layer is measured.
    Layer(Box<LayerReport>),
    /// One more point of a block's training curve; the block itself follows once training is over.
    Curve(CurveEvent),
    /// The steps so far of an order in which blocks or layers are replaced.
    Order {
        /// One of [`crate::report::orders`].
        name: String,
        /// The steps.
        steps: Vec<OrderStep>,
    },
    /// The first half of an order, fine-tuned together.
    HealedTogether {
        /// One of [`crate::report::orders`].
        name: String,
        /// What became of it so far.
        healed: HealedTogether,
    },
    /// A finished span of work.
    Span(TraceSpan),
    /// The map of a block, of closed form or healed together with others, if the job requests maps.
    Map(Box<MapDump>),
    /// Both models of a continuation have read the prompt.
    Opened(Box<Opening>),
    /// Both texts have one more token.
    Step(Box<Step>),
    /// A warning.
    Warning(Warning),
    /// A pause and its reason: a server that asks to wait, a connection to be retried.
    Waiting(Wait),
    /// The measurement is complete.
    Finished(FinalResults),
    /// The measurement ended early; what came before stays valid, unless it came from [`Error::DamagedWeights`].
    Failed(Error),
}

/// A pause caused from outside the engine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wait {
    /// Its length in seconds.
    pub seconds: f64,
    /// The reason as a clause: `the server asks to wait`.
    pub why: String,
}

/// A new point of a curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurveEvent {
    /// Block index.
    pub block: usize,
    /// Name as in [`BlockReport::curves`].
    pub curve: String,
    /// The point.
    pub point: CurvePoint,
}

/// W and b of a block in raw units: ŷ = Wᵀ·x + b, which is ȳ + (W ⊙ σ)ᵀ·((x − x̄)/σ).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MapDump {
    /// Block index.
    pub block: usize,
    /// What it has learned together with other maps ([`HealedTogether::STREAMS`] or [`HealedTogether::TOKENS`]); `None`
    /// for the closed form.
    #[serde(default)]
    pub healed: Option<String>,
    /// Row-major d_in × d_out.
    pub weight: Vec<f64>,
    /// d_out.
    pub bias: Vec<f64>,
    /// x̄, d_in.
    pub mean_x: Vec<f64>,
    /// σ, d_in; 1 for a column that is constant to f32 precision.
    pub deviation_x: Vec<f64>,
    /// ȳ, d_out.
    pub mean_y: Vec<f64>,
}

/// Results known only at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FinalResults {
    /// Perplexity of the original model, if requested.
    pub ppl: Option<f64>,
    /// Wall time by stage.
    pub seconds: Seconds,
    /// As in [`Report::peak_memory`].
    #[serde(default)]
    pub peak_memory: Option<u64>,
}

/// Builds the report from the events as they arrive.
///
/// A second measurement of the same model, text and protocol extends the report.
#[derive(Clone, Debug, Default)]
pub struct Recorder {
    report: Option<Report>,
    /// When the measurement began.
    date: Option<String>,
    early_warnings: Vec<Warning>,
    /// Times of earlier measurements, and of the current one so far.
    seconds: (Seconds, Seconds),
    /// The report before this measurement, unless its weights may be the damaged ones.
    before: Option<Report>,
}

impl Recorder {
    /// A recorder that extends a report.
    pub fn resume(report: Report) -> Self {
        Self { before: Some(report.clone()), report: Some(report), ..Self::default() }
    }

    /// The same for a measurement that begins at a [`crate::date`]: the engine has no calendar.
    pub fn dated(self, date: String) -> Self {
        Self { date: Some(date), ..self }
    }

    /// Takes in one event; of progress the report keeps the time that a stage has taken so far.
    pub fn record(&mut self, event: &Event) {
        match (event, &mut self.report) {
            (Event::Started(header), _) => self.start(header),
            (Event::Progress(progress), Some(report)) if report.partial => {
                let (earlier, now) = &mut self.seconds;
                if let Some(seconds) = seconds_of(now, progress.stage) {
                    *seconds = progress.seconds;
                    report.seconds = earlier.and(now);
                }
            }
            (Event::Block(block), Some(report)) => insert_block(&mut report.blocks, block),
            (Event::Layer(layer), Some(report)) => insert_layer(&mut report.layers, layer),
            (Event::Curve(curve), Some(report)) => extend_curve(&mut report.blocks, curve),
            (Event::Order { name, steps }, Some(report)) => {
                report.orders.insert(name.clone(), steps.clone());
            }
            (Event::HealedTogether { name, healed }, Some(report)) => {
                report.healed_together.insert(name.clone(), healed.clone());
            }
            (Event::Warning(warning), Some(report)) if !report.partial => self.early_warnings.push(warning.clone()),
            (Event::Warning(warning), Some(report)) => insert_warning(&mut report.warnings, warning),
            (Event::Warning(warning), None) => self.early_warnings.push(warning.clone()),
            // Weights are verified once all have arrived; earlier results came from damaged ones.
            (Event::Failed(Error::DamagedWeights { .. }), Some(report)) => {
                *report = self.before.take().unwrap_or_else(|| report.without_results());
            }
            (Event::Finished(outcome), Some(report)) => {
                report.ppl = outcome.ppl.or(report.ppl);
                report.seconds = self.seconds.0.and(&outcome.seconds);
                report.peak_memory = outcome.peak_memory;
                report.partial = false;
            }
            _ => {}
        }
    }

    fn start(&mut self, header: &Header) {
        let mut report = match self.report.take() {
            Some(known) if known.is_continued_by(header) => {
                let ordered = known.ordered.as_ref().map(|ordered| ordered.and(&header.ordered));
                // The hash of a model that feeds the controls is always a claimed one.
                let is_fed = |before: &Report| before.ordered.as_ref().is_some_and(|ordered| ordered.feed.is_some());
                self.before.take_if(|before| before.model.sha256_claimed || is_fed(before));
                let sha256_claimed = known.model.sha256_claimed || header.model.sha256_claimed;
                let model = ModelInfo { sha256_claimed, ..known.model };
                Report { partial: true, device: header.device.clone(), ordered, model, ..known }
            }
            _ => Report { date: self.date.clone(), ..Report::from(header.clone()) },
        };
        self.seconds = (report.seconds, Seconds::default());
        self.early_warnings.drain(..).for_each(|warning| insert_warning(&mut report.warnings, &warning));
        self.report = Some(report);
    }

    /// The report so far; `None` before the measurement started.
    pub fn report(&self) -> Option<&Report> {
        self.report.as_ref()
    }

    /// Returns the report.
    pub fn into_report(self) -> Option<Report> {
        self.report
    }
}

/// The field for a stage's time; `None` if it counts as part of another's.
fn seconds_of(seconds: &mut Seconds, stage: Stage) -> Option<&mut f64> {
    match stage {
        Stage::Download | Stage::Device | Stage::Load | Stage::Hash | Stage::Tokenize => None,
        Stage::Greedy | Stage::Continue => None,
        Stage::Measure => Some(&mut seconds.forward),
        Stage::Swap => Some(&mut seconds.swap),
        Stage::Layers => Some(&mut seconds.layers),
        Stage::Conjunction => Some(&mut seconds.conjunction),
        Stage::Probes => Some(&mut seconds.probes),
        Stage::Degrees => Some(&mut seconds.degrees),
        Stage::Baseline => Some(&mut seconds.baseline),
        Stage::Controls => Some(&mut seconds.controls),
        Stage::Heal => Some(&mut seconds.heal),
    }
}

fn insert_block(blocks: &mut Vec<BlockReport>, block: &BlockReport) {
    match blocks.binary_search_by_key(&block.block, |known| known.block) {
        Ok(at) => {
            let earlier = std::mem::replace(&mut blocks[at], block.clone());
            blocks[at].complete_from(&earlier);
        }
        Err(at) => blocks.insert(at, block.clone()),
    }
}

fn insert_layer(layers: &mut Vec<LayerReport>, layer: &LayerReport) {
    match layers.binary_search_by_key(&layer.layer, |known| known.layer) {
        Ok(at) => layers[at] = layer.clone(),
        Err(at) => layers.insert(at, layer.clone()),
    }
}

fn insert_warning(warnings: &mut Vec<Warning>, warning: &Warning) {
    if !warnings.contains(warning) {
        warnings.push(warning.clone());
    }
}

/// Appends a point; a curve that starts again replaces the previous one.
fn extend_curve(blocks: &mut [BlockReport], event: &CurveEvent) {
    if let Some(block) = blocks.iter_mut().find(|block| block.block == event.block) {
        let points = block.curves.entry(event.curve.clone()).or_default();
        points.retain(|known| known.step < event.point.step);
        points.push(event.point);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Ordered, OtherInput};

    #[test]
    fn blocks_stay_in_order_and_later_ones_replace_earlier_ones() {
        let mut blocks = Vec::new();
        for (block, r2_lin) in [(2, 0.2), (0, 0.0), (2, 0.5)] {
            insert_block(&mut blocks, &BlockReport { block, r2_lin: Some(r2_lin), ..Default::default() });
        }
        let found: Vec<_> = blocks.iter().map(|block| (block.block, block.r2_lin)).collect();
        assert_eq!(found, [(0, Some(0.0)), (2, Some(0.5))]);
    }

    #[test]
    fn a_second_measurement_completes_the_first() {
        let known = BlockReport { delta_ppl: [("linear".to_owned(), Some(0.5))].into(), ..Default::default() };
        let mut blocks = vec![known];
        let curve =
            |step, value| CurveEvent { block: 0, curve: "sgd".into(), point: CurvePoint { step, value: Some(value) } };
        insert_block(&mut blocks, &BlockReport { r2_lin: Some(0.9), ..Default::default() });
        for (step, value) in [(1, 0.1), (2, 0.2), (1, 0.3)] {
            extend_curve(&mut blocks, &curve(step, value));
        }
        assert_eq!(blocks[0].r2_lin, Some(0.9));
        assert_eq!(blocks[0].delta_ppl["linear"], Some(0.5), "the earlier measurement's");
        assert_eq!(blocks[0].curves["sgd"], [CurvePoint { step: 1, value: Some(0.3) }], "begun anew");
    }

    #[test]
    fn a_measurement_under_way_knows_the_time_of_its_stages() {
        let header = header();
        let mut recorder = Recorder::default();
        let progress = |stage, seconds| Event::Progress(Progress { stage, done: 1, total: 2, seconds });
        for event in [progress(Stage::Measure, 9.0), Event::Started(Box::new(header)), progress(Stage::Measure, 2.0)] {
            recorder.record(&event);
        }
        recorder.record(&progress(Stage::Greedy, 5.0));
        assert_eq!(recorder.report().map(|report| report.seconds.forward), Some(2.0));
        let outcome =
            FinalResults { seconds: Seconds { forward: 3.0, ..Seconds::default() }, ..FinalResults::default() };
        recorder.record(&Event::Finished(outcome));
        recorder.record(&progress(Stage::Measure, 7.0));
        assert_eq!(recorder.report().map(|report| report.seconds.forward), Some(3.0), "the next has not begun");
    }

    fn header() -> Header {
        let protocol = crate::report::ProtocolInfo::new(&Default::default(), 10, 2, 0.0);
        let (model, corpus, device, ordered) = Default::default();
        Header { app: crate::report::AppInfo::this(), model, corpus, protocol, device, ordered }
    }

    #[test]
    fn a_hash_is_claimed_if_that_of_any_part_of_the_report_was() {
        let mut recorder = Recorder::default();
        for (sha256_claimed, then) in [(false, false), (true, true), (false, true)] {
            let model = ModelInfo { sha256_claimed, ..Default::default() };
            recorder.record(&Event::Started(Box::new(Header { model, ..header() })));
            assert_eq!(recorder.report().map(|report| report.model.sha256_claimed), Some(then));
        }
    }

    #[test]
    fn what_was_measured_of_damaged_weights_is_dropped_and_of_others_kept() {
        let lost = Error::Cancelled;
        let [file, kind, found, expected] = ["w", "SHA-256", "a", "b"].map(String::from);
        let damaged = Error::DamagedWeights { file, kind, found, expected };
        let block = |block| Event::Block(Box::new(BlockReport { block, ..BlockReport::default() }));
        let fed = || {
            let mut report = Report::from(header());
            let id = OtherInput { id: "f".into(), ..OtherInput::default() };
            report.ordered = Some(Ordered { feed: Some(id), ..Ordered::default() });
            report.blocks.push(BlockReport { block: 1, ..BlockReport::default() });
            Recorder::resume(report)
        };
        let earlier = |sha256_claimed| {
            let mut report = Report::from(header());
            report.model.sha256_claimed = sha256_claimed;
            report.blocks.push(BlockReport { block: 1, ..BlockReport::default() });
            Recorder::resume(report)
        };
        let none = Recorder::default;
        for (mut recorder, error, kept) in [
            (none(), &lost, &[3][..]),
            (none(), &damaged, &[]),
            (earlier(false), &damaged, &[1]),
            (earlier(true), &damaged, &[]),
            (fed(), &damaged, &[]),
            (earlier(true), &lost, &[1, 3]),
        ] {
            recorder.record(&Event::Started(Box::new(header())));
            recorder.record(&block(3));
            recorder.record(&Event::Failed(error.clone()));
            let report = recorder.report().expect("a report");
            assert_eq!(report.blocks.iter().map(|block| block.block).collect::<Vec<_>>(), kept, "{error}");
        }
    }

    #[test]
    fn what_completes_a_measurement_adds_its_time_and_the_fit_is_told_once() {
        let header = header();
        let started = || Event::Started(Box::new(header.clone()));
        let finished = |seconds| Event::Finished(FinalResults { seconds, ..FinalResults::default() });
        let first = Seconds { load: 1.0, forward: 8.0, swap: 4.0, total: 13.0, ..Seconds::default() };
        let second = Seconds { load: 2.0, forward: 3.0, swap: 1.0, probes: 30.0, total: 36.0, ..Seconds::default() };
        let mut recorder = Recorder::default();
        for event in [started(), finished(first)] {
            recorder.record(&event);
        }
        let mut recorder = Recorder::resume(recorder.into_report().unwrap());
        recorder.record(&started());
        assert_eq!(recorder.report().map(|report| report.seconds), Some(first), "nothing is lost as it begins");
        recorder.record(&Event::Progress(Progress { stage: Stage::Probes, done: 1, total: 2, seconds: 10.0 }));
        assert_eq!(recorder.report().map(|report| report.seconds), Some(Seconds { probes: 10.0, ..first }));
        recorder.record(&finished(second));
        let both = Seconds { load: 2.0, forward: 8.0, swap: 5.0, probes: 30.0, total: 49.0, ..Seconds::default() };
        assert_eq!(recorder.report().map(|report| report.seconds), Some(both));
    }
}
