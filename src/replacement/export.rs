//! Exports a model with chosen feed-forward networks replaced by their affine maps, in the family's own layout.
//!
//! No layout has a plain linear block, but each can represent one. With z = (x − x̄)/σ the map is ŷ = ȳ + (W ⊙ σ)ᵀz,
//! and - without a gate, act(z) − act(−z) = z holds exactly for both GELUs, SiLU, QuickGELU and ReLU, so that 2·d units
//!   carry z: the up projection holds z and −z, the down projection (W ⊙ σ) and −(W ⊙ σ); - with a gate, d units carry
//! z through the up projection, while a gate of weight 0 and constant bias multiplies   them by a constant, by which
//! the down projection divides.
//!
//! Remaining units are zero. ReLU², tanh and sigmoid without a gate have no such identity and are refused.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::backend::Activation;
use crate::error::{Error, Result};
use crate::event::MapDump;
use crate::model::{self, Architecture, CheckpointTensor, Ffn, Linear, ModelConfig, ModelParts};
use crate::weights::{NewTensor, Weights};

/// The gate's bias. Here every activation is exactly a power of two in f32, by saturation where it saturates, so that
/// dividing by it is exact; F16 and BF16 represent it too.
const GATE: f32 = 32.0;

/// The differences from the original model; everything else is copied.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExportedTensors {
    /// The new `config.json`; `None` if unchanged.
    pub config: Option<String>,
    /// New tensors by their checkpoint names.
    pub tensors: BTreeMap<String, NewTensor>,
}

/// Refuses a model whose layout cannot represent an affine map.
///
/// # Errors
/// [`Error::NotLinearisable`] for an activation without the identity, for too few units, and for a Mistral or Qwen2
/// model that a Llama configuration cannot describe; of the three, only Llama's networks may have biases.
pub fn check(config: &ModelConfig) -> Result<()> {
    let (width, units) = (config.hidden_size, config.intermediate_size);
    let refuse = |what: String, why: String, hint: &str| Err(Error::NotLinearisable { what, why, hint: hint.into() });
    let needed = if carries_itself(config.activation) || config.gated_ffn { width } else { 2 * width };
    if !config.gated_ffn && !carries_itself(config.activation) && !is_odd_difference(config.activation) {
        let why = "act(z) − act(−z) is not z for it, and there is no gate";
        let hint = "use a model with gelu, silu, quick_gelu or relu, or measure the swap without exporting it";
        return refuse(format!("activation {}", config.hidden_act), why.into(), hint);
    }
    if units < needed {
        let why = format!("{needed} units are needed to carry {width} inputs");
        return refuse(format!("intermediate_size {units}"), why, "measure the swap without exporting it");
    }
    if config.gated_ffn && !becomes_llama(config) && config.architecture != Architecture::Llama {
        let why = "its configuration has no biases for the network, and no configuration that has them describes it";
        let hint = "measure the swap without exporting it";
        return refuse(format!("a network of {}", config.architecture), why.into(), hint);
    }
    if becomes_llama(config)
        && config.local.as_ref().is_some_and(|local| local.reach + 1 < config.max_position_embeddings)
    {
        let why = "only Llama's configuration has biases for the network, and it has no sliding window";
        let hint = "use a model whose sliding_window is null or covers max_position_embeddings";
        return refuse(format!("{} with a sliding window", config.architecture), why.into(), hint);
    }
    Ok(())
}

/// The new configuration and tensors of the model that `config_json` describes.
///
/// # Errors
/// Those of [`check`], and a map of another width or with values outside the range of f32.
pub fn export(config_json: &str, config: &ModelConfig, weights: &Weights, maps: &[MapDump]) -> Result<ExportedTensors> {
    check(config)?;
    let model = model::stored(config, weights, ModelParts::Body)?;
    let mut tensors = BTreeMap::new();
    if config.gated_ffn {
        for block in &model.blocks {
            add_zero_biases(&mut tensors, config, &FfnPlace::of(&block.ffn), &block.attention.o);
        }
    }
    for map in maps {
        let linear = LinearBlock::new(config, map)?;
        linear.write(&mut tensors, config, &FfnPlace::of(&model.blocks[map.block].ffn));
    }
    for (name, tensor) in &tensors {
        if let Some(index) = tensor.values.iter().position(|value| !value.is_finite()) {
            let why = format!("element {index} of its map leaves the range of f32");
            let hint = "measure the swap without exporting it".into();
            return Err(Error::NotLinearisable { what: format!("tensor {name}"), why, hint });
        }
    }
    let config = if config.gated_ffn { Some(biased_config(config_json, config)?) } else { None };
    Ok(ExportedTensors { config, tensors })
}

/// act(z) = z.
fn carries_itself(activation: Activation) -> bool {
    activation == Activation::Identity
}

/// act(z) − act(−z) = z.
fn is_odd_difference(activation: Activation) -> bool {
    use Activation::{Gelu, GeluTanh, QuickGelu, Relu, Silu};
    matches!(activation, Gelu | GeluTanh | QuickGelu | Relu | Silu)
}

/// act([`GATE`]), exact in f32 arithmetic: e⁻³² and 1 − erf(22.6) are negligible next to 1.
fn gate_value(activation: Activation) -> f64 {
    match activation {
        Activation::Tanh | Activation::Sigmoid => 1.0,
        Activation::ReluSquared => f64::from(GATE * GATE),
        _ => f64::from(GATE),
    }
}

fn becomes_llama(config: &ModelConfig) -> bool {
    matches!(config.architecture, Architecture::Mistral | Architecture::Qwen2)
}

/// The map as two layers: units r ⊙ x + b, which carry z, and the weights of the output.
struct LinearBlock {
    /// r = 1/σ, rounded to f32, d.
    scale: Vec<f32>,
    /// b ≈ −r ⊙ x̄, d.
    offset: Vec<f32>,
    /// W ⊘ r, row-major d × d.
    weight: Vec<f64>,
    /// ȳ, corrected for the rounding of b, d.
    bias: Vec<f64>,
}

impl LinearBlock {
    fn new(config: &ModelConfig, map: &MapDump) -> Result<Self> {
        let d = config.hidden_size;
        let lengths = [map.weight.len(), map.mean_x.len(), map.deviation_x.len(), map.mean_y.len()];
        if lengths != [d * d, d, d, d] {
            let (what, why) = (format!("block {}", map.block), format!("the map is not {d} × {d}"));
            return Err(Error::NotLinearisable { what, why, hint: "give the maps of this model".into() });
        }
        let scale: Vec<f32> = map.deviation_x.iter().map(|sigma| sigma.recip() as f32).collect();
        let offset: Vec<f32> = scale.iter().zip(&map.mean_x).map(|(&r, mean)| (-f64::from(r) * mean) as f32).collect();
        let (mut weight, mut bias) = (map.weight.clone(), map.mean_y.clone());
        for (i, row) in weight.chunks_exact_mut(d).enumerate() {
            let r = f64::from(scale[i]);
            // The unit is zero at x = −b/r, which differs from x̄ by rounding.
            let shift = -f64::from(offset[i]) / r - map.mean_x[i];
            for (value, bias) in row.iter_mut().zip(&mut bias) {
                *bias += *value * shift;
                *value /= r;
            }
        }
        Ok(Self { scale, offset, weight, bias })
    }

    fn write(&self, tensors: &mut BTreeMap<String, NewTensor>, config: &ModelConfig, place: &FfnPlace) {
        let (d, units) = (config.hidden_size, config.intermediate_size);
        // For each group of d units, the sign of z and the factor that undoes the activation or gate.
        let groups: &[(f32, f64)] = match (config.gated_ffn, carries_itself(config.activation)) {
            (true, _) => &[(1.0, 1.0 / gate_value(config.activation))],
            (false, true) => &[(1.0, 1.0)],
            (false, false) => &[(1.0, 1.0), (-1.0, -1.0)],
        };
        let (mut up, mut up_bias, mut down) = (vec![0.0; units * d], vec![0.0; units], vec![0.0; d * units]);
        for (group, &(sign, factor)) in groups.iter().enumerate() {
            for i in 0..d {
                let unit = group * d + i;
                up[place.at(unit, i, units, d)] = sign * self.scale[i];
                up_bias[unit] = sign * self.offset[i];
                for j in 0..d {
                    down[place.at(j, unit, d, units)] = (factor * self.weight[i * d + j]) as f32;
                }
            }
        }
        let mut put = |name: String, shape: Vec<usize>, values: Vec<f32>| {
            tensors.insert(name, NewTensor { shape, values });
        };
        put(format!("{}.weight", place.up), place.shape(units, d), up);
        put(format!("{}.bias", place.up), vec![units], up_bias);
        put(format!("{}.weight", place.down), place.shape(d, units), down);
        put(format!("{}.bias", place.down), vec![d], self.bias.iter().map(|&value| value as f32).collect());
        if let Some(gate) = &place.gate {
            put(format!("{gate}.weight"), place.shape(units, d), vec![0.0; units * d]);
            put(format!("{gate}.bias"), vec![units], vec![GATE; units]);
        }
    }
}

/// Checkpoint names of one feed-forward network, without `.weight` and `.bias`.
struct FfnPlace {
    gate: Option<String>,
    up: String,
    down: String,
    /// Whether weights are stored `(in, out)` instead of `(out, in)`.
    inputs_first: bool,
}

impl FfnPlace {
    fn of(ffn: &Ffn<CheckpointTensor>) -> Self {
        Self {
            gate: ffn.gate.as_ref().map(layer_name),
            up: layer_name(&ffn.up),
            down: layer_name(&ffn.down),
            inputs_first: ffn.up.weight.inputs_first(),
        }
    }

    /// Index of the weight from input `input` to output `output`.
    fn at(&self, output: usize, input: usize, outputs: usize, inputs: usize) -> usize {
        if self.inputs_first { input * outputs + output } else { output * inputs + input }
    }

    fn shape(&self, outputs: usize, inputs: usize) -> Vec<usize> {
        if self.inputs_first { vec![inputs, outputs] } else { vec![outputs, inputs] }
    }
}

fn layer_name(layer: &Linear<CheckpointTensor>) -> String {
    layer.weight.name().trim_end_matches(".weight").into()
}

/// Adds zero biases that the new configuration requires.
fn add_zero_biases(
    tensors: &mut BTreeMap<String, NewTensor>,
    config: &ModelConfig,
    place: &FfnPlace,
    attention_output: &Linear<CheckpointTensor>,
) {
    let mut zeros = |name: &str, len: usize| {
        tensors.insert(format!("{name}.bias"), NewTensor { shape: vec![len], values: vec![0.0; len] });
    };
    if !config.ffn_bias {
        for name in place.gate.iter().chain([&place.up]) {
            zeros(name, config.intermediate_size);
        }
        zeros(&place.down, config.hidden_size);
    }
    if config.architecture == Architecture::Qwen2 {
        zeros(&layer_name(attention_output), config.hidden_size);
    }
}

/// The configuration of a Llama model with biases in its networks. Defaults of Mistral and Qwen2 are written out.
fn biased_config(json: &str, config: &ModelConfig) -> Result<String> {
    let malformed = |why: String| Error::MalformedJson { file: "config.json".into(), why };
    let mut fields: Map<String, Value> = serde_json::from_str(json).map_err(|error| malformed(error.to_string()))?;
    fields.insert("mlp_bias".into(), json!(true));
    if becomes_llama(config) {
        for limit in ["sliding_window", "use_sliding_window", "max_window_layers", "layer_types"] {
            fields.remove(limit);
        }
        let class = fields.get("architectures").and_then(|classes| classes.get(0)).and_then(Value::as_str);
        let class = if class.is_some_and(|class| class.ends_with("Model")) { "LlamaModel" } else { "LlamaForCausalLM" };
        let qwen2 = config.architecture == Architecture::Qwen2;
        let written = [
            ("model_type", json!("llama")),
            ("architectures", json!([class])),
            ("attention_bias", json!(qwen2)),
            ("num_key_value_heads", json!(config.num_key_value_heads)),
            ("head_dim", json!(config.head_dim)),
            ("hidden_act", json!(config.hidden_act)),
            ("tie_word_embeddings", json!(config.tie_word_embeddings)),
        ];
        fields.extend(written.map(|(field, value)| (field.to_owned(), value)));
        for (field, value) in [("rms_norm_eps", 1e-6), ("initializer_range", 0.02)] {
            // Null and absence mean the default.
            if fields.get(field).is_none_or(Value::is_null) {
                fields.insert(field.into(), json!(value));
            }
        }
    }
    let mut text = serde_json::to_string_pretty(&fields).map_err(|error| malformed(error.to_string()))?;
    text.push('\n');
    Ok(text)
}
