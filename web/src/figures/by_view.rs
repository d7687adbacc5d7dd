//! The figures of each view.

use straightedge_api::report::Report;

use super::figure::Figure;
use super::{baseline, controls, detail, healing, layers, losses, probes, ranks, regimes};
use crate::state::views::View;

/// The charts of a view; empty if nothing of it was measured. `block` is the chosen block, if any.
pub fn figures(view: View, report: &Report, block: Option<usize>) -> Vec<Figure> {
    let figures = match view {
        View::Profile | View::Compare | View::Continuation => Vec::new(),
        View::Block => detail::figures(report, block),
        View::Losses => losses::figures(report),
        View::Regimes => regimes::figures(report),
        View::Ranks => ranks::figures(report, block),
        View::Probes => probes::figures(report, block),
        View::Baseline => baseline::figures(report, block),
        View::Controls => controls::figures(report),
        View::Layers => layers::figures(report),
        View::Healing => healing::figures(report, block),
    };
    figures.into_iter().flatten().collect()
}
