//! What is trained agrees with PyTorch (tests/reference/make_trained.py): probes, before and after healing, lie among those
//! of eight seeds, and healing of maps and networks, where only the order of windows is random, ends at the same perplexity.

mod common;

use std::process::Command;

use serde_json::Value;
use straightedge::report::Report;

/// Differences of perplexity, relative to the model's.
const TOLERANCE: f64 = 1e-5;

/// Differences between two seeds, of R² and cosine, and of RMSE and perplexity as a share of the map's and the model's.
const SEEDS_APART: f64 = 1e-3;

/// The references, and the report of the same model with some measures.
fn measured(more: &[&str]) -> (Value, Report) {
    let folder = common::fixture("tiny-gpt2");
    let text = std::fs::read_to_string(folder.join("trained.json")).expect("trained.json");
    let expected: Value = serde_json::from_str(&text).expect("JSON");
    let steps = |of: &str| expected[of].to_string();
    let output = Command::new(env!("CARGO_BIN_EXE_straightedge"))
        .args(["measure".as_ref(), folder.as_os_str(), "--text".as_ref(), common::encyclopedia().as_os_str()])
        .args([
            "--backend",
            "cpu",
            "--out",
            "-",
            "--heal-steps",
            &steps("heal_steps"),
            "--probe-steps",
            &steps("probe_steps"),
        ])
        .args(more)
        .output()
        .expect("the program runs");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    let report = Report::from_json("report", &String::from_utf8_lossy(&output.stdout)).expect("a report");
    assert_eq!(report.protocol.rows as u64, expected["rows"].as_u64().expect("rows"));
    (expected, report)
}

/// Not farther from the values of eight seeds than they are from each other, or than seeds often are in units of `scale`.
fn assert_among(what: &str, found: Option<f64>, seeds: &Value, scale: f64) {
    let seeds: Vec<f64> = seeds.as_array().expect("seeds").iter().map(number).collect();
    assert_eq!(seeds.len(), 8, "{what}");
    let (low, high) = seeds.iter().fold((f64::MAX, f64::MIN), |(low, high), &seed| (low.min(seed), high.max(seed)));
    let (found, room) = (found.unwrap_or(f64::NAN), (high - low).max(SEEDS_APART * scale));
    println!("{what}: {found:.6} where PyTorch has {seeds:.6?}");
    assert!(found >= low - room && found <= high + room, "{what}: {found} where PyTorch has {seeds:?}");
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let fields = value.as_object().expect("fields");
    assert!(!fields.is_empty());
    fields.iter()
}

#[test]
fn probes_and_healed_replacements_of_a_block_are_those_of_another_program() {
    let (expected, report) = measured(&["--measures", "probes,further-probes,heal", "--blocks", "1"]);
    let (block, ppl) = (&report.blocks[0], report.ppl.expect("ppl"));
    let rmse = block.rmse.expect("RMSE");
    assert_eq!(block.block as u64, expected["block"].as_u64().expect("a block"));
    assert!(fields(&expected["probes"]).map(|(name, _)| name).eq(block.probes.keys()));
    for (name, seeds) in fields(&expected["probes"]) {
        let probe = &block.probes[name];
        assert_among(&format!("{name}, R²"), probe.r2, &seeds["r2"], 1.0);
        assert_among(&format!("{name}, cosine"), probe.cosine, &seeds["cosine"], 1.0);
        assert_among(&format!("{name}, RMSE"), probe.rmse, &seeds["rmse"], rmse);
    }
    assert!(fields(&expected["heal"]).map(|(name, _)| name).eq(block.heal.keys()));
    for (name, expected) in fields(&expected["heal"]) {
        let found = &block.heal[name];
        if block.probes.contains_key(name) {
            assert_among(&format!("{name}, ΔPPL"), found.delta_ppl_before, &expected["delta_ppl_before"], ppl);
            assert_among(&format!("healed {name}, ΔPPL"), found.delta_ppl, &expected["delta_ppl"], ppl);
        } else {
            common::assert_close(&format!("healed {name}"), found.delta_ppl, number(expected), TOLERANCE * ppl);
        }
    }
}

#[test]
fn what_is_healed_together_is_that_of_another_program() {
    let (expected, report) = measured(&["--measures", "heal-together"]);
    let ppl = report.ppl.expect("ppl");
    for (order, learned) in fields(&expected["healed_together"]) {
        for (objective, expected) in fields(learned) {
            let found = report.healed_together[order].delta_ppl[objective];
            common::assert_close(&format!("{order}, {objective}"), found, number(expected), TOLERANCE * ppl);
        }
    }
}
