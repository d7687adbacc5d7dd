//! `show` prints reports of any origin.

mod common;

use std::path::Path;
use std::process::Command;

#[test]
fn a_report_with_endless_names_is_shown() {
    let report = common::fixture("before/report.json");
    let mut report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(report).expect("a report")).expect("JSON");
    let name = "\u{202e}".repeat(10_000) + &"x".repeat(70_000);
    report["blocks"][0]["delta_ppl"][&name] = 1.0.into();
    report["blocks"][0]["probes"][&name] = serde_json::json!({ "r2": 0.5, "gain": 0.1, "steps": 3, "parameters": 8 });
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("endless-names.json");
    std::fs::write(&path, report.to_string()).expect("a file");
    let output =
        Command::new(env!("CARGO_BIN_EXE_straightedge")).arg("show").arg(&path).output().expect("the program runs");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let stdout = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(stdout.contains("\\u{202e}") && stdout.lines().all(|line| line.chars().count() < 2000), "{stdout}");
}
