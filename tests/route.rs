//! End to end through the command line: every model against its independent float64 reference.

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::{Map, Value};
use straightedge::paired::autocorrelation_factor;
use straightedge::report::{BlockReport, Interval, LayerReport, PropertyScore, Report};

/// Of R², cosines and other shares; relative for counts of directions, norms and perplexities.
const TOLERANCE: f64 = 1e-6;
/// Models that also run on a GPU: one of each kind, and the families that have kernels of their own. A software adapter
/// takes half a minute for one; `golden` takes every family through it.
const ON_GPU: [&str; 10] = [
    "tiny-gpt2",
    "tiny-gpt_neox",
    "tiny-llama",
    "tiny-bert",
    "tiny-opt-350m",
    "tiny-bloom",
    "tiny-mistral",
    "tiny-gemma2",
    "tiny-gemma3",
    "tiny-modernbert",
];

#[test]
fn measure_reproduces_the_references_on_the_cpu() {
    measure_all("cpu");
}

#[test]
fn measure_reproduces_the_references_on_the_gpu() {
    if common::gpu().is_some() {
        measure_all("gpu");
    }
}

#[test]
fn fit_reproduces_the_planted_rows_on_the_cpu() {
    fit_all("cpu");
}

#[test]
fn fit_reproduces_the_planted_rows_on_the_gpu() {
    if common::gpu().is_some() {
        fit_all("gpu");
    }
}

fn measure_all(backend: &str) {
    for common::Reference { name, folder, text } in common::references() {
        if backend == "gpu" && !ON_GPU.contains(&&*name) {
            continue;
        }
        let expected = json(&folder.join("expected.json"));
        let rows = expected["rows"].as_u64().expect("rows").to_string();
        // A software adapter takes twenty seconds for the polynomials of a model.
        let has_degrees = backend == "cpu" || name == "tiny-gpt2";
        let measures = if has_degrees { "fit,swap,layers,degrees" } else { "fit,swap,layers" };
        let report = straightedge(&[
            "measure".as_ref(),
            &folder,
            "--text".as_ref(),
            &text,
            "--backend".as_ref(),
            backend.as_ref(),
            "--measures".as_ref(),
            measures.as_ref(),
            "--rows".as_ref(),
            rows.as_ref(),
        ]);
        assert!(!report.partial);
        assert_eq!(report.device.backend, backend);
        assert_eq!(report.app.name, "straightedge");
        assert_eq!(report.protocol.train_rows as u64, expected["train_rows"].as_u64().expect("train_rows"));
        assert_eq!(report.protocol.heldout_rows as u64, expected["heldout_rows"].as_u64().expect("heldout_rows"));
        let blocks = expected["blocks"].as_array().expect("blocks");
        assert!(!blocks.is_empty() && report.blocks.len() == blocks.len(), "{name}: {} blocks", report.blocks.len());
        for (found, expected) in report.blocks.iter().zip(blocks) {
            let what = format!("{name} on {backend}, block {}", found.block);
            check_block(&what, found, expected);
            if has_degrees {
                check_degrees(&what, found, expected);
                check_canonical(&what, found, expected);
            }
            // Fewer windows have none, which a warning says.
            if has_intervals(&report) {
                check_intervals(&what, found);
            } else {
                assert!(found.intervals.is_empty(), "{what}");
            }
        }
        check_perplexities(&format!("{name} on {backend}"), &report, &expected);
        check_layers(&format!("{name} on {backend}"), &report, &expected);
    }
}

/// Perplexity and its change by every swap, relative to the swapped perplexity; null with a reason for an encoder.
fn check_perplexities(what: &str, report: &Report, expected: &Value) {
    let Some(ppl) = expected["ppl"].as_f64() else {
        assert_eq!(report.ppl, None, "{what}");
        assert!(report.warnings.iter().any(|warning| warning.code == "no_perplexity"), "{what}");
        assert!(report.blocks.iter().all(|block| block.delta_ppl["linear"].is_none()), "{what}");
        return;
    };
    common::assert_close(&format!("{what}, ppl"), report.ppl, ppl, TOLERANCE * ppl);
    for (found, expected) in report.blocks.iter().zip(expected["blocks"].as_array().expect("blocks")) {
        for name in ["linear", "mean", "zero"] {
            let delta = expected["delta_ppl"][name].as_f64().expect("a number");
            let what = format!("{what}, block {}, {name}", found.block);
            common::assert_close(&what, found.delta_ppl[name], delta, TOLERANCE * (ppl + delta));
        }
    }
}

fn check_layers(what: &str, report: &Report, expected: &Value) {
    let layers = expected["layers"].as_array().expect("layers");
    // Another program may cut the noise of a layer's null direction elsewhere.
    let tolerance = if what.starts_with("additional") { 1e-5 } else { TOLERANCE };
    assert_eq!((report.layers.len(), layers.len()), (report.blocks.len(), report.blocks.len()), "{what}");
    for (found, expected) in report.layers.iter().zip(layers) {
        let close = |field: &str, value: Option<f64>| {
            let what = format!("{what}, layer {}, {field}", found.layer);
            common::assert_close(&what, value, expected[field].as_f64().expect("a number"), tolerance);
        };
        close("linearity", found.linearity);
        close("linearity_heldout", found.linearity_heldout);
        close("linearity_no_residual", found.linearity_no_residual);
        close("update_norm_ratio", found.update_norm_ratio);
        if expected["anisotropy"].is_f64() {
            close("anisotropy", found.anisotropy);
            let dimension = expected["intrinsic_dimension"].as_f64().expect("a dimension");
            let what = format!("{what}, layer {}, intrinsic_dimension", found.layer);
            // Distances of nearest neighbours are differences of rows in f32.
            common::assert_close(&what, found.intrinsic_dimension, dimension, 1e-4 * dimension);
        }
        if has_intervals(report) {
            check_layer_intervals(&format!("{what}, layer {}", found.layer), found);
        } else {
            assert!(found.intervals.is_empty() && found.influence.is_empty(), "{what}");
        }
        if let Some(properties) = expected["properties"].as_object() {
            let what = format!("{what}, layer {}", found.layer);
            check_properties(&what, &found.properties, properties, report.protocol.heldout_rows);
        }
    }
}

/// The same properties, named in the same share of rows but for those whose two largest outputs are equal but for rounding.
fn check_properties(
    what: &str,
    found: &BTreeMap<String, PropertyScore>,
    expected: &Map<String, Value>,
    heldout_rows: usize,
) {
    assert!(found.len() >= 3 && found.keys().eq(expected.keys()), "{what}: {:?}", found.keys());
    for (name, score) in found {
        let number = |field: &str| expected[name][field].as_f64().expect("a number");
        let what = format!("{what}, {name}");
        common::assert_close(&what, score.accuracy, number("accuracy"), 2.5 / heldout_rows as f64);
        common::assert_close(&what, score.most_frequent, number("most_frequent"), 1e-12);
    }
}

/// The same polynomials; additional references may lack them.
fn check_degrees(what: &str, found: &BlockReport, expected: &Value) {
    let Some(expected) = expected["degrees"].as_object() else { return };
    assert!(found.degrees.keys().eq(expected.keys()), "{what}: {:?}", found.degrees.keys());
    for (degree, points) in &found.degrees {
        let expected = expected[degree].as_array().expect("points");
        assert!(!points.is_empty() && points.len() == expected.len(), "{what}, degree {degree}");
        for (point, expected) in points.iter().zip(expected) {
            let what = format!("{what}, degree {degree}, {} features", point.features);
            assert_eq!(Some(point.features as u64), expected["features"].as_u64(), "{what}");
            common::assert_close(&what, point.r2, expected["r2"].as_f64().expect("a number"), TOLERANCE);
        }
    }
}

/// The same canonical correlations; additional references may lack them.
fn check_canonical(what: &str, found: &BlockReport, expected: &Value) {
    let Some(expected) = expected["canonical"].as_object() else { return };
    let rank = found.effective_rank_whitened.map(|rank| rank as u64);
    assert_eq!(rank, expected["effective_rank_whitened"].as_u64(), "{what}");
    let mean = expected["canonical_r2_mean"].as_f64().expect("a number");
    common::assert_close(&format!("{what}, canonical_r2_mean"), found.canonical_r2_mean, mean, TOLERANCE);
}

fn check_block(what: &str, found: &BlockReport, expected: &Value) {
    let number = |field: &str| expected[field].as_f64().unwrap_or_else(|| panic!("expected.json: {field}"));
    let close = |field: &str, value: Option<f64>, tolerance: f64| {
        common::assert_close(&format!("{what}, {field}"), value, number(field), tolerance);
    };
    let relative = |field: &str, value: Option<f64>, tolerance: f64| {
        common::assert_close(&format!("{what}, {field}"), value, number(field), tolerance * number(field).abs());
    };
    close("r2_lin", found.r2_lin, TOLERANCE);
    close("r2_lin_scalar", found.r2_lin_scalar, TOLERANCE);
    close("r2_feature_median", found.r2_feature_median, TOLERANCE);
    close("r2_cv_mean", found.r2_cv_mean, TOLERANCE);
    close("r2_cv_std", found.r2_cv_std, TOLERANCE);
    check_learning(what, found, expected);
    check_ranks_and_support(what, found, expected);
    close("cosine", found.cosine, TOLERANCE);
    // Where the residual is small, the same difference of R² is a larger share of it.
    relative("rmse", found.rmse, TOLERANCE + 2e-7 / (1.0 - number("r2_lin")));
    // The smallest eigenvalues have only as many correct digits as f32 activations.
    relative("scaled_condition", found.scaled_condition, 1e-2);
    relative("condition", found.condition, 1e-2);
    for field in [
        "output_participation",
        "prediction_participation",
        "input_participation",
        "output_variance_ratio",
        "input_variance_ratio",
    ] {
        let value = match field {
            "output_participation" => found.output_participation,
            "prediction_participation" => found.prediction_participation,
            "input_participation" => found.input_participation,
            "output_variance_ratio" => found.output_variance_ratio,
            _ => found.input_variance_ratio,
        };
        relative(field, value, TOLERANCE);
    }
    check_list(&format!("{what}, r2_folds"), &found.r2_folds, &expected["r2_folds"]);
    check_list(&format!("{what}, r2_features"), &found.r2_features, &expected["r2_features"]);
    assert_eq!(found.rank as u64, expected["rank"].as_u64().expect("rank"), "{what}, rank");
    let ranks = expected["r2_rank"].as_object().expect("r2_rank");
    assert!(ranks.len() > 1, "{what}: r2_rank");
    for (k, r2) in ranks {
        let k: usize = k.parse().expect("k");
        common::assert_close(
            &format!("{what}, r2_rank[{k}]"),
            found.r2_rank[k - 1],
            r2.as_f64().expect("R²"),
            TOLERANCE,
        );
    }
    check_effective_rank(what, found, expected["effective_rank"].as_u64().expect("effective_rank") as usize);
}

fn has_intervals(report: &Report) -> bool {
    report.protocol.heldout_rows >= 10 * report.protocol.seq_len
}

fn check_intervals(what: &str, found: &BlockReport) {
    let change = found.delta_ppl["linear"];
    let values = [
        ("r2_lin", found.r2_lin),
        ("r2_lin_scalar", found.r2_lin_scalar),
        ("cosine", found.cosine),
        ("delta_ppl_linear", change),
    ];
    for (name, value) in values.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        check_interval(&format!("{what}, {name}"), name, value, (&found.intervals, &found.influence));
    }
    assert_eq!(found.intervals.contains_key("delta_ppl_linear"), change.is_some(), "{what}");
}

/// All numbers of a layer that follow from held-out windows have an interval, and no others.
fn check_layer_intervals(what: &str, found: &LayerReport) {
    let losses = ["removed", "linear"].map(|name| (format!("delta_ppl_{name}"), found.delta_ppl[name]));
    let reads = found.properties.iter().map(|(name, score)| (format!("reads_{name}"), score.accuracy));
    let values = reads.chain(losses).chain([("linearity_heldout".into(), found.linearity_heldout)]);
    let values: BTreeMap<String, f64> = values.filter_map(|(name, value)| Some((name, value?))).collect();
    assert!(values.len() >= 4 && values.keys().eq(found.intervals.keys()), "{what}: {:?}", found.intervals);
    assert!(values.keys().eq(found.influence.keys()), "{what}");
    for (name, value) in values {
        let (what, Interval { low, high }) = (format!("{what}, {name}"), found.intervals[&name]);
        if name.starts_with("reads_") {
            // Shares near 1 have crooked intervals, and those of 1 none that has a width.
            assert!(low <= value && value <= high && (high > low || value == 0.0 || value == 1.0), "{what}: {value}");
            continue;
        }
        check_interval(&what, &name, value, (&found.intervals, &found.influence));
    }
}

/// The interval lies about its value, near its middle: the sums over windows are those of the value.
fn check_interval(
    what: &str,
    name: &str,
    value: f64,
    (intervals, influences): (&BTreeMap<String, Interval>, &BTreeMap<String, Vec<f64>>),
) {
    let interval = intervals.get(name).unwrap_or_else(|| panic!("{what}: no interval"));
    let off = (value - f64::midpoint(interval.low, interval.high)).abs();
    let width = interval.high - interval.low;
    assert!(width > 0.0 && off <= 0.25 * width, "{what}: {value} in {interval:?}");
    check_influence(what, &influences[name], width);
}

/// Influences add up to about nothing, and their standard error, with that of neighbours that are alike, is the interval's.
fn check_influence(what: &str, influence: &[f64], width: f64) {
    let count = influence.len() as f64;
    let sum: f64 = influence.iter().sum();
    let squares: f64 = influence.iter().map(|value| value * value).sum();
    let error = autocorrelation_factor(influence) * (squares / (count * (count - 1.0))).sqrt();
    assert!((0.7..1.4).contains(&(2.0 * 1.96 * error / width)), "{what}: error {error}, interval of {width}");
    assert!(sum.abs() / count <= 0.25 * width, "{what}: {influence:?}");
}

/// The learning curve and its limit; references that are not the project's own have none.
fn check_learning(what: &str, found: &BlockReport, expected: &Value) {
    let Some(curve) = expected["learning_curve"].as_array() else { return };
    assert_eq!(found.learning_curve.len(), curve.len(), "{what}, learning_curve");
    for (found, expected) in found.learning_curve.iter().zip(curve) {
        assert_eq!(Some(found.rows), expected["rows"].as_f64(), "{what}, learning_curve, rows");
        check_list(&format!("{what}, learning_curve of {} rows", found.rows), &found.r2, &expected["r2"]);
    }
    let number = |field: &str| expected[field].as_f64().unwrap_or_else(|| panic!("expected.json: {field}"));
    let close = |field: &str, value, tolerance| {
        common::assert_close(&format!("{what}, {field}"), value, number(field), tolerance);
    };
    close("rows_per_input", found.rows_per_input, 1e-12);
    // Both add up a few R² with factors of about one.
    close("r2_limit", found.r2_limit, 4.0 * TOLERANCE);
    close("r2_limit_error", found.r2_limit_error, 4.0 * TOLERANCE);
    // The slope is a difference of R² in units of a difference of q.
    close("rows_needed", found.rows_needed, 1e-2 * number("rows_needed"));
}

/// Counts of directions, and the distance of held-out rows; references that are not the project's own have none.
fn check_ranks_and_support(what: &str, found: &BlockReport, expected: &Value) {
    if expected["heldout_distance"].is_null() {
        return;
    }
    let number = |field: &str| expected[field].as_f64().unwrap_or_else(|| panic!("expected.json: {field}"));
    let known = [
        ("input_entropy_rank", found.input_entropy_rank),
        ("input_stable_rank", found.input_stable_rank),
        ("prediction_entropy_rank", found.prediction_entropy_rank),
        ("prediction_stable_rank", found.prediction_stable_rank),
        // Directions of small variance have fewer digits.
        ("heldout_distance", found.heldout_distance),
    ];
    for (field, value) in known {
        common::assert_close(&format!("{what}, {field}"), value, number(field), TOLERANCE * number(field));
    }
    // Rounding noise of f32, which differs between processors.
    let (outside, other) = (found.heldout_outside.expect("heldout_outside"), number("heldout_outside"));
    assert!(outside < 1e-9 && other < 1e-9, "{what}: {outside}, {other}");
    let rank = found.effective_rank_95.expect("effective_rank_95");
    let threshold = 0.95 * found.r2_lin.expect("r2_lin");
    check_rank_at(what, found, (rank, threshold), number("effective_rank_95") as usize);
}

/// Exactly as expected, or off by one where the curve meets the threshold but for rounding.
fn check_effective_rank(what: &str, found: &BlockReport, expected: usize) {
    let rank = found.effective_rank.expect("effective rank");
    check_rank_at(what, found, (rank, 0.9 * found.r2_lin.expect("r2_lin")), expected);
}

fn check_rank_at(what: &str, found: &BlockReport, (rank, threshold): (usize, f64), expected: usize) {
    let near = |k: usize| found.r2_rank[k - 1].is_some_and(|r2| (r2 - threshold).abs() <= 2.0 * TOLERANCE);
    let borderline = rank.abs_diff(expected) == 1 && near(rank.min(expected));
    assert!(rank == expected || borderline, "{what}, effective_rank: {rank} where {expected} is expected");
}

fn check_list(what: &str, found: &[Option<f64>], expected: &Value) {
    let expected = expected.as_array().expect("a list");
    assert!(!found.is_empty() && found.len() == expected.len(), "{what}: {} of {}", found.len(), expected.len());
    for (k, (found, expected)) in found.iter().zip(expected).enumerate() {
        common::assert_close(&format!("{what}[{k}]"), *found, expected.as_f64().expect("a number"), TOLERANCE);
    }
}

fn fit_all(backend: &str) {
    for folder in [Some(common::fixture("planted")), common::additional().map(|folder| folder.join("planted"))] {
        folder.iter().for_each(|folder| fit_folder(folder, backend));
    }
}

fn fit_folder(folder: &Path, backend: &str) {
    let expected = json(&folder.join("expected.json"));
    let sets = expected.as_object().expect("planted sets");
    assert_eq!(sets.keys().collect::<Vec<_>>(), ["k2", "k4", "k6", "k8", "null"]);
    for (name, expected) in sets {
        let rows = folder.join(format!("{name}.safetensors"));
        let report = straightedge(&[
            "fit".as_ref(),
            &rows,
            "--window".as_ref(),
            "32".as_ref(),
            "--folds".as_ref(),
            "5".as_ref(),
            "--backend".as_ref(),
            backend.as_ref(),
        ]);
        let [found] = &report.blocks[..] else { panic!("one block") };
        let what = format!("planted {name} on {backend}");
        let number = |field: &str| expected[field].as_f64().expect("a number");
        let condition = number("scaled_condition");
        // Tighter than for models: the rows are given, so only our own arithmetic differs. A GPU rounds inputs to 2⁻²²
        // of their column's scale, which in the direction of the smallest eigenvalue amounts to this.
        let grain: f64 = if backend == "gpu" { 2f64.powi(-22) } else { 0.0 };
        let allowed = 1e-6 + grain * grain * condition;
        common::assert_close(&format!("{what}, r2_lin"), found.r2_lin, number("r2_lin"), allowed);
        common::assert_close(&format!("{what}, r2_lin_scalar"), found.r2_lin_scalar, number("r2_lin_scalar"), allowed);
        common::assert_close(&format!("{what}, median"), found.r2_feature_median, number("r2_feature_median"), allowed);
        assert_eq!(found.rank as u64, expected["rank"].as_u64().expect("rank"), "{what}, rank");
        common::assert_close(&format!("{what}, scaled_condition"), found.scaled_condition, condition, 1e-3 * condition);
    }
}

/// Runs the command line with `--out -` and parses the report.
fn straightedge(args: &[&Path]) -> Report {
    let output = Command::new(env!("CARGO_BIN_EXE_straightedge"))
        .args(args)
        .args(["--out", "-"])
        .output()
        .expect("the program runs");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?} failed: {complaint}");
    Report::from_json("standard output", &String::from_utf8_lossy(&output.stdout)).expect("a report")
}

fn json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).expect("JSON")
}
