//! The block that a view of one block shows, and the curves the view needs.

use straightedge_api::baseline::BaselineTraining;
use straightedge_api::probes;
use straightedge_api::report::{BlockReport, Report};

use crate::state::views::View;

/// Trained probes, by their names in the report.
pub(super) fn probe_names() -> impl Iterator<Item = &'static str> {
    probes::NAMES.into_iter().chain(probes::FURTHER)
}

/// Curves of fine-tuning after a swap.
pub(super) const HEALED: [&str; 3] = ["heal_linear", "heal_linear_adam", "heal_original"];

/// The block a view shows: the chosen one if it is measured, else the first or the last one with the view's curves.
pub fn shown_block(view: View, report: &Report, chosen: Option<usize>) -> Option<usize> {
    let last_block = |has: &dyn Fn(&BlockReport) -> bool| {
        report.blocks.iter().rev().find(|block| has(block)).map(|block| block.block)
    };
    let has_curve = |names: &[&str]| last_block(&|block| names.iter().any(|name| block.curves.contains_key(*name)));
    let fallback = match view {
        View::Block | View::Ranks => report.blocks.first().map(|block| block.block),
        View::Probes => {
            has_curve(&probe_names().collect::<Vec<_>>()).or_else(|| last_block(&|block| !block.degrees.is_empty()))
        }
        View::Baseline => has_curve(&BaselineTraining::ALL.map(BaselineTraining::name)),
        View::Healing => has_curve(&HEALED),
        _ => return None,
    };
    chosen.filter(|block| report.blocks.iter().any(|known| known.block == *block)).or(fallback)
}
