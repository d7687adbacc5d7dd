//! Several seeds: what is random is repeated as if each seed had been asked for alone.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

const FIRST: u64 = 7;
const DRAWN: [&str; 4] = ["shuffled", "reinit_block", "reinit_model", "gaussian"];

fn straightedge(args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_straightedge")).args(args).output().expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The report of a measurement of two blocks, and its table.
fn measured(seed: u64, more: &[&str]) -> (Value, String) {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("seeds-{seed}{}.json", more.concat()));
    let (model, text) = (common::fixture("tiny-gpt2"), common::encyclopedia());
    let paths = [&model, &text, &out].map(|path| path.to_str().expect("UTF-8").to_owned());
    let seed = seed.to_string();
    let args = ["measure", &paths[0], "--text", &paths[1], "--out", &paths[2], "--seed", &seed, "--rows", "2560"];
    let how = ["--backend", "cpu", "--blocks", "1-2", "--measures", "fit,probes,controls", "--probe-steps", "60"];
    straightedge(&[&args[..], &how, more].concat());
    let report = serde_json::from_slice(&fs::read(&out).expect("a report")).expect("JSON");
    (report, straightedge(&["show", &paths[2]]))
}

#[test]
fn several_seeds_give_what_each_of_them_gives_alone() {
    let (several, table) = measured(FIRST, &["--seeds", "3"]);
    let alone: Vec<Value> = (FIRST..FIRST + 3).map(|seed| measured(seed, &[]).0).collect();
    let mut names = DRAWN.map(|name| (format!("r2_lin_{name}"), format!("/controls/{name}/r2_lin"))).to_vec();
    names.extend(["poly", "dense2x", "poly2x"].map(|name| (format!("gain_{name}"), format!("/probes/{name}/gain"))));
    for block in 0..2 {
        let of = |report: &Value, path: &str| {
            let value = report.pointer(&format!("/blocks/{block}{path}")).and_then(Value::as_f64);
            value.unwrap_or_else(|| panic!("block {block}{path}"))
        };
        let seeds = several["blocks"][block]["seeds"].as_object().expect("seeds");
        assert_eq!(seeds.len(), names.len(), "{seeds:?}");
        for (name, path) in &names {
            let found: Vec<f64> = seeds[name].as_array().expect("a list").iter().filter_map(Value::as_f64).collect();
            let expected: Vec<f64> = alone.iter().map(|report| of(report, path)).collect();
            assert_eq!(found, expected, "block {block}, {name}");
            assert!(expected[0] != expected[1] && expected[1] != expected[2], "{name}: {expected:?}");
            let mean = found.iter().sum::<f64>() / 3.0;
            let deviation = (found.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 2.0).sqrt();
            assert!(table.contains(&format!("(sd {deviation:.4})")), "{name}: {deviation}\n{table}");
        }
        // All other numbers are of the first seed.
        let mut first = several["blocks"][block].clone();
        first.as_object_mut().expect("a block").remove("seeds");
        assert_eq!(first, alone[0]["blocks"][block]);
    }
    assert_eq!(several["ordered"]["training"]["seeds"], 3);
    assert!(table.contains("over 3 seeds"), "{table}");
    assert!(alone[0]["ordered"]["training"].get("seeds").is_none(), "one seed is not written");
}
