//! `show`: a report as a table for people.

use std::collections::BTreeMap;
use std::fmt::Write;

use straightedge::report::{BlockReport, LayerReport, Report};

/// Heading and values of a column.
type Column<R> = (&'static str, fn(&R) -> String);

const BLOCK_COLUMNS: [Column<BlockReport>; 11] = [
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

const SWAP_COLUMNS: [Column<BlockReport>; 4] = [
    ("block", |block| block.block.to_string()),
    ("Δppl linear", |block| swapped(&block.delta_ppl, "linear")),
    ("Δppl mean", |block| swapped(&block.delta_ppl, "mean")),
    ("Δppl zero", |block| swapped(&block.delta_ppl, "zero")),
];

const LAYER_COLUMNS: [Column<LayerReport>; 7] = [
    ("layer", |layer| layer.layer.to_string()),
    ("linearity", |layer| fixed(layer.linearity)),
    ("held out", |layer| fixed(layer.linearity_heldout)),
    ("no residual", |layer| fixed(layer.linearity_no_residual)),
    ("update/norm", |layer| fixed(layer.update_norm_ratio)),
    ("Δppl removed", |layer| swapped(&layer.delta_ppl, "removed")),
    ("Δppl linear", |layer| swapped(&layer.delta_ppl, "linear")),
];

/// The whole report as text.
pub(super) fn table(report: &Report) -> String {
    let mut text = heading(report);
    text += &grid(&BLOCK_COLUMNS, &report.blocks);
    if let Some(ppl) = report.ppl {
        let _ = writeln!(text, "\nperplexity {ppl:.4}");
        text += &grid(&SWAP_COLUMNS, &report.blocks);
    }
    if !report.layers.is_empty() {
        text += "\n";
        text += &grid(&LAYER_COLUMNS, &report.layers);
    }
    for warning in &report.warnings {
        let _ = writeln!(text, "{}: {}", warning.code, warning.text);
    }
    text
}

/// Right-aligned columns under their headings.
fn grid<R>(columns: &[Column<R>], rows: &[R]) -> String {
    let heading: Vec<String> = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
    let rows = rows.iter().map(|row| columns.iter().map(|(_, of)| of(row)).collect::<Vec<String>>());
    let lines: Vec<Vec<String>> = std::iter::once(heading).chain(rows).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let align = |line: &Vec<String>| {
        let cells: Vec<String> = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
        cells.join("  ") + "\n"
    };
    lines.iter().map(align).collect()
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

fn swapped(delta_ppl: &BTreeMap<String, Option<f64>>, name: &str) -> String {
    delta_ppl.get(name).copied().flatten().map_or_else(|| "–".into(), |delta| format!("{delta:+.4}"))
}

fn scientific(value: Option<f64>) -> String {
    value.map_or_else(|| "–".into(), |value| format!("{value:.3e}"))
}
