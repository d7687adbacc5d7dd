//! A model and the text it reads.

use super::rows::Reading;
use super::store::RowStore;
use crate::backend::Backend;
use crate::forward::Layers;
use crate::model::Checkpoint;

/// A model and the text it reads.
pub(in crate::run) struct Source<'a, B: Backend> {
    pub(in crate::run) store: &'a RowStore<'a, B>,
    pub(in crate::run) checkpoint: &'a Checkpoint<'a>,
    pub(in crate::run) layers: &'a Layers<'a, B>,
    pub(in crate::run) reading: &'a Reading<'a>,
}

impl<B: Backend> Clone for Source<'_, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<B: Backend> Copy for Source<'_, B> {}
