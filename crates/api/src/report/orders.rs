//! Names of the orders in which blocks or layers are replaced one after another.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

use super::OrderStep;

/// Networks by their maps, in ascending order of what each costs alone.
pub const BY_COST: &str = "by_cost";
/// Networks by their maps; after every step the cheapest one left is chosen anew.
pub const GREEDY: &str = "greedy";
/// The same, by maps that are fitted again after every step, on the rows of the model with the steps before.
pub const GREEDY_REFITTED: &str = "greedy_refitted";
/// Whole layers removed, the cheapest one left at every step.
pub const LAYERS_REMOVED: &str = "layers_removed";
/// Whole layers by affine maps, which are fitted again after every step.
pub const LAYERS_LINEAR: &str = "layers_linear";

/// The orders whose first half is healed together.
pub const HEALED: [&str; 2] = [GREEDY_REFITTED, LAYERS_LINEAR];

/// Orders in a report: by name, or in reports of earlier versions a list, which was [`BY_COST`].
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    ByName(BTreeMap<String, Vec<OrderStep>>),
    ByCost(Vec<OrderStep>),
}

/// Reads both forms.
pub(super) fn read<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, Vec<OrderStep>>, D::Error> {
    Ok(match Written::deserialize(from)? {
        Written::ByName(orders) => orders,
        Written::ByCost(steps) if steps.is_empty() => BTreeMap::new(),
        Written::ByCost(steps) => BTreeMap::from([(BY_COST.to_owned(), steps)]),
    })
}
