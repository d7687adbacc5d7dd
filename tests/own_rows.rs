//! Second moments and solver against a singular value decomposition of the very rows that they were given, in f64: on
//! the fixture whose inputs are worst conditioned, nothing but our own arithmetic differs.

mod common;

use std::path::Path;
use std::rc::Rc;

use faer::Mat;
use futures::executor::block_on;
use straightedge::backend::{Backend, GramRows, GramShape};
use straightedge::corpus::{Folds, TokenWindows, Tokenizer};
use straightedge::cpu::CpuBackend;
use straightedge::forward::Forward;
use straightedge::job::{GramMode, Protocol};
use straightedge::model::{ModelConfig, load};
use straightedge::moments::Scale;
use straightedge::report::BlockReport;
use straightedge::solve::{TAU, score_block};
use straightedge::weights::{FolderFiles, Weights};

const WINDOWS_AT_ONCE: usize = 8;

/// One block's rows on the host, fold by fold, and what the engine makes of the same rows on the device.
struct Block<G> {
    gram: G,
    x: Vec<Vec<f32>>,
    y: Vec<Vec<f32>>,
}

/// Runs the model over the text; every block's rows go into its Gram and to the host.
async fn rows_and_scores<B: Backend>(
    backend: &B,
    folder: &Path,
    text: &Path,
    rows: usize,
) -> Vec<(BlockReport, Vec<Vec<f32>>, Vec<Vec<f32>>)> {
    let read = |path: &Path| std::fs::read(path).expect("a file");
    let protocol = Protocol { rows, ..Protocol::default() };
    let config = ModelConfig::from_json(&String::from_utf8_lossy(&read(&folder.join("config.json")))).expect("config");
    let weights = Weights::open(Rc::new(FolderFiles::new(folder))).await.expect("weights");
    let model = load(backend, &config, &weights, false, &|_, _| {}).await.expect("a model");
    let tokenizer = Tokenizer::from_json(&read(&folder.join("tokenizer.json"))).expect("a tokenizer");
    let ids = tokenizer.encode("text", &read(text)).await.expect("ids");
    let windows = TokenWindows::new("text", ids, &protocol).expect("windows");
    let folds = Folds::new("text", &windows, protocol.folds).expect("folds");
    let forward = Forward::new(backend, &model, protocol.seq_len).expect("tables");

    let mut blocks: Vec<Block<B::Gram>> = Vec::new();
    for fold in 0..folds.len() {
        let end = folds.windows(fold).end;
        for first in folds.windows(fold).step_by(WINDOWS_AT_ONCE) {
            let which = first..end.min(first + WINDOWS_AT_ONCE);
            let mut shown = Vec::new();
            let observe = &mut |capture: straightedge::forward::Capture<B::Tensor>| {
                shown.push((capture.ffn_in, capture.ffn_out));
                Ok(())
            };
            forward.run(windows.ids(which.clone()), observe).expect("a forward pass");
            for (block, (x, y)) in shown.iter().enumerate() {
                let (d_in, d_out) = (backend.shape(x).cols, backend.shape(y).cols);
                let (x_rows, y_rows) = (backend.read(x).await.expect("x"), backend.read(y).await.expect("y"));
                if block == blocks.len() {
                    let max_rows = WINDOWS_AT_ONCE * protocol.seq_len;
                    let shape = GramShape { d_in, d_out, folds: folds.len(), max_rows, mode: GramMode::Exact };
                    let (x, y) = (Scale::from_rows(&x_rows, d_in), Scale::from_rows(&y_rows, d_out));
                    let gram = backend.gram(shape, &x, &y).expect("a Gram");
                    blocks.push(Block { gram, x: vec![Vec::new(); folds.len()], y: vec![Vec::new(); folds.len()] });
                }
                let seq_len = protocol.seq_len;
                let batch = GramRows { block, fold, first_row: first * seq_len, x, y, seq_len, skip_positions: 0 };
                let block = &mut blocks[block];
                backend.accumulate(&mut block.gram, batch).expect("accumulated");
                backend.settle(std::slice::from_mut(&mut block.gram)).await.expect("settled");
                block.x[fold].extend(x_rows);
                block.y[fold].extend(y_rows);
            }
        }
    }
    let mut found = Vec::new();
    for (index, block) in blocks.into_iter().enumerate() {
        let moments = backend.moments(&block.gram).await.expect("moments");
        found.push((score_block(index, &moments).expect("a score").report, block.x, block.y));
    }
    found
}

/// R² of holding out `fold`, by the singular value decomposition of the centred and scaled training rows.
fn r2_by_svd(x: &[Vec<f32>], y: &[Vec<f32>], (d_in, d_out): (usize, usize), fold: usize) -> (f64, usize) {
    let matrix = |folds: &[Vec<f32>], cols: usize, heldout: bool| {
        let chosen = folds.iter().enumerate().filter(|(at, _)| (*at == fold) == heldout);
        let flat: Vec<f64> = chosen.flat_map(|(_, rows)| rows.iter().map(|&value| f64::from(value))).collect();
        Mat::from_fn(flat.len() / cols, cols, |i, j| flat[i * cols + j])
    };
    let means = |m: &Mat<f64>| -> Vec<f64> {
        (0..m.ncols()).map(|j| m.col(j).iter().sum::<f64>() / m.nrows() as f64).collect()
    };
    let (mut train_x, mut train_y) = (matrix(x, d_in, false), matrix(y, d_out, false));
    let (mean_x, mean_y) = (means(&train_x), means(&train_y));
    let centre = |m: &mut Mat<f64>, means: &[f64]| {
        means.iter().enumerate().for_each(|(j, mean)| m.col_mut(j).iter_mut().for_each(|value| *value -= mean));
    };
    centre(&mut train_x, &mean_x);
    centre(&mut train_y, &mean_y);
    let n = train_x.nrows() as f64;
    let sigma: Vec<f64> = (0..d_in).map(|j| (train_x.col(j).iter().map(|x| x * x).sum::<f64>() / n).sqrt()).collect();
    let scale = |m: &mut Mat<f64>| {
        sigma.iter().enumerate().for_each(|(j, sigma)| m.col_mut(j).iter_mut().for_each(|value| *value /= sigma));
    };
    scale(&mut train_x);
    let svd = train_x.thin_svd().expect("a decomposition");
    let singular: Vec<f64> = svd.S().column_vector().iter().copied().collect();
    // Eigenvalues of the correlations are squares of these, and so is their cut.
    let rank = singular.iter().filter(|value| **value > TAU.sqrt() * singular[0]).count();
    let mut coefficients = svd.U().subcols(0, rank).transpose() * &train_y;
    for j in 0..d_out {
        (0..rank).for_each(|k| coefficients[(k, j)] /= singular[k]);
    }
    let weight = svd.V().subcols(0, rank) * coefficients;

    let (mut test_x, mut test_y) = (matrix(x, d_in, true), matrix(y, d_out, true));
    let own = means(&test_y);
    let about = |m: &Mat<f64>, means: &[f64]| -> f64 {
        (0..d_out).map(|j| m.col(j).iter().map(|y| (y - means[j]).powi(2)).sum::<f64>()).sum()
    };
    let total = about(&test_y, &own);
    centre(&mut test_x, &mean_x);
    scale(&mut test_x);
    test_y -= test_x * weight;
    (1.0 - about(&test_y, &mean_y) / total, rank)
}

async fn check<B: Backend>(backend: &B, rows: usize) {
    let Some(fixtures) = common::fixtures() else { return };
    let (folder, text) = (fixtures.join("babyllama-105"), fixtures.join("texts/stories.txt"));
    let blocks = rows_and_scores(backend, &folder, &text, rows).await;
    assert_eq!(blocks.len(), 5);
    for (block, (report, x, y)) in blocks.iter().enumerate() {
        for fold in 0..x.len() {
            let (expected, rank) = r2_by_svd(x, y, (128, 128), fold);
            common::assert_close(&format!("block {block}, fold {fold}"), report.r2_folds[fold], expected, 1e-6);
            if fold + 1 == x.len() {
                common::assert_close(&format!("block {block}"), report.r2_lin, expected, 1e-6);
                assert_eq!(report.rank, rank, "block {block}");
            }
        }
    }
    let worst = blocks[0].0.scaled_condition.expect("a condition");
    assert!(worst > 1e5, "block 0 is ill-conditioned: {worst:e}");
}

#[test]
fn scores_are_those_of_a_singular_value_decomposition_of_the_same_rows_on_the_cpu() {
    block_on(check(&CpuBackend::new(), 15_000));
}

#[test]
fn scores_are_those_of_a_singular_value_decomposition_of_the_same_rows_on_the_gpu() {
    if let Some(gpu) = common::gpu() {
        block_on(check(&gpu, 5_120));
    }
}
