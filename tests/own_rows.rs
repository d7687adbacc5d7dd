//! Second moments and solver against a singular value decomposition of exactly the same rows in f64: on the model with
//! the worst-conditioned inputs, the only difference is our own arithmetic.

mod common;

use std::path::Path;
use std::rc::Rc;

use common::svd::{Fit, matrix};
use futures::executor::block_on;
use straightedge::backend::cpu::CpuBackend;
use straightedge::backend::{Backend, GramRows, GramShape};
use straightedge::corpus::{Folds, TokenWindows, Tokenizer};
use straightedge::forward::Forward;
use straightedge::job::{GramMode, Protocol};
use straightedge::model::{ModelConfig, ModelParts, load};
use straightedge::report::BlockReport;
use straightedge::solve::score_block;
use straightedge::stats::moments::Scale;
use straightedge::weights::{FolderFiles, Weights};

const WINDOWS_AT_ONCE: usize = 8;

/// One block's rows on the host, by fold, and the engine's results for the same rows on the device.
struct Block<G> {
    gram: G,
    x: Vec<Vec<f32>>,
    y: Vec<Vec<f32>>,
}

/// Runs the model over the text; every block's rows go to its Gram and to the host.
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
    let model = load(backend, &config, &weights, ModelParts::Body, &|_, _| {}).await.expect("a model");
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
                    let shape = GramShape { d_in, d_out, folds: folds.len(), mode: GramMode::Exact };
                    let (x, y) = (Scale::from_rows(&x_rows, d_in), Scale::from_rows(&y_rows, d_out));
                    let gram = backend.gram(shape, &x, &y).await.expect("a Gram");
                    blocks.push(Block { gram, x: vec![Vec::new(); folds.len()], y: vec![Vec::new(); folds.len()] });
                }
                let seq_len = protocol.seq_len;
                let first_row = first * seq_len;
                let batch = GramRows { block, fold, part: 0, first_row, x, y, seq_len, skip_positions: 0 };
                let block = &mut blocks[block];
                backend.accumulate(&mut block.gram, batch).expect("accumulated");
                backend.batch_end(Some(&mut block.gram)).await.expect("settled");
                block.x[fold].extend(x_rows);
                block.y[fold].extend(y_rows);
            }
        }
    }
    let mut found = Vec::new();
    for (index, block) in blocks.into_iter().enumerate() {
        let moments = backend.moments(block.gram).await.expect("moments");
        found.push((score_block(index, &moments).expect("a score").report, block.x, block.y));
    }
    found
}

/// Held-out R² of `fold` by the singular value decomposition of all others, and that fit.
fn r2_by_svd(x: &[Vec<f32>], y: &[Vec<f32>], (d_in, d_out): (usize, usize), fold: usize) -> (f64, Fit) {
    let train = |folds: &[Vec<f32>], cols| matrix(&[&folds[..fold], &folds[fold + 1..]].concat().concat(), cols);
    let fit = Fit::new(train(x, d_in), train(y, d_out));
    (fit.r2(matrix(&x[fold], d_in), matrix(&y[fold], d_out)), fit)
}

/// `grain` is the rounding of inputs relative to their column's scale. In the direction of the smallest eigenvalue its
/// relative size is `grain`·√condition, and R² is a quadratic form.
async fn check<B: Backend>(backend: &B, rows: usize, grain: f64) {
    let blocks = rows_and_scores(backend, &common::fixture("char-llama"), &common::tales(), rows).await;
    assert_eq!(blocks.len(), 5);
    for (block, (report, x, y)) in blocks.iter().enumerate() {
        for fold in 0..x.len() {
            let (expected, fit) = r2_by_svd(x, y, (128, 128), fold);
            let allowed = 1e-6 + grain * grain * fit.condition;
            common::assert_close(&format!("block {block}, fold {fold}"), report.r2_folds[fold], expected, allowed);
            if fold + 1 == x.len() {
                common::assert_close(&format!("block {block}"), report.r2_lin, expected, allowed);
                assert_eq!(report.rank, fit.rank, "block {block}");
            }
        }
    }
    let worst = blocks.iter().filter_map(|(report, ..)| report.scaled_condition).fold(0.0, f64::max);
    assert!(worst > 1e5, "one block is ill-conditioned: {worst:e}");
}

#[test]
fn scores_are_those_of_a_singular_value_decomposition_of_the_same_rows_on_the_cpu() {
    block_on(check(&CpuBackend::new(), 15_000, 0.0));
}

#[test]
fn scores_are_those_of_a_singular_value_decomposition_of_the_same_rows_on_the_gpu() {
    if let Some(gpu) = common::gpu() {
        block_on(check(&gpu, 5_120, 2f64.powi(-22)));
    }
}
