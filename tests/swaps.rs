//! Replacements on reference models and the calibration model: neutral ones keep the perplexity, the order by cost is
//! correct, and low-rank maps give the same result as two factors and as one product.

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use common::{backends, encyclopedia, fixture};
use futures::StreamExt;
use futures::executor::block_on;
use straightedge::backend::cpu::CpuBackend;
use straightedge::backend::{Backend, Shape};
use straightedge::corpus::{Folds, TokenWindows, Tokenizer};
use straightedge::error::Error;
use straightedge::event::{Event, MapDump, Recorder};
use straightedge::forward::Forward;
use straightedge::job::{BackendChoice, Job, Measure, Protocol};
use straightedge::model::{ModelConfig, ModelParts, load};
use straightedge::platform::random::Random;
use straightedge::replacement::device_map::DeviceMap;
use straightedge::replacement::swap::{Replacement, Replacements};
use straightedge::report::Report;
use straightedge::run::evaluation::Evaluation;
use straightedge::run::{Text, measure};
use straightedge::solve::{AffineMap, score_block};
use straightedge::stats::moments::{Moments, Scale};
use straightedge::weights::{FolderFiles, Weights};

const DECODERS: [&str; 3] = ["tiny-gpt2", "tiny-gpt_neox", "tiny-llama"];

/// Few enough rows for a test, enough for every block to be solved.
fn job(backend: BackendChoice, measures: &[Measure]) -> Job {
    let protocol = Protocol { rows: 1280, seq_len: 32, ..Protocol::default() };
    Job {
        protocol,
        backend,
        measures: measures.iter().copied().collect(),
        dump_maps: true,
        ..Job::new("model", "text")
    }
}

/// The report of a job with its maps, or its error.
fn run(job: Job, folder: &Path, text: &Path) -> Result<(Report, Vec<MapDump>), Error> {
    let text = Text::Plain(std::fs::read(text).expect("a text"));
    let events: Vec<Event> = block_on(measure(job, Rc::new(FolderFiles::new(folder)), text).collect());
    let (mut recorder, mut maps) = (Recorder::default(), Vec::new());
    for event in events {
        recorder.record(&event);
        match event {
            Event::Failed(error) => return Err(error),
            Event::Map(map) => maps.push(*map),
            _ => {}
        }
    }
    Ok((recorder.into_report().expect("a report"), maps))
}

fn calibration() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("web/models/calibration")
}

/// Calls `$test(backend, …)` with each available backend.
macro_rules! on_every_backend {
    ($test:ident($($argument:expr),*)) => {
        block_on($test(&CpuBackend::new(), $($argument),*));
        if let Some(gpu) = common::gpu() {
            block_on($test(&gpu, $($argument),*));
        }
    };
}

/// The held-out windows of a text under `protocol`, with the model's results on them.
async fn with_evaluation<B: Backend>(
    backend: &B,
    (folder, text): (&Path, &Path),
    protocol: &Protocol,
    test: impl AsyncFnOnce(&Evaluation<'_, B>, &Forward<'_, B>, &ModelConfig),
) {
    let read = |path: &Path| std::fs::read(path).expect("a file");
    let config = ModelConfig::from_json(&String::from_utf8_lossy(&read(&folder.join("config.json")))).expect("config");
    let weights = Weights::open(Rc::new(FolderFiles::new(folder))).await.expect("weights");
    let model = load(backend, &config, &weights, ModelParts::WithHead, &|_, _| {}).await.expect("a model");
    let tokenizer = Tokenizer::from_json(&read(&folder.join("tokenizer.json"))).expect("a tokenizer");
    let ids = tokenizer.encode("text", &read(text)).await.expect("ids");
    let windows = TokenWindows::new("text", ids, protocol).expect("windows");
    let folds = Folds::new("text", &windows, protocol.folds).expect("folds");
    let forward = Forward::new(backend, &model, protocol.seq_len).expect("tables");
    let which = folds.windows(folds.len() - 1);
    let evaluation = Evaluation::new(backend, &forward, &windows, which).await.expect("an evaluation");
    test(&evaluation, &forward, &config).await;
}

#[test]
fn swapping_nothing_changes_nothing_from_whichever_block_the_model_runs_again() {
    async fn check<B: Backend>(backend: &B, model: (&Path, &Path), protocol: &Protocol) {
        with_evaluation(backend, model, protocol, async |evaluation, _, config| {
            let ppl = evaluation.perplexity().await.expect("a perplexity");
            let nothing = Replacements::new();
            let mut found = vec![evaluation.swapped(&nothing).await.expect("a perplexity")];
            for first in 0..=config.num_hidden_layers {
                found.push(evaluation.resumed(first, &nothing).await.expect("a perplexity"));
            }
            assert!(ppl > 1.0 && found.len() > 2, "{ppl}, {found:?}");
            for found in found {
                common::assert_close("ppl", Some(found), ppl, 1e-6 * ppl);
            }
        })
        .await;
    }
    for name in DECODERS {
        let protocol = job(BackendChoice::Cpu, &[]).protocol;
        on_every_backend!(check((&fixture(name), &encyclopedia()), &protocol));
    }
}

#[test]
fn swapping_the_affine_block_changes_perplexity_by_less_than_1e_5_of_it() {
    let folder = calibration();
    for backend in backends() {
        let job = Job { protocol: Protocol::default(), ..job(backend, &[Measure::Swap]) };
        let (report, _) = run(job, &folder, &folder.join("text.txt")).expect("a report");
        let ppl = report.ppl.expect("a perplexity");
        common::assert_close(&format!("{backend:?}"), report.blocks[0].delta_ppl["linear"], 0.0, 1e-5 * ppl);
    }
}

#[test]
fn the_order_by_cost_goes_from_the_cheapest_block_to_all_of_them() {
    let text = encyclopedia();
    for name in DECODERS {
        for backend in backends() {
            let what = format!("{name} on {backend:?}");
            let job = job(backend, &[Measure::Swap]);
            let protocol = job.protocol.clone();
            let (report, maps) = run(job, &fixture(name), &text).expect("a report");
            check_order(&what, &report);
            let last = report.orders["by_cost"].last().expect("steps");
            let all = all_at_once((&fixture(name), &text), &protocol, &maps);
            common::assert_close(&format!("{what}, all blocks"), last.ppl, all, 1e-4 * all);
        }
    }
}

fn check_order(what: &str, report: &Report) {
    let (ppl, steps) = (report.ppl.expect("a perplexity"), &report.orders["by_cost"]);
    let single: BTreeMap<usize, f64> =
        report.blocks.iter().map(|block| (block.block, block.delta_ppl["linear"].expect("a change"))).collect();
    assert_eq!(steps.len(), report.blocks.len(), "{what}");
    let order: Vec<f64> = steps.iter().map(|step| single[&step.block]).collect();
    assert!(order.windows(2).all(|pair| pair[0] <= pair[1]), "{what}: {order:?}");
    common::assert_close(&format!("{what}, first"), steps[0].delta_ppl, order[0], 1e-6 * ppl);
    for step in steps {
        let delta = step.ppl.expect("a perplexity") - ppl;
        common::assert_close(&format!("{what}, difference"), step.delta_ppl, delta, 1e-9 * ppl);
    }
    // With all blocks swapped, the networks' parameters shrink by the same ratio as in each block.
    let each = report.blocks[0].compression["linear"].expect("a ratio");
    let last = steps.last().expect("steps").compression;
    common::assert_close(&format!("{what}, compression"), last, each, 1e-12 * each);
}

/// Perplexity with all dumped maps swapped in at once, unscaled and on the CPU.
fn all_at_once(model: (&Path, &Path), protocol: &Protocol, maps: &[MapDump]) -> f64 {
    let backend = CpuBackend::new();
    let mut found = f64::NAN;
    block_on(with_evaluation(&backend, model, protocol, async |evaluation, _, _| {
        let raw = |map: &MapDump| {
            let d = map.bias.len();
            let (weight, mean_y) = (map.weight.clone(), map.bias.clone());
            AffineMap { weight, mean_x: vec![0.0; d], deviation_x: vec![1.0; d], mean_y, rank: d }
        };
        let swaps: Replacements<_> =
            maps.iter().map(|map| (map.block, Replacement::affine(&backend, &raw(map)).expect("a map"))).collect();
        found = evaluation.swapped(&swaps).await.expect("a perplexity");
    }));
    found
}

#[test]
fn ranks_are_those_asked_for_and_within_the_width() {
    let (folder, text) = (fixture("tiny-gpt2"), encyclopedia());
    let asking = |ranks: &str| Job {
        ranks: Some(ranks.parse().expect("ranks")),
        ..job(BackendChoice::Cpu, &[Measure::Swap, Measure::RankSwap])
    };
    let (report, _) = run(asking("1,3"), &folder, &text).expect("a report");
    assert_eq!(report.blocks.len(), 4);
    for block in &report.blocks {
        let names = |map: &BTreeMap<String, Option<f64>>| map.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&block.delta_ppl), ["linear", "mean", "rank_1", "rank_3", "zero"]);
        assert_eq!(names(&block.compression), ["linear", "mean", "rank_1", "rank_3", "zero"]);
        assert_eq!(names(&block.row_microseconds), ["linear", "original", "rank_1", "rank_3"]);
        // 64 → 256 → 64 with biases; 2·3·64 + 64 for rank 3.
        let network = (2 * 64 * 256 + 256 + 64) as f64;
        assert_eq!(block.compression["linear"], Some(network / (64 * 64 + 64) as f64));
        assert_eq!(block.compression["rank_3"], Some(network / (2 * 3 * 64 + 64) as f64));
        assert_eq!(block.compression["mean"], Some(network / 64.0));
        assert_eq!(block.compression["zero"], None);
    }
    assert!(!report.partial);
    match run(asking("1,65"), &folder, &text) {
        Err(Error::InvalidSetting { field, value, .. }) => {
            assert_eq!((field.as_str(), value.as_str()), ("--ranks", "65"))
        }
        other => panic!("rank 65 of 64: {other:?}"),
    }
}

#[test]
fn an_encoder_has_compression_and_times_and_no_change_of_perplexity() {
    let job = job(BackendChoice::Cpu, &[Measure::Swap]);
    let (report, _) = run(job, &fixture("tiny-bert"), &encyclopedia()).expect("a report");
    assert_eq!(report.blocks.len(), 4);
    for block in &report.blocks {
        assert_eq!(block.delta_ppl["linear"], None);
        assert!(block.compression["linear"].is_some_and(|ratio| ratio > 7.0), "{:?}", block.compression);
        assert!(block.row_microseconds.contains_key("original"));
    }
    assert!(report.orders.is_empty());
}

/// Rows with correlated inputs on very different scales, far from zero.
fn rows(n: usize, d_in: usize, d_out: usize) -> (Vec<f32>, Vec<f32>) {
    let mut numbers = Random::new(11);
    let mut random = move || numbers.symmetric_f32();
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for _ in 0..n {
        let shared = random();
        let row: Vec<f32> = (0..d_in).map(|j| (shared + random()) * (1 + j * j) as f32 + 50.0).collect();
        y.extend((0..d_out).map(|j| row[j % d_in] * 0.1 - row[(3 * j + 1) % d_in] + 0.3 * random() + j as f32));
        x.extend(row);
    }
    (x, y)
}

#[test]
fn a_low_rank_map_is_the_same_in_two_factors() {
    async fn check<B: Backend>(backend: &B) {
        let (n, d_in, d_out, folds) = (600, 24, 20, 3);
        let (x, y) = rows(n, d_in, d_out);
        let (scale_x, scale_y) = (Scale::from_rows(&x, d_in), Scale::from_rows(&y, d_out));
        let mut moments: Vec<Moments> =
            (0..folds).map(|fold| Moments::of_fold(&scale_x, &scale_y, fold, folds)).collect();
        for (row, (x, y)) in x.chunks(d_in).zip(y.chunks(d_out)).enumerate() {
            moments[row * folds / n].add_row(x, y);
        }
        let score = score_block(0, &moments).expect("a solution");
        let x = backend.upload("x", Shape::new(n, d_in), &x).expect("rows");
        for k in [1, 2, 7, d_out] {
            let full = DeviceMap::upload(backend, &score.directions.map(&score.map, k)).expect("a map");
            let factors = score.directions.factors(&score.map, k);
            assert_eq!((factors.inner.len(), factors.outer.len()), (d_in * k, d_out * k));
            let factored = DeviceMap::upload_factors(backend, &factors).expect("a map");
            let full = backend.read(&full.apply(backend, &x).expect("ŷ")).await.expect("ŷ");
            let factored = backend.read(&factored.apply(backend, &x).expect("ŷ")).await.expect("ŷ");
            // Relative to the largest output, because features differ by orders of magnitude.
            let size = full.iter().fold(0.0f32, |largest, y| largest.max(y.abs()));
            let relative = |y: Vec<f32>| y.into_iter().map(|y| y / size).collect::<Vec<f32>>();
            let (error, at) = common::worst(&relative(factored), &relative(full));
            assert!(error <= 1e-5, "rank {k}: off by {error:.2e} of {size} at {at}");
        }
    }
    on_every_backend!(check());
}

#[test]
fn a_network_on_its_own_returns_what_it_returns_in_the_model() {
    async fn check<B: Backend>(backend: &B, model: (&Path, &Path), protocol: &Protocol) {
        with_evaluation(backend, model, protocol, async |_, forward, config| {
            let ids: Vec<u32> = (0..2 * protocol.seq_len as u32).collect();
            let mut seen = Vec::new();
            let capture = &mut |capture| {
                seen.push(capture);
                Ok(())
            };
            forward.run(&ids, capture).expect("a pass");
            assert_eq!(seen.len(), config.num_hidden_layers);
            for capture in &seen {
                let own = forward.network(capture.block, &capture.ffn_in).expect("y");
                let (own, y) = (backend.read(&own).await.expect("y"), backend.read(&capture.ffn_out).await.expect("y"));
                assert!(common::worst(&own, &y).0 <= 1e-6, "block {}", capture.block);
            }
            let beyond = forward.network(config.num_hidden_layers, &seen[0].ffn_in);
            assert!(matches!(beyond, Err(Error::InvalidSetting { .. })));
        })
        .await;
    }
    let protocol = job(BackendChoice::Cpu, &[]).protocol;
    on_every_backend!(check((&fixture("tiny-llama"), &encyclopedia()), &protocol));
}
