//! docs/measures.md defines every report field and warning, and no others.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use straightedge::continuation::Continuation;
use straightedge::fields::Field;
use straightedge::job::{BackendChoice, GramMode, Measure, Training};
use straightedge::learning::LearningPoint;
use straightedge::report::{
    AppInfo, BlockReport, ControlReport, CorpusInfo, CurvePoint, DegreePoint, DeviceInfo, HealReport, HealedTogether,
    Interval, LayerReport, ModelInfo, OrderStep, Ordered, OtherInput, ProbeReport, PropertyScore, ProtocolInfo, Report,
    Scatter, Seconds, Spectrum, Warning, WarningKind,
};

use crate::markdown::{assert_same, files, name_set, read, section, shown};

/// Placeholder for the keys of a map in the document.
const KEY: &str = "NAME";

const INTERVAL: Interval = Interval { low: 1.0, high: 1.0 };

/// A report with no empty field. Written out in full, so that a new field does not compile until it is added here.
fn full() -> Report {
    Report {
        schema: 1,
        partial: false,
        date: Some("d".into()),
        app: AppInfo { name: "a".into(), version: "0".into(), commit: Some("c".into()) },
        model: model(),
        corpus: CorpusInfo { id: "c".into(), sha256: Some("0".into()), tokens: 1 },
        protocol: ProtocolInfo {
            rows: 1,
            windows: 1,
            seq_len: 1,
            folds: 2,
            interleaved_folds: true,
            skip_positions: 0,
            bos: true,
            piece_chars: 512,
            train_rows: 1,
            heldout_rows: 1,
            tau: 1e-10,
            gram: GramMode::Exact,
            seed: 0,
        },
        device: DeviceInfo {
            backend: "cpu".into(),
            adapter: Some("a".into()),
            driver: Some("d".into()),
            features: vec!["f".into()],
            limits: named(1),
        },
        ordered: Some(Ordered {
            measures: [Measure::Fit].into(),
            blocks: "0".parse().ok(),
            ranks: "1".parse().ok(),
            training: Training { probe_steps: 1, baseline_steps: 1, heal_steps: 1, seeds: 2 },
            backend: BackendChoice::Cpu,
            eval: Some(OtherInput { id: "e".into(), sha256: Some("0".into()), windows: 1 }),
            feed: Some(OtherInput { id: "f".into(), sha256: Some("0".into()), windows: 1 }),
        }),
        ppl: Some(1.0),
        blocks: vec![block()],
        layers: vec![LayerReport {
            layer: 0,
            linearity: Some(1.0),
            linearity_heldout: Some(1.0),
            linearity_no_residual: Some(1.0),
            update_norm_ratio: Some(1.0),
            anisotropy: Some(1.0),
            intrinsic_dimension: Some(1.0),
            properties: named(PropertyScore { accuracy: Some(1.0), most_frequent: Some(1.0) }),
            delta_ppl: named(Some(1.0)),
            intervals: named(INTERVAL),
            influence: named(vec![1.0]),
        }],
        orders: named(vec![OrderStep {
            block: 0,
            ppl: Some(1.0),
            delta_ppl: Some(1.0),
            compression: Some(1.0),
            interval: Some(INTERVAL),
        }]),
        healed_together: named(HealedTogether {
            blocks: vec![0],
            steps: 1,
            delta_ppl_before: Some(1.0),
            delta_ppl: named(Some(1.0)),
            stream_error_before: Some(1.0),
            stream_error: named(Some(1.0)),
            intervals: named(INTERVAL),
        }),
        seconds: Seconds::default(),
        peak_memory: Some(1),
        warnings: vec![Warning { code: "c".into(), block: Some(0), text: "t".into() }],
    }
}

fn model() -> ModelInfo {
    ModelInfo {
        id: "m".into(),
        revision: Some("r".into()),
        tokenizer: Some("c/d@0123456789abcdef0123456789abcdef01234567".into()),
        checkpoint: Some("c".into()),
        architecture: "gpt2".into(),
        sha256: Some("0".into()),
        sha256_claimed: true,
        dtype: Some("F32".into()),
        hidden_size: 1,
        intermediate_size: Some(1),
        num_hidden_layers: 1,
        hidden_act: Some("gelu".into()),
        ffn_parameters: Some(1),
        expected_rank: Some(1),
        vocab_size: Some(1),
    }
}

fn block() -> BlockReport {
    let one = Some(1.0);
    BlockReport {
        block: 0,
        r2_lin: one,
        r2_lin_scalar: one,
        r2_feature_median: one,
        r2_features: vec![one],
        r2_folds: vec![one],
        r2_cv_mean: one,
        r2_cv_std: one,
        intervals: named(INTERVAL),
        influence: named(vec![1.0]),
        rows_per_input: one,
        learning_curve: vec![LearningPoint { rows: 1.0, r2: vec![one] }],
        ridge_curve: vec![LearningPoint { rows: 1.0, r2: vec![one] }],
        r2_limit: one,
        r2_limit_error: one,
        rows_needed: one,
        rank: 1,
        condition: one,
        scaled_condition: one,
        spectrum: Some(Spectrum { k: vec![1], covariance: vec![one], correlation: vec![one] }),
        scatter: Some(Scatter { actual: vec![1.0], predicted: vec![1.0] }),
        effective_rank: Some(1),
        effective_rank_95: Some(1),
        effective_rank_whitened: Some(1),
        canonical_r2_mean: one,
        r2_rank: vec![one],
        output_participation: one,
        prediction_participation: one,
        input_participation: one,
        input_entropy_rank: one,
        input_stable_rank: one,
        prediction_entropy_rank: one,
        prediction_stable_rank: one,
        heldout_distance: one,
        heldout_outside: one,
        output_variance_ratio: one,
        input_variance_ratio: one,
        cosine: one,
        rmse: one,
        delta_ppl: named(one),
        compression: named(one),
        row_microseconds: named(one),
        conjunction: one,
        probes: named(ProbeReport {
            r2: one,
            gain: one,
            gain_scalar: one,
            cosine: one,
            rmse: one,
            steps: 1,
            parameters: 1,
            conjunction: one,
        }),
        degrees: named(vec![DegreePoint { features: 1, r2: one }]),
        curves: named(vec![CurvePoint { step: 0, value: one }]),
        controls: named(ControlReport {
            r2_lin: one,
            r2_lin_scalar: one,
            r2_feature_median: one,
            effective_rank: Some(1),
        }),
        heal: named(HealReport { delta_ppl: one, delta_ppl_before: one, steps: 1, interval: Some(INTERVAL) }),
        seeds: named(vec![one]),
    }
}

fn named<T>(value: T) -> BTreeMap<String, T> {
    [(KEY.to_owned(), value)].into()
}

/// Paths of all values: `blocks[].probes.NAME.r2`. A list of plain values counts as one value.
fn paths(at: &str, value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let path = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
                paths(&path, value, found);
            }
        }
        Value::Array(items) if items.iter().any(Value::is_object) => paths(&format!("{at}[]"), &items[0], found),
        Value::Null => panic!("{at} is empty in the report that this test makes"),
        _ => {
            found.insert(at.to_owned());
        }
    }
}

fn fields_of(report: &Report) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    paths("", &serde_json::to_value(report).expect("plain data"), &mut found);
    found
}

#[test]
fn every_report_field_is_defined_and_every_defined_one_exists() {
    let document = read("docs/measures.md");
    let documented = name_set(section(&document, "## 10. The report"), "field");
    let there = fields_of(&full());
    assert!(there.len() >= 100, "only {} fields", there.len());
    assert_same("report fields", &documented, &there);
}

#[test]
fn the_list_of_numbers_follows_from_the_table_of_fields() {
    let document = read("docs/measures.md");
    let section = section(&document, "## 10. The report");
    let is_number = |line: &&str| {
        ["blocks[].", "layers[].", "orders.", "healed_together.", "ppl`"]
            .iter()
            .any(|start| line.starts_with(&format!("| `{start}")))
    };
    let documented = section.lines().filter(is_number).map(Into::into).collect();
    let there: BTreeSet<String> = Field::ALL.iter().filter_map(|field| field.documented()).collect();
    assert!(there.len() >= 50, "only {}", there.len());
    assert_same("lines of the list", &documented, &there);
}

#[test]
fn a_recorded_report_has_no_other_fields() {
    let document = read("docs/measures.md");
    let documented = name_set(section(&document, "## 10. The report"), "field");
    let recorded: Value = serde_json::from_str(&read("web/data/recorded/demo-gpt2.json")).expect("JSON");
    let mut checked = 0;
    for (part, heading) in [("app", ""), ("model", ""), ("corpus", ""), ("protocol", ""), ("seconds", "")] {
        for name in recorded[part].as_object().expect(part).keys() {
            assert!(documented.contains(&format!("{part}.{name}{heading}")), "{part}.{name} is not documented");
            checked += 1;
        }
    }
    let (blocks, layers, steps) = (&recorded["blocks"], &recorded["layers"], &recorded["orders"]["by_cost"]);
    for (part, of) in [("blocks[]", blocks), ("layers[]", layers), ("orders.NAME[]", steps)] {
        for name in of[0].as_object().expect(part).keys() {
            let path = format!("{part}.{name}");
            assert!(documented.iter().any(|field| field.starts_with(&path)), "{path} is not documented");
            checked += 1;
        }
    }
    assert!(checked >= 60, "only {checked} fields were compared");
}

#[test]
fn every_warning_is_explained() {
    let document = read("docs/measures.md");
    let documented = name_set(section(&document, "## 10. The report"), "warning");
    let mut there: BTreeSet<String> = WarningKind::codes().collect();
    let homes = ["src/", "crates/api/src/", "web/"];
    for path in files(&[".rs"]).iter().filter(|path| homes.iter().any(|home| shown(path).starts_with(home))) {
        let text = read(path);
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let codes = code.split("Warning { code: \"").skip(1).filter_map(|rest| rest.split('"').next());
        there.extend(codes.map(ToOwned::to_owned));
    }
    assert!(there.len() >= 10, "{there:?}");
    assert_same("warnings", &documented, &there);
}

/// Section numbers referred to by fields, and limits repeated in the text.
#[test]
fn numbers_in_the_text_are_those_of_the_code() {
    let document = read("docs/measures.md");
    let training = Training::default();
    let steps = section(&document, "## 5. Probes of the residual");
    assert_eq!((training.probe_steps, training.baseline_steps, training.heal_steps), (4000, 3000, 200));
    assert!(steps.contains("4 000 steps") && steps.contains("3 000 steps"), "steps of training");
    let cli = read("docs/cli.md");
    let asked = Continuation::new("x");
    for (option, value) in [("`--tokens N`", asked.tokens), ("`--top N`", asked.top)] {
        let is_default = |line: &str| line.starts_with(&format!("| {option} | {value} |"));
        assert!(section(&cli, "### continue").lines().any(is_default), "docs/cli.md: {option} is {value}");
    }
}
