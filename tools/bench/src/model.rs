//! A GPT-2-shaped model with random weights that needs no disk or memory: bytes are generated when read.

use std::cell::Cell;
use std::ops::Range;

use futures::future::LocalBoxFuture;
use serde_json::{Map, Value, json};
use straightedge::error::{Error, Result};
use straightedge::platform::random::Random;
use straightedge::weights::Files;
use web_time::Instant;

use crate::settings::Shape;

/// Rows of the token embedding, GPT-2's.
pub const VOCAB: usize = 50_257;
/// Rows of the position embedding, GPT-2's.
pub const POSITIONS: usize = 1024;
/// Standard deviation of weights, GPT-2's `initializer_range`.
const DEVIATION: f32 = 0.02;

/// The files of the model.
pub struct SyntheticModel {
    config: Vec<u8>,
    header: Vec<u8>,
    tensors: Vec<Tensor>,
    seed: u64,
    seconds: Cell<f64>,
}

struct Tensor {
    /// First byte after the header.
    start: u64,
    fill: Fill,
}

#[derive(Clone, Copy)]
enum Fill {
    Normal,
    One,
    Zero,
}

impl SyntheticModel {
    /// A model of a shape and a seed.
    pub fn new(shape: Shape, seed: u64) -> Self {
        let config = json!({
            "model_type": "gpt2", "n_embd": shape.width, "n_layer": shape.layers, "n_head": shape.heads(),
            "n_positions": POSITIONS, "vocab_size": VOCAB, "activation_function": "gelu_new",
        });
        let mut header = Map::new();
        let mut tensors = Vec::new();
        let mut start = 0u64;
        for (name, sizes, fill) in layout(shape) {
            let end = start + 4 * sizes.iter().product::<usize>() as u64;
            header.insert(name, json!({"dtype": "F32", "shape": sizes, "data_offsets": [start, end]}));
            tensors.push(Tensor { start, fill });
            start = end;
        }
        tensors.push(Tensor { start, fill: Fill::Zero });
        let json = Value::Object(header).to_string().into_bytes();
        let header = [&(json.len() as u64).to_le_bytes()[..], &json].concat();
        Self { config: config.to_string().into_bytes(), header, tensors, seed, seconds: Cell::new(0.0) }
    }

    /// Token ids to measure it on.
    pub fn tokens(rows: usize, seed: u64) -> Vec<u32> {
        let mut random = Random::stream(seed, &[1]);
        (0..rows).map(|_| random.below(VOCAB) as u32).collect()
    }

    /// Seconds spent generating bytes.
    pub fn seconds(&self) -> f64 {
        self.seconds.get()
    }

    fn len(&self) -> u64 {
        self.header.len() as u64 + self.tensors.last().map_or(0, |end| end.start)
    }

    /// Bytes `range` of the weight file.
    fn bytes(&self, range: Range<u64>) -> Vec<u8> {
        let head = self.header.len() as u64;
        let mut bytes = Vec::with_capacity((range.end - range.start) as usize);
        if range.start < head {
            bytes.extend(&self.header[range.start as usize..range.end.min(head) as usize]);
        }
        let (mut at, end) = (range.start.max(head) - head, range.end.max(head) - head);
        let mut tensor = self.tensors.partition_point(|tensor| tensor.start <= at).saturating_sub(1);
        while at < end {
            let stop = end.min(self.tensors.get(tensor + 1).map_or(end, |next| next.start));
            self.fill(self.tensors[tensor].fill, at..stop, &mut bytes);
            (at, tensor) = (stop, tensor + 1);
        }
        bytes
    }

    /// Bytes `range` of the values; it need not align with values.
    fn fill(&self, fill: Fill, range: Range<u64>, bytes: &mut Vec<u8>) {
        let value = |index: u64| match fill {
            Fill::Normal => DEVIATION * normal(self.seed, index),
            Fill::One => 1.0,
            Fill::Zero => 0.0,
        };
        let (first, last) = (range.start / 4, range.end.div_ceil(4));
        let skip = (range.start % 4) as usize;
        let from = bytes.len();
        for (i, index) in (first..last).enumerate() {
            bytes.extend(&value(index).to_le_bytes()[if i == 0 { skip } else { 0 }..]);
        }
        bytes.truncate(from + (range.end - range.start) as usize);
    }
}

/// The `index`-th number of a sequence with mean 0 and variance 1, approximately normal: the sum of four uniform ones.
fn normal(seed: u64, index: u64) -> f32 {
    let bits = Random::new(seed ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15)).bits();
    let sum: u32 = (0..4).map(|part| (bits >> (16 * part)) as u32 & 0xffff).sum();
    // Four uniform numbers of 0 … 65535 have mean 131070 and variance 4·65536²/12.
    (sum as f32 - 131_070.0) * (3f32.sqrt() / 65_536.0)
}

/// Names, shapes and contents of all tensors.
fn layout(shape: Shape) -> Vec<(String, Vec<usize>, Fill)> {
    let d = shape.width;
    let norm = |name: String| [(name.clone() + ".weight", vec![d], Fill::One), (name + ".bias", vec![d], Fill::Zero)];
    let conv = |name: String, inputs: usize, outputs: usize| {
        [(name.clone() + ".weight", vec![inputs, outputs], Fill::Normal), (name + ".bias", vec![outputs], Fill::Zero)]
    };
    let mut tensors = vec![
        ("wte.weight".to_owned(), vec![VOCAB, d], Fill::Normal),
        ("wpe.weight".to_owned(), vec![POSITIONS, d], Fill::Normal),
    ];
    for layer in 0..shape.layers {
        let at = |name: &str| format!("h.{layer}.{name}");
        tensors.extend(norm(at("ln_1")));
        tensors.extend(conv(at("attn.c_attn"), d, 3 * d));
        tensors.extend(conv(at("attn.c_proj"), d, d));
        tensors.extend(norm(at("ln_2")));
        tensors.extend(conv(at("mlp.c_fc"), d, 4 * d));
        tensors.extend(conv(at("mlp.c_proj"), 4 * d, d));
    }
    tensors.extend(norm("ln_f".to_owned()));
    tensors
}

impl Files for SyntheticModel {
    fn size<'a>(&'a self, file: &'a str) -> LocalBoxFuture<'a, Result<Option<u64>>> {
        Box::pin(async move {
            Ok(match file {
                "config.json" => Some(self.config.len() as u64),
                "model.safetensors" => Some(self.len()),
                _ => None,
            })
        })
    }

    fn read<'a>(&'a self, file: &'a str, range: Range<u64>) -> LocalBoxFuture<'a, Result<Vec<u8>>> {
        Box::pin(async move {
            let started = Instant::now();
            let bytes = match file {
                "config.json" => self.config[range.start as usize..range.end as usize].to_vec(),
                "model.safetensors" => self.bytes(range),
                _ => return Err(Error::MissingFile { file: file.into(), hint: "it is not made".into() }),
            };
            self.seconds.set(self.seconds.get() + started.elapsed().as_secs_f64());
            Ok(bytes)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_range_of_bytes_is_the_same_as_in_the_whole() {
        let model = SyntheticModel::new(Shape { layers: 1, width: 8 }, 3);
        let whole = model.bytes(0..model.len());
        assert_eq!(whole.len() as u64, model.len());
        let mut random = Random::new(5);
        for _ in 0..200 {
            let a = random.below(whole.len() + 1);
            let b = a + random.below((whole.len() - a).min(5000) + 1);
            assert!(model.bytes(a as u64..b as u64) == whole[a..b], "{a}..{b}");
        }
        let other = SyntheticModel::new(Shape { layers: 1, width: 8 }, 4);
        assert!(other.bytes(0..other.len()) != whole, "the seed counts");
    }

    #[test]
    fn weights_have_the_deviation_they_are_given() {
        let values: Vec<f64> = (0..100_000).map(|index| f64::from(normal(9, index))).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64;
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.02, "mean {mean}, variance {variance}");
    }
}
