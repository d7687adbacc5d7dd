//! Sources of the numbers behind a key: recordings, measurements of this visit, opened reports, published values.

use straightedge_api::atlas::AtlasEntry;
use straightedge_api::bundled::Bundled;
use straightedge_api::fields::Field;
use straightedge_api::report::Report;
use straightedge_api::summary::Summary;

use super::atlas;
use super::chosen::{self, Comparison};
use super::key::Key;
use crate::comparison::published::{Published, PublishedModel, SURVEY};
use crate::text::controls::control_name;
use crate::text::{fill, t};

/// Summaries of the recorded reports, relative to the page.
pub const RECORDED: &str = "data/recorded/index.json";

/// Training rows of the paper's survey: 93 of its 117 windows of 128 tokens.
const SURVEY_ROWS: f64 = 93.0 * 128.0;

/// Everything that can be compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sources {
    /// Bundled models.
    pub index: Vec<Bundled>,
    /// Recordings of them.
    pub recorded: Vec<Summary>,
    /// Measured here, or opened.
    pub measured: Vec<Measured>,
    /// Published values.
    pub published: Option<Published>,
    /// Atlas entries measured with this build.
    pub atlas: Vec<AtlasEntry>,
}

/// The curves of one measurement of this visit.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Number of its first order.
    pub origin: u32,
    /// Model and text.
    pub name: String,
    /// Whether it comes from a file.
    pub is_opened: bool,
    /// Its curves so far.
    pub summary: Summary,
}

impl Measured {
    /// The curves of a report so far.
    pub fn new(origin: u32, name: String, is_opened: bool, report: &Report) -> Self {
        Self { origin, name, is_opened, summary: Summary::new(report) }
    }
}

/// Source of numbers, shown next to their name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Measured by the project and recorded with the page.
    Recorded,
    /// Measured on this machine, on this visit.
    Here,
    /// A report from a file.
    Opened,
    /// Values of a paper.
    Published,
    /// Measured when this copy of the page was built.
    Atlas,
}

impl Source {
    /// A short description.
    pub fn text(self) -> &'static str {
        match self {
            Self::Recorded => t().source_recorded,
            Self::Here => t().source_here,
            Self::Opened => t().source_opened,
            Self::Published => t().source_published,
            Self::Atlas => t().source_atlas,
        }
    }
}

/// One curve of a chart, with its name and source.
#[derive(Clone, Debug, PartialEq)]
pub struct ChartLine {
    /// Its key.
    pub key: Key,
    /// Its name.
    pub name: String,
    /// Source of its numbers.
    pub source: Source,
    /// Index of its style.
    pub style: usize,
    /// Whether another one is in front of it.
    pub is_behind: bool,
    /// Its numbers.
    pub summary: Summary,
}

impl Sources {
    /// Name, source and numbers of a key; `None` until they have arrived.
    pub fn find(&self, key: &Key) -> Option<(String, Source, Summary)> {
        match key {
            Key::Recorded(name) => Some((self.title(name), Source::Recorded, self.recorded(name)?.clone())),
            Key::Control(base, control) => {
                let (name, source, Summary { name: model, controls, rows_per_input, .. }) = self.find(base)?;
                // A running measurement gets its curves block by block.
                let curve = controls.get(control).cloned().unwrap_or_default();
                let name = format!("{name}, {}", control_name(control)?);
                Some((name, source, Summary { rows_per_input, ..Summary::of(model, [(Field::R2Lin, curve)]) }))
            }
            Key::Measured(origin) => {
                let measured = self.measured.iter().find(|measured| measured.origin == *origin)?;
                let source = if measured.is_opened { Source::Opened } else { Source::Here };
                Some((measured.name.clone(), source, measured.summary.clone()))
            }
            Key::Published(model, corpus) => {
                let model = self.published.as_ref()?.models.iter().find(|known| known.name == *model)?;
                Some((format!("{} · {corpus}", model.name), Source::Published, published(model, corpus)))
            }
            Key::Atlas(slug) => {
                let entry = self.atlas.iter().find(|entry| entry.slug == *slug)?;
                Some((atlas::name(entry), Source::Atlas, entry.measured.as_ref()?.summary.clone()))
            }
        }
    }

    /// Display name of a bundled model.
    pub fn title(&self, name: &str) -> String {
        let bundled = self.index.iter().find(|bundled| bundled.name == name);
        bundled.map_or(name, |bundled| &bundled.title).into()
    }

    fn recorded(&self, name: &str) -> Option<&Summary> {
        self.recorded.iter().find(|summary| summary.name == name)
    }

    /// The lines of a comparison that are available so far.
    pub fn lines(&self, comparison: &Comparison) -> Vec<ChartLine> {
        let front = comparison.front();
        let line = |(at, entry): (usize, &&chosen::Entry)| {
            let (name, source, summary) = self.find(&entry.key)?;
            let is_behind = front.is_some_and(|front| front != at);
            Some(ChartLine { key: entry.key.clone(), name, source, style: entry.style, is_behind, summary })
        };
        comparison.shown().iter().enumerate().filter_map(line).collect()
    }

    /// Everything that can be added, in named groups.
    pub fn choices(&self) -> Vec<(&'static str, Vec<Key>)> {
        let recorded = self.recorded.iter().map(|summary| Key::Recorded(summary.name.clone()));
        let measured =
            self.measured.iter().flat_map(|known| with_controls(Key::Measured(known.origin), &known.summary));
        let atlas = self
            .atlas
            .iter()
            .filter_map(|entry| Some(with_controls(Key::Atlas(entry.slug.clone()), &entry.measured.as_ref()?.summary)));
        let published = self
            .published
            .iter()
            .flat_map(|published| &published.models)
            .flat_map(|model| model.corpora().into_iter().map(|corpus| Key::Published(model.name.clone(), corpus)));
        let groups: [(_, Vec<Key>); 4] = [
            (t().group_measured, measured.collect()),
            (t().atlas, atlas.flatten().collect()),
            (t().group_recorded, recorded.collect()),
            (t().group_published, published.collect()),
        ];
        groups.into_iter().filter(|(_, keys)| !keys.is_empty()).collect()
    }

    /// The recording of the same model, if there is one.
    pub fn counterpart(&self, origin: u32) -> Option<Key> {
        let measured = self.measured.iter().find(|measured| measured.origin == origin)?;
        self.recorded(&measured.summary.name).map(|summary| Key::Recorded(summary.name.clone()))
    }
}

/// A measurement and its controls.
fn with_controls(key: Key, summary: &Summary) -> Vec<Key> {
    let controls = summary.controls.keys().map(|control| Key::Control(key.clone().into(), control.clone()));
    std::iter::once(key.clone()).chain(controls).collect()
}

/// Published curves. The paper counts constant offsets as explained, and has all but R² on its survey corpus only.
fn published(model: &PublishedModel, corpus: &str) -> Summary {
    let survey = |values: &[f64]| {
        let values = if corpus == SURVEY { values } else { &[] };
        values.iter().copied().map(Some).collect()
    };
    let ranks: Vec<f64> = model.effective_rank.iter().map(|rank| *rank as f64).collect();
    let curves = [
        (Field::R2LinScalar, model.on(corpus)),
        (Field::DeltaPplLinear, survey(&model.delta_ppl_linear)),
        (Field::DeltaPplPoly, survey(&model.delta_ppl_poly)),
        (Field::R2FeatureMedian, survey(&model.r2_feature_median)),
        (Field::EffectiveRank, survey(&ranks)),
        (Field::PolyGainScalar, survey(&model.poly_gain)),
    ];
    let rows_per_input = (corpus == SURVEY).then(|| SURVEY_ROWS / model.hidden_size as f64);
    Summary { rows_per_input, ..Summary::of(model.hub_id.clone(), curves) }
}

/// Name of a key with its source.
pub fn full_name(name: &str, source: Source) -> String {
    fill(t().name_and_source, &[("name", name), ("source", source.text())])
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::presets::{Preset, tests::index};
    use super::*;
    use crate::figures::sample_report;

    /// Everything bundled with the page, and one measurement.
    pub(crate) fn known() -> Sources {
        Sources {
            index: index(),
            recorded: serde_json::from_str(include_str!("../../data/recorded/index.json")).unwrap(),
            measured: vec![Measured::new(7, "m · t".into(), false, &sample_report())],
            published: Some(serde_json::from_str(include_str!("../../data/published.json")).unwrap()),
            atlas: atlas::tests::entries(),
        }
    }

    #[test]
    fn every_preset_finds_its_numbers_among_the_recordings() {
        let known = known();
        for preset in Preset::ALL {
            for key in preset.keys(&known.index) {
                let (name, source, summary) = known.find(&key).unwrap_or_else(|| panic!("{key:?} of {preset:?}"));
                assert_eq!(source, Source::Recorded);
                assert!(name.starts_with("Demo "), "{name}");
                assert_eq!(summary.curve(Field::R2Lin).len(), 6, "{name}");
            }
        }
        let mut regularised = Comparison::default();
        regularised.begin(Preset::Regularised, Preset::Regularised.keys(&known.index));
        for quantity in regularised.quantities() {
            assert!(
                known.lines(&regularised).iter().all(|line| line.summary.curve(quantity).len() == 6),
                "{quantity:?}"
            );
        }
    }

    #[test]
    fn measurements_and_published_values_are_found_and_what_is_not_there_is_not() {
        let known = known();
        let (name, source, summary) = known.find(&Key::Measured(7)).unwrap();
        assert_eq!((name.as_str(), source, summary.curve(Field::R2Lin)[0]), ("m · t", Source::Here, Some(0.9)));
        let key = Key::Published("gpt2".into(), SURVEY.into());
        let (name, source, summary) = known.find(&key).unwrap();
        assert_eq!((name.as_str(), source), ("gpt2 · WikiText-2", Source::Published));
        let at = |field, block: usize| summary.curve(field)[block];
        assert_eq!(at(Field::R2LinScalar, 10), Some(0.671125));
        assert_eq!(at(Field::DeltaPplLinear, 1), Some(1.059755));
        assert_eq!(summary.rows_per_input, Some(15.5));
        let rows = |key| known.find(&key).unwrap().2.rows_per_input;
        assert_eq!(rows(Key::Published("gpt2".into(), "Moby-Dick".into())), None, "the paper does not say");
        let recorded = Key::Recorded("demo-gpt2".into());
        assert_eq!(rows(Key::Control(recorded.into(), "shuffled".into())), Some(93.0), "those of the model");
        assert!(summary.curve(key.main_quantity()).len() == 12 && summary.curve(Field::R2Lin).is_empty());
        for missing in [Key::Measured(8), Key::Recorded("none".into()), Key::Published("gpt2".into(), "none".into())] {
            assert!(
                known.find(&missing).is_none_or(|(_, _, summary)| summary.curve(Field::R2LinScalar).is_empty()),
                "{missing:?}"
            );
        }
    }

    #[test]
    fn one_in_front_leaves_the_others_behind_and_the_hidden_out() {
        let known = known();
        let mut comparison = Comparison::default();
        comparison.begin(Preset::Families, Preset::Families.keys(&known.index));
        let behind =
            |comparison: &Comparison| known.lines(comparison).iter().map(|line| line.is_behind).collect::<Vec<_>>();
        assert_eq!(behind(&comparison), [false, false, false]);
        comparison.bring_to_front(Some(1));
        assert_eq!(behind(&comparison), [true, false, true]);
        comparison.toggle(&Key::Recorded("demo-gpt2".into()));
        assert_eq!(behind(&comparison), [false, true]);
    }

    #[test]
    fn keys_come_back_from_their_values_and_nothing_else_does() {
        for keys in Preset::ALL.iter().chain(&Preset::PAPER).map(|preset| preset.keys(&index())) {
            assert!(keys.len() > 1);
            for key in keys {
                assert_eq!(Key::parse(&key.value()), Some(key));
            }
        }
        let control = Key::Control(Key::Atlas("made-one-wikitext-2".into()).into(), "gaussian".into());
        assert_eq!(Key::parse(&control.value()), Some(control));
        let hostile = [
            "",
            "recorded:",
            "recorded:../x",
            "measured:1",
            "published:gpt2",
            "published:gpt2:x",
            "x:recorded:a",
            "gaussian:gaussian:recorded:a",
            "gaussian:published:gpt2:WikiText-2",
            "recorded:<b>",
            "atlas:",
            "atlas:../x",
            "atlas:<b>",
        ];
        for value in hostile {
            assert_eq!(Key::parse(value), None, "{value}");
        }
    }

    #[test]
    fn every_figure_of_the_paper_has_published_and_recorded_values() {
        let known = known();
        for preset in Preset::PAPER {
            let mut comparison = Comparison::default();
            comparison.begin(preset, preset.keys(&known.index));
            let lines = known.lines(&comparison);
            for quantity in comparison.quantities() {
                let has =
                    |source| lines.iter().any(|line| line.source == source && !line.summary.curve(quantity).is_empty());
                assert!(has(Source::Published), "{preset:?} {quantity:?}");
                // Only the paper has its other corpora.
                assert_eq!(has(Source::Recorded), preset != Preset::Corpora, "{preset:?} {quantity:?}");
            }
        }
    }

    #[test]
    fn every_choice_has_a_value_of_its_own() {
        let choices: Vec<_> = known().choices().into_iter().flat_map(|(_, keys)| keys).collect();
        let values: std::collections::BTreeSet<_> = choices.iter().map(Key::value).collect();
        assert_eq!(values.len(), choices.len());
        assert!(choices.len() > 15, "{}", choices.len());
    }
}
