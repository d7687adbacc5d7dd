//! Operations for training, against plain f64 loops and against the CPU's f64 oracle.

use straightedge::backend::cpu::CpuBackend;
use straightedge::backend::gpu::Tensor;
use straightedge::backend::{Adam, AdamStep, Backend, Shape};
use straightedge::platform::random::Random;

use crate::compare::{EPS, assert_close};
use crate::device::{poisoned, upload, with_device};

const SHAPES: [(usize, usize); 9] =
    [(1, 1), (1, 7), (3, 64), (63, 1), (65, 2), (31, 65), (256, 16), (16, 768), (700, 129)];

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|value| f64::from(*value)).collect()
}

#[test]
fn transpose_swaps_rows_and_columns() {
    with_device(poisoned(), async |gpu| {
        for (rows, cols) in SHAPES {
            let x = Random::new(21).values(rows * cols);
            let expected: Vec<f64> = (0..rows * cols).map(|i| f64::from(x[i % rows * cols + i / rows])).collect();
            let found = gpu.transpose(&upload(gpu, rows, cols, &x)).unwrap();
            assert_eq!(gpu.shape(&found), Shape::new(cols, rows));
            assert_close("transpose", &gpu.read(&found).await.unwrap(), &expected, |_| 0.0);
        }
    });
}

#[test]
fn combine_weighs_both() {
    with_device(poisoned(), async |gpu| {
        for (rows, cols) in SHAPES {
            let (a, b) = (Random::new(22).values(rows * cols), Random::new(23).values(rows * cols));
            let expected: Vec<f64> =
                wide(&a).iter().zip(wide(&b)).map(|(a, b)| f64::from(0.3f32) * a + f64::from(-1.7f32) * b).collect();
            let (a, b) = (upload(gpu, rows, cols, &a), upload(gpu, rows, cols, &b));
            let found = gpu.combine(&a, 0.3, &b, -1.7).unwrap();
            assert_close("combine", &gpu.read(&found).await.unwrap(), &expected, |_| 3.0 * EPS);
        }
    });
}

#[test]
fn gelu_gradient_matches_finite_differences_of_gelu() {
    let mut inputs: Vec<f32> = (-3000..=3000).map(|i| i as f32 / 400.0).collect();
    inputs.extend([0.0, 1e-30, -1e-30, 20.0, -20.0, 90.0, -90.0, 1e10, -1e10]);
    let gradient = Random::new(24).values(inputs.len());
    let gelu = |x: Vec<f64>| {
        // Two f32 halves of every number, so that the oracle gets more digits than f32 has.
        let (cpu, shape) = (CpuBackend::oracle(), Shape::new(1, x.len()));
        let high: Vec<f32> = x.iter().map(|x| *x as f32).collect();
        let low: Vec<f32> = x.iter().zip(&high).map(|(x, high)| (x - f64::from(*high)) as f32).collect();
        let (high, low) = (cpu.upload("high", shape, &high).unwrap(), cpu.upload("low", shape, &low).unwrap());
        let sum = cpu.add(&high, &low).unwrap();
        let value = cpu.activation(&sum, straightedge::backend::Activation::Gelu).unwrap();
        value.flatten_all().unwrap().to_vec1::<f64>().unwrap()
    };
    let step = 1e-5;
    let shifted = |by: f64| gelu(inputs.iter().map(|x| f64::from(*x) + by).collect());
    let mut slopes: Vec<f64> = shifted(step).iter().zip(shifted(-step)).map(|(a, b)| (a - b) / (2.0 * step)).collect();
    // Far out it is a step, and a difference of 1e-5 is below f64's resolution.
    let last = slopes.len() - 1;
    (slopes[last - 1], slopes[last]) = (1.0, 0.0);
    let expected: Vec<f64> = slopes.iter().zip(&gradient).map(|(slope, g)| slope * f64::from(*g)).collect();
    with_device(poisoned(), async |gpu| {
        let (x, g) = (upload(gpu, 1, inputs.len(), &inputs), upload(gpu, 1, inputs.len(), &gradient));
        let found = gpu.read(&gpu.gelu_gradient(&x, &g).unwrap()).await.unwrap();
        assert_close("gelu_gradient", &found, &expected, |_| 6e-7);
    });
    let cpu = CpuBackend::new();
    let shape = Shape::new(1, inputs.len());
    let (x, g) = (cpu.upload("x", shape, &inputs).unwrap(), cpu.upload("g", shape, &gradient).unwrap());
    let found = pollster::block_on(cpu.read(&cpu.gelu_gradient(&x, &g).unwrap())).unwrap();
    assert_close("gelu_gradient on the CPU", &found, &expected, |_| 6e-7);
}

/// Adam as in its paper, in f64.
fn adam(parameter: &mut [f64], gradients: &[Vec<f32>], learning_rate: f64, weight_decay: f64) {
    let (mut first, mut second) = (vec![0.0; parameter.len()], vec![0.0; parameter.len()]);
    for (t, gradient) in gradients.iter().enumerate() {
        let (c1, c2) = (1.0 - 0.9f64.powi(t as i32 + 1), 1.0 - 0.999f64.powi(t as i32 + 1));
        for (i, g) in wide(gradient).into_iter().enumerate() {
            first[i] = 0.9 * first[i] + 0.1 * g;
            second[i] = 0.999 * second[i] + 0.001 * g * g;
            parameter[i] *= 1.0 - learning_rate * weight_decay;
            parameter[i] -= learning_rate * (first[i] / c1) / ((second[i] / c2).sqrt() + 1e-8);
        }
    }
}

async fn check_adam<B: Backend>(backend: &B, rows: usize, cols: usize) {
    let (start, len) = (Random::new(25).values(rows * cols), rows * cols);
    let gradients: Vec<Vec<f32>> = (0..5).map(|t| Random::new(26 + t).values(len)).collect();
    let mut expected = wide(&start);
    adam(&mut expected, &gradients, 0.01, 0.1);
    let up = |data: &[f32]| backend.upload("test", Shape::new(rows, cols), data).unwrap();
    let zero = up(&vec![0.0; len]);
    let begun = Adam { parameter: up(&start), first: zero.clone(), second: zero };
    let mut state = begun.clone();
    for (t, gradient) in gradients.iter().enumerate() {
        let step = AdamStep { step: t + 1, learning_rate: 0.01, weight_decay: 0.1 };
        state = backend.adam(&state, &up(gradient), &step).unwrap();
    }
    let found = backend.read(&state.parameter).await.unwrap();
    assert_close("adam", &found, &expected, |_| 40.0 * EPS);
    assert_eq!(backend.read(&begun.parameter).await.unwrap(), start, "what was there stays");
}

#[test]
fn adam_steps_as_its_authors_write_it() {
    with_device(poisoned(), async |gpu| {
        for (rows, cols) in SHAPES {
            check_adam(gpu, rows, cols).await;
        }
    });
    pollster::block_on(check_adam(&CpuBackend::new(), 31, 65));
}

#[test]
fn wrong_shapes_are_errors() {
    with_device(poisoned(), async |gpu| {
        let (a, b): (Tensor, Tensor) = (upload(gpu, 2, 3, &[0.0; 6]), upload(gpu, 3, 2, &[0.0; 6]));
        let state = Adam { parameter: a.clone(), first: a.clone(), second: a.clone() };
        let step = AdamStep { step: 1, learning_rate: 0.1, weight_decay: 0.0 };
        assert!(gpu.combine(&a, 1.0, &b, 1.0).is_err());
        assert!(gpu.gelu_gradient(&a, &b).is_err());
        assert!(gpu.adam(&state, &b, &step).is_err());
    });
}
