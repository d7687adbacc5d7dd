//! Attention against plain f64 loops: heads of any width, grouped or not, causal or not, in windows around a tile.

use straightedge::backend::gpu::Reduction;
use straightedge::backend::gpu::{GpuBackend, Options};
use straightedge::backend::{AttentionShape, Backend};
use straightedge::platform::random::Random;

use crate::compare::{EPS, assert_close};
use crate::device::{poisoned, upload, with_device};

/// Windows, positions, heads, key-value heads, width of a head.
const SHAPES: [[usize; 5]; 16] = [
    [1, 1, 1, 1, 1],
    [2, 3, 2, 1, 5],
    [2, 4, 4, 2, 4],
    [1, 5, 3, 3, 8],
    [2, 15, 2, 2, 17],
    [2, 33, 4, 1, 6],
    [3, 63, 2, 2, 16],
    [1, 64, 2, 2, 64],
    [1, 65, 2, 1, 64],
    [2, 65, 4, 2, 63],
    [1, 70, 2, 1, 12],
    [1, 127, 3, 1, 65],
    [2, 128, 2, 2, 15],
    [1, 129, 2, 2, 128],
    [1, 130, 6, 3, 80],
    [1, 200, 2, 1, 130],
];

#[test]
fn attention_attends_within_windows() {
    // Some devices are so slow that every head of every window gets its own dispatches.
    let devices = [(1e6, Reduction::Workgroup), (1.0, Reduction::Workgroup), (1e6, Reduction::Subgroup)];
    for (flops_per_ms, reduction) in devices {
        let options = Options { flops_per_ms: Some(flops_per_ms), reduction: Some(reduction), ..poisoned() };
        with_device(options, async |gpu| {
            for causal in [true, false] {
                for [windows, seq_len, heads, kv_heads, head_dim] in SHAPES {
                    let full = AttentionShape::full(heads, head_dim, seq_len);
                    check_attention(gpu, windows, AttentionShape { kv_heads, causal, ..full }, 5.0).await;
                }
            }
        });
    }
}

#[test]
fn attention_takes_scores_that_an_exponential_does_not() {
    for &reduction in Reduction::ALL {
        with_device(Options { reduction: Some(reduction), ..poisoned() }, async |gpu| {
            for causal in [true, false] {
                let shape = AttentionShape { kv_heads: 1, causal, ..AttentionShape::full(2, 8, 70) };
                check_attention(gpu, 2, shape, 200.0).await;
            }
        });
    }
}

#[test]
fn attention_is_local_capped_scaled_and_biased() {
    for &reduction in Reduction::ALL {
        with_device(Options { reduction: Some(reduction), ..poisoned() }, async |gpu| {
            for causal in [true, false] {
                for [windows, seq_len, heads, kv_heads, head_dim] in SHAPES {
                    let plain = AttentionShape { kv_heads, causal, ..AttentionShape::full(heads, head_dim, seq_len) };
                    for reach in [0, 1, 7, 64, seq_len] {
                        check_attention(gpu, windows, AttentionShape { reach: Some(reach), ..plain }, 5.0).await;
                    }
                    let biased = AttentionShape { alibi: true, ..plain };
                    let capped = AttentionShape { softcap: Some(2.0), ..plain };
                    let all = AttentionShape { reach: Some(5), scale: 1.0, softcap: Some(3.0), ..biased };
                    for shape in [biased, capped, all] {
                        check_attention(gpu, windows, shape, 5.0).await;
                    }
                }
            }
        });
    }
}

/// `size` is the largest magnitude of a query's features; those of keys are below 1.
async fn check_attention(gpu: &GpuBackend, windows: usize, shape: AttentionShape, size: f32) {
    let AttentionShape { heads, kv_heads, head_dim, seq_len, causal, .. } = shape;
    let (rows, cols, kv_cols) = (windows * seq_len, heads * head_dim, kv_heads * head_dim);
    let mut random = Random::new(10);
    let q: Vec<f32> = random.values(rows * cols).iter().map(|value| size * value).collect();
    let (k, v) = (random.values(rows * kv_cols), random.values(rows * kv_cols));
    let mut expected = vec![0.0; rows * cols];
    for (row, head) in (0..rows).flat_map(|row| (0..heads).map(move |head| (row, head))) {
        let first = row / seq_len * seq_len;
        let kv_head = head / (heads / kv_heads);
        let reach = shape.reach.unwrap_or(seq_len);
        let end = if causal { row + 1 } else { (first + seq_len).min(row + reach + 1) };
        let seen = first.max(row.saturating_sub(reach))..end;
        // 2^(−8k/n) for a power of two n; other numbers of heads are checked where the slopes are computed.
        let slope = if shape.alibi { f64::from(shape.slopes()[head]) } else { 0.0 };
        let query = &q[row * cols + head * head_dim..][..head_dim];
        let score = |j: usize| -> f64 {
            let key = &k[j * kv_cols + kv_head * head_dim..][..head_dim];
            let sum: f64 = query.iter().zip(key).map(|(q, k)| f64::from(*q) * f64::from(*k)).sum();
            let score = sum * shape.scale;
            let capped = shape.softcap.map_or(score, |cap| f64::from(cap) * (score / f64::from(cap)).tanh());
            capped + slope * (j as f64 - row as f64)
        };
        let weights: Vec<f64> = seen.clone().map(|j| score(j).exp()).collect();
        let total: f64 = weights.iter().sum();
        for (j, weight) in seen.zip(&weights) {
            for d in 0..head_dim {
                expected[row * cols + head * head_dim + d] +=
                    weight / total * f64::from(v[j * kv_cols + kv_head * head_dim + d]);
            }
        }
    }
    let found = gpu
        .attention(
            &upload(gpu, rows, cols, &q),
            &upload(gpu, rows, kv_cols, &k),
            &upload(gpu, rows, kv_cols, &v),
            shape,
        )
        .unwrap();
    // The exponential receives scores of up to size·head_dim·scale.
    let tolerance = EPS * (8.0 + f64::from(size) * head_dim as f64 * shape.scale * 4.0 + seq_len as f64);
    assert_close(&format!("{shape:?}"), &gpu.read(&found).await.unwrap(), &expected, |_| tolerance);
}
