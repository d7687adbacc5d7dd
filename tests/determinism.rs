//! A report is the same to the byte, apart from times, over repeats and with any number of threads.

mod common;

use std::path::Path;
use std::process::Command;

/// Reports of the tiny GPT-2 with every measure, by a process with so many threads.
fn measured(threads: usize, name: &str) -> String {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("determinism-{name}.json"));
    let path = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let output = Command::new(env!("CARGO_BIN_EXE_straightedge"))
        .args(["measure", &path(&common::fixture("tiny-gpt2")), "--text", &path(&common::encyclopedia())])
        .args(["--backend", "cpu", "--rows", "1280", "--seq-len", "64", "--measures", "all"])
        .args(["--probe-steps", "20", "--baseline-steps", "10", "--heal-steps", "2", "--out", &path(&out)])
        .env("RAYON_NUM_THREADS", threads.to_string())
        .output()
        .expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read_to_string(out).expect("a report")
}

/// A report as it was written, without the lines and lists that hold a time, a date or the peak of memory.
fn timeless(report: &str) -> String {
    let mut tree: serde_json::Value = serde_json::from_str(report).expect("JSON");
    fn strip(value: &mut serde_json::Value) {
        if let Some(fields) = value.as_object_mut() {
            for name in ["date", "seconds", "peak_memory", "row_microseconds", "measured"] {
                fields.remove(name);
            }
            fields.values_mut().for_each(strip);
        } else if let Some(items) = value.as_array_mut() {
            items.iter_mut().for_each(strip);
        }
    }
    strip(&mut tree);
    serde_json::to_string_pretty(&tree).expect("JSON")
}

#[test]
fn repeats_and_threads_give_the_same_bytes() {
    let first = timeless(&measured(1, "first"));
    assert!(first.contains("\"r2_lin\"") && first.contains("\"conjunction") && first.len() > 5000, "{first}");
    for (threads, name) in [(1, "again"), (2, "two"), (8, "eight"), (8, "eight-again")] {
        let other = timeless(&measured(threads, name));
        let differing = first.lines().zip(other.lines()).find(|(one, other)| one != other);
        assert!(first == other, "{name}: {differing:?}");
    }
}
