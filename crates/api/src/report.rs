//! The report: what the command line writes, the page exports and opens, and `compare` reads (schema 1).
//!
//! Field names and formulas are those of docs/measures.md. Unknown values are `None`, with a warning that explains it;
//! NaN and infinities never appear ([`finite`]).

mod block;
mod check;
mod detail;
mod header;
mod ordered;
pub mod orders;
mod seconds;
mod warning;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::visible::has_invisible;

pub use block::{BlockReport, LayerReport, PropertyScore};
pub use detail::{
    ControlReport, CurvePoint, DegreePoint, HealReport, HealedTogether, INFLUENCE_DIGITS, Interval, OrderStep,
    ProbeReport, Scatter, Spectrum, Uncertainty, finite, rounded,
};
pub use header::{AppInfo, CorpusInfo, DeviceInfo, ModelInfo, ProtocolInfo};
pub use ordered::{Ordered, OtherInput};
pub use seconds::Seconds;
pub use warning::{Warning, WarningKind};

/// Schema number written by this version.
pub const SCHEMA: u32 = 1;

/// A whole measurement with what is needed to repeat it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Schema number.
    pub schema: u32,
    /// Whether the measurement stopped before its end.
    pub partial: bool,
    /// When it began, in UTC, as `2026-11-25T02:34:05Z`; `None` in reports of earlier versions.
    #[serde(default)]
    pub date: Option<String>,
    /// Program that measured.
    pub app: AppInfo,
    /// Model measured.
    pub model: ModelInfo,
    /// Text measured on.
    pub corpus: CorpusInfo,
    /// Rows, folds and cut.
    pub protocol: ProtocolInfo,
    /// Device that computed it.
    pub device: DeviceInfo,
    /// Requested settings, the union of all orders; `None` in reports of earlier versions.
    #[serde(default)]
    pub ordered: Option<Ordered>,
    /// Perplexity of the untouched model on the held-out windows.
    pub ppl: Option<f64>,
    /// Per feed-forward block.
    pub blocks: Vec<BlockReport>,
    /// Per layer (docs/measures.md, section 7).
    #[serde(default)]
    pub layers: Vec<LayerReport>,
    /// Blocks or layers replaced one after another, by the names of [`orders`] (docs/measures.md, section 4).
    #[serde(default, alias = "greedy", deserialize_with = "orders::read")]
    pub orders: BTreeMap<String, Vec<OrderStep>>,
    /// The first half of an order, fine-tuned together, by the names of [`orders`] (docs/measures.md, section 4).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub healed_together: BTreeMap<String, HealedTogether>,
    /// Wall time by stage.
    pub seconds: Seconds,
    /// Peak bytes of the process, in a browser of the linear memory of engine and helper; `None` where the platform does
    /// not report it.
    #[serde(default)]
    pub peak_memory: Option<u64>,
    /// Caveats that belong with the numbers.
    pub warnings: Vec<Warning>,
}

impl Report {
    /// Reads an untrusted report; `file` names it in errors.
    pub fn from_json(file: &str, json: &str) -> Result<Self> {
        let malformed = |why: String| Error::MalformedReport { file: file.into(), why: check::shortened(why) };
        let report: Self = serde_json::from_str(json).map_err(|error| malformed(error.to_string()))?;
        report.check().map_err(malformed)?;
        // Invisible characters stand in the text itself or in an escape.
        Ok(if json.contains('\\') || has_invisible(json) { report.visible() } else { report })
    }

    /// The same with texts as they may be shown: names of models, texts, devices and measures may come from anyone.
    fn visible(self) -> Self {
        let json = serde_json::to_value(&self).map(check::visible_texts);
        json.and_then(serde_json::from_value).unwrap_or(self)
    }

    /// Checks what the types of an untrusted report do not guarantee; the error names the fault.
    pub fn check(&self) -> std::result::Result<(), String> {
        if self.schema != SCHEMA {
            return Err(format!("schema is {}", self.schema));
        }
        let blocks: Vec<usize> = self.blocks.iter().map(|block| block.block).collect();
        let layers: Vec<usize> = self.layers.iter().map(|layer| layer.layer).collect();
        check::numbers(&blocks, &layers, self.model.num_hidden_layers)
    }

    /// The report as indented JSON.
    pub fn to_json(&self) -> String {
        let mut json = serde_json::to_string_pretty(self).expect("a report is plain data");
        json.push('\n');
        json
    }
}

/// Everything known before the first block is measured.
///
/// Measurements with equal model, corpus and protocol complete each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Program.
    pub app: AppInfo,
    /// Model.
    pub model: ModelInfo,
    /// Text.
    pub corpus: CorpusInfo,
    /// Protocol carried out.
    pub protocol: ProtocolInfo,
    /// Device.
    pub device: DeviceInfo,
    /// Requested settings.
    #[serde(default)]
    pub ordered: Ordered,
}

impl Report {
    /// Whether `header` begins another measurement of the same thing.
    pub fn is_continued_by(&self, header: &Header) -> bool {
        (self.model.identity(), &self.corpus, &self.protocol)
            == (header.model.identity(), &header.corpus, &header.protocol)
    }
}

impl Report {
    /// The same before anything was measured.
    #[must_use]
    pub fn without_results(&self) -> Self {
        let Self { app, model, corpus, protocol, device, ordered, date, .. } = self.clone();
        let ordered = ordered.unwrap_or_default();
        Self { date, ..Self::from(Header { app, model, corpus, protocol, device, ordered }) }
    }
}

impl From<Header> for Report {
    /// A partial report without blocks yet.
    fn from(header: Header) -> Self {
        let Header { app, model, corpus, protocol, device, ordered } = header;
        Self {
            schema: SCHEMA,
            partial: true,
            date: None,
            app,
            model,
            corpus,
            protocol,
            device,
            ordered: Some(ordered),
            ppl: None,
            blocks: Vec::new(),
            layers: Vec::new(),
            orders: BTreeMap::new(),
            healed_together: BTreeMap::new(),
            seconds: Seconds::default(),
            peak_memory: None,
            warnings: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_foreign_report_controls_how_it_is_shown() {
        let (mut model, corpus, mut device) = (ModelInfo::default(), CorpusInfo::default(), DeviceInfo::default());
        (model.id, device.adapter) = ("gpt2\u{202e}\n".into(), Some("a\u{1b}[2J".into()));
        let protocol = ProtocolInfo::new(&Default::default(), 10, 2, 0.0);
        let ordered = Ordered::default();
        let mut hostile = Report::from(Header { app: AppInfo::this(), model, corpus, protocol, device, ordered });
        let delta_ppl = [("x\u{2066}".to_owned(), Some(0.1f64.next_up()))].into();
        hostile.blocks.push(BlockReport { delta_ppl, ..BlockReport::default() });
        let read = |report: &Report| Report::from_json("r.json", &report.to_json()).expect("a report");
        let found = read(&hostile);
        assert_eq!(
            (found.model.id.as_str(), found.device.adapter.as_deref()),
            ("gpt2\\u{202e}\\n", Some("a\\u{1b}[2J"))
        );
        assert_eq!(found.blocks[0].delta_ppl, [("x\\u{2066}".to_owned(), Some(0.1f64.next_up()))].into());
        assert_eq!(read(&found), found);
    }

    #[test]
    fn a_report_with_more_blocks_than_any_model_is_refused() {
        let (model, corpus, device) = (ModelInfo::default(), CorpusInfo::default(), DeviceInfo::default());
        let protocol = ProtocolInfo::new(&Default::default(), 10, 2, 0.0);
        let ordered = Ordered::default();
        let plain = Report::from(Header { app: AppInfo::this(), model, corpus, protocol, device, ordered });
        let read = |report: &Report| Report::from_json("r.json", &report.to_json());
        assert_eq!(read(&plain).as_ref(), Ok(&plain));
        let (mut blocks, mut layers, mut depth) = (plain.clone(), plain.clone(), plain);
        blocks.blocks.push(BlockReport { block: usize::MAX, ..BlockReport::default() });
        layers.layers.push(LayerReport { layer: usize::MAX, ..LayerReport::default() });
        depth.model.num_hidden_layers = usize::MAX;
        for hostile in [blocks, layers, depth] {
            let refused = read(&hostile).expect_err("a refusal").to_string();
            assert!(refused.contains("r.json") && refused.contains("10000 blocks"), "{refused}");
        }
    }
}
