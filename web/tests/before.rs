//! Links keep their meaning: each is read, and written again with the same values.

use std::collections::{BTreeMap, BTreeSet};

use straightedge_api::fields::Field;
use straightedge_api::job::{BackendChoice, GramMode, Measure};
use straightedge_web::comparison::Key;
use straightedge_web::comparison::overlay::Metric;
use straightedge_web::comparison::presets::Preset;
use straightedge_web::continuation::Linear;
use straightedge_web::state::form::TextChoice;
use straightedge_web::state::frame::Part;
use straightedge_web::state::views::View;
use straightedge_web::text::language::Language;
use straightedge_web::url::address::{Address, NAMES, Read};
use straightedge_web::url::overlay::LinkedOverlay;

/// Links of the version before the one that split the page's code; this file never changes.
const BEFORE: &str = include_str!("../../tests/fixtures/before/links.txt");
/// Links with what came later.
const LATER: &str = include_str!("../../tests/fixtures/links.txt");

fn links() -> impl Iterator<Item = &'static str> {
    BEFORE.lines().chain(LATER.lines())
}

/// Names and values of a query, decoded as a browser does.
fn decoded(query: &str) -> Vec<(String, String)> {
    let value = |text: &str| {
        let mut bytes = text.bytes();
        let mut plain = Vec::new();
        while let Some(byte) = bytes.next() {
            plain.push(match byte {
                b'+' => b' ',
                b'%' => {
                    let digits: String = bytes.by_ref().take(2).map(char::from).collect();
                    u8::from_str_radix(&digits, 16).expect("two hexadecimal digits")
                }
                byte => byte,
            });
        }
        String::from_utf8(plain).expect("UTF-8")
    };
    query.split('&').map(|pair| pair.split_once('=').expect("a value")).map(|(n, v)| (n.into(), value(v))).collect()
}

fn read(query: &str) -> Address {
    let Read { address, refused } = Address::read(&decoded(query));
    assert!(refused.is_empty(), "{query}: {refused:?}");
    address
}

/// The only link that contains `part`.
fn with(part: &str) -> Address {
    let found: Vec<&str> = links().filter(|link| link.contains(part)).collect();
    assert_eq!(found.len(), 1, "{part}: {found:?}");
    read(found[0])
}

/// The parts of a list in any order.
fn parts(value: &str) -> BTreeSet<String> {
    value.split(',').map(Into::into).collect()
}

#[test]
fn every_link_is_read_and_says_the_same_again() {
    let mut named = BTreeSet::new();
    for link in links() {
        let given: BTreeMap<_, _> = decoded(link).into_iter().map(|(name, value)| (name, parts(&value))).collect();
        let pairs = read(link).pairs().into_iter();
        let pairs: BTreeMap<_, _> =
            pairs.filter_map(|(name, value)| Some((name.to_string(), parts(&value?)))).collect();
        assert_eq!(pairs, given, "{link}");
        named.extend(given.into_keys());
    }
    assert_eq!(BEFORE.lines().count(), 47, "no link of the version before is left out");
    let all: BTreeSet<String> = NAMES.map(String::from).into();
    assert_eq!(named, all, "every parameter is in some link");
    for id in Field::charts().map(Field::id).chain(View::ALL.map(View::id)).filter(|id| *id != View::default().id()) {
        assert!(BEFORE.contains(id) || LATER.contains(id), "{id} is in no link");
    }
}

#[test]
fn links_mean_what_they_meant() {
    let losses = with("text=puzzles:1&rows=5120");
    assert_eq!((losses.model.as_deref(), losses.view, losses.block), (Some("demo-neox"), View::Losses, Some(3)));
    assert_eq!((losses.text, losses.protocol.rows), (Some(TextChoice::Synthetic("puzzles:1".into())), 5120));
    assert_eq!(losses.measures, [Measure::Swap].into());
    let cpu = with("skip_positions=1");
    assert_eq!((cpu.protocol.skip_positions, cpu.protocol.gram), (1, GramMode::Fast));
    assert_eq!((cpu.backend, with("seq_len=64").protocol.seq_len), (BackendChoice::Cpu, 64));
    assert_eq!(with("folds=4").protocol.folds, 4);
    let published = with("metric=scalar&overlay");
    assert_eq!(
        (published.metric, published.overlay),
        (Metric::Scalar, Some(LinkedOverlay::Published("WikiText-2".into())))
    );
    let mirrored = with("mirror=");
    assert_eq!(mirrored.hub.map(|hub| hub.to_string()).as_deref(), Some("EleutherAI/pythia-160m@step3000"));
    let swaps = with("compare=swaps").comparison;
    assert_eq!(
        (swaps.preset, swaps.charts),
        (Some(Preset::Swaps), [Field::DeltaPplLinear, Field::DeltaPplPoly].into())
    );
    assert_eq!(with("compare=curve").comparison.charts, [Field::PolyGainScalar].into());
    let layers = [Field::R2Lin, Field::Linearity, Field::LinearityNoResidual];
    assert_eq!(with("charts=r2_lin,linearity,").comparison.charts, layers.into());
    let runs = with("runs=").comparison;
    let recorded = Key::Recorded("demo-gpt2".into());
    assert_eq!((&runs.runs[0], &runs.without[..]), (&recorded, &[recorded.clone()][..]));
    assert_eq!(runs.runs[3], Key::Control(recorded.into(), "reinit_model".into()));
    let sides = with("prompt=The").continuation;
    assert_eq!((sides.prompt.as_str(), sides.seed.as_str()), ("The cook lived in", "7"));
    assert_eq!(sides.blocks, Some(Linear::Some([0, 3, 4, 5].into())));
    let class = with("lesson=9");
    assert_eq!(class.lesson.map(|step| step.to_string()).as_deref(), Some("9"));
    assert_eq!((class.frame.hidden, class.frame.locked), ([Part::Downloads].into(), [Part::Model].into()));
    assert!(with("embed=1").frame.is_embedded);
    assert_eq!(with("lang=de").language, Some(Language::German));
}
