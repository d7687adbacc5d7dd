//! A Llama with random BF16 weights, with one file per block and one for the rest, like large models on the hub.
//! Written value by value, so that it needs no memory.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::synthetic::{Fill, Tensors, Width, tokenizer, weights};

/// Sizes of a model.
#[derive(Clone, Copy, Debug)]
pub struct LlamaShape {
    /// Width of the residual stream.
    pub width: usize,
    /// Blocks.
    pub layers: usize,
    /// Attention heads, and key/value heads.
    pub heads: [usize; 2],
    /// Width within a feed-forward network.
    pub inner: usize,
    /// Rows of the embedding; at least 256, one per byte.
    pub vocab: usize,
}

impl LlamaShape {
    /// TinyLlama: 1.1 billion parameters.
    pub const TINY: Self = Self { width: 2048, layers: 22, heads: [32, 4], inner: 5632, vocab: 32_000 };
    /// Llama 3 with 8 billion parameters.
    pub const EIGHT_BILLION: Self = Self { width: 4096, layers: 32, heads: [32, 8], inner: 14_336, vocab: 128_256 };
}

/// Writes `config.json`, `tokenizer.json`, the files of the weights and their index into `folder`. The same seed gives
/// the same bytes.
///
/// # Errors
/// I/O errors.
pub fn llama(folder: &Path, shape: LlamaShape, seed: u64) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let LlamaShape { width, layers, heads: [heads, kv_heads], inner, vocab } = shape;
    let config = json!({
        "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": width, "num_hidden_layers": layers,
        "num_attention_heads": heads, "num_key_value_heads": kv_heads, "intermediate_size": inner,
        "vocab_size": vocab, "max_position_embeddings": 2048, "hidden_act": "silu", "rms_norm_eps": 1e-5,
        "rope_theta": 10_000.0, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
    });
    fs::write(folder.join("config.json"), config.to_string())?;
    fs::write(folder.join("tokenizer.json"), tokenizer().to_string())?;
    let files: Vec<Tensors> = (0..layers).map(|layer| block(shape, layer)).chain([ends(shape)]).collect();
    let (mut index, mut bytes) = (Map::new(), 0);
    for (at, tensors) in files.iter().enumerate() {
        let name = format!("model-{:05}-of-{:05}.safetensors", at + 1, files.len());
        weights(&folder.join(&name), tensors, Width::Half, seed.wrapping_add(at as u64))?;
        for (tensor, sizes, _) in tensors {
            index.insert(tensor.clone(), Value::String(name.clone()));
            bytes += 2 * sizes.iter().product::<usize>();
        }
    }
    let index = json!({"metadata": {"total_size": bytes}, "weight_map": index});
    fs::write(folder.join("model.safetensors.index.json"), index.to_string())
}

fn block(shape: LlamaShape, layer: usize) -> Tensors {
    let LlamaShape { width: d, heads: [heads, kv_heads], inner, .. } = shape;
    let kv = d / heads * kv_heads;
    let mut tensors = Tensors::new();
    let mut add = |name: &str, sizes: &[usize], fill| {
        tensors.push((format!("model.layers.{layer}.{name}"), sizes.to_vec(), fill))
    };
    add("input_layernorm.weight", &[d], Fill::Ones);
    add("mlp.down_proj.weight", &[d, inner], Fill::Random(0.02));
    add("mlp.gate_proj.weight", &[inner, d], Fill::Random(0.05));
    add("mlp.up_proj.weight", &[inner, d], Fill::Random(0.05));
    add("post_attention_layernorm.weight", &[d], Fill::Ones);
    add("self_attn.k_proj.weight", &[kv, d], Fill::Random(0.05));
    add("self_attn.o_proj.weight", &[d, d], Fill::Random(0.02));
    add("self_attn.q_proj.weight", &[d, d], Fill::Random(0.05));
    add("self_attn.v_proj.weight", &[kv, d], Fill::Random(0.05));
    tensors
}

/// The tensors before the first block and after the last.
fn ends(shape: LlamaShape) -> Tensors {
    let LlamaShape { width: d, vocab, .. } = shape;
    vec![
        ("lm_head.weight".into(), vec![vocab, d], Fill::Random(0.02)),
        ("model.embed_tokens.weight".into(), vec![vocab, d], Fill::Random(0.1)),
        ("model.norm.weight".into(), vec![d], Fill::Ones),
    ]
}
