//! `show`: a report as a table for people.

use std::fmt::Write;

use straightedge::report::{BlockReport, Report};

/// Heading and value of a column.
type Column = (&'static str, fn(&BlockReport) -> String);

const COLUMNS: [Column; 11] = [
    ("block", |block| block.block.to_string()),
    ("r2_lin", |block| fixed(block.r2_lin)),
    ("± folds", |block| fixed(block.r2_cv_std)),
    ("scalar", |block| fixed(block.r2_lin_scalar)),
    ("median", |block| fixed(block.r2_feature_median)),
    ("rank", |block| block.rank.to_string()),
    ("eff. rank", |block| block.effective_rank.map_or_else(|| "–".into(), |rank| rank.to_string())),
    ("scaled cond.", |block| scientific(block.scaled_condition)),
    ("cosine", |block| fixed(block.cosine)),
    ("rmse", |block| scientific(block.rmse)),
    ("var. ratio", |block| scientific(block.output_variance_ratio)),
];

/// The whole report as text.
pub(super) fn table(report: &Report) -> String {
    let mut text = heading(report);
    let rows: Vec<Vec<String>> =
        report.blocks.iter().map(|block| COLUMNS.iter().map(|(_, of)| of(block)).collect()).collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([COLUMNS[column].0.chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..COLUMNS.len()).map(width).collect();
    let mut line = |cells: Vec<&str>| {
        let cells: Vec<String> = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
        text += &format!("{}\n", cells.join("  "));
    };
    line(COLUMNS.iter().map(|(name, _)| *name).collect());
    rows.iter().for_each(|row| line(row.iter().map(String::as_str).collect()));
    for warning in &report.warnings {
        let _ = writeln!(text, "{}: {}", warning.code, warning.text);
    }
    text
}

fn heading(report: &Report) -> String {
    let (model, protocol, device) = (&report.model, &report.protocol, &report.device);
    let mut text = format!("{} ({}, d {}) on {}", model.id, model.architecture, model.hidden_size, report.corpus.id);
    let _ = write!(text, "\n{} training rows, {} held out", protocol.train_rows, protocol.heldout_rows);
    let _ = write!(text, "; windows of {}, {} folds", protocol.seq_len, protocol.folds);
    if protocol.skip_positions > 0 {
        let _ = write!(text, ", first {} positions left out", protocol.skip_positions);
    }
    let adapter = device.adapter.as_deref().unwrap_or("unknown adapter");
    let _ = writeln!(text, "\n{} ({adapter}), {:.1} s", device.backend, report.seconds.total);
    if report.partial {
        text += "PARTIAL: the measurement stopped before its end\n";
    }
    text
}

fn fixed(value: Option<f64>) -> String {
    value.map_or_else(|| "–".into(), |value| format!("{value:.6}"))
}

fn scientific(value: Option<f64>) -> String {
    value.map_or_else(|| "–".into(), |value| format!("{value:.3e}"))
}
