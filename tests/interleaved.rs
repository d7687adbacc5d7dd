//! Interleaved folds give the report of the same windows in the order of the folds; numbers on the same windows are
//! judged in pairs.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::synthetic::{f32s, safetensors};
use serde_json::{Value, json};

const FOLDS: usize = 5;
const WINDOW: usize = 32;

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("interleaved-{name}"));
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_straightedge")).args(args).output().expect("the program runs")
}

/// The blocks of a report of these arguments, as JSON.
fn blocks(args: &[&str], out: &Path) -> Value {
    let output = run(&[args, &["--backend", "cpu", "--folds", &FOLDS.to_string(), "--out", text(out)]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&fs::read(out).expect("a report")).expect("JSON");
    report["blocks"].clone()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// The windows of every fold, one fold after the other, if windows are dealt in turn and there is none left over.
fn dealt(windows: usize) -> Vec<usize> {
    assert_eq!(windows % FOLDS, 0);
    (0..FOLDS).flat_map(|fold| (0..windows / FOLDS).map(move |turn| turn * FOLDS + fold)).collect()
}

/// Lists of equal length, in another order.
fn reordered<T: Clone>(values: &[T], each: usize, order: &[usize]) -> Vec<T> {
    order.iter().flat_map(|at| values[at * each..(at + 1) * each].to_vec()).collect()
}

#[test]
fn a_text_in_interleaved_folds_is_the_text_with_its_windows_dealt() {
    let folder = folder("text");
    let windows = 60;
    let ids: Vec<u32> = (0..windows * WINDOW).map(|at| ((at * at / 7 + 3 * at) % 401) as u32).collect();
    let file = |name: &str, ids: &[u32]| {
        let path = folder.join(name);
        fs::write(&path, json!(ids).to_string()).expect("a file");
        path
    };
    let (given, turned) = (file("ids.json", &ids), file("dealt.json", &reordered(&ids, WINDOW, &dealt(windows))));
    let model = common::fixture("tiny-gpt2");
    let measured = |tokens: &Path, more: &[&str]| {
        let args = ["measure", text(&model), "--tokens", text(tokens), "--seq-len", "32", "--measures", "fit,swap"];
        let mut blocks = blocks(&[&args[..], more].concat(), &folder.join("report.json"));
        for block in blocks.as_array_mut().expect("blocks") {
            block.as_object_mut().expect("a block").remove("row_microseconds");
        }
        blocks
    };
    let interleaved = measured(&given, &["--interleaved-folds"]);
    assert!(interleaved[0]["r2_lin"].is_f64() && interleaved[0]["delta_ppl"]["linear"].is_f64());
    assert_eq!(interleaved, measured(&turned, &[]));
    assert_ne!(interleaved, measured(&given, &[]));
}

/// x and y of a line with noise; `noise` scales what no map explains, of which a share `own` is not that of others, and
/// `slope` grows from the first row to the last.
fn planted(rows: usize, noise: f32, own: f32, slope: f32) -> [Vec<f32>; 2] {
    let wave = |at: usize, step: usize| ((at * step % 1009) as f32 / 504.5 - 1.0) * 1.7;
    let row = |at: usize| {
        let x = [wave(at, 37), wave(at, 101)];
        let a = 1.0 + slope * at as f32 / rows as f32;
        let rest = |common, other| noise * ((1.0 - own).sqrt() * wave(at, common) + own.sqrt() * wave(at, other));
        [x, [a * x[0] - x[1] + rest(641, 643), x[0] + x[1] + rest(811, 823)]]
    };
    [0, 1].map(|side| (0..rows).flat_map(|at| row(at)[side]).collect())
}

fn captured(path: &Path, [x, y]: &[Vec<f32>; 2]) {
    let rows = x.len() / 2;
    fs::write(path, safetensors(&[f32s("x", &[rows, 2], x), f32s("y", &[rows, 2], y)])).expect("a file");
}

#[test]
fn captured_rows_in_interleaved_folds_are_the_rows_with_their_windows_dealt() {
    let folder = folder("rows");
    let windows = 50;
    let rows = planted(windows * WINDOW, 0.4, 0.0, 2.0);
    let (given, turned) = (folder.join("rows.safetensors"), folder.join("dealt.safetensors"));
    captured(&given, &rows);
    captured(&turned, &rows.each_ref().map(|values| reordered(values, 2 * WINDOW, &dealt(windows))));
    let fitted = |file: &Path, more: &[&str]| {
        let blocks = blocks(&[&["fit", text(file)], more].concat(), &folder.join("report.json"));
        blocks[0]["r2_folds"].clone()
    };
    let interleaved = fitted(&given, &["--interleaved-folds"]);
    assert_eq!(interleaved, fitted(&turned, &[]));
    let spread = |folds: &Value| {
        let folds: Vec<f64> = folds.as_array().expect("folds").iter().map(|r2| r2.as_f64().expect("R²")).collect();
        folds.iter().copied().fold(f64::MIN, f64::max) - folds.iter().copied().fold(f64::MAX, f64::min)
    };
    let contiguous = fitted(&given, &[]);
    assert!(spread(&contiguous) > 3.0 * spread(&interleaved), "the slope drifts: {contiguous}, {interleaved}");
}

#[test]
fn a_planted_difference_of_a_hundredth_differs_and_one_of_a_half_thousandth_does_not() {
    let folder = folder("pairs");
    let report = |name: &str, noise: f32, own: f32| {
        let (rows, out) = (folder.join(format!("{name}.safetensors")), folder.join(format!("{name}.json")));
        captured(&rows, &planted(100 * WINDOW, noise, own, 0.0));
        let block = blocks(&["fit", text(&rows)], &out)[0].clone();
        assert!(block["influence"]["r2_lin"].as_array().is_some_and(|influence| influence.len() == 20), "{block}");
        (out, block["r2_lin"].as_f64().expect("R²"))
    };
    // R² is 1 − noise²·v/(2v + noise²·v) for inputs and noise of variance v.
    let noise = |r2: f64| (2.0 * (1.0 / r2 - 1.0)).sqrt() as f32;
    let (base, r2) = report("base", noise(0.9), 0.0);
    let (near, r2_near) = report("near", noise(0.8995), 0.01);
    let (far, r2_far) = report("far", noise(0.89), 0.01);
    assert!((r2 - r2_near - 0.0005).abs() < 0.0015 && (r2 - r2_far - 0.01).abs() < 0.002, "{r2} {r2_near} {r2_far}");
    // Different files are different texts; the same windows are claimed by hash.
    let claimed = |path: &Path| {
        let mut report: Value = serde_json::from_slice(&fs::read(path).expect("a report")).expect("JSON");
        report["corpus"]["sha256"] = "0".repeat(64).into();
        fs::write(path, report.to_string()).expect("a report");
    };
    let judged = |other: &Path| {
        let output = run(&["compare", text(&base), text(other)]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        said.lines().find(|line| line.starts_with("R²_lin of block 0")).map(String::from)
    };
    assert_eq!(judged(&far), None, "other texts have no pairs of windows");
    [&base, &near, &far].into_iter().for_each(|path| claimed(path));
    let (far, near) = (judged(&far).expect("a judgement"), judged(&near).expect("a judgement"));
    assert!(far.ends_with(", differs"), "{far}");
    assert!(near.ends_with(", does not differ here"), "{near}");
}

#[test]
fn every_quantity_with_influences_is_judged_on_the_same_windows() {
    let folder = folder("quantities");
    let windows = 12 * FOLDS;
    let ids: Vec<u32> = (0..windows * WINDOW).map(|at| ((at * at / 7 + 3 * at) % 401) as u32).collect();
    let (tokens, model) = (folder.join("ids.json"), common::fixture("tiny-gpt2"));
    fs::write(&tokens, json!(ids).to_string()).expect("a file");
    let (first, second) = (folder.join("first.json"), folder.join("second.json"));
    let args = ["measure", text(&model), "--tokens", text(&tokens), "--seq-len", "32", "--measures", "fit,swap,layers"];
    let known = blocks(&args, &first)[1]["influence"].as_object().expect("influences").clone();
    let mut report: Value = serde_json::from_slice(&fs::read(&first).expect("a report")).expect("JSON");
    // By the same in every window, so that no interval of a difference contains 0; large losses by more than rounding.
    let block = &mut report["blocks"][1];
    let raise = |value: &mut Value| {
        let known = value.as_f64().expect("a number");
        *value = (known + 0.25 * known.abs().max(1.0)).into();
    };
    ["r2_lin", "r2_lin_scalar", "cosine"].into_iter().for_each(|name| raise(&mut block[name]));
    block["delta_ppl"].as_object_mut().expect("losses").values_mut().for_each(raise);
    let layer = &mut report["layers"][2];
    raise(&mut layer["linearity_heldout"]);
    layer["delta_ppl"].as_object_mut().expect("losses").values_mut().for_each(raise);
    layer["properties"].as_object_mut().expect("scores").values_mut().for_each(|score| raise(&mut score["accuracy"]));
    let of_layer = layer["influence"].as_object().expect("influences").len();
    fs::write(&second, report.to_string()).expect("a report");
    let judged = || {
        let output = run(&["compare", text(&first), text(&second)]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        said.lines().filter(|line| line.contains(": b - a = ")).map(String::from).collect::<Vec<_>>()
    };
    let labels = [
        ("cosine", "Cosine"),
        ("delta_ppl_linear", "ΔPPL linear"),
        ("delta_ppl_mean", "ΔPPL mean"),
        ("delta_ppl_zero", "ΔPPL zero"),
        ("r2_lin", "R²_lin"),
        ("r2_lin_scalar", "R² scalar"),
    ];
    assert_eq!(known.keys().map(String::as_str).collect::<Vec<_>>(), labels.map(|(name, _)| name));
    let (lines, layers): (Vec<_>, Vec<_>) = judged().into_iter().partition(|line| line.contains(" of block "));
    assert_eq!(lines.len(), labels.len(), "what is alike is not listed: {lines:?}");
    let is_judged = |line: &String| line.contains(" of layer 2: b - a = +") && line.ends_with(", differs");
    assert!(of_layer >= 5 && layers.len() == of_layer && layers.iter().all(is_judged), "{of_layer}: {layers:?}");
    for label in ["layer linearity, held out", "ΔPPL removed", "ΔPPL linear", "position read out"] {
        assert!(layers.iter().any(|line| line.starts_with(label)), "{label}: {layers:?}");
    }
    for ((_, label), line) in labels.into_iter().zip(&lines) {
        assert!(line.starts_with(&format!("{label} of block 1: b - a = +")) && line.ends_with(", differs"), "{line}");
    }
    report["protocol"]["seq_len"] = 16.into();
    fs::write(&second, report.to_string()).expect("a report");
    assert_eq!(judged(), [""; 0], "other windows");
}
