//! Memory stays constant in the number of rows, if row memory is limited.
#![cfg(target_os = "linux")]

mod common;

use std::path::Path;
use std::process::Command;

use straightedge::report::Report;

/// Peak memory of a measurement of `rows` rows in a separate process, and the rows of its report.
fn peak(model: &Path, text: &Path, rows: usize) -> (u64, usize) {
    let output = Command::new(env!("CARGO_BIN_EXE_straightedge"))
        .args(["measure".as_ref(), model.as_os_str(), "--text".as_ref(), text.as_os_str()])
        .args(["--backend", "cpu", "--folds", "2", "--rows", &rows.to_string(), "--row-memory", "1", "--out", "-"])
        .output()
        .expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report = Report::from_json("report", &String::from_utf8_lossy(&output.stdout)).expect("a report");
    let rows = report.protocol.train_rows + report.protocol.heldout_rows;
    (report.peak_memory.expect("Linux tells"), rows)
}

#[test]
fn four_times_the_rows_need_no_more_memory() {
    // Five blocks of width 128: the rows themselves would be 20 MB at first and 79 MB in the end. Folds hold more than
    // one batch in either case. Thread scheduling varies the result by a megabyte or two: the better of two runs
    // counts.
    let (model, text) = (common::fixture("char-llama"), common::tales());
    let better = |rows| peak(&model, &text, rows).min(peak(&model, &text, rows));
    let ((once, few), (four_times, many)) = (better(3_840), better(15_360));
    assert_eq!((few, many), (3_840, 15_360), "the text is long enough");
    assert!(four_times as f64 <= 1.1 * once as f64, "{once} bytes at first, {four_times} with four times the rows");
}
