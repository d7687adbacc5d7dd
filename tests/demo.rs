//! The demo models: recordings reproduced on both backends, and the same perplexity in `transformers`.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use futures::StreamExt;
use futures::executor::block_on;
use serde_json::{Value, json};
use straightedge::bundled::{Bundled, DefaultText};
use straightedge::corpus::Tokenizer;
use straightedge::corpus::synthetic::SyntheticText;
use straightedge::event::{Event, Recorder};
use straightedge::job::{BackendChoice, Job};
use straightedge::report::Report;
use straightedge::run::{Text, measure};
use straightedge::weights::FolderFiles;

/// The model that is measured again.
const AGAIN: &str = "demo-gpt2";

fn web(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("web").join(path)
}

fn demos() -> Vec<Bundled> {
    let index = fs::read(web("models/index.json")).expect("a list");
    let mut index: Vec<Bundled> = serde_json::from_slice(&index).expect("bundled models");
    index.retain(|bundled| bundled.demo.is_some());
    assert!(index.iter().any(|bundled| bundled.name == AGAIN), "{AGAIN} is not bundled");
    index
}

fn recorded(name: &str) -> Report {
    let file = web(&format!("data/recorded/{name}.json"));
    let json = fs::read_to_string(&file).expect("a recording: `cargo xtask record` makes them");
    Report::from_json(name, &json).expect("a report")
}

/// The text that the model is measured on, as long as in the recording.
fn text(bundled: &Bundled, report: &Report) -> String {
    let DefaultText::Corpus(corpus) = &bundled.text else { panic!("{} has no made text", bundled.name) };
    assert_eq!(report.corpus.id, *corpus);
    let synthetic = SyntheticText::for_measurement(corpus).expect("a domain").expect("a seed for measurement");
    synthetic.text_for_rows(report.protocol.windows * report.protocol.seq_len)
}

fn measured(bundled: &Bundled, recorded: &Report, backend: BackendChoice) -> Report {
    let job = Job { backend, ..Job::new(&bundled.name, &recorded.corpus.id) };
    let files = Rc::new(FolderFiles::new(web("models").join(&bundled.name)));
    let text = Text::Plain(text(bundled, recorded).into_bytes());
    block_on(async {
        let mut events = std::pin::pin!(measure(job, files, text));
        let mut recorder = Recorder::default();
        while let Some(event) = events.next().await {
            if let Event::Failed(error) = &event {
                panic!("{error}");
            }
            recorder.record(&event);
        }
        recorder.into_report().expect("a report")
    })
}

fn assert_found_again(what: &str, found: &Report, recorded: &Report) {
    assert_eq!(found.model.sha256, recorded.model.sha256, "{what}: another model");
    assert_eq!(found.corpus.sha256, recorded.corpus.sha256, "{what}: another text");
    assert_eq!(found.blocks.len(), recorded.blocks.len());
    for (found, recorded) in found.blocks.iter().zip(&recorded.blocks) {
        let expected = recorded.r2_lin.expect("a recorded value");
        common::assert_close(&format!("{what}, block {}", recorded.block), found.r2_lin, expected, 1e-5);
        let rank = found.effective_rank.expect("a rank") as f64;
        let within = found.intervals["effective_rank"];
        assert!(within.low <= rank && rank <= within.high, "{what}, block {}: {rank}, {within:?}", found.block);
        assert!(within.high - within.low <= 12.0, "{what}, block {}: {within:?} about {rank}", found.block);
    }
}

#[test]
fn a_recording_is_found_again_on_the_cpu() {
    let bundled = demos().into_iter().find(|bundled| bundled.name == AGAIN).expect("it is bundled");
    let recorded = recorded(AGAIN);
    assert_found_again("cpu", &measured(&bundled, &recorded, BackendChoice::Cpu), &recorded);
}

#[test]
fn a_recording_is_found_again_on_the_gpu() {
    if common::gpu().is_none() {
        return;
    }
    let bundled = demos().into_iter().find(|bundled| bundled.name == AGAIN).expect("it is bundled");
    let recorded = recorded(AGAIN);
    assert_found_again("gpu", &measured(&bundled, &recorded, BackendChoice::Gpu), &recorded);
}

#[test]
fn every_demo_model_is_recorded_on_the_default_protocol() {
    let summary = fs::read(web("data/recorded/index.json")).expect("a summary");
    let summary: Vec<Value> = serde_json::from_slice(&summary).expect("JSON");
    let demos = demos();
    assert_eq!(summary.len(), demos.len());
    let table = fs::read_to_string(web("../docs/models.md")).expect("the table");
    for (bundled, summary) in demos.iter().zip(&summary) {
        let report = recorded(&bundled.name);
        assert_eq!(summary["name"].as_str(), Some(&*bundled.name));
        let summarised = summary["r2_lin"].as_array().expect("a list");
        assert_eq!(summarised.len(), report.blocks.len(), "{}", bundled.name);
        let rows = report.blocks[0].rows_per_input.expect("a ratio");
        common::assert_close(&bundled.name, summary["rows_per_input"].as_f64(), rows, 1e-12);
        for (summarised, block) in summarised.iter().zip(&report.blocks) {
            let recorded = block.r2_lin.expect("a recorded value");
            common::assert_close(&bundled.name, summarised.as_f64(), recorded, 1e-12);
        }
        assert_eq!((report.partial, report.device.backend.as_str()), (false, "cpu"), "{}", bundled.name);
        assert_eq!((report.protocol.windows, report.protocol.seq_len, report.protocol.folds), (117, 128, 5));
        assert!(report.ppl.is_some() && report.layers.len() == report.blocks.len(), "{}", bundled.name);
        assert!(table.contains(&format!("[{}]", bundled.name)), "{} is not in docs/models.md", bundled.name);
    }
}

/// The numbers of the table of polynomials, to the digits that it has.
#[test]
fn the_documented_polynomials_are_those_of_the_recordings() {
    let document = fs::read_to_string(web("../docs/measures.md")).expect("the document");
    let mut lines =
        document.lines().skip_while(|line| !line.starts_with("| model | linear map | degree 2, 192 features"));
    assert!(
        lines.next().is_some_and(|head| head.ends_with("| degree 2, 640 features | degree 3, 640 | degree 4, 640 |"))
    );
    let rows: Vec<Vec<&str>> = lines
        .skip(1)
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    assert_eq!(rows.len(), 3, "models");
    for row in rows {
        let report = recorded(row[0]);
        let block = &report.blocks[1];
        let of = |degree: &str, features: usize| {
            block.degrees[degree].iter().find(|point| point.features == features).and_then(|point| point.r2)
        };
        let found = [block.r2_lin, of("2", 192), of("2", 640), of("3", 640), of("4", 640)];
        let found = found.map(|r2| format!("{:.3}", r2.expect("R²")));
        assert_eq!(row[1..], found, "{}", row[0]);
    }
}

/// What healing leaves in the recording, as the document says it.
#[test]
fn the_documented_healing_is_that_of_the_recording() {
    let report = recorded(AGAIN);
    let of = |name: &str| -> Vec<f64> {
        report.blocks.iter().map(|block| block.heal[name].delta_ppl.expect("ΔPPL")).collect()
    };
    let said = |name: &str| {
        let (low, high) =
            of(name)[1..].iter().fold((f64::MAX, f64::MIN), |(low, high), &loss| (low.min(loss), high.max(loss)));
        format!("`{name}` {low:.3} to {high:.3}").replace('-', "−")
    };
    let ranges = ["linear", "poly", "dense2x", "poly2x", "original"].map(said).join(", ");
    let document = fs::read_to_string(web("../docs/measures.md")).expect("the document");
    assert!(document.contains(&format!("lowest to highest: {ranges}.")), "{ranges}");
    for name in ["linear", "poly", "dense2x", "poly2x"] {
        assert!(of(name).iter().zip(of("original")).all(|(replaced, original)| *replaced > original), "{name}");
    }
}

#[test]
#[ignore = "needs Python with transformers: cargo xtask test reference"]
fn transformers_loads_every_demo_model_and_finds_the_same_perplexity() {
    for bundled in demos() {
        let (name, report) = (&bundled.name, recorded(&bundled.name));
        let protocol = &report.protocol;
        let folder = web("models").join(name);
        let tokenizer = fs::read(folder.join("tokenizer.json")).expect("tokenizer.json");
        let tokenizer = Tokenizer::from_json(&tokenizer).expect("a tokenizer");
        let ids = block_on(tokenizer.encode(name, text(&bundled, &report).as_bytes())).expect("ids");
        let first = (protocol.folds - 1) * protocol.windows / protocol.folds;
        let heldout = &ids[first * protocol.seq_len..protocol.windows * protocol.seq_len];
        let found = common::python::perplexity(name, &folder, heldout, protocol.seq_len);
        println!("{name} in transformers: {found}; here {:?}", report.ppl);
        assert_eq!((&found["missing"], &found["unexpected"]), (&json!([]), &json!([])), "{name}");
        let ppl = report.ppl.expect("a perplexity");
        common::assert_close(&format!("{name} in transformers"), found["ppl"].as_f64(), ppl, 1e-4 * ppl);
    }
}
