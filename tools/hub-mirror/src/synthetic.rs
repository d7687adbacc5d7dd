//! A GPT-2 with random weights and the causal masks of the original's file, for tests that need only its shape.

use std::fs::{self, File};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use serde_json::{Map, Value, json};
use straightedge_random::Random;

/// Sizes of a model.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Width of the residual stream.
    pub width: usize,
    /// Blocks.
    pub layers: usize,
    /// Attention heads.
    pub heads: usize,
    /// Rows of the embedding; at least 256, one per byte.
    pub vocab: usize,
    /// Positions, which is also the side of a mask.
    pub positions: usize,
}

impl Shape {
    /// The smallest GPT-2: 124 million parameters, 548 MB with its masks.
    pub const GPT2: Self = Self { width: 768, layers: 12, heads: 12, vocab: 50_257, positions: 1024 };
}

/// Contents of a tensor.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Fill {
    /// Uniform with this standard deviation.
    Random(f32),
    Ones,
    Zeros,
    /// Zeros, which sparse files need not store.
    Mask,
}

/// Names, sizes and contents of the tensors of a file.
pub(crate) type Tensors = Vec<(String, Vec<usize>, Fill)>;

/// Storage format of values.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Width {
    /// As F32.
    Single,
    /// As BF16.
    Half,
}

/// Writes `config.json`, `tokenizer.json` and `model.safetensors` into `folder`. The same seed gives the same bytes.
///
/// # Errors
/// I/O errors.
pub fn gpt2(folder: &Path, shape: Shape, seed: u64) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let config = json!({
        "model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_embd": shape.width, "n_layer": shape.layers,
        "n_head": shape.heads, "n_positions": shape.positions, "vocab_size": shape.vocab,
        "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5,
    });
    fs::write(folder.join("config.json"), config.to_string())?;
    fs::write(folder.join("tokenizer.json"), tokenizer().to_string())?;
    weights(&folder.join("model.safetensors"), &tensors(shape), Width::Single, seed)
}

/// All tensors, in the order of the original's file.
fn tensors(shape: Shape) -> Tensors {
    let Shape { width: d, layers, vocab, positions, .. } = shape;
    let weight = Fill::Random(0.02);
    let mut tensors = Vec::new();
    let mut layer_names: Vec<usize> = (0..layers).collect();
    layer_names.sort_unstable_by_key(usize::to_string);
    for layer in layer_names {
        let mut add =
            |name: &str, shape: &[usize], fill| tensors.push((format!("h.{layer}.{name}"), shape.to_vec(), fill));
        add("attn.bias", &[1, 1, positions, positions], Fill::Mask);
        add("attn.c_attn.bias", &[3 * d], Fill::Zeros);
        add("attn.c_attn.weight", &[d, 3 * d], Fill::Random(0.1));
        add("attn.c_proj.bias", &[d], Fill::Zeros);
        add("attn.c_proj.weight", &[d, d], weight);
        add("ln_1.bias", &[d], Fill::Zeros);
        add("ln_1.weight", &[d], Fill::Ones);
        add("ln_2.bias", &[d], Fill::Zeros);
        add("ln_2.weight", &[d], Fill::Ones);
        add("mlp.c_fc.bias", &[4 * d], Fill::Zeros);
        add("mlp.c_fc.weight", &[d, 4 * d], Fill::Random(0.1));
        add("mlp.c_proj.bias", &[d], Fill::Zeros);
        add("mlp.c_proj.weight", &[4 * d, d], weight);
    }
    let mut add = |name: &str, shape: &[usize], fill| tensors.push((name.to_owned(), shape.to_vec(), fill));
    add("ln_f.bias", &[d], Fill::Zeros);
    add("ln_f.weight", &[d], Fill::Ones);
    add("wpe.weight", &[positions, d], weight);
    add("wte.weight", &[vocab, d], Fill::Random(0.1));
    tensors
}

/// Writes a file of tensors.
pub(crate) fn weights(path: &Path, tensors: &Tensors, width: Width, seed: u64) -> io::Result<()> {
    let (dtype, bytes) = if width == Width::Half { ("BF16", 2) } else { ("F32", 4) };
    let (mut header, mut end) = (Map::new(), 0);
    for (name, shape, _) in tensors {
        let start = end;
        end += bytes * shape.iter().product::<usize>();
        header.insert(name.clone(), json!({"dtype": dtype, "shape": shape, "data_offsets": [start, end]}));
    }
    let mut header = Value::Object(header).to_string();
    header += &" ".repeat(header.len().next_multiple_of(8) - header.len());
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    file.write_all(&(header.len() as u64).to_le_bytes())?;
    file.write_all(header.as_bytes())?;
    let mut random = Random::new(seed);
    for (_, shape, fill) in tensors {
        let len = shape.iter().product::<usize>();
        if *fill == Fill::Mask {
            file.seek(SeekFrom::Current((bytes * len) as i64))?;
            continue;
        }
        for _ in 0..len {
            // BF16 is the upper half of F32.
            file.write_all(&value(*fill, &mut random).to_le_bytes()[4 - bytes..])?;
        }
    }
    file.flush()
}

fn value(fill: Fill, random: &mut Random) -> f32 {
    match fill {
        Fill::Zeros | Fill::Mask => 0.0,
        Fill::Ones => 1.0,
        // Uniform on ±√3 has deviation 1.
        Fill::Random(deviation) => random.symmetric_f32() * 1.732_050_8 * deviation,
    }
}

/// One token per byte, like GPT-2's tokenizer before any merge.
pub(crate) fn tokenizer() -> Value {
    let plain = |byte: u8| matches!(byte, b'!'..=b'~' | 0xa1..=0xac | 0xae..=0xff);
    let (mut vocab, mut moved) = (Map::new(), 0);
    for byte in 0..=255u8 {
        let shown = if plain(byte) { u32::from(byte) } else { 256 + moved };
        moved += u32::from(!plain(byte));
        let shown = char::from_u32(shown).unwrap_or_default();
        vocab.insert(shown.to_string(), json!(byte));
    }
    let bytes = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false});
    json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "pre_tokenizer": bytes, "post_processor": null, "decoder": bytes,
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "vocab": vocab, "merges": [],
        },
    })
}
