//! `compare`: two reports block by block.

use std::collections::BTreeSet;
use std::fmt::Write;

use straightedge::agreement::Agreement;
use straightedge::error::Result;
use straightedge::report::{BlockReport, Report};

use super::output;
use super::status::Status;

/// Prints the largest difference per block and field; different where one exceeds `tolerance` or a value is missing
/// on one side only.
pub(super) fn compare(a: &Report, b: &Report, tolerance: f64) -> Result<Status> {
    let find = |report: &Report, block: usize| report.blocks.iter().find(|found| found.block == block).cloned();
    let blocks: BTreeSet<usize> = a.blocks.iter().chain(&b.blocks).map(|block| block.block).collect();
    let mut text = format!("a: {} on {}\nb: {} on {}\n", a.model.id, a.corpus.id, b.model.id, b.corpus.id);
    let mut different = false;
    for block in blocks {
        match (find(a, block), find(b, block)) {
            (Some(a), Some(b)) => {
                let found = differences(&a, &b);
                let exceeding: Vec<&Difference> = found.iter().filter(|found| !(found.amount <= tolerance)).collect();
                different |= !exceeding.is_empty();
                let largest = found.iter().map(|found| found.amount).fold(0.0, f64::max);
                let _ = writeln!(text, "block {block}: largest difference {largest:.2e}");
                for difference in exceeding {
                    let _ = writeln!(text, "  {} differs: {} against {}", difference.field, difference.a, difference.b);
                }
            }
            (only_a, _) => {
                different = true;
                let _ = writeln!(text, "block {block}: only in {}", if only_a.is_some() { "a" } else { "b" });
            }
        }
    }
    text += &agreement(&Agreement::of_profiles(a, b));
    output::print(&text)?;
    Ok(if different { Status::Different } else { Status::Done })
}

/// How far the two profiles of r2_lin agree as a whole; it has no part in the exit status.
fn agreement(found: &Agreement) -> String {
    let show = |value: Option<f64>| value.map_or_else(|| "–".into(), |value| format!("{value:.6}"));
    let Agreement { pairs, pearson, spearman, mean_shift } = *found;
    let (pearson, spearman, shift) = (show(pearson), show(spearman), show(mean_shift));
    format!("r2_lin of {pairs} blocks: Pearson {pearson}, Spearman {spearman}, mean shift {shift}\n")
}

/// One field of one block in both reports.
struct Difference {
    field: String,
    a: String,
    b: String,
    /// Absolute; infinite where only one side has a value.
    amount: f64,
}

impl Difference {
    fn new(field: impl Into<String>, a: Option<f64>, b: Option<f64>) -> Self {
        let show = |value: Option<f64>| value.map_or_else(|| "none".into(), |value| format!("{value:.9}"));
        let amount = match (a, b) {
            (Some(a), Some(b)) => (a - b).abs(),
            (None, None) => 0.0,
            _ => f64::INFINITY,
        };
        Self { field: field.into(), a: show(a), b: show(b), amount }
    }
}

fn differences(a: &BlockReport, b: &BlockReport) -> Vec<Difference> {
    let mut found = vec![
        Difference::new("r2_lin", a.r2_lin, b.r2_lin),
        Difference::new("r2_lin_scalar", a.r2_lin_scalar, b.r2_lin_scalar),
        Difference::new("r2_feature_median", a.r2_feature_median, b.r2_feature_median),
        Difference::new("cosine", a.cosine, b.cosine),
        Difference::new("rank", Some(a.rank as f64), Some(b.rank as f64)),
        Difference::new("folds", Some(a.r2_folds.len() as f64), Some(b.r2_folds.len() as f64)),
    ];
    let folds = a.r2_folds.iter().zip(&b.r2_folds).enumerate();
    found.extend(folds.map(|(fold, (a, b))| Difference::new(format!("r2_folds[{fold}]"), *a, *b)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_on_one_side_only_is_a_difference() {
        let a = BlockReport { r2_lin: Some(0.5), ..BlockReport::default() };
        let largest = |b: &BlockReport| differences(&a, b).iter().map(|found| found.amount).fold(0.0, f64::max);
        assert_eq!(largest(&a.clone()), 0.0);
        assert_eq!(largest(&BlockReport { r2_lin: None, ..a.clone() }), f64::INFINITY);
        assert_eq!(largest(&BlockReport { r2_lin: Some(0.75), ..a.clone() }), 0.25);
        assert_eq!(largest(&BlockReport { r2_folds: vec![Some(1.0)], ..a.clone() }), 1.0);
    }
}
