//! The operations of a forward pass against plain f64 loops.

use straightedge::backend::gpu::Reduction;
use straightedge::backend::gpu::VARIANTS;
use straightedge::backend::gpu::{GpuBackend, Options};
use straightedge::backend::{Activation, Backend, Rotary};
use straightedge::error::Error;
use straightedge::platform::random::Random;

use crate::compare::{EPS, assert_close};
use crate::device::{poisoned, upload, with_device};
use crate::operations::ACTIVATIONS;

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|value| f64::from(*value)).collect()
}

#[test]
fn upload_and_read_round_trip() {
    for part_bytes in [None, Some(16), Some(1000)] {
        with_device(Options { part_bytes, ..poisoned() }, async |gpu| {
            let data = Random::new(1).values(37 * 4);
            let tensor = upload(gpu, 37, 4, &data);
            assert_eq!(gpu.read(&tensor).await.unwrap(), data);
        });
    }
}

#[test]
fn gather_takes_rows_of_whole_and_split_tables() {
    for part_bytes in [None, Some(800), Some(4 * 33)] {
        with_device(Options { part_bytes, ..poisoned() }, async |gpu| {
            for (rows, cols, count) in [(1, 1, 1), (100, 7, 3), (40, 33, 1), (63, 2, 16)] {
                let table = Random::new(2).values(rows * cols);
                let mut random = Random::new(3);
                let ids: Vec<u32> = (0..count).map(|_| random.below(rows) as u32).collect();
                let expected: Vec<f64> =
                    ids.iter().flat_map(|id| wide(&table[*id as usize * cols..][..cols])).collect();
                let found = gpu.gather(&upload(gpu, rows, cols, &table), &ids).unwrap();
                assert_close("gather", &gpu.read(&found).await.unwrap(), &expected, |_| 0.0);
            }
        });
    }
}

#[test]
fn gather_refuses_an_id_beyond_the_table() {
    with_device(poisoned(), async |gpu| {
        let error = gpu.gather(&upload(gpu, 2, 1, &[0.0, 1.0]), &[0, 2]).err().expect("an error").to_string();
        assert!(error.contains("beyond the table's 2 rows"), "{error}");
    });
}

#[test]
fn add_adds() {
    with_device(poisoned(), async |gpu| {
        for (rows, cols) in [(1, 1), (7, 9), (1, 63), (1, 64), (65, 1), (2100, 2001)] {
            let (a, b) = (Random::new(4).values(rows * cols), Random::new(5).values(rows * cols));
            let expected: Vec<f64> = a.iter().zip(&b).map(|(a, b)| f64::from(a + b)).collect();
            let found = gpu.add(&upload(gpu, rows, cols, &a), &upload(gpu, rows, cols, &b)).unwrap();
            assert_close("add", &gpu.read(&found).await.unwrap(), &expected, |_| 0.0);
        }
    });
}

const ROW_SHAPES: [(usize, usize); 8] = [(1, 1), (1, 7), (3, 64), (31, 65), (32, 33), (33, 128), (200, 5), (70, 768)];

#[test]
fn layer_norm_normalises_rows() {
    for &reduction in Reduction::ALL {
        with_device(Options { reduction: Some(reduction), ..poisoned() }, async |gpu| {
            for (rows, cols) in ROW_SHAPES {
                let mut random = Random::new(6);
                // A mean much larger than the spread loses digits in a one-pass formula.
                let x: Vec<f32> = random.values(rows * cols).iter().map(|value| 30.0 + value).collect();
                let (weight, bias) = (random.values(cols), random.values(cols));
                let eps = 1e-5;
                let expected: Vec<f64> =
                    wide(&x).chunks(cols).flat_map(|row| layer_norm(row, &weight, &bias, eps)).collect();
                let found = gpu
                    .layer_norm(
                        &upload(gpu, rows, cols, &x),
                        &upload(gpu, 1, cols, &weight),
                        &upload(gpu, 1, cols, &bias),
                        eps,
                    )
                    .unwrap();
                // The mean is known to 30·EPS·√cols at best; a single column has no spread but ε.
                let spread = if cols < 3 { f64::from(eps).sqrt() } else { 0.3 };
                let tolerance = 30.0 * EPS * (4.0 + (cols as f64).sqrt()) / spread;
                assert_close("layer_norm", &gpu.read(&found).await.unwrap(), &expected, |_| tolerance);
            }
        });
    }
}

fn layer_norm(row: &[f64], weight: &[f32], bias: &[f32], eps: f32) -> Vec<f64> {
    let n = row.len() as f64;
    let mean = row.iter().sum::<f64>() / n;
    let variance = row.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n;
    let scale = 1.0 / (variance + f64::from(eps)).sqrt();
    let affine = weight.iter().zip(bias);
    row.iter().zip(affine).map(|(x, (w, b))| (x - mean) * scale * f64::from(*w) + f64::from(*b)).collect()
}

#[test]
fn rms_norm_normalises_rows() {
    for &reduction in Reduction::ALL {
        with_device(Options { reduction: Some(reduction), ..poisoned() }, async |gpu| {
            for (rows, cols) in ROW_SHAPES {
                let mut random = Random::new(7);
                let (x, weight) = (random.values(rows * cols), random.values(cols));
                let eps = 1e-6;
                let norm = |row: &[f64]| -> Vec<f64> {
                    let squares = row.iter().map(|value| value * value).sum::<f64>() / cols as f64;
                    let scale = 1.0 / (squares + f64::from(eps)).sqrt();
                    row.iter().zip(&weight).map(|(x, w)| x * scale * f64::from(*w)).collect()
                };
                let expected: Vec<f64> = wide(&x).chunks(cols).flat_map(norm).collect();
                let found = gpu.rms_norm(&upload(gpu, rows, cols, &x), &upload(gpu, 1, cols, &weight), eps).unwrap();
                let tolerance = 4.0 * EPS * (4.0 + cols as f64);
                assert_close("rms_norm", &gpu.read(&found).await.unwrap(), &expected, |_| tolerance);
            }
        });
    }
}

/// Rows, columns and inner width: 1, odd, one below and above a tile, its depth and its share per thread, large.
const MATMUL_SHAPES: [(usize, usize, usize); 18] = [
    (1, 1, 1),
    (1, 5, 3),
    (3, 2, 4),
    (4, 31, 8),
    (5, 33, 12),
    (8, 127, 15),
    (63, 63, 16),
    (64, 64, 64),
    (65, 65, 20),
    (65, 66, 65),
    (67, 17, 100),
    (130, 129, 28),
    (2, 300, 7),
    (1, 768, 60),
    (200, 1, 68),
    (129, 32, 17),
    (150, 96, 384),
    (257, 260, 772),
];

async fn check_linear(gpu: &GpuBackend, (rows, cols, inner): (usize, usize, usize), with_bias: bool) {
    let mut random = Random::new(8);
    let (x, weight, bias) = (random.values(rows * inner), random.values(cols * inner), random.values(cols));
    let mut expected = vec![0.0; rows * cols];
    for row in 0..rows {
        for col in 0..cols {
            let products = x[row * inner..][..inner].iter().zip(&weight[col * inner..][..inner]);
            let sum: f64 = products.map(|(x, w)| f64::from(*x) * f64::from(*w)).sum();
            expected[row * cols + col] = sum + if with_bias { f64::from(bias[col]) } else { 0.0 };
        }
    }
    let bias = with_bias.then(|| upload(gpu, 1, cols, &bias));
    let found = gpu.linear(&upload(gpu, rows, inner, &x), &upload(gpu, cols, inner, &weight), bias.as_ref()).unwrap();
    let tolerance = EPS * (4.0 + inner as f64 / 2.0);
    let name = format!("linear {rows} × {cols} × {inner}");
    assert_close(&name, &gpu.read(&found).await.unwrap(), &expected, |_| tolerance);
}

#[test]
fn every_matrix_product_multiplies() {
    for variant in VARIANTS {
        with_device(Options { matmul: Some(variant), ..poisoned() }, async |gpu| {
            for shape in MATMUL_SHAPES {
                check_linear(gpu, shape, true).await;
                check_linear(gpu, shape, false).await;
            }
        });
    }
}

#[test]
fn matrix_products_cut_into_dispatches_are_whole() {
    for variant in VARIANTS {
        // Devices so slow that every tile, or a few tiles, get their own dispatch.
        for flops_per_ms in [1.0, 1e4] {
            with_device(
                Options { matmul: Some(variant), flops_per_ms: Some(flops_per_ms), ..poisoned() },
                async |gpu| {
                    check_linear(gpu, (130, 129, 20), true).await;
                    check_linear(gpu, (7, 200, 33), false).await;
                },
            );
        }
    }
}

#[test]
fn matrix_products_with_a_split_weight_are_whole() {
    for variant in VARIANTS {
        // Parts of 50 columns and of 66: offsets within a tile, and more than one tile to a part.
        let options = Options { matmul: Some(variant), part_bytes: Some(4 * 33 * 66), ..poisoned() };
        with_device(options, async |gpu| {
            check_linear(gpu, (5, 120, 33), true).await;
            check_linear(gpu, (8, 200, 32), false).await;
            check_linear(gpu, (9, 200, 44), true).await;
        });
    }
}

#[test]
fn rotate_turns_pairs_of_features() {
    with_device(poisoned(), async |gpu| {
        for (windows, seq_len, heads, head_dim, rotary_dim) in
            [(1, 1, 1, 2, 2), (2, 5, 3, 8, 4), (3, 16, 2, 10, 10), (1, 33, 4, 64, 16)]
        {
            let (half, cols, rows) = (rotary_dim / 2, heads * head_dim, windows * seq_len);
            let mut random = Random::new(9);
            let x = random.values(rows * cols);
            let angles: Vec<f32> = random.values(seq_len * half).iter().map(|value| 3.0 * value).collect();
            let (cos, sin): (Vec<f32>, Vec<f32>) = angles.iter().map(|angle| (angle.cos(), angle.sin())).unzip();
            let mut expected = wide(&x);
            for (row, head, i) in triples(rows, heads, half) {
                let at = row * cols + head * head_dim + i;
                let angle = row % seq_len * half + i;
                let (c, s) = (f64::from(cos[angle]), f64::from(sin[angle]));
                let (a, b) = (f64::from(x[at]), f64::from(x[at + half]));
                (expected[at], expected[at + half]) = (a * c - b * s, b * c + a * s);
            }
            let rotary = Rotary {
                cos: upload(gpu, seq_len, half, &cos),
                sin: upload(gpu, seq_len, half, &sin),
                rotary_dim,
                head_dim,
                seq_len,
            };
            let found = gpu.rotate(&upload(gpu, rows, cols, &x), &rotary).unwrap();
            assert_close("rotate", &gpu.read(&found).await.unwrap(), &expected, |_| 4.0 * EPS);
        }
    });
}

fn triples(a: usize, b: usize, c: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    (0..a).flat_map(move |i| (0..b).flat_map(move |j| (0..c).map(move |k| (i, j, k))))
}

fn activate(activation: Activation, x: f64) -> f64 {
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    match activation {
        Activation::Gelu => 0.5 * x * erfc(-x / 2.0f64.sqrt()),
        Activation::GeluTanh => {
            0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh())
        }
        Activation::QuickGelu => x * sigmoid(1.702 * x),
        Activation::Relu => x.max(0.0),
        Activation::ReluSquared => x.max(0.0).powi(2),
        Activation::Silu => x * sigmoid(x),
        Activation::Tanh => x.tanh(),
        Activation::Sigmoid => sigmoid(x),
        Activation::Identity => x,
    }
}

/// 1 − erf(x): the power series where it converges fast, else the continued fraction.
fn erfc(x: f64) -> f64 {
    if x.abs() < 3.0 {
        let mut term = x;
        let mut sum = x;
        for n in 1..80 {
            term *= -x * x / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        return 1.0 - 2.0 / std::f64::consts::PI.sqrt() * sum;
    }
    if x < 0.0 {
        return 2.0 - erfc(-x);
    }
    let fraction = (1..60).rev().fold(0.0, |below, n| f64::from(n) / 2.0 / (x + below));
    (-x * x).exp() / std::f64::consts::PI.sqrt() / (x + fraction)
}

#[test]
fn the_reference_erfc_is_right() {
    for (x, expected) in [(0.0, 1.0), (1.0, 0.157299207050285), (-2.0, 1.99532226501895), (3.5, 7.43098372341413e-7)] {
        assert!((erfc(x) - expected).abs() <= 1e-14, "{x}");
    }
}

#[test]
fn activations_match_their_formulas() {
    let mut inputs: Vec<f32> = (-4000..=4000).map(|i| i as f32 / 400.0).collect();
    inputs.extend([0.0, 1e-30, -1e-30, 1e-4, -1e-4, 20.0, -20.0, 90.0, -90.0, 1e4, -1e4, 1e15, -1e15]);
    with_device(poisoned(), async |gpu| {
        let x = upload(gpu, 1, inputs.len(), &inputs);
        let up_values = Random::new(11).values(inputs.len());
        let up = upload(gpu, 1, inputs.len(), &up_values);
        for activation in ACTIVATIONS {
            let expected: Vec<f64> = inputs.iter().map(|x| activate(activation, f64::from(*x))).collect();
            // Absolute against 1, relative beyond it.
            let allowed = |i: usize| 4e-7 * f64::from(inputs[i]).abs().max(1.0).max(expected[i].abs());
            let found = gpu.read(&gpu.activation(&x, activation).unwrap()).await.unwrap();
            assert_close(&format!("{activation:?}"), &found, &expected, allowed);

            let gated: Vec<f64> = expected.iter().zip(&up_values).map(|(f, up)| f * f64::from(*up)).collect();
            let found = gpu.read(&gpu.gated(&x, &up, activation).unwrap()).await.unwrap();
            assert_close(&format!("gated {activation:?}"), &found, &gated, allowed);
        }
    });
}

#[test]
fn standardise_shifts_and_scales_columns() {
    with_device(poisoned(), async |gpu| {
        for (rows, cols) in ROW_SHAPES {
            let mut random = Random::new(13);
            let (x, mean, scale) = (random.values(rows * cols), random.values(cols), random.values(cols));
            let column =
                |(i, x): (usize, &f32)| (f64::from(*x) - f64::from(mean[i % cols])) * f64::from(scale[i % cols]);
            let expected: Vec<f64> = x.iter().enumerate().map(column).collect();
            let found = gpu
                .standardise(&upload(gpu, rows, cols, &x), &upload(gpu, 1, cols, &mean), &upload(gpu, 1, cols, &scale))
                .unwrap();
            assert_close("standardise", &gpu.read(&found).await.unwrap(), &expected, |_| 4.0 * EPS);
        }
    });
}

#[test]
fn row_cosines_are_cosines() {
    with_device(poisoned(), async |gpu| {
        for (rows, cols) in ROW_SHAPES {
            let mut random = Random::new(12);
            let (mut a, b) = (random.values(rows * cols), random.values(rows * cols));
            // One row of zeros, one whose squares overflow f32.
            a[..cols].fill(0.0);
            a[(rows - 1) * cols..].iter_mut().for_each(|value| *value *= 1e30);
            let cosine = |(a, b): (&[f64], &[f64])| {
                let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
                let norms = (dot(a, a) * dot(b, b)).sqrt();
                if norms == 0.0 { 0.0 } else { dot(a, b) / norms }
            };
            let expected: Vec<f64> = wide(&a).chunks(cols).zip(wide(&b).chunks(cols)).map(cosine).collect();
            let found = gpu.row_cosines(&upload(gpu, rows, cols, &a), &upload(gpu, rows, cols, &b)).unwrap();
            let tolerance = EPS * (4.0 + cols as f64 / 4.0);
            assert_close("row_cosines", &gpu.read(&found).await.unwrap(), &expected, |_| tolerance);
        }
    });
}

#[test]
fn row_distance_ratios_are_relative_to_the_first() {
    with_device(poisoned(), async |gpu| {
        for (rows, cols) in ROW_SHAPES {
            let mut random = Random::new(13);
            let (mut a, b) = (random.values(rows * cols), random.values(rows * cols));
            // A row whose squares overflow f32.
            a[(rows - 1) * cols..].iter_mut().for_each(|value| *value *= 1e30);
            let ratio = |(a, b): (&[f64], &[f64])| {
                let norm =
                    |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>().sqrt();
                norm(&mut a.iter().zip(b).map(|(a, b)| b - a)) / norm(&mut a.iter().copied())
            };
            let expected: Vec<f64> = wide(&a).chunks(cols).zip(wide(&b).chunks(cols)).map(ratio).collect();
            let found = gpu.row_distance_ratios(&upload(gpu, rows, cols, &a), &upload(gpu, rows, cols, &b)).unwrap();
            let tolerance = |i: usize| EPS * (8.0 + cols as f64 / 2.0) * expected[i].max(1.0);
            assert_close("row_distance_ratios", &gpu.read(&found).await.unwrap(), &expected, tolerance);
        }
    });
}

#[test]
fn row_squared_distances_are_from_the_same_row_or_the_only_one() {
    with_device(poisoned(), async |gpu| {
        for (rows, cols) in ROW_SHAPES {
            let mut random = Random::new(15);
            let a = random.values(rows * cols);
            for of_b in [rows, 1] {
                let b = random.values(of_b * cols);
                let square = |(row, a): (usize, &[f64])| {
                    let b = &wide(&b)[row % of_b * cols..][..cols];
                    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>()
                };
                let expected: Vec<f64> = wide(&a).chunks(cols).enumerate().map(square).collect();
                let found = gpu.row_squared_distances(&upload(gpu, rows, cols, &a), &upload(gpu, of_b, cols, &b));
                let tolerance = |i: usize| EPS * (4.0 + cols as f64) * expected[i];
                assert_close("row_squared_distances", &gpu.read(&found.unwrap()).await.unwrap(), &expected, tolerance);
            }
        }
    });
}

#[test]
fn window_products_are_sums_over_counted_rows() {
    with_device(poisoned(), async |gpu| {
        for (windows, seq_len, skip, cols) in
            [(1, 1, 0, 1), (3, 4, 1, 70), (300, 2, 0, 65), (2, 128, 3, 33), (2, 5, 5, 3)]
        {
            let mut random = Random::new(16);
            let [a, b] = [(); 2].map(|()| random.values(windows * seq_len * cols));
            let (mut expected, mut sizes) = (vec![0.0; windows * cols], vec![0.0; windows * cols]);
            for (i, (a, b)) in wide(&a).iter().zip(wide(&b)).enumerate() {
                let (row, col) = (i / cols, i % cols);
                if row % seq_len >= skip {
                    expected[row / seq_len * cols + col] += a * b;
                    sizes[row / seq_len * cols + col] += (a * b).abs();
                }
            }
            let [a, b] = [a, b].map(|values| upload(gpu, windows * seq_len, cols, &values));
            let found = gpu.window_products(&a, &b, seq_len, skip).unwrap();
            let tolerance = |i: usize| EPS * (2.0 + seq_len as f64) * sizes[i];
            assert_close("window_products", &gpu.read(&found).await.unwrap(), &expected, tolerance);
        }
    });
}

#[test]
fn next_token_nll_is_the_negative_log_softmax_at_the_target() {
    for &reduction in Reduction::ALL {
        with_device(Options { reduction: Some(reduction), ..poisoned() }, async |gpu| {
            for (rows, cols) in ROW_SHAPES {
                let mut random = Random::new(14);
                let mut logits = random.values(rows * cols);
                // Logits whose exponentials overflow f32 unless the largest is taken off first.
                logits[(rows - 1) * cols..].iter_mut().for_each(|value| *value = *value * 10.0 + 500.0);
                // And one that overflows unless the largest is taken off.
                logits[rows * cols - 1] += 200.0;
                let targets: Vec<u32> = (0..rows).map(|row| (7 * row % cols) as u32).collect();
                let nll = |(row, &target): (&[f64], &u32)| {
                    let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    let total: f64 = row.iter().map(|logit| (logit - largest).exp()).sum();
                    total.ln() + largest - row[target as usize]
                };
                let expected: Vec<f64> = wide(&logits).chunks(cols).zip(&targets).map(nll).collect();
                let found = gpu.next_token_nll(&upload(gpu, rows, cols, &logits), &targets).unwrap();
                // f32 represents 700 ± 10 to 2⁻¹⁴.
                let tolerance = |i: usize| EPS * (800.0 + cols as f64) + EPS * 8.0 * expected[i].abs();
                assert_close("next_token_nll", &gpu.read(&found).await.unwrap(), &expected, tolerance);
            }
        });
    }
}

#[test]
fn what_exceeds_a_binding_is_an_error_that_says_so() {
    with_device(Options { part_bytes: Some(1 << 20), ..poisoned() }, async |gpu| {
        let (x, weight) = (upload(gpu, 1024, 1, &[1.0; 1024]), upload(gpu, 1024, 1, &[1.0; 1024]));
        let error = gpu.linear(&x, &weight, None).err();
        let (needed, limit) = (4 << 20, 1 << 20);
        assert_eq!(error, Some(Error::DeviceLimit { what: "linear output".into(), needed, limit }));
        // A tensor in parts is a table or a weight, never an activation.
        let table = upload(gpu, 600_000, 1, &vec![0.0; 600_000]);
        assert!(gpu.add(&table, &table).is_err());
    });
}

#[test]
fn wrong_shapes_are_errors() {
    with_device(poisoned(), async |gpu| {
        let (a, b) = (upload(gpu, 2, 3, &[0.0; 6]), upload(gpu, 3, 2, &[0.0; 6]));
        let failures = [
            gpu.add(&a, &b),
            gpu.linear(&a, &b, None),
            gpu.rms_norm(&a, &b, 1e-6),
            gpu.layer_norm(&a, &b, &b, 1e-6),
            gpu.gated(&a, &b, Activation::Relu),
            gpu.row_cosines(&a, &b),
            gpu.row_distance_ratios(&a, &b),
            gpu.row_squared_distances(&a, &b),
            gpu.window_products(&a, &b, 1, 0),
            gpu.window_products(&a, &a, 3, 0),
            gpu.window_products(&a, &a, 1, 2),
            gpu.next_token_nll(&a, &[0]),
            gpu.next_token_nll(&a, &[0, 3]),
            gpu.upload("short", straightedge::backend::Shape::new(2, 2), &[0.0; 3]),
        ];
        for failure in failures {
            assert!(failure.is_err());
        }
    });
}
