//! The page's configuration as query parameters, so that a link repeats a measurement:
//! `?v=1&model=demo-neox&rows=5120&measures=swap&view=losses`.
//!
//! Defaults are omitted; `v` is their version. Addresses are untrusted: every value is checked, and an invalid one is
//! reported and ignored.

use std::collections::BTreeSet;

use straightedge_api::error::Error;
use straightedge_api::hub::id::{Endpoint, HubId};
use straightedge_api::job::{BackendChoice, Measure, Protocol};

use crate::comparison::Key;
use crate::comparison::overlay::Metric;
use crate::comparison::presets::Preset;
use crate::continuation::ContinuationForm;
use crate::lesson::Step;
use crate::state::form::TextChoice;
use crate::state::frame::Frame;
use crate::state::recordings::FIRST;
use crate::state::views::View;
use crate::text::language::Language;
use crate::url::comparison::{self, Linked};
use crate::url::given::{Given, is_plain};
use crate::url::overlay::LinkedOverlay;
use crate::url::values::{charts, charts_written, eval, fed, listed, protocol_written, report, text, written};

/// The version this page writes, the only one so far.
const VERSION: &str = "1";
/// All known parameter names.
pub const NAMES: [&str; 39] = [
    "v",
    "model",
    "hub",
    "mirror",
    "tokenizer",
    "text",
    "eval",
    "rows",
    "seq_len",
    "folds",
    "interleaved_folds",
    "skip_positions",
    "bos",
    "piece_chars",
    "gram",
    "backend",
    "measures",
    "feed",
    "view",
    "block",
    "metric",
    "overlay",
    "compare",
    "runs",
    "without",
    "front",
    "charts",
    "prompt",
    "linear",
    "tokens",
    "temperature",
    "seed",
    "embed",
    "hide",
    "lock",
    "lesson",
    "projector",
    "report",
    "lang",
];
/// Names that do not say what the page shows.
const APART: [&str; 2] = ["v", "lang"];
/// The user's own files. A link cannot carry them, only that there are some.
pub const OWN: &str = ":own";
/// Captured rows.
pub const ROWS: &str = ":rows";
/// Format of the keys of a comparison.
const KEYS: &str = "give a list such as recorded:demo-gpt2,published:gpt2:WikiText-2";

/// A configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Address {
    /// A bundled model by name, [`OWN`] or [`ROWS`].
    pub model: Option<String>,
    /// A model on the hub, with its commit once that is known.
    pub hub: Option<HubId>,
    /// The mirror to fetch from; `None` is the hub itself.
    pub mirror: Option<Endpoint>,
    /// The model on the hub whose tokenizer is used in place of the model's own.
    pub tokenizer: Option<HubId>,
    /// The text, if it is not the model's own.
    pub text: Option<TextChoice>,
    /// The text that perplexity is measured on: generated, or on the hub.
    pub eval: Option<TextChoice>,
    /// The protocol.
    pub protocol: Protocol,
    /// Backend.
    pub backend: BackendChoice,
    /// Measures beyond the fit.
    pub measures: BTreeSet<Measure>,
    /// The model whose rows the controls feed through this one's networks: a bundled one or one on the hub.
    pub feed: Option<String>,
    /// The view that is open.
    pub view: View,
    /// The block that views of one block show.
    pub block: Option<usize>,
    /// Which R² the profile shows.
    pub metric: Metric,
    /// The overlay of the profile.
    pub overlay: Option<LinkedOverlay>,
    /// The comparison.
    pub comparison: Linked,
    /// The continuation.
    pub continuation: ContinuationForm,
    /// The parts of the page that are shown.
    pub frame: Frame,
    /// The step of the lesson that is open.
    pub lesson: Option<Step>,
    /// Whether the lesson is shown in large type, for a projector.
    pub is_projected: bool,
    /// The address of a report to show.
    pub report: Option<String>,
    /// The language of the page; `None` follows the browser.
    pub language: Option<Language>,
}

/// The valid part of an address, and an error for every invalid value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Read {
    /// The valid part.
    pub address: Address,
    /// The errors, in reading order.
    pub refused: Vec<Error>,
}

impl Address {
    /// Reads decoded names and values of a query; other names are ignored.
    pub fn read(pairs: &[(String, String)]) -> Read {
        let given = Given::new(pairs);
        let is_ours = |version: &str| (version == VERSION).then_some(());
        // In another version every name may mean something else.
        let is_readable =
            given.value("v").is_none() || given.read("v", is_ours, "this page reads links of version 1").is_some();
        let is_named = |name: &str| NAMES.contains(&name) && !APART.contains(&name);
        let address = match is_readable {
            true if !pairs.iter().any(|(name, _)| is_named(name)) => {
                Self { language: Self::given(&given).language, ..Self::opening() }
            }
            true => Self::given(&given),
            false => Self::default(),
        };
        Read { address, refused: given.refused() }
    }

    /// The page as it opens under an address that names nothing.
    pub fn opening() -> Self {
        Self { view: View::Continuation, ..Self::default() }
    }

    fn given(given: &Given<'_>) -> Self {
        let metric = |name: &str| Metric::ALL.into_iter().find(|metric| metric.id() == name);
        let view = |id: &str| View::ALL.into_iter().find(|view| view.id() == id);
        let protocol = given.protocol();
        let comparison = Linked {
            preset: given.read("compare", Preset::by_id, "give one of the page’s comparisons"),
            runs: given.read("runs", comparison::keys, KEYS).unwrap_or_default(),
            without: given.read("without", comparison::keys, KEYS).unwrap_or_default(),
            front: given.read("front", Key::parse, KEYS),
            charts: given.read("charts", charts, "give a list such as r2_lin,linearity").unwrap_or_default(),
        };
        let is_one = |value: &str| (value == "1").then_some(());
        let frame = Frame {
            is_embedded: given.read("embed", is_one, "embed=1 is all there is").is_some(),
            hidden: given.parts("hide"),
            locked: given.parts("lock"),
        };
        let mirror: Option<Endpoint> = given.parsed("mirror", str::parse);
        let on_hub = |text: &str| HubId::pasted(text, &mirror.clone().unwrap_or_default());
        Self {
            model: given.read("model", |name| is_plain(name).then(|| name.into()), "give the name of a model"),
            hub: given.parsed("hub", on_hub),
            tokenizer: given.parsed("tokenizer", on_hub),
            mirror: mirror.clone(),
            text: given.read("text", text, "give a text that the page offers"),
            eval: given.read("eval", eval, "give a generated text, or one on the hub, that the page offers"),
            protocol,
            backend: given.read("backend", |name| name.parse().ok(), "choose auto, gpu or cpu").unwrap_or_default(),
            measures: given.measures(),
            feed: given.read("feed", fed, "give the name of a bundled model, or of one on the hub as OWNER/NAME"),
            view: given.read("view", view, "give one of the page’s views").unwrap_or_default(),
            block: given.count("block"),
            metric: given.read("metric", metric, "choose lin or scalar").unwrap_or_default(),
            overlay: given.read(
                "overlay",
                LinkedOverlay::parse,
                "give published: and a corpus, or recorded: and a model",
            ),
            comparison,
            continuation: given.continuation(),
            frame,
            lesson: given.read("lesson", |step| step.parse().ok(), "give the number of a step, 1 to 9"),
            is_projected: given.read("projector", is_one, "projector=1 is all there is").is_some(),
            report: given.read("report", report, "give an address that begins with https://, or a path of this site"),
            language: given.read("lang", Language::by_id, "choose en or de"),
        }
    }

    /// Whether the page opens with its recording, because no other model is requested.
    pub fn is_first(&self) -> bool {
        self.hub.is_none() && self.model.as_deref().is_none_or(|model| model == FIRST)
    }

    /// Every name with its current value; `None` removes it from an address.
    pub fn pairs(&self) -> Vec<(&'static str, Option<String>)> {
        let mut pairs = self.all_pairs();
        // An address that names nothing opens another view than links do, so the view is named.
        let names_nothing = pairs.iter().all(|(name, value)| value.is_none() || APART.contains(name));
        if let Some((_, view)) = pairs.iter_mut().find(|(name, _)| *name == "view" && names_nothing) {
            *view = Some(self.view.id().into());
        }
        pairs.insert(0, ("v", Some(VERSION.into())));
        pairs
    }

    /// Whether it is that of the page as it opens.
    pub fn is_opening(&self) -> bool {
        let Self { model, language, .. } = self;
        *self == Self { model: model.clone(), language: *language, ..Self::opening() } && self.is_first()
    }

    fn all_pairs(&self) -> Vec<(&'static str, Option<String>)> {
        let compared = &self.comparison;
        let mut pairs = vec![
            ("model", self.model.clone().filter(|model| self.hub.is_none() && model != FIRST)),
            ("hub", self.hub.as_ref().map(ToString::to_string)),
            ("mirror", self.mirror.as_ref().map(ToString::to_string)),
            ("tokenizer", self.tokenizer.as_ref().map(ToString::to_string)),
            ("text", self.text.as_ref().map(written)),
            ("eval", self.eval.as_ref().map(written)),
        ];
        pairs.extend(protocol_written(&self.protocol));
        pairs.extend([
            ("backend", (self.backend != BackendChoice::default()).then(|| self.backend.to_string())),
            ("measures", listed(&self.measures)),
            ("feed", self.feed.clone()),
            ("view", (self.view != View::default()).then(|| self.view.id().into())),
            ("block", self.block.map(|block| block.to_string())),
            ("metric", (self.metric != Metric::default()).then(|| self.metric.id().into())),
            ("overlay", self.overlay.as_ref().map(ToString::to_string)),
            ("compare", compared.preset.map(|preset| preset.id().into())),
            ("runs", comparison::listed(&compared.runs)),
            ("without", comparison::listed(&compared.without)),
            ("front", compared.front.as_ref().map(Key::value)),
            ("charts", charts_written(&compared.charts)),
        ]);
        pairs.extend(self.continuation.pairs());
        pairs.extend([
            ("embed", self.frame.is_embedded.then(|| "1".into())),
            ("hide", listed(&self.frame.hidden)),
            ("lock", listed(&self.frame.locked)),
            ("lesson", self.lesson.map(|step| step.to_string())),
            ("projector", (self.is_projected && self.lesson.is_some()).then(|| "1".into())),
            ("report", self.report.clone()),
            ("lang", self.language.map(|language| language.id().into())),
        ]);
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::continuation::Linear;
    use crate::state::form::WIKITEXT;
    use crate::state::frame::Part;
    use straightedge_api::fields::Field;
    use straightedge_api::job::GramMode;

    fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }

    /// The address of a query in which nothing is refused.
    fn read(pairs: &[(String, String)]) -> Address {
        let Read { address, refused } = Address::read(pairs);
        assert_eq!(refused, []);
        address
    }

    fn pairs_of(address: &Address) -> Vec<(String, String)> {
        address.pairs().into_iter().filter_map(|(name, value)| Some((name.to_string(), value?))).collect()
    }

    /// An address without any default value.
    fn full() -> Address {
        let protocol = Protocol {
            rows: 5120,
            seq_len: 64,
            folds: 4,
            interleaved_folds: true,
            skip_positions: 1,
            bos: true,
            gram: GramMode::Fast,
            ..Default::default()
        };
        Address {
            model: Some("demo-neox".into()),
            hub: None,
            mirror: Some("http://127.0.0.1:8081".parse().unwrap()),
            tokenizer: Some(HubId::model("a/b").unwrap()),
            text: Some(TextChoice::Synthetic("puzzles:1".into())),
            eval: Some(TextChoice::Hub("wikitext-2-test".into())),
            protocol,
            backend: BackendChoice::Cpu,
            measures: BTreeSet::from([Measure::Swap, Measure::RankSwap]),
            feed: Some("demo-llama".into()),
            view: View::Losses,
            block: Some(3),
            metric: Metric::Scalar,
            overlay: Some(LinkedOverlay::Published("math puzzles".into())),
            comparison: Linked {
                preset: Some(Preset::Training),
                runs: vec![Key::Published("gpt2".into(), "math puzzles".into())],
                without: vec![Key::Recorded("demo-gpt2".into())],
                front: Some(Key::Control(Key::Recorded("demo-gpt2".into()).into(), "reinit_model".into())),
                charts: [Field::R2Lin, Field::PolyGain].into(),
            },
            continuation: ContinuationForm {
                prompt: "The cook".into(),
                blocks: Some(Linear::Some([0, 2, 3].into())),
                tokens: "12".into(),
                temperature: "0.8".into(),
                seed: "7".into(),
            },
            frame: Frame {
                is_embedded: true,
                hidden: BTreeSet::from([Part::Downloads]),
                locked: BTreeSet::from([Part::Model, Part::Protocol]),
            },
            lesson: Some(Step::Traps),
            is_projected: true,
            report: Some("https://host.example/a/report.json?raw=1".into()),
            language: Some(Language::German),
        }
    }

    #[test]
    fn every_setting_comes_back_from_its_link() {
        let all = full();
        let names: Vec<_> = pairs_of(&all).into_iter().map(|(name, _)| name).collect();
        let left_out: Vec<_> = NAMES.iter().filter(|name| !names.contains(&name.to_string())).collect();
        assert_eq!(left_out, [&"hub", &"piece_chars"], "a bundled model and BOS were chosen");
        let protocol = Protocol { bos: false, piece_chars: 512, ..all.protocol.clone() };
        let pieces = Address { protocol, ..all.clone() };
        assert_eq!(read(&pairs_of(&pieces)), pieces);
        assert_eq!(read(&pairs_of(&all)), all);
        let laid = Address { overlay: Some(LinkedOverlay::Recorded("demo-neox".into())), ..all.clone() };
        assert_eq!(read(&pairs_of(&laid)), laid);
        let hub = Address { model: None, hub: Some(HubId::model("a/b@step0").unwrap()), ..all };
        assert_eq!(read(&pairs_of(&hub)), hub);
        for text in [TextChoice::Pasted, TextChoice::File, TextChoice::Hub(WIKITEXT[1].into())] {
            let address = Address { text: Some(text), model: Some(OWN.into()), ..Address::default() };
            assert_eq!(read(&pairs_of(&address)), address);
        }
    }

    #[test]
    fn what_is_as_at_first_is_not_said_and_other_names_are_left_alone() {
        assert_eq!(pairs_of(&Address::opening()), pairs(&[("v", "1"), ("view", "sides")]));
        assert!(Address { model: Some(FIRST.into()), ..Address::opening() }.is_opening());
        assert!(!Address::default().is_opening() && !full().is_opening());
        assert_eq!(read(&pairs(&[("x", "1"), ("v", "1")])), Address::opening());
        let one = Address { view: View::Ranks, ..Address::default() };
        assert_eq!(pairs_of(&one), pairs(&[("v", "1"), ("view", "ranks")]));
        assert!(one.is_first() && !full().is_first());
    }

    #[test]
    fn an_address_that_names_anything_opens_the_profile_unless_it_names_a_view() {
        assert_eq!(read(&[]).view, View::Continuation);
        assert_eq!(read(&pairs(&[("v", "1"), ("model", FIRST)])).view, View::Profile);
        assert_eq!(read(&pairs(&[("rows", "5120")])).view, View::Profile);
        let german = read(&pairs(&[("lang", "de")]));
        assert!(german.is_opening() && german.language == Some(Language::German), "a language opens no other view");
        assert_eq!(read(&pairs_of(&german)), german);
        let profile = pairs_of(&Address::default());
        assert_eq!(profile, pairs(&[("v", "1"), ("view", "profile")]), "which would open another view unsaid");
        assert_eq!(read(&profile), Address::default());
        let blocks = ContinuationForm { blocks: Some(Linear::Some([1].into())), ..ContinuationForm::default() };
        let sides = Address { continuation: blocks, ..Address::opening() };
        assert_eq!(read(&pairs_of(&sides)), sides);
    }

    #[test]
    fn the_address_of_a_page_of_the_hub_or_a_mirror_names_its_model() {
        let named = |given: &[(&str, &str)]| read(&pairs(given)).hub.map(|id| id.to_string());
        let page = "https://huggingface.co/a/b/tree/step7";
        assert_eq!(named(&[("v", "1"), ("hub", page)]).as_deref(), Some("a/b@step7"));
        let on_mirror = [("v", "1"), ("hub", "http://127.0.0.1:8081/a/b"), ("mirror", "http://127.0.0.1:8081")];
        assert_eq!(named(&on_mirror).as_deref(), Some("a/b"));
    }

    #[test]
    fn hostile_values_are_refused_in_a_sentence_of_bounded_length() {
        let long = "x".repeat(100_000);
        let hostile = [
            ("v", "2"),
            ("hub", "../x"),
            ("hub", "a/b@x y"),
            ("tokenizer", "../x"),
            ("mirror", "javascript:alert(1)"),
            ("mirror", ""),
            ("model", "../../secret"),
            ("report", "javascript:alert(1)"),
            ("report", "//host.example/report.json"),
            ("report", "./../secret"),
            ("report", "https://host.example/\u{202e}"),
            ("model", "<img src=x>"),
            ("model", ""),
            ("text", "tales:99"),
            ("text", "a/b"),
            ("rows", "-1"),
            ("rows", "1e9"),
            ("rows", "99999999999999999999"),
            ("rows", "5"),
            ("folds", "1"),
            ("seq_len", "0"),
            ("skip_positions", "128"),
            ("gram", "slow"),
            ("backend", "tpu"),
            ("measures", "all,x"),
            ("measures", ""),
            ("view", "secrets"),
            ("block", "x"),
            ("metric", "r2"),
            ("overlay", "kept:1"),
            ("overlay", "published:<b>"),
            ("overlay", "recorded:../x"),
            ("compare", "secrets"),
            ("runs", "measured:1"),
            ("runs", ""),
            ("without", "recorded:<b>"),
            ("front", "recorded:"),
            ("charts", "r2"),
            ("charts", ""),
            ("runs", &long),
            ("prompt", &long),
            ("linear", &long),
            ("tokens", "0"),
            ("temperature", "hot"),
            ("seed", "-1"),
            ("embed", "yes"),
            ("hide", "everything"),
            ("lock", ","),
            ("lesson", "0"),
            ("lesson", "10"),
            ("lesson", "03"),
            ("lesson", "<b>"),
            ("lang", "xx"),
            ("lang", "DE"),
            ("text", &long),
        ];
        for (name, value) in hostile {
            // The other values still apply, except in a link of another version.
            let valid_pair = if name == "lesson" { ("view", "ranks") } else { ("lesson", "4") };
            let Read { address, refused } = Address::read(&pairs(&[(name, value), valid_pair]));
            let [refusal] = refused.as_slice() else { panic!("{name}={value:.20}: {refused:?}") };
            assert!(refusal.to_string().len() < 400, "{refusal}");
            let expected = if name == "v" { Address::default() } else { read(&pairs(&[valid_pair])) };
            assert_eq!(address, expected, "{name}={value:.20}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_number_is_told_as_it_is() {
        let cases = [
            ("rows", "-1", "0 or more"),
            ("rows", "18446744073709551616", "at most 999999999"),
            ("rows", "1e9", "a whole number"),
            ("rows", "+5", "a whole number"),
            ("block", "-", "a whole number"),
            ("folds", "1", "folds in this link"),
        ];
        for (name, value, words) in cases {
            let refused = Address::read(&pairs(&[(name, value)])).refused;
            assert!(refused.len() == 1 && refused[0].to_string().contains(words), "{name}={value}: {refused:?}");
        }
    }

    #[test]
    fn settings_that_do_not_go_together_are_as_usual_and_the_others_stay() {
        let Read { address, refused } =
            Address::read(&pairs(&[("skip_positions", "64"), ("seq_len", "64"), ("folds", "4")]));
        assert_eq!((address.protocol.folds, refused.len()), (4, 1), "{refused:?}");
        assert!(address.protocol.check().is_ok());
        let hopeless = pairs(&[("rows", "7"), ("seq_len", "0"), ("folds", "0"), ("skip_positions", "999999999")]);
        assert!(Address::read(&hopeless).address.protocol.check().is_ok());
    }
}
