//! A report is the same to the byte, apart from times, over repeats and with any number of threads.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::synthetic::{f32s, safetensors};
use straightedge::platform::random::Random;

/// Lists of times.
const LISTS: [&str; 2] = ["\"seconds\": {", "\"row_microseconds\": {"];
/// Values that hold a time or the peak of memory.
const VALUES: [&str; 2] = ["\"date\": ", "\"peak_memory\": "];

fn temporary(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("determinism-{name}"))
}

fn text(path: &Path) -> String {
    path.to_str().expect("UTF-8").to_owned()
}

/// The report of a process with so many threads.
fn report(args: &[&str], threads: usize, name: &str) -> String {
    let out = temporary(&format!("{name}.json"));
    let output = Command::new(env!("CARGO_BIN_EXE_straightedge"))
        .args(args)
        .args(["--backend", "cpu", "--probe-steps", "20", "--baseline-steps", "10", "--heal-steps", "2"])
        .args(["--out", &text(&out)])
        .env("RAYON_NUM_THREADS", threads.to_string())
        .output()
        .expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read_to_string(out).expect("a report")
}

/// A report as it was written, but for the values that hold a time, a date or the peak of memory.
fn timeless(report: &str) -> String {
    let mut list_end = None;
    let line = |line: &str| {
        let value = line.trim_start();
        let indent = &line[..line.len() - value.len()];
        if list_end.as_ref().is_some_and(|end| line.starts_with(end)) {
            list_end = None;
        }
        let (name, value) = line.split_once(": ").unwrap_or((line, ""));
        let is_time = list_end.is_some() || VALUES.iter().any(|name| line.trim_start().starts_with(name));
        if LISTS.contains(&line.trim()) {
            list_end = Some(format!("{indent}}}"));
        }
        if is_time { format!("{name}: {}", if value.ends_with(',') { "," } else { "" }) } else { line.to_owned() }
    };
    report.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// Compares the reports of repeats and numbers of threads.
fn repeat(args: &[&str], name: &str) -> String {
    let first = timeless(&report(args, 1, &format!("{name}-first")));
    for (threads, which) in [(1, "again"), (2, "two"), (8, "eight"), (8, "eight-again")] {
        let other = timeless(&report(args, threads, &format!("{name}-{which}")));
        let differing = first.lines().zip(other.lines()).find(|(one, other)| one != other);
        assert!(first == other, "{name}, {which}: {differing:?}");
    }
    first
}

#[test]
fn repeats_and_threads_give_the_same_bytes() {
    let (model, texts) = (text(&common::fixture("tiny-gpt2")), text(&common::encyclopedia()));
    let args = ["measure", &model, "--text", &texts, "--rows", "1280", "--seq-len", "64", "--measures", "all"];
    let found = repeat(&args, "measure");
    assert!(found.contains("\"r2_lin\": 0.") && found.contains("\"conjunction") && found.len() > 5000, "{found}");
}

#[test]
fn repeats_and_threads_give_the_same_bytes_for_captured_rows() {
    let (n, d) = (1280, 24);
    let mut random = Random::new(5);
    let x: Vec<f32> = (0..n * d).map(|_| random.normal() as f32).collect();
    let y: Vec<f32> = x.iter().zip(x.iter().skip(1).chain(&x)).map(|(one, next)| one.max(0.0) - 0.3 * next).collect();
    let rows = temporary("rows.safetensors");
    std::fs::write(&rows, safetensors(&[f32s("x", &[n, d], &x), f32s("y", &[n, d], &y)])).expect("a file");
    let measures = "fit,probes,further-probes,degrees,baseline";
    let found = repeat(&["fit", &text(&rows), "--measures", measures], "fit");
    assert!(found.contains("\"r2_lin\": 0.") && found.contains("\"poly\"") && found.len() > 2000, "{found}");
}

#[test]
fn only_times_are_left_out_of_a_comparison() {
    let report = "{\n  \"date\": \"now\",\n  \"seconds\": {\n    \"a\": 1.5,\n    \"b\": 2\n  },\n  \"r2\": 0.5\n}\n";
    let other = report.replace("now", "then").replace("1.5", "7").replace(": 2", ": null");
    assert_eq!(timeless(report), timeless(&other));
    let changes = [("0.5", "0.6"), ("    \"a\"", "  \"a\""), ("\"a\"", "\"c\""), ("2\n", "2,\n"), ("}\n", "}")];
    for (from, to) in changes {
        assert_ne!(timeless(report), timeless(&report.replace(from, to)), "{from}");
    }
}
