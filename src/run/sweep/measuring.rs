//! What measures the blocks of a sweep, and what has been measured.

use super::forks::Forks;
use super::state::{BlockMeasures, KeepPolicy, MeasuredBlock};
use crate::backend::Backend;
use crate::run::measures::LayerMeasure;

/// What measures, and what has been measured.
pub(super) struct Measuring<'s, 'a, B: Backend> {
    pub(super) measures: BlockMeasures<'a, B>,
    pub(super) layers: Option<LayerMeasure<'a, B>>,
    pub(super) forks: Forks<'s, 'a, B>,
    pub(super) swept: Vec<MeasuredBlock>,
}

impl<B: Backend> Measuring<'_, '_, B> {
    pub(super) fn keeps(&self) -> KeepPolicy {
        let Self { measures, layers, forks, .. } = self;
        KeepPolicy {
            all_rows: measures.iter().any(|measure| measure.needs_all_rows()),
            weights: forks.are_wanted() || measures.iter().any(|measure| measure.needs_weights()),
            layers: layers.is_some(),
            forks: forks.are_wanted(),
        }
    }
}
