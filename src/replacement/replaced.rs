//! What stands in the place of a network, or of a whole layer, and the residual stream that passes it.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::device_map::DeviceMap;
use super::swap::Replacement;
use crate::backend::Backend;
use crate::error::Result;
use crate::forward::{Forward, Layers};
use crate::model::Block;

/// One replaced part of a model.
#[derive(Clone, Debug)]
pub enum Replaced<T> {
    /// The feed-forward network of a block.
    Network(Replacement<T>),
    /// A whole layer.
    Layer(Replacement<T>),
    /// A layer that passes its rows on unchanged.
    Removed,
}

/// The replaced parts of a model, by block.
pub type ReplacedParts<T> = BTreeMap<usize, Rc<Replaced<T>>>;

impl<T: Clone> Replaced<T> {
    /// The residual stream after `block`, whose network, or which as a whole, is replaced; `hidden` enters it.
    pub fn through<B: Backend<Tensor = T>>(&self, layers: &Layers<'_, B>, block: &Block<T>, hidden: &T) -> Result<T> {
        let backend = layers.backend();
        match self {
            Self::Network(replacement) => {
                let entered = layers.enter(block, hidden)?;
                layers.leave(block, &entered.rest, &replacement.apply(backend, &entered.ffn_in)?)
            }
            Self::Layer(replacement) => replacement.apply(backend, hidden),
            Self::Removed => Ok(hidden.clone()),
        }
    }

    /// Its affine map, if that is what it is.
    pub fn map(&self) -> Option<&DeviceMap<T>> {
        match self {
            Self::Network(Replacement::Affine(map)) | Self::Layer(Replacement::Affine(map)) => Some(map),
            _ => None,
        }
    }

    /// The same part with another map.
    #[must_use]
    pub fn with_map<U>(&self, map: DeviceMap<U>) -> Replaced<U> {
        match self {
            Self::Network(_) => Replaced::Network(Replacement::Affine(map)),
            Self::Layer(_) | Self::Removed => Replaced::Layer(Replacement::Affine(map)),
        }
    }
}

/// The residual streams after all blocks from `first` on, in a model with replaced `parts`; `hidden` enters that block.
pub fn streams<B: Backend>(
    forward: &Forward<'_, B>,
    first: usize,
    hidden: B::Tensor,
    parts: &ReplacedParts<B::Tensor>,
) -> Result<Vec<B::Tensor>> {
    let mut streams = vec![hidden];
    for (index, block) in forward.blocks().iter().enumerate().skip(first) {
        let before = &streams[streams.len() - 1];
        let after = match parts.get(&index) {
            Some(part) => part.through(forward.layers(), block, before)?,
            None => forward.layers().pass(block, before)?.next,
        };
        streams.push(after);
    }
    Ok(streams.split_off(1))
}
