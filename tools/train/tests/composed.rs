//! Compares every composed operation, as used on GPUs, with the fused one of the CPU: values and all gradients, for
//! shapes that no vector width divides.

use candle_core::{Device, Tensor, Var};
use straightedge::backend::{Activation, AttentionShape, Backend, Rotary};
use straightedge::error::Result;
use straightedge::platform::random::Random;
use straightedge_train::backend::TrainingBackend;

/// Relative to the norm of a value or gradient.
const TOLERANCE: f32 = 3e-6;

/// Normal numbers with this mean and spread.
fn drawn(random: &mut Random, rows: usize, cols: usize, mean: f32, spread: f32) -> Tensor {
    let values: Vec<f32> = (0..rows * cols).map(|_| mean + spread * random.normal() as f32).collect();
    Tensor::from_vec(values, (rows, cols), &Device::Cpu).expect("a tensor")
}

fn values(tensor: &Tensor) -> Vec<f32> {
    tensor.flatten_all().and_then(|flat| flat.to_vec1()).expect("f32 values")
}

/// The value of `operation` and the gradient of every input, for a random fixed output gradient.
fn outcome(
    backend: &TrainingBackend,
    inputs: &[Tensor],
    operation: &dyn Fn(&TrainingBackend, &[Tensor]) -> Result<Tensor>,
) -> Vec<Vec<f32>> {
    let vars: Vec<Var> = inputs.iter().map(|input| Var::from_tensor(input).expect("a variable")).collect();
    let tensors: Vec<Tensor> = vars.iter().map(|var| var.as_tensor().clone()).collect();
    let y = operation(backend, &tensors).expect("a value");
    let (rows, cols) = y.dims2().expect("rows");
    let weights = drawn(&mut Random::new(9), rows, cols, 0.0, 1.0);
    let loss = (&y * weights).and_then(|weighed| weighed.sum_all()).expect("a loss");
    let gradients = loss.backward().expect("gradients");
    let gradients = tensors.iter().map(|tensor| values(gradients.get(tensor).expect("a gradient of every input")));
    [values(&y)].into_iter().chain(gradients).collect()
}

fn assert_same(what: &str, inputs: &[Tensor], operation: &dyn Fn(&TrainingBackend, &[Tensor]) -> Result<Tensor>) {
    let fused = outcome(&TrainingBackend::default(), inputs, operation);
    let composed = outcome(&TrainingBackend::composed(), inputs, operation);
    assert_eq!(fused.len(), inputs.len() + 1);
    for (index, (fused, composed)) in fused.iter().zip(&composed).enumerate() {
        assert_eq!(fused.len(), composed.len(), "{what}");
        let norm = fused.iter().map(|x| x * x).sum::<f32>().sqrt();
        let off = fused.iter().zip(composed).map(|(a, b)| (a - b) * (a - b)).sum::<f32>().sqrt();
        let part = if index == 0 { "value".into() } else { format!("gradient of input {}", index - 1) };
        assert!(norm > 0.0, "{what}, {part}: nothing to compare");
        assert!(off <= TOLERANCE * norm, "{what}, {part}: off by {off} of {norm}");
    }
}

#[test]
fn norms() {
    let random = &mut Random::new(1);
    for (rows, cols) in [(1, 5), (3, 17), (7, 33), (2, 130)] {
        let x = drawn(random, rows, cols, 0.7, 2.0);
        let (weight, bias) = (drawn(random, 1, cols, 1.0, 0.3), drawn(random, 1, cols, 0.0, 0.5));
        let what = format!("LayerNorm {rows} × {cols}");
        assert_same(&what, &[x.clone(), weight.clone(), bias], &|backend, inputs| {
            backend.layer_norm(&inputs[0], &inputs[1], &inputs[2], 1e-5)
        });
        let what = format!("RMSNorm {rows} × {cols}");
        assert_same(&what, &[x, weight], &|backend, inputs| backend.rms_norm(&inputs[0], &inputs[1], 1e-5));
    }
}

#[test]
fn linear_maps_with_and_without_bias() {
    let random = &mut Random::new(2);
    for (rows, cols, outputs) in [(1, 1, 1), (5, 3, 7), (19, 33, 18)] {
        let (x, weight) = (drawn(random, rows, cols, 0.1, 1.0), drawn(random, outputs, cols, 0.0, 0.5));
        let bias = drawn(random, 1, outputs, 0.2, 1.0);
        let what = format!("{rows} × {cols} to {outputs}");
        assert_same(&what, &[x.clone(), weight.clone()], &|backend, inputs| {
            backend.linear(&inputs[0], &inputs[1], None)
        });
        assert_same(&(what + " with bias"), &[x, weight, bias], &|backend, inputs| {
            backend.linear(&inputs[0], &inputs[1], Some(&inputs[2]))
        });
    }
}

#[test]
fn rotary_positions_of_a_whole_head_and_of_a_part() {
    let random = &mut Random::new(3);
    for (windows, seq_len, heads, head_dim, rotary_dim) in [(1, 1, 1, 2, 2), (2, 5, 3, 6, 6), (3, 7, 2, 10, 4)] {
        let x = drawn(random, windows * seq_len, heads * head_dim, 0.0, 1.0);
        let angles = drawn(random, seq_len, rotary_dim / 2, 0.0, 2.0);
        let (cos, sin) = (angles.cos().expect("cos"), angles.sin().expect("sin"));
        let rotary = Rotary { cos, sin, rotary_dim, head_dim, seq_len };
        let what = format!("{rotary_dim} of {head_dim} turned");
        assert_same(&what, &[x], &|backend, inputs| backend.rotate(&inputs[0], &rotary));
    }
}

#[test]
fn causal_attention() {
    let random = &mut Random::new(4);
    for (windows, seq_len, heads, head_dim) in [(1, 2, 1, 1), (2, 5, 3, 6), (3, 19, 2, 7)] {
        let shape = AttentionShape { causal: true, ..AttentionShape::full(heads, head_dim, seq_len) };
        let qkv = [0, 1, 2].map(|_| drawn(random, windows * seq_len, heads * head_dim, 0.0, 1.5));
        let what = format!("{windows} windows of {seq_len}, {heads} heads of {head_dim}");
        assert_same(&what, &qkv, &|backend, inputs| backend.attention(&inputs[0], &inputs[1], &inputs[2], shape));
    }
}

#[test]
fn activations_far_out_as_well() {
    let random = &mut Random::new(5);
    for (rows, cols, spread) in [(1, 1, 1.0), (7, 13, 2.0), (3, 35, 30.0)] {
        let (gate, up) = (drawn(random, rows, cols, 0.0, spread), drawn(random, rows, cols, 0.0, 1.0));
        let what = format!("{rows} × {cols}, spread {spread}");
        assert_same(&format!("GELU {what}"), std::slice::from_ref(&gate), &|backend, inputs| {
            backend.activation(&inputs[0], Activation::GeluTanh)
        });
        assert_same(&format!("SwiGLU {what}"), &[gate, up], &|backend, inputs| {
            backend.gated(&inputs[0], &inputs[1], Activation::Silu)
        });
    }
}

#[test]
fn losses_of_tokens() {
    let random = &mut Random::new(6);
    for (rows, vocabulary) in [(1, 2), (5, 19), (3, 301)] {
        let logits = drawn(random, rows, vocabulary, 3.0, 4.0);
        let targets: Vec<u32> = (0..rows).map(|row| (row * 7 % vocabulary) as u32).collect();
        let what = format!("{rows} rows of {vocabulary} logits");
        assert_same(&what, &[logits], &|backend, inputs| backend.next_token_nll(&inputs[0], &targets));
    }
}
