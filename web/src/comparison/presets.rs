//! Ready comparisons of the recorded models.

use std::collections::BTreeSet;

use straightedge_api::bundled::{Bundled, Demo};
use straightedge_api::fields::Field;

use super::key::Key;
use crate::comparison::published::{CORPORA, MODELS, SURVEY};
use crate::text::paper::t as paper;
use crate::text::{Texts, t};

/// One comparison of recorded models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Preset {
    /// Families of one size, trained alike.
    Families,
    /// One family from several seeds.
    Seeds,
    /// One run at several steps.
    Training,
    /// A run and its regularised twins.
    Regularised,
    /// A model before and after fine-tuning.
    FineTuned,
    /// A trained model, the same before training, and re-initialised.
    Learned,
    /// R² of the paper's 36 blocks.
    Survey,
    /// The two kinds of linearity of these blocks.
    Kinds,
    /// The cost of replacing them.
    Swaps,
    /// The gain of a bilinear probe.
    Curve,
    /// One model on the paper's corpora.
    Corpora,
}

/// Controls compared with the model in [`Preset::Learned`].
const CONTROLS: [&str; 3] = ["reinit_model", "reinit_block", "shuffled"];

impl Preset {
    /// Comparisons of recorded models, in display order.
    pub const ALL: [Self; 6] =
        [Self::Families, Self::Learned, Self::Training, Self::Seeds, Self::Regularised, Self::FineTuned];

    /// Figures 2 to 5 of arXiv 2606.19379, with recorded values next to the published ones.
    pub const PAPER: [Self; 5] = [Self::Survey, Self::Kinds, Self::Swaps, Self::Curve, Self::Corpora];

    /// Whether it is about published values.
    pub fn is_of_paper(self) -> bool {
        Self::PAPER.contains(&self)
    }

    /// The preset with this [`Self::id`].
    pub fn by_id(id: &str) -> Option<Self> {
        Self::ALL.into_iter().chain(Self::PAPER).find(|preset| preset.id() == id)
    }

    /// Stable short name, for addresses and tests.
    pub fn id(self) -> &'static str {
        match self {
            Self::Families => "families",
            Self::Seeds => "seeds",
            Self::Training => "training",
            Self::Regularised => "regularised",
            Self::FineTuned => "fine-tuned",
            Self::Learned => "learned",
            Self::Survey => "survey",
            Self::Kinds => "kinds",
            Self::Swaps => "swaps",
            Self::Curve => "curve",
            Self::Corpora => "corpora",
        }
    }

    /// Button name, and what the comparison shows.
    pub fn texts(self) -> [&'static str; 2] {
        let (t, p): (&Texts, _) = (t(), paper());
        match self {
            Self::Families => [t.preset_families, t.preset_families_about],
            Self::Seeds => [t.preset_seeds, t.preset_seeds_about],
            Self::Training => [t.preset_training, t.preset_training_about],
            Self::Regularised => [t.preset_regularised, t.preset_regularised_about],
            Self::FineTuned => [t.preset_fine_tuned, t.preset_fine_tuned_about],
            Self::Learned => [t.preset_learned, t.preset_learned_about],
            Self::Survey => [p.survey, p.survey_about],
            Self::Kinds => [p.kinds, p.kinds_about],
            Self::Swaps => [p.swaps, p.swaps_about],
            Self::Curve => [p.curve, p.curve_about],
            Self::Corpora => [p.corpora, p.corpora_about],
        }
    }

    /// Quantities it charts.
    // A penalty applies to layers, and the paper measured layers before and after fine-tuning; networks are a separate
    // question.
    pub fn quantities(self) -> BTreeSet<Field> {
        match self {
            Self::FineTuned => BTreeSet::from([Field::R2Lin, Field::Linearity, Field::LinearityHeldout]),
            Self::Regularised => {
                BTreeSet::from([Field::R2Lin, Field::Linearity, Field::ReadsPosition, Field::ReadsNextKind])
            }
            Self::Survey | Self::Corpora => BTreeSet::from([Field::R2LinScalar]),
            Self::Kinds => BTreeSet::from([Field::R2FeatureMedian, Field::EffectiveRank]),
            Self::Swaps => BTreeSet::from([Field::DeltaPplLinear, Field::DeltaPplPoly]),
            Self::Curve => BTreeSet::from([Field::PolyGainScalar]),
            _ => BTreeSet::from([Field::R2Lin]),
        }
    }

    /// Keys it compares, among the bundled models; fewer than two if there is nothing to compare.
    pub fn keys(self, index: &[Bundled]) -> Vec<Key> {
        let demos =
            Demos(index.iter().filter_map(|bundled| Some((bundled.name.as_str(), bundled.demo.as_ref()?))).collect());
        let names = match self {
            Self::Families => demos.families(),
            Self::Seeds => demos.seeds(),
            Self::Training => demos.training(),
            Self::Regularised => demos.regularised(),
            Self::FineTuned => demos.fine_tuned(),
            Self::Learned => return demos.learned(),
            Self::Survey | Self::Kinds | Self::Swaps | Self::Curve => {
                let recorded = demos.families().into_iter().map(|name| Key::Recorded(name.into()));
                return survey().chain(recorded).collect();
            }
            Self::Corpora => return CORPORA.map(|corpus| Key::Published(MODELS[0].into(), corpus.into())).to_vec(),
        };
        names.into_iter().map(|name| Key::Recorded(name.into())).collect()
    }
}

/// The paper's models on the corpus of its survey.
fn survey() -> impl Iterator<Item = Key> {
    MODELS.into_iter().map(|model| Key::Published(model.into(), SURVEY.into()))
}

/// Trained models by name.
struct Demos<'a>(Vec<(&'a str, &'a Demo)>);

impl<'a> Demos<'a> {
    fn names(&self, matches: impl Fn(&Demo) -> bool) -> Vec<&'a str> {
        self.0.iter().filter(|(_, demo)| matches(demo)).map(|(name, _)| *name).collect()
    }

    /// Complete runs of the first seed without a penalty.
    fn families(&self) -> Vec<&'a str> {
        self.names(|demo| demo.is_plain() && demo.is_complete() && Some(demo.seed) == self.first_seed())
    }

    fn first_seed(&self) -> Option<u64> {
        self.0.iter().map(|(_, demo)| demo.seed).min()
    }

    /// Plain models of one family at one step: the latest step that several seeds have reached.
    fn seeds(&self) -> Vec<&'a str> {
        let same = |one: &Demo, other: &Demo| one.family == other.family && one.step == other.step && other.is_plain();
        let plain = self.0.iter().filter(|(_, demo)| demo.is_plain());
        let shared =
            plain.filter(|(_, one)| self.0.iter().any(|(_, other)| same(one, other) && one.seed != other.seed));
        let latest = shared.max_by_key(|(_, demo)| demo.step);
        latest.map_or(Vec::new(), |(_, latest)| self.names(|demo| same(latest, demo)))
    }

    /// The run with the most recorded steps, from its first.
    fn training(&self) -> Vec<&'a str> {
        let of = |run: &str| {
            let mut steps: Vec<_> = self.0.iter().filter(|(_, demo)| demo.run == run).collect();
            steps.sort_by_key(|(_, demo)| demo.step);
            steps.iter().map(|(name, _)| *name).collect::<Vec<_>>()
        };
        let runs: BTreeSet<_> = self.0.iter().map(|(_, demo)| demo.run.as_str()).collect();
        runs.into_iter().map(of).max_by_key(Vec::len).unwrap_or_default()
    }

    /// A run without a penalty, before the same run with each of them.
    fn regularised(&self) -> Vec<&'a str> {
        let twins = |plain: &Demo| self.names(|demo| plain.is_plain_twin_of(demo));
        let with_twins = self.0.iter().map(|(name, plain)| (*name, twins(plain))).find(|(_, twins)| !twins.is_empty());
        with_twins.map_or(Vec::new(), |(name, twins)| [vec![name], twins].concat())
    }

    /// A model and the one fine-tuned from it.
    fn fine_tuned(&self) -> Vec<&'a str> {
        let bases = self.0.iter().filter_map(|(name, demo)| Some((demo.fine_tuning.as_ref()?.base.as_str(), *name)));
        let known = bases.filter(|(base, _)| self.0.iter().any(|(name, _)| name == base));
        known.take(1).flat_map(|(base, tuned)| [base, tuned]).collect()
    }

    /// The run with checkpoints: at its end, before its first step, and with weights re-initialised or shuffled.
    fn learned(&self) -> Vec<Key> {
        let steps = self.training();
        let (Some(first), Some(last)) = (steps.first(), steps.last()) else { return Vec::new() };
        let [trained, untrained] = [*last, *first].map(|name| Key::Recorded(name.into()));
        let controls = CONTROLS.map(|control| Key::Control(trained.clone().into(), control.into()));
        [trained, untrained].into_iter().chain(controls).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The models that are bundled.
    pub(crate) fn index() -> Vec<Bundled> {
        serde_json::from_str(include_str!("../../models/index.json")).unwrap()
    }

    fn names(preset: Preset, index: &[Bundled]) -> Vec<String> {
        let name = |key| match key {
            Key::Recorded(name) => name,
            Key::Control(base, control) => format!("{} {control}", base.bundled().unwrap()),
            other => panic!("{other:?}"),
        };
        preset.keys(index).into_iter().map(name).collect()
    }

    #[test]
    fn every_preset_has_what_it_compares_among_the_bundled_models() {
        let index = index();
        assert_eq!(names(Preset::Families, &index), ["demo-gpt2", "demo-neox", "demo-llama"]);
        assert_eq!(names(Preset::Regularised, &index), ["demo-gpt2", "demo-gpt2-cosine", "demo-gpt2-mse"]);
        assert_eq!(names(Preset::FineTuned, &index), ["demo-gpt2", "demo-gpt2-puzzles"]);
        let training = names(Preset::Training, &index);
        assert!(training.len() >= 6 && training[0] == "demo-gpt2-step0", "{training:?}");
        assert_eq!(training.last().map(String::as_str), Some("demo-gpt2"));
        let controls = ["demo-gpt2 reinit_model", "demo-gpt2 reinit_block", "demo-gpt2 shuffled"];
        let learned = [["demo-gpt2", "demo-gpt2-step0"].as_slice(), &controls].concat();
        assert_eq!(names(Preset::Learned, &index), learned);
        let demo = |name: &str| index.iter().find(|bundled| bundled.name == name).unwrap().demo.clone().unwrap();
        let seeds: Vec<_> = names(Preset::Seeds, &index).iter().map(|name| demo(name)).collect();
        assert!(
            seeds.len() >= 2 && seeds.iter().all(|demo| (demo.step, &demo.family) == (seeds[0].step, &seeds[0].family))
        );
        assert!(seeds.windows(2).all(|pair| pair[0].seed != pair[1].seed));
    }

    #[test]
    fn every_control_that_is_compared_with_a_trained_model_is_told() {
        for about in [Preset::Learned.texts()[1], t().controls_about] {
            assert!(about.contains("re-initialised") && about.contains("random order"), "{about}");
        }
    }

    #[test]
    fn without_models_there_is_nothing_to_compare() {
        for preset in Preset::ALL {
            assert!(preset.keys(&[]).is_empty(), "{preset:?}");
        }
        for preset in Preset::ALL.into_iter().chain(Preset::PAPER) {
            assert!(preset.texts()[1].ends_with('.'));
            assert_eq!(Preset::by_id(preset.id()), Some(preset));
        }
        assert_eq!(Preset::by_id("figure-9"), None);
    }
}
