//! The design as the weights of a GPT-2.
//!
//! Features of the residual stream come in pairs (+f, −f), so that their mean never depends on the token. The first
//! pairs hold the signs, written by the embedding; every block writes into pairs of its own and reads only signs.

use super::design::{BITS, BLOCKS, Block, Feature, Part, TOKENS, sign};
use super::random::Random;
use super::text::SEQ_LEN;

/// Pairs of features: the signs and whatever the blocks write.
pub(super) const PAIRS: usize = BITS + 18;
/// Width of the residual stream.
pub(super) const HIDDEN: usize = 2 * PAIRS;
/// Width inside a feed-forward network: a pair of units for each part that it computes.
pub(super) const INTERMEDIATE: usize = 16;
/// Attention heads.
pub(super) const HEADS: usize = 4;
/// Epsilon of the LayerNorms.
pub(super) const EPS: f64 = 1e-5;

/// What a unit sees of a sign: GELU(8) is 8 to f32 precision, so that products come out exact.
const GAIN: f64 = 4.0;

/// A tensor of the checkpoint, row-major.
pub(super) struct Tensor {
    pub(super) name: String,
    pub(super) shape: Vec<usize>,
    pub(super) data: Vec<f32>,
}

/// All tensors, in reading order.
pub(super) fn tensors() -> Vec<Tensor> {
    let mut random = Random::new(0);
    let mut stream = Stream::embedded();
    let mut tensors = vec![
        tensor("wte.weight", &[TOKENS, HIDDEN], embedding()),
        tensor("wpe.weight", &[SEQ_LEN, HIDDEN], vec![0.0; SEQ_LEN * HIDDEN]),
    ];
    for (index, block) in BLOCKS.iter().enumerate() {
        let name = |part: &str| format!("h.{index}.{part}");
        tensors.extend(norm(&name("ln_1"), &stream));
        tensors.extend(attention(&name("attn"), &mut random, &mut stream));
        tensors.extend(norm(&name("ln_2"), &stream));
        tensors.extend(feed_forward(&name("mlp"), block, &mut stream));
    }
    tensors.extend(norm("ln_f", &stream));
    tensors
}

/// What is known of the residual stream at some point, the same for every token.
struct Stream {
    /// Pairs written so far.
    written: usize,
    /// Σ f² over the pairs.
    power: f64,
    /// Constant that the attention layers have added to both features of a pair of signs.
    offsets: [f64; BITS],
}

impl Stream {
    fn embedded() -> Self {
        Self { written: BITS, power: BITS as f64, offsets: [0.0; BITS] }
    }

    /// What a LayerNorm divides by.
    fn deviation(&self) -> f64 {
        let mean = self.offsets.iter().map(|offset| 2.0 * offset).sum::<f64>() / HIDDEN as f64;
        let squares: f64 = 2.0 * self.power + self.offsets.iter().map(|offset| 2.0 * offset * offset).sum::<f64>();
        (squares / HIDDEN as f64 - mean * mean + EPS).sqrt()
    }
}

fn embedding() -> Vec<f32> {
    let mut table = vec![0.0; TOKENS * HIDDEN];
    for (token, row) in table.chunks_mut(HIDDEN).enumerate() {
        for bit in 0..BITS {
            write_pair(row, bit, sign(token, bit));
        }
    }
    table
}

/// A LayerNorm that lets through what was written: an unwritten feature is exactly zero, not rounding noise.
fn norm(name: &str, stream: &Stream) -> [Tensor; 2] {
    let weight = (0..HIDDEN).map(|feature| if feature < 2 * stream.written { 1.0 } else { 0.0 }).collect();
    [
        tensor(&format!("{name}.weight"), &[HIDDEN], weight),
        tensor(&format!("{name}.bias"), &[HIDDEN], vec![0.0; HIDDEN]),
    ]
}

/// Random queries and keys; values that are one constant vector; an output that adds the same constant to both
/// features of every pair of signs, where the differences that the networks read cancel it.
fn attention(name: &str, random: &mut Random, stream: &mut Stream) -> [Tensor; 4] {
    let mut projection = vec![0.0; HIDDEN * 3 * HIDDEN];
    for row in projection.chunks_mut(3 * HIDDEN) {
        row[..2 * HIDDEN].fill_with(|| random.symmetric() / 2.0);
    }
    let bias: Vec<f32> = (0..3 * HIDDEN).map(|_| random.symmetric()).collect();
    let mut output = vec![0.0; HIDDEN * HIDDEN];
    for (row, value) in output.chunks_mut(HIDDEN).zip(&bias[2 * HIDDEN..]) {
        for bit in 0..BITS {
            let weight = random.symmetric() / 8.0;
            row[2 * bit..2 * bit + 2].fill(weight);
            stream.offsets[bit] += f64::from(weight) * f64::from(*value);
        }
    }
    [
        tensor(&format!("{name}.c_attn.weight"), &[HIDDEN, 3 * HIDDEN], projection),
        tensor(&format!("{name}.c_attn.bias"), &[3 * HIDDEN], bias),
        tensor(&format!("{name}.c_proj.weight"), &[HIDDEN, HIDDEN], output),
        tensor(&format!("{name}.c_proj.bias"), &[HIDDEN], vec![0.0; HIDDEN]),
    ]
}

/// A feed-forward network that computes what the design says: two units u, v = GELU(±z) for each part.
///
/// Linear: z = GAIN·Σ cᵢsᵢ and u − v = z for any GELU. Product: z = GAIN·(sᵢ + sⱼ) and u + v = GAIN·(1 + sᵢsⱼ).
fn feed_forward(name: &str, block: &Block, stream: &mut Stream) -> [Tensor; 4] {
    let mut units = Units::new(stream.deviation());
    for feature in block.features {
        for (amplitude, part) in *feature {
            units.add(*amplitude, part, stream.written);
        }
        stream.written += 1;
    }
    stream.power += block.features.iter().map(|feature| value(feature, 0).powi(2)).sum::<f64>();
    [
        tensor(&format!("{name}.c_fc.weight"), &[HIDDEN, INTERMEDIATE], units.fc_weight),
        tensor(&format!("{name}.c_fc.bias"), &[INTERMEDIATE], vec![0.0; INTERMEDIATE]),
        tensor(&format!("{name}.c_proj.weight"), &[INTERMEDIATE, HIDDEN], units.proj_weight),
        tensor(&format!("{name}.c_proj.bias"), &[HIDDEN], units.proj_bias),
    ]
}

/// The hidden units of one network, filled pair by pair.
struct Units {
    used: usize,
    /// What a sign must be multiplied with after the LayerNorm.
    deviation: f64,
    fc_weight: Vec<f32>,
    proj_weight: Vec<f32>,
    proj_bias: Vec<f32>,
}

impl Units {
    fn new(deviation: f64) -> Self {
        Self {
            used: 0,
            deviation,
            fc_weight: vec![0.0; HIDDEN * INTERMEDIATE],
            proj_weight: vec![0.0; INTERMEDIATE * HIDDEN],
            proj_bias: vec![0.0; HIDDEN],
        }
    }

    /// Adds `amplitude` times a part to a pair of features.
    fn add(&mut self, amplitude: f64, part: &Part, pair: usize) {
        match part {
            Part::Linear(coefficients) => {
                self.read(coefficients);
                self.write(amplitude / GAIN, -amplitude / GAIN, pair);
            }
            Part::Product(i, j) => {
                let mut sum = [0.0; BITS];
                sum[*i] = 1.0;
                sum[*j] = 1.0;
                self.read(&sum);
                self.write(amplitude / GAIN, amplitude / GAIN, pair);
                write_pair(&mut self.proj_bias, pair, -amplitude);
            }
        }
        self.used += 2;
    }

    /// Lets the next two units see ±GAIN·Σ cᵢsᵢ.
    fn read(&mut self, coefficients: &[f64; BITS]) {
        for (bit, coefficient) in coefficients.iter().enumerate() {
            // Half the difference of a pair is its sign.
            let weight = (GAIN * coefficient * self.deviation / 2.0) as f32;
            for (feature, weight) in [(2 * bit, weight), (2 * bit + 1, -weight)] {
                let row = &mut self.fc_weight[feature * INTERMEDIATE..][..INTERMEDIATE];
                row[self.used] = weight;
                row[self.used + 1] = -weight;
            }
        }
    }

    /// Lets a pair of features receive the next two units.
    fn write(&mut self, first: f64, second: f64, pair: usize) {
        for (unit, weight) in [(self.used, first), (self.used + 1, second)] {
            write_pair(&mut self.proj_weight[unit * HIDDEN..][..HIDDEN], pair, weight);
        }
    }
}

fn write_pair(row: &mut [f32], pair: usize, value: f64) {
    row[2 * pair] = value as f32;
    row[2 * pair + 1] = -value as f32;
}

/// What a feature holds at a token.
fn value(feature: Feature, token: usize) -> f64 {
    let part = |part: &Part| match part {
        Part::Linear(coefficients) => (0..BITS).map(|bit| coefficients[bit] * sign(token, bit)).sum(),
        Part::Product(i, j) => sign(token, *i) * sign(token, *j),
    };
    feature.iter().map(|(amplitude, of)| amplitude * part(of)).sum()
}

fn tensor(name: &str, shape: &[usize], data: Vec<f32>) -> Tensor {
    assert_eq!(shape.iter().product::<usize>(), data.len(), "{name}");
    Tensor { name: name.into(), shape: shape.into(), data }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_block_writes_has_the_same_norm_for_every_token() {
        for block in &BLOCKS {
            let power = |token| block.features.iter().map(|feature| value(feature, token).powi(2)).sum::<f64>();
            for token in 1..TOKENS {
                assert!((power(token) - power(0)).abs() <= 1e-12, "{}: token {token}", block.title);
            }
        }
    }

    #[test]
    fn every_pair_is_written_once() {
        assert_eq!(BITS + BLOCKS.iter().map(|block| block.features.len()).sum::<usize>(), PAIRS);
    }
}
