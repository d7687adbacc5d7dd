//! A model without some of its layers, in the family's own layout: the new names of the tensors that stay, and the new
//! configuration (depth pruning, docs/measures.md, section 7).

use serde_json::{Map, Value, json};

use crate::error::{Error, Result};
use crate::model::{self, LocalAttention, ModelConfig, ModelParts};
use crate::weights::Weights;

/// Fields of config.json that count the layers.
const COUNTS: [&str; 4] = ["num_hidden_layers", "n_layer", "num_layers", "n_layers"];
/// Fields of config.json with one entry for every layer.
const LISTS: [&str; 2] = ["layer_types", "attention_layers"];

/// The layers that stay.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptLayers {
    /// What names of a layer's tensors begin with, before its number.
    prefix: String,
    /// New number of every layer; `None` if it is left out.
    numbers: Vec<Option<usize>>,
}

impl KeptLayers {
    /// All layers of a model but `removed`.
    ///
    /// # Errors
    /// If no layer would stay, or if the arithmetic of a layer depends on its number.
    pub fn new(config: &ModelConfig, weights: &Weights, removed: &[usize]) -> Result<Self> {
        let count = config.num_hidden_layers;
        if config.scale_by_layer && !removed.is_empty() {
            return Err(bound_to_number("scale_attn_by_inverse_layer_idx", "true"));
        }
        let mut next = 0..;
        let numbers: Vec<_> =
            (0..count).map(|layer| if removed.contains(&layer) { None } else { next.next() }).collect();
        if numbers.iter().all(Option::is_none) {
            let hint = "leave at least one of them".into();
            return Err(Error::InvalidSetting { field: "--remove-layers".into(), value: "all layers".into(), hint });
        }
        let model = model::stored(config, weights, ModelParts::Body)?;
        let first = model.blocks.first().map(|block| block.ffn.up.weight.name()).unwrap_or_default();
        let prefix = match first.find(".0.") {
            Some(at) => first[..=at].to_owned(),
            None => String::new(),
        };
        Ok(Self { prefix, numbers })
    }

    /// The new name of a stored tensor; `None` if it belongs to a layer that is left out. Without a layer left out, all
    /// tensors stay, also those of layers that `config.json` does not count.
    pub fn name(&self, stored: &str) -> Option<String> {
        if self.numbers.iter().all(Option::is_some) {
            return Some(stored.into());
        }
        let Some((number, rest)) = stored.strip_prefix(&self.prefix).and_then(|rest| rest.split_once('.')) else {
            return Some(stored.into());
        };
        match number.parse::<usize>() {
            Ok(layer) => Some(format!("{}{}.{rest}", self.prefix, self.numbers.get(layer).copied().flatten()?)),
            Err(_) => Some(stored.into()),
        }
    }

    /// The new `config.json`, given that of the whole model.
    ///
    /// # Errors
    /// If the configuration cannot describe every remaining layer as it was, such as which layers have local attention.
    pub fn config(&self, json: &str) -> Result<String> {
        let malformed = |why: String| Error::MalformedJson { file: "config.json".into(), why };
        let mut fields: Map<String, Value> =
            serde_json::from_str(json).map_err(|error| malformed(error.to_string()))?;
        let whole = ModelConfig::from_json(json)?;
        let count = self.numbers.iter().flatten().count();
        for (field, value) in fields.iter_mut() {
            match value {
                _ if COUNTS.contains(&field.as_str()) => *value = json!(count),
                Value::Array(list) if LISTS.contains(&field.as_str()) => *list = self.of_each(list),
                _ => {}
            }
        }
        if let (Some(local), Some(types)) = (&whole.local, fields.get_mut("attention_types")) {
            let kinds =
                self.of_each(&local.layers).into_iter().map(|is_local| if is_local { "local" } else { "global" });
            *types = json!([[kinds.collect::<Vec<_>>(), 1]]);
        }
        let text = serde_json::to_string_pretty(&fields).map_err(|error| malformed(error.to_string()))? + "\n";
        let local =
            whole.local.as_ref().map(|local| LocalAttention { layers: self.of_each(&local.layers), ..local.clone() });
        let expected = ModelConfig { num_hidden_layers: count, local, ..whole };
        match without_local_attention(ModelConfig::from_json(&text)?) == without_local_attention(expected) {
            true => Ok(text),
            false => Err(bound_to_number("num_hidden_layers", &count.to_string())),
        }
    }

    /// The entries of the layers that stay.
    fn of_each<T: Clone>(&self, all: &[T]) -> Vec<T> {
        let kept = all.iter().zip(&self.numbers).filter(|(_, number)| number.is_some());
        kept.map(|(value, _)| value.clone()).collect()
    }
}

/// Drops the settings of local attention if no layer has it.
fn without_local_attention(config: ModelConfig) -> ModelConfig {
    let local = config.local.clone().filter(|local| local.layers.contains(&true));
    ModelConfig { local, ..config }
}

/// A field by which the arithmetic of a layer follows from its number.
fn bound_to_number(field: &str, value: &str) -> Error {
    let hint = "a layer of this model depends on its number, so none can be left out of an export";
    Error::UnsupportedConfig { field: field.into(), value: value.into(), hint: hint.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_layer_left_out_every_tensor_keeps_its_name() {
        let kept = KeptLayers { prefix: "model.layers.".into(), numbers: vec![Some(0), Some(1)] };
        for name in ["model.layers.1.a", "model.layers.2.a", "model.norm"] {
            assert_eq!(kept.name(name).as_deref(), Some(name));
        }
    }

    #[test]
    fn tensors_of_later_layers_move_up_and_all_others_stay() {
        let kept = KeptLayers { prefix: "model.layers.".into(), numbers: vec![Some(0), None, Some(1)] };
        let names = ["model.layers.0.a", "model.layers.1.a", "model.layers.2.mlp.b", "model.layers.3.a", "model.norm"];
        let found = names.map(|name| kept.name(name));
        let expected = [Some("model.layers.0.a"), None, Some("model.layers.1.mlp.b"), None, Some("model.norm")];
        assert_eq!(found, expected.map(|name| name.map(str::to_owned)));
        let bare = KeptLayers { prefix: String::new(), numbers: vec![None, Some(0)] };
        assert_eq!(bare.name("1.fc.weight").as_deref(), Some("0.fc.weight"));
        assert_eq!(bare.name("norm.weight").as_deref(), Some("norm.weight"));
    }
}
