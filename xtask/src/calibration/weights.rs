//! Writes the design as the weights of a GPT-2.
//!
//! The stream's contents use an orthonormal basis orthogonal to (1, …, 1), so that the mean over the features is 0 and
//! the norm equal for every token: a LayerNorm divides by one known constant. Positions and attention write along (1,
//! …, 1), which the next LayerNorm removes.

use straightedge_random::Random;

use super::design::{Block, Directions, HIDDEN, Place, TOKENS, Term, blocks, held, sign};
use super::text::SEQ_LEN;

/// Width of a feed-forward network: a pair of units for each part that it computes.
pub(super) const INTERMEDIATE: usize = 64;
/// Attention heads.
pub(super) const HEADS: usize = 4;
/// Epsilon of the LayerNorms.
pub(super) const EPS: f64 = 1e-5;

/// Scale of a sign at a unit's input: GELU(8) is 8 to f32 precision, so that products are exact.
const GAIN: f64 = 4.0;

/// A tensor of the checkpoint, row-major.
pub(super) struct Tensor {
    pub(super) name: String,
    pub(super) shape: Vec<usize>,
    pub(super) data: Vec<f32>,
}

/// All tensors, in reading order.
pub(super) fn tensors() -> Vec<Tensor> {
    let directions = directions();
    let mut random = Random::new(1);
    let mut stream = Stream::embedded();
    let mut tensors = vec![
        tensor("wte.weight", &[TOKENS, HIDDEN], embedding(&directions)),
        tensor("wpe.weight", &[SEQ_LEN, HIDDEN], (0..SEQ_LEN).flat_map(|_| [random.symmetric_f32(); HIDDEN]).collect()),
    ];
    for (index, block) in blocks().iter().enumerate() {
        let name = |part: &str| format!("h.{index}.{part}");
        tensors.extend(Norm::plain().tensors(&name("ln_1")));
        tensors.extend(attention(&name("attn"), &mut random));
        let norm = Norm::random(&mut random);
        tensors.extend(norm.tensors(&name("ln_2")));
        tensors.extend(feed_forward(&name("mlp"), block, &directions, &norm, stream.deviation()));
        stream.receive(block);
    }
    tensors.extend(Norm::plain().tensors("ln_f"));
    tensors
}

/// A random orthonormal basis of the space orthogonal to (1, …, 1), by Gram–Schmidt, twice for precision.
pub(super) fn directions() -> Directions {
    let mut random = Random::new(0);
    let mut basis = vec![vec![(1.0 / HIDDEN as f64).sqrt(); HIDDEN]];
    while basis.len() < HIDDEN {
        let mut vector: Vec<f64> = (0..HIDDEN).map(|_| f64::from(random.symmetric_f32())).collect();
        for _ in 0..2 {
            for other in &basis {
                let share = dot(&vector, other);
                vector.iter_mut().zip(other).for_each(|(value, other)| *value -= share * other);
            }
            let norm = dot(&vector, &vector).sqrt();
            vector.iter_mut().for_each(|value| *value /= norm);
        }
        basis.push(vector);
    }
    basis.remove(0);
    Directions(basis)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Coordinates of the residual stream at token 0, whose signs are all +1. Every token has the same norm.
struct Stream([f64; TOKENS]);

impl Stream {
    fn embedded() -> Self {
        let mut coordinates = [0.0; TOKENS];
        held().into_iter().for_each(|mask| coordinates[mask] = 1.0);
        Self(coordinates)
    }

    fn receive(&mut self, block: &Block) {
        for write in &block.writes {
            if let Place::Direction(mask) = write.place {
                self.0[mask] += write.amplitude;
            }
        }
    }

    /// The divisor of a LayerNorm.
    fn deviation(&self) -> f64 {
        (dot(&self.0, &self.0) / HIDDEN as f64 + EPS).sqrt()
    }
}

fn embedding(directions: &Directions) -> Vec<f32> {
    let value = |token: usize, feature: usize| -> f64 {
        held().into_iter().map(|mask| sign(mask, token) * directions.of(mask)[feature]).sum()
    };
    let rows = (0..TOKENS).map(|token| (0..HIDDEN).map(|feature| value(token, feature) as f32).collect::<Vec<_>>());
    rows.collect::<Vec<_>>().concat()
}

/// Weight and bias of a LayerNorm.
struct Norm {
    weight: Vec<f32>,
    bias: Vec<f32>,
}

impl Norm {
    fn plain() -> Self {
        Self { weight: vec![1.0; HIDDEN], bias: vec![0.0; HIDDEN] }
    }

    /// Scales from ½ to 1½ and biases from −1 to 1.
    fn random(random: &mut Random) -> Self {
        let weight = (0..HIDDEN).map(|_| 1.0 + random.symmetric_f32() / 2.0).collect();
        Self { weight, bias: (0..HIDDEN).map(|_| random.symmetric_f32()).collect() }
    }

    fn tensors(&self, name: &str) -> [Tensor; 2] {
        [
            tensor(&format!("{name}.weight"), &[HIDDEN], self.weight.clone()),
            tensor(&format!("{name}.bias"), &[HIDDEN], self.bias.clone()),
        ]
    }
}

/// Random queries and keys; values that are one constant vector, and an output projection along (1, …, 1).
fn attention(name: &str, random: &mut Random) -> [Tensor; 4] {
    let mut projection = vec![0.0; HIDDEN * 3 * HIDDEN];
    for row in projection.chunks_mut(3 * HIDDEN) {
        row[..2 * HIDDEN].fill_with(|| random.symmetric_f32() / 2.0);
    }
    let bias = (0..3 * HIDDEN).map(|_| random.symmetric_f32()).collect();
    let output = (0..HIDDEN).flat_map(|_| [random.symmetric_f32() / 8.0; HIDDEN]).collect();
    [
        tensor(&format!("{name}.c_attn.weight"), &[HIDDEN, 3 * HIDDEN], projection),
        tensor(&format!("{name}.c_attn.bias"), &[3 * HIDDEN], bias),
        tensor(&format!("{name}.c_proj.weight"), &[HIDDEN, HIDDEN], output),
        tensor(&format!("{name}.c_proj.bias"), &[HIDDEN], vec![0.0; HIDDEN]),
    ]
}

/// A feed-forward network that computes the design: two units u, v = GELU(±z) for each part.
///
/// Read: z = GAIN·s, and u − v = z for any GELU. Product: z = GAIN·(s + t), and u + v = GAIN·(1 + s·t).
fn feed_forward(name: &str, block: &Block, directions: &Directions, norm: &Norm, deviation: f64) -> [Tensor; 4] {
    let mut parts: Vec<Term> = Vec::new();
    block.writes.iter().for_each(|write| {
        if !parts.contains(&write.part) {
            parts.push(write.part)
        }
    });
    assert!(2 * parts.len() <= INTERMEDIATE, "{}: too many parts", block.title);

    let mut fc = Affine::zero(HIDDEN, INTERMEDIATE);
    let mut proj = Affine::zero(INTERMEDIATE, HIDDEN);
    for (index, part) in parts.iter().enumerate() {
        let (masks, second) = match *part {
            Term::Read(mask) => (vec![mask], -1.0),
            Term::Product(a, b) => (vec![a, b], 1.0),
        };
        let (u, v) = (2 * index, 2 * index + 1);
        for feature in 0..HIDDEN {
            let sum: f64 = masks.iter().map(|mask| directions.of(*mask)[feature]).sum();
            let weight = GAIN * deviation * sum / f64::from(norm.weight[feature]);
            let bias = -weight * f64::from(norm.bias[feature]);
            fc.add(feature, u, weight, bias);
            fc.add(feature, v, -weight, -bias);
        }
        for write in block.writes.iter().filter(|write| write.part == *part) {
            for feature in 0..HIDDEN {
                let amplitude = write.amplitude * directions.place(write.place, feature);
                let bias = if matches!(part, Term::Product(..)) { -amplitude } else { 0.0 };
                proj.add(u, feature, amplitude / GAIN, bias);
                proj.add(v, feature, second * amplitude / GAIN, 0.0);
            }
        }
    }
    let [fc_weight, fc_bias] = fc.tensors(&format!("{name}.c_fc"));
    let [proj_weight, proj_bias] = proj.tensors(&format!("{name}.c_proj"));
    [fc_weight, fc_bias, proj_weight, proj_bias]
}

/// x·W + b with W as GPT-2 stores it, (in, out).
struct Affine {
    inputs: usize,
    weight: Vec<f64>,
    bias: Vec<f64>,
}

impl Affine {
    fn zero(inputs: usize, outputs: usize) -> Self {
        Self { inputs, weight: vec![0.0; inputs * outputs], bias: vec![0.0; outputs] }
    }

    fn add(&mut self, input: usize, output: usize, weight: f64, bias: f64) {
        self.weight[input * self.bias.len() + output] += weight;
        self.bias[output] += bias;
    }

    fn tensors(&self, name: &str) -> [Tensor; 2] {
        let narrow = |values: &[f64]| values.iter().map(|value| *value as f32).collect();
        let outputs = self.bias.len();
        [
            tensor(&format!("{name}.weight"), &[self.inputs, outputs], narrow(&self.weight)),
            tensor(&format!("{name}.bias"), &[outputs], narrow(&self.bias)),
        ]
    }
}

fn tensor(name: &str, shape: &[usize], data: Vec<f32>) -> Tensor {
    assert_eq!(shape.iter().product::<usize>(), data.len(), "{name}");
    Tensor { name: name.into(), shape: shape.into(), data }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_basis_is_orthonormal_and_orthogonal_to_the_mean() {
        let Directions(basis) = directions();
        assert_eq!(basis.len(), HIDDEN - 1);
        for (i, a) in basis.iter().enumerate() {
            assert!(a.iter().sum::<f64>().abs() <= 1e-13);
            for (j, b) in basis.iter().enumerate() {
                let expected = if i == j { 1.0 } else { 0.0 };
                assert!((dot(a, b) - expected).abs() <= 1e-13, "{i} {j}");
            }
        }
    }

    /// The last block is exempt: nothing reads the stream after it.
    #[test]
    fn the_stream_has_the_same_norm_for_every_token() {
        let blocks = blocks();
        let norms = |token: usize| {
            let mut stream: Vec<f64> =
                (0..TOKENS).map(|mask| if held().contains(&mask) { sign(mask, token) } else { 0.0 }).collect();
            let after = |block: &Block| {
                for write in &block.writes {
                    let Place::Direction(mask) = write.place else { panic!("{} writes a feature", block.title) };
                    stream[mask] += write.amplitude * sign(write.part.mask(), token);
                }
                dot(&stream, &stream)
            };
            blocks[..blocks.len() - 1].iter().map(after).collect::<Vec<f64>>()
        };
        for token in 1..TOKENS {
            for (norm, first) in norms(token).iter().zip(norms(0)) {
                assert!((norm - first).abs() <= 1e-12 * first, "token {token}: {norm} and {first}");
            }
        }
    }
}
