//! Every operation of a backend once, to compare two backends: natively here, and in a browser by the worker's module
//! `checks`, because its shader compiler accepts less than the native one.

use straightedge::backend::cpu::CpuBackend;
use straightedge::backend::gpu::Reduction;
use straightedge::backend::gpu::{GpuBackend, Options};
use straightedge::backend::gpu::{VARIANTS, Variant};
use straightedge::backend::{
    Activation, Adam, AdamStep, AttentionShape, Backend, GramRows, GramShape, Rotary, Shape, Storage,
};
use straightedge::error::Result;
use straightedge::job::GramMode;
use straightedge::platform::random::Random;
use straightedge::stats::moments::Scale;

/// Two windows of 35 positions: no multiple of a workgroup or a tile.
const SEQ_LEN: usize = 35;
const ROWS: usize = 2 * SEQ_LEN;
const HEAD_DIM: usize = 8;
const HEADS: usize = 8;
const COLS: usize = HEADS * HEAD_DIM;
/// Largest difference of results, relative to their magnitude above 1.
const TOLERANCE: f32 = 2e-5;

/// All activations.
pub(crate) const ACTIVATIONS: [Activation; 9] = [
    Activation::Gelu,
    Activation::GeluTanh,
    Activation::QuickGelu,
    Activation::Relu,
    Activation::ReluSquared,
    Activation::Silu,
    Activation::Tanh,
    Activation::Sigmoid,
    Activation::Identity,
];

/// Named devices that together use every kernel.
pub(crate) fn devices(base: Options) -> Vec<(String, Options)> {
    // Natively there is one more reduction than in a browser.
    let ways = VARIANTS.iter().zip(Reduction::ALL.iter().copied().cycle());
    let described = |(matmul, reduction): (&'static Variant, Reduction)| {
        let name = format!("{}, rows by {reduction:?}", matmul.kernel.name);
        (name, Options { matmul: Some(matmul), reduction: Some(reduction), ..base })
    };
    ways.map(described).collect()
}

/// Reports the operation whose result differs from the CPU's.
pub(crate) async fn check(gpu: &GpuBackend) -> std::result::Result<(), String> {
    let cpu = CpuBackend::new();
    let [found, expected] = [results(gpu).await, results(&cpu).await].map(|results| results.map_err(|e| e.to_string()));
    for ((name, found), (_, expected)) in found?.iter().zip(&expected?) {
        if found.len() != expected.len() {
            return Err(format!("{name}: {} values of {}", found.len(), expected.len()));
        }
        // Negated so that NaN fails.
        let off = |at: usize| !((found[at] - expected[at]).abs() <= TOLERANCE * expected[at].abs().max(1.0));
        if let Some(at) = (0..found.len()).find(|at| off(*at)) {
            return Err(format!("{name}: element {at} is {}, expected {}", found[at], expected[at]));
        }
    }
    Ok(())
}

async fn results<B: Backend>(on: &B) -> Result<Vec<(String, Vec<f32>)>> {
    let mut random = Random::new(77);
    let mut random_tensor = |rows, cols| on.upload("test", Shape::new(rows, cols), &random.values(rows * cols));
    let (a, b, weight) = (random_tensor(ROWS, COLS)?, random_tensor(ROWS, COLS)?, random_tensor(COLS, COLS)?);
    let (row, scale) = (random_tensor(1, COLS)?, random_tensor(1, COLS)?);
    let (cos, sin) = (random_tensor(SEQ_LEN, HEAD_DIM / 2)?, random_tensor(SEQ_LEN, HEAD_DIM / 2)?);
    // Values that half precision represents exactly.
    let halves: Vec<f32> = (0..COLS * COLS).map(|i| (i % 61) as f32 / 64.0 - 0.5).collect();
    let stored = on.upload_stored("test", Shape::new(COLS, COLS), &halves, Storage::F16)?;
    let ids: Vec<u32> = (0..ROWS as u32).map(|i| i * 7 % COLS as u32).collect();
    let shape = |causal| AttentionShape { causal, ..AttentionShape::full(HEADS, HEAD_DIM, SEQ_LEN) };
    let local = AttentionShape { reach: Some(2), softcap: Some(0.7), alibi: true, ..shape(true) };
    let rotary = Rotary { cos, sin, rotary_dim: HEAD_DIM, head_dim: HEAD_DIM, seq_len: SEQ_LEN };
    let step = AdamStep { step: 3, learning_rate: 0.1, weight_decay: 0.01 };
    let state = Adam { parameter: a.clone(), first: b.clone(), second: on.activation(&b, Activation::ReluSquared)? };
    let after = on.adam(&state, &b, &step)?;

    let mut all = vec![
        ("gather", on.gather(&weight, &ids)?),
        ("gather of F16", on.gather(&stored, &ids)?),
        ("add", on.add(&a, &b)?),
        ("layer_norm", on.layer_norm(&a, &row, &scale, 1e-5)?),
        ("rms_norm", on.rms_norm(&a, &row, 1e-5)?),
        ("linear", on.linear(&a, &weight, Some(&row))?),
        ("linear of F16", on.linear(&a, &stored, None)?),
        ("rotate", on.rotate(&a, &rotary)?),
        ("attention", on.attention(&a, &b, &a, shape(false))?),
        ("causal attention", on.attention(&a, &b, &a, shape(true))?),
        ("local attention with terms", on.attention(&a, &b, &a, local)?),
        ("gated", on.gated(&a, &b, Activation::Silu)?),
        ("standardise", on.standardise(&a, &row, &scale)?),
        ("row_cosines", on.row_cosines(&a, &b)?),
        ("row_distance_ratios", on.row_distance_ratios(&a, &b)?),
        ("window_products", on.window_products(&a, &b, SEQ_LEN, 2)?),
        ("row_squared_distances", on.row_squared_distances(&a, &b)?),
        ("row_squared_distances from one row", on.row_squared_distances(&a, &row)?),
        ("next_token_nll", on.next_token_nll(&a, &ids)?),
        ("transpose", on.transpose(&a)?),
        ("combine", on.combine(&a, 0.3, &b, -1.7)?),
        ("gelu_gradient", on.gelu_gradient(&a, &b)?),
        ("adam", after.parameter),
        ("adam, first moment", after.first),
        ("adam, second moment", after.second),
    ];
    for activation in ACTIVATIONS {
        all.push(("activation", on.activation(&a, activation)?));
    }
    let mut results = Vec::new();
    for (name, tensor) in &all {
        results.push(((*name).to_owned(), on.read(tensor).await?));
    }
    for mode in [GramMode::Exact, GramMode::Fast] {
        results.push((format!("Gram, {mode:?}"), gram(on, &a, &b, mode).await?));
    }
    Ok(results)
}

/// Raw second moments of one fold, as means over its rows.
async fn gram<B: Backend>(on: &B, x: &B::Tensor, y: &B::Tensor, mode: GramMode) -> Result<Vec<f32>> {
    let shape = GramShape { d_in: COLS, d_out: COLS, folds: 1, mode };
    let scale = Scale { shift: vec![0.0; COLS], exponent: vec![1; COLS] };
    let mut gram = on.gram(shape, &scale, &scale).await?;
    let rows = GramRows { block: 0, fold: 0, part: 0, first_row: 0, x, y, seq_len: SEQ_LEN, skip_positions: 0 };
    on.accumulate(&mut gram, rows)?;
    let moments = on.moments(gram).await?;
    let sums = moments.iter().flat_map(|fold| fold.xx.iter().chain(&fold.xy).chain(&fold.sum_x));
    Ok(sums.map(|sum| (sum / ROWS as f64) as f32).collect())
}
