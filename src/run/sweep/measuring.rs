//! The measures of a sweep and their results so far.

use super::forks::Forks;
use super::layers::LayerMeasure;
use super::state::{BlockMeasures, KeepPolicy, MeasuredBlock};
use crate::backend::Backend;

/// The measures of a sweep and their results so far.
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
