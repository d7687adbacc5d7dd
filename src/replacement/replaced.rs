//! What stands in the place of a network, or of a whole layer.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::device_map::DeviceMap;
use super::swap::Replacement;

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
