//! The operations between the products of a forward pass, over slices of rows.

use std::ops::Range;

use crate::lanes::for_widest_vectors;

/// An activation that is compute-bound rather than memory-bound.
#[derive(Clone, Copy, Debug)]
pub enum Curve {
    /// x·Φ(x).
    Gelu,
    /// The tanh approximation of GELU.
    GeluTanh,
    /// x·sigmoid(1.702·x).
    QuickGelu,
    /// x·sigmoid(x).
    Silu,
    /// 1/(1 + e⁻ˣ).
    Sigmoid,
}

impl Curve {
    /// y = f(x), element by element.
    pub fn map(self, x: &[f32], y: &mut [f32]) {
        map(self, x, y);
    }

    /// y = f(gate) ⊙ up, element by element.
    pub fn map_times(self, gate: &[f32], up: &[f32], y: &mut [f32]) {
        map(self, gate, y);
        multiply(y, up);
    }
}

for_widest_vectors! {
    fn map(curve: Curve, x: &[f32], y: &mut [f32]) -> () {
        match curve {
            Curve::Gelu => map_by(x, y, gelu),
            Curve::GeluTanh => map_by(x, y, gelu_tanh),
            Curve::QuickGelu => map_by(x, y, quick_gelu),
            Curve::Silu => map_by(x, y, silu),
            Curve::Sigmoid => map_by(x, y, sigmoid),
        }
    }
}

/// Inlined for every `f`, so that each loop is vectorised.
#[inline(always)]
fn map_by(x: &[f32], y: &mut [f32], f: impl Fn(f32) -> f32) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y = f(*x));
}

for_widest_vectors! {
    fn multiply(y: &mut [f32], by: &[f32]) -> () {
        y.iter_mut().zip(by).for_each(|(y, by)| *y *= by);
    }
}

for_widest_vectors! {
    /// (x − mean)/√(var + eps)·weight + bias of every row; rows have the width of `weight`.
    pub fn layer_norm(x: &[f32], weight: &[f32], bias: &[f32], eps: f32, y: &mut [f32]) -> () {
        let cols = weight.len();
        for (row, normed) in x.chunks_exact(cols).zip(y.chunks_exact_mut(cols)) {
            let n = cols as f32;
            let mean = sum(row, |x| x) / n;
            let scale = (sum(row, |x| (x - mean) * (x - mean)) / n + eps).sqrt().recip();
            let columns = normed.iter_mut().zip(row).zip(weight.iter().zip(bias));
            columns.for_each(|((normed, x), (weight, bias))| *normed = (x - mean) * scale * weight + bias);
        }
    }
}

for_widest_vectors! {
    /// x/√(mean(x²) + eps)·weight of every row; rows have the width of `weight`.
    pub fn rms_norm(x: &[f32], weight: &[f32], eps: f32, y: &mut [f32]) -> () {
        let cols = weight.len();
        for (row, normed) in x.chunks_exact(cols).zip(y.chunks_exact_mut(cols)) {
            let scale = (sum(row, |x| x * x) / cols as f32 + eps).sqrt().recip();
            let columns = normed.iter_mut().zip(row.iter().zip(weight));
            columns.for_each(|(normed, (x, weight))| *normed = x * scale * weight);
        }
    }
}

for_widest_vectors! {
    /// Adds `bias` to every row; rows have the width of `bias`.
    pub fn add_bias(rows: &mut [f32], bias: &[f32]) -> () {
        for row in rows.chunks_exact_mut(bias.len()) {
            row.iter_mut().zip(bias).for_each(|(value, bias)| *value += bias);
        }
    }
}

for_widest_vectors! {
    /// Softmax of scale·score over `seen(row)` of `cols` scores in every row; the rest become 0.
    pub fn softmax(scores: &mut [f32], cols: usize, scale: f32, seen: &dyn Fn(usize) -> Range<usize>) -> () {
        for (index, row) in scores.chunks_exact_mut(cols).enumerate() {
            let Range { start, end } = seen(index);
            row[..start].fill(0.0);
            row[end..].fill(0.0);
            let seen = &mut row[start..end];
            let largest = seen.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            seen.iter_mut().for_each(|score| *score = exp((*score - largest) * scale));
            let scale = sum(seen, |weight| weight).recip();
            seen.iter_mut().for_each(|weight| *weight *= scale);
        }
    }
}

for_widest_vectors! {
    /// a·b/(‖a‖·‖b‖); 0 where a or b is 0.
    pub fn cosine(a: &[f32], b: &[f32]) -> f32 {
        let norms = sum(a, |a| a * a).sqrt() * sum(b, |b| b * b).sqrt();
        sum_of_pairs(a, b, |a, b| a * b) / norms.max(f32::MIN_POSITIVE)
    }
}

for_widest_vectors! {
    /// ‖a − b‖².
    pub fn squared_distance(a: &[f32], b: &[f32]) -> f32 {
        sum_of_pairs(a, b, |a, b| (a - b) * (a - b))
    }
}

for_widest_vectors! {
    /// Adds a ⊙ b of every row to `sums`; rows have the width of `sums`.
    pub fn add_products(a: &[f32], b: &[f32], sums: &mut [f32]) -> () {
        for (a, b) in a.chunks_exact(sums.len()).zip(b.chunks_exact(sums.len())) {
            sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
        }
    }
}

#[inline(always)]
fn gelu(x: f32) -> f32 {
    (libm::erff(x * std::f32::consts::FRAC_1_SQRT_2) + 1.0) * 0.5 * x
}

/// 0.5·x·(1 + tanh u) = x·sigmoid(2u), which does not cancel where tanh nears −1.
#[inline(always)]
fn gelu_tanh(x: f32) -> f32 {
    const TWICE_ROOT_2_OVER_PI: f32 = 1.595_769;
    x * sigmoid(TWICE_ROOT_2_OVER_PI * x * (1.0 + 0.044_715 * x * x))
}

#[inline(always)]
fn quick_gelu(x: f32) -> f32 {
    x * sigmoid(1.702 * x)
}

#[inline(always)]
fn silu(x: f32) -> f32 {
    x * sigmoid(x)
}

#[inline(always)]
fn sigmoid(x: f32) -> f32 {
    (1.0 + exp(-x)).recip()
}

/// e^x to two units in the last place, branch-free so that loops vectorise. Clamped beyond ±87, near the range of f32.
#[inline(always)]
fn exp(x: f32) -> f32 {
    /// Adding it rounds to an integer in the low bits: at 1.5·2²³ one unit in the last place is 1.
    const ROUND: f32 = 12_582_912.0;
    /// ln 2 as a sum: products of the first term with integers below 2⁹ are exact.
    const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    let x = x.clamp(-87.0, 87.0);
    let rounded = x * std::f32::consts::LOG2_E + ROUND;
    let whole = rounded - ROUND;
    let r = x - whole * LN_2[0] - whole * LN_2[1];
    // Taylor series: at |r| ≤ ½·ln 2 the remainder is below 6e-9.
    let high = ((r * (1.0 / 5040.0) + 1.0 / 720.0) * r + 1.0 / 120.0) * r + 1.0 / 24.0;
    let series = (((high * r + 1.0 / 6.0) * r + 0.5) * r + 1.0) * r + 1.0;
    let exponent = rounded.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127);
    series * f32::from_bits(exponent << 23)
}

/// Σf(value) in eight partial sums, which is both faster and more accurate.
#[inline(always)]
fn sum(values: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    let (eights, rest) = values.as_chunks::<8>();
    let mut parts = [0.0f32; 8];
    for eight in eights {
        parts.iter_mut().zip(eight).for_each(|(part, value)| *part += f(*value));
    }
    parts.iter_mut().zip(rest).for_each(|(part, value)| *part += f(*value));
    parts.iter().sum()
}

/// Σf(a, b) in eight partial sums.
#[inline(always)]
fn sum_of_pairs(a: &[f32], b: &[f32], f: impl Fn(f32, f32) -> f32) -> f32 {
    let ((eights, rest), (other_eights, other_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut parts = [0.0f32; 8];
    for (eight, other) in eights.iter().zip(other_eights) {
        parts.iter_mut().zip(eight.iter().zip(other)).for_each(|(part, (a, b))| *part += f(*a, *b));
    }
    parts.iter_mut().zip(rest.iter().zip(other_rest)).for_each(|(part, (a, b))| *part += f(*a, *b));
    parts.iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_is_good_to_two_units_in_the_last_place() {
        let (mut x, mut worst) = (-87.0f32, 0.0f64);
        while x < 87.0 {
            let expected = f64::from(x).exp();
            worst = worst.max((f64::from(exp(x)) - expected).abs() / expected);
            x += 0.000_97;
        }
        assert!(worst <= 2.0 * f64::from(f32::EPSILON), "{worst:e}");
        assert_eq!(exp(0.0), 1.0);
        assert!(exp(f32::NEG_INFINITY) < 1e-37 && exp(f32::NAN).is_nan());
    }
}
