//! Operations of the forward pass with their gradients, each in one pass over the data.
//!
//! candle's own derivatives go through a chain of elementwise tensors, which on a processor takes several times longer
//! than the matrix products between them.

use crate::op::Fused;

/// Adds one row to every row: inputs x `(rows, cols)` and the row.
pub(crate) struct AddRow;

impl Fused<2> for AddRow {
    const NAME: &'static str = "add_row";

    fn forward(&self, [x, row]: [&[f32]; 2]) -> Vec<f32> {
        x.chunks_exact(row.len()).flat_map(|x| x.iter().zip(row).map(|(x, row)| x + row)).collect()
    }

    fn backward(&self, [_, row]: [&[f32]; 2], _: &[f32], gradient: &[f32]) -> [Vec<f32>; 2] {
        let mut sums = vec![0.0; row.len()];
        for gradient in gradient.chunks_exact(row.len()) {
            sums.iter_mut().zip(gradient).for_each(|(sum, gradient)| *sum += gradient);
        }
        [gradient.to_vec(), sums]
    }
}

/// LayerNorm: inputs x, weight, bias.
pub(crate) struct LayerNorm {
    pub(crate) eps: f32,
}

impl Fused<3> for LayerNorm {
    const NAME: &'static str = "layer_norm";

    fn forward(&self, [x, weight, bias]: [&[f32]; 3]) -> Vec<f32> {
        let mut y = Vec::with_capacity(x.len());
        for x in x.chunks_exact(weight.len()) {
            let (mean, scale) = self.moments(x);
            y.extend(x.iter().zip(weight).zip(bias).map(|((x, weight), bias)| (x - mean) * scale * weight + bias));
        }
        y
    }

    fn backward(&self, [x, weight, _]: [&[f32]; 3], _: &[f32], gradient: &[f32]) -> [Vec<f32>; 3] {
        let width = weight.len();
        let mut dx = Vec::with_capacity(x.len());
        let (mut dweight, mut dbias) = (vec![0.0; width], vec![0.0; width]);
        let (mut unit, mut dunit) = (vec![0.0; width], vec![0.0; width]);
        for (x, gradient) in x.chunks_exact(width).zip(gradient.chunks_exact(width)) {
            let (mean, scale) = self.moments(x);
            for i in 0..width {
                unit[i] = (x[i] - mean) * scale;
                dunit[i] = gradient[i] * weight[i];
                dweight[i] += gradient[i] * unit[i];
                dbias[i] += gradient[i];
            }
            let (centre, along) = (sum(&dunit) / width as f32, dot(&dunit, &unit) / width as f32);
            dx.extend(unit.iter().zip(&dunit).map(|(unit, dunit)| scale * (dunit - centre - unit * along)));
        }
        [dx, dweight, dbias]
    }
}

impl LayerNorm {
    /// Mean and reciprocal deviation.
    fn moments(&self, x: &[f32]) -> (f32, f32) {
        let mean = sum(x) / x.len() as f32;
        let variance = sum_by(x, |x| (x - mean) * (x - mean)) / x.len() as f32;
        (mean, (variance + self.eps).sqrt().recip())
    }
}

/// RMSNorm: inputs x, weight.
pub(crate) struct RmsNorm {
    pub(crate) eps: f32,
}

impl Fused<2> for RmsNorm {
    const NAME: &'static str = "rms_norm";

    fn forward(&self, [x, weight]: [&[f32]; 2]) -> Vec<f32> {
        let mut y = Vec::with_capacity(x.len());
        for x in x.chunks_exact(weight.len()) {
            let scale = self.scale(x);
            y.extend(x.iter().zip(weight).map(|(x, weight)| x * scale * weight));
        }
        y
    }

    fn backward(&self, [x, weight]: [&[f32]; 2], _: &[f32], gradient: &[f32]) -> [Vec<f32>; 2] {
        let width = weight.len();
        let mut dx = Vec::with_capacity(x.len());
        let (mut dweight, mut dunit) = (vec![0.0; width], vec![0.0; width]);
        for (x, gradient) in x.chunks_exact(width).zip(gradient.chunks_exact(width)) {
            let scale = self.scale(x);
            for i in 0..width {
                dunit[i] = gradient[i] * weight[i];
                dweight[i] += gradient[i] * x[i] * scale;
            }
            let along = dot(&dunit, x) * scale * scale / width as f32;
            dx.extend(x.iter().zip(&dunit).map(|(x, dunit)| scale * (dunit - x * along)));
        }
        [dx, dweight]
    }
}

impl RmsNorm {
    fn scale(&self, x: &[f32]) -> f32 {
        (sum_by(x, |x| x * x) / x.len() as f32 + self.eps).sqrt().recip()
    }
}

/// GELU in its tanh form.
pub(crate) struct Gelu;

/// √(2/π) and the factor of the cube.
const GELU: (f32, f32) = (0.797_884_6, 0.044_715);

impl Fused<1> for Gelu {
    const NAME: &'static str = "gelu";

    fn forward(&self, [x]: [&[f32]; 1]) -> Vec<f32> {
        x.iter().map(|&x| x * gelu_gate(x)).collect()
    }

    fn backward(&self, [x]: [&[f32]; 1], _: &[f32], gradient: &[f32]) -> [Vec<f32>; 1] {
        let derivative = |x: f32| {
            let gate = gelu_gate(x);
            gate + x * 2.0 * gate * (1.0 - gate) * GELU.0 * (1.0 + 3.0 * GELU.1 * x * x)
        };
        [x.iter().zip(gradient).map(|(&x, gradient)| gradient * derivative(x)).collect()]
    }
}

/// (1 + tanh u)/2 = sigmoid(2u).
fn gelu_gate(x: f32) -> f32 {
    sigmoid(2.0 * GELU.0 * (x + GELU.1 * x * x * x))
}

/// silu(gate) ⊙ up.
pub(crate) struct SwiGlu;

impl Fused<2> for SwiGlu {
    const NAME: &'static str = "swiglu";

    fn forward(&self, [gate, up]: [&[f32]; 2]) -> Vec<f32> {
        gate.iter().zip(up).map(|(&gate, up)| gate * sigmoid(gate) * up).collect()
    }

    fn backward(&self, [gate, up]: [&[f32]; 2], _: &[f32], gradient: &[f32]) -> [Vec<f32>; 2] {
        let (mut dgate, mut dup) = (Vec::with_capacity(gate.len()), Vec::with_capacity(up.len()));
        for ((&gate, up), gradient) in gate.iter().zip(up).zip(gradient) {
            let sigmoid = sigmoid(gate);
            dgate.push(gradient * up * sigmoid * (1.0 + gate * (1.0 - sigmoid)));
            dup.push(gradient * gate * sigmoid);
        }
        [dgate, dup]
    }
}

fn sigmoid(x: f32) -> f32 {
    (1.0 + exp(-x)).recip()
}

/// eˣ to a few units in the last place, in a form that compilers turn into vector instructions.
fn exp(x: f32) -> f32 {
    // x = n·ln 2 + r, |r| ≤ ln 2 / 2, with ln 2 in two parts so that r is exact.
    let x = x.clamp(-87.0, 88.0);
    let shifted = x * std::f32::consts::LOG2_E + 12_582_912.0;
    let n = shifted - 12_582_912.0;
    let r = (x - n * 0.693_359_4) - n * -2.121_944_4e-4;
    let series = 1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r / 720.0)))));
    let power = f32::from_bits(((n as i32 + 127) << 23) as u32);
    series * power
}

/// Attention weights: scaled scores, softmax over the positions up to a row's own.
pub(crate) struct CausalSoftmax {
    pub(crate) seq_len: usize,
    pub(crate) scale: f32,
}

impl Fused<1> for CausalSoftmax {
    const NAME: &'static str = "causal_softmax";

    fn forward(&self, [scores]: [&[f32]; 1]) -> Vec<f32> {
        let mut weights = vec![0.0; scores.len()];
        let rows = weights.chunks_exact_mut(self.seq_len).zip(scores.chunks_exact(self.seq_len));
        for (row, (weights, scores)) in rows.enumerate() {
            let seen = row % self.seq_len + 1;
            let (weights, scores) = (&mut weights[..seen], &scores[..seen]);
            let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            for (weight, score) in weights.iter_mut().zip(scores) {
                *weight = exp((score - largest) * self.scale);
            }
            let scale = sum(weights).recip();
            weights.iter_mut().for_each(|weight| *weight *= scale);
        }
        weights
    }

    fn backward(&self, _: [&[f32]; 1], weights: &[f32], gradient: &[f32]) -> [Vec<f32>; 1] {
        let mut scores = vec![0.0; weights.len()];
        for (start, (weights, gradient)) in
            weights.chunks_exact(self.seq_len).zip(gradient.chunks_exact(self.seq_len)).enumerate()
        {
            let seen = start % self.seq_len + 1;
            let along = dot(&weights[..seen], &gradient[..seen]);
            let scores = &mut scores[start * self.seq_len..][..seen];
            for i in 0..seen {
                scores[i] = self.scale * weights[i] * (gradient[i] - along);
            }
        }
        [scores]
    }
}

/// −log softmax(logits) at the target of every row.
pub(crate) struct TokenNll {
    pub(crate) targets: Vec<u32>,
}

impl Fused<1> for TokenNll {
    const NAME: &'static str = "token_nll";

    fn cols(&self, _: usize) -> usize {
        1
    }

    fn forward(&self, [logits]: [&[f32]; 1]) -> Vec<f32> {
        let rows = logits.chunks_exact(logits.len() / self.targets.len());
        let nll = |(logits, &target): (&[f32], &u32)| {
            let (largest, total) = softmax_parts(logits);
            largest + total.ln() - logits[target as usize]
        };
        rows.zip(&self.targets).map(nll).collect()
    }

    fn backward(&self, [logits]: [&[f32]; 1], _: &[f32], gradient: &[f32]) -> [Vec<f32>; 1] {
        let vocab = logits.len() / self.targets.len();
        let mut dlogits = Vec::with_capacity(logits.len());
        for ((logits, &target), gradient) in logits.chunks_exact(vocab).zip(&self.targets).zip(gradient) {
            let (largest, total) = softmax_parts(logits);
            let (scale, start) = (gradient / total, dlogits.len());
            dlogits.extend(logits.iter().map(|logit| scale * exp(logit - largest)));
            dlogits[start + target as usize] -= gradient;
        }
        [dlogits]
    }
}

fn softmax_parts(logits: &[f32]) -> (f32, f32) {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    (largest, sum_by(logits, |logit| exp(logit - largest)))
}

/// Rotary position embedding with tables `(seq_len, half)`.
pub(crate) struct Rotate {
    pub(crate) cos: Vec<f32>,
    pub(crate) sin: Vec<f32>,
    pub(crate) half: usize,
    pub(crate) head_dim: usize,
    pub(crate) width: usize,
}

impl Rotate {
    /// Rotates every pair by its angle, or back if `sign` is −1.
    fn turn(&self, x: &[f32], sign: f32) -> Vec<f32> {
        let mut y = x.to_vec();
        let seq_len = self.cos.len() / self.half;
        for (row, y) in y.chunks_exact_mut(self.width).enumerate() {
            let at = row % seq_len * self.half;
            let (cos, sin) = (&self.cos[at..at + self.half], &self.sin[at..at + self.half]);
            for head in y.chunks_exact_mut(self.head_dim) {
                let (first, second) = head.split_at_mut(self.half);
                for i in 0..self.half {
                    let (a, b) = (first[i], second[i]);
                    first[i] = a * cos[i] - sign * b * sin[i];
                    second[i] = b * cos[i] + sign * a * sin[i];
                }
            }
        }
        y
    }
}

impl Fused<1> for Rotate {
    const NAME: &'static str = "rotate";

    fn forward(&self, [x]: [&[f32]; 1]) -> Vec<f32> {
        self.turn(x, 1.0)
    }

    fn backward(&self, _: [&[f32]; 1], _: &[f32], gradient: &[f32]) -> [Vec<f32>; 1] {
        [self.turn(gradient, -1.0)]
    }
}

fn sum(values: &[f32]) -> f32 {
    sum_by(values, |value| value)
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0; LANES];
    let (a_rest, b_rest) = (a.chunks_exact(LANES).remainder(), b.chunks_exact(LANES).remainder());
    for (a, b) in a.chunks_exact(LANES).zip(b.chunks_exact(LANES)) {
        for i in 0..LANES {
            lanes[i] += a[i] * b[i];
        }
    }
    lanes.iter().sum::<f32>() + a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f32>()
}

/// Sums in an order that allows vector instructions.
fn sum_by(values: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let mut lanes = [0.0; LANES];
    let rest = values.chunks_exact(LANES).remainder();
    for values in values.chunks_exact(LANES) {
        for i in 0..LANES {
            lanes[i] += of(values[i]);
        }
    }
    lanes.iter().sum::<f32>() + rest.iter().map(|&value| of(value)).sum::<f32>()
}

const LANES: usize = 16;
