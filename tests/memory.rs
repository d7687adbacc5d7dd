//! Memory stays constant in the number of rows, if row memory is limited, and a model that has to be loaded as a whole
//! is refused where it does not fit.
#![cfg(target_os = "linux")]

mod common;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

use futures::StreamExt;
use futures::executor::block_on;
use futures::future::LocalBoxFuture;
use serde_json::{Value, json};
use straightedge::continuation::Continuation;
use straightedge::error::{Error, Result};
use straightedge::event::Event;
use straightedge::job::{BackendChoice, Job, Measure, Protocol};
use straightedge::report::Report;
use straightedge::run::{Events, MapSource, Text, continuation, measure};
use straightedge::weights::{Files, FolderFiles};

/// Peak memory of a measurement of `rows` rows in a separate process, and the rows of its report.
fn peak(model: &Path, text: &Path, rows: usize) -> (u64, usize) {
    let output = Command::new(env!("CARGO_BIN_EXE_straightedge"))
        .args(["measure".as_ref(), model.as_os_str(), "--text".as_ref(), text.as_os_str()])
        .args(["--backend", "cpu", "--folds", "2", "--rows", &rows.to_string(), "--row-memory", "1", "--out", "-"])
        .output()
        .expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report = Report::from_json("report", &String::from_utf8_lossy(&output.stdout)).expect("a report");
    let rows = report.protocol.train_rows + report.protocol.heldout_rows;
    (report.peak_memory.expect("Linux tells"), rows)
}

#[test]
fn four_times_the_rows_need_no_more_memory() {
    // Five blocks of width 128: the rows themselves would be 20 MB at first and 79 MB in the end. Folds hold more than
    // one batch in either case. Thread scheduling varies the result by a megabyte or two: the better of two runs
    // counts.
    let (model, text) = (common::fixture("char-llama"), common::tales());
    let better = |rows| peak(&model, &text, rows).min(peak(&model, &text, rows));
    let ((once, few), (four_times, many)) = (better(3_840), better(15_360));
    assert_eq!((few, many), (3_840, 15_360), "the text is long enough");
    assert!(four_times as f64 <= 1.1 * once as f64, "{once} bytes at first, {four_times} with four times the rows");
}

/// The largest vocabulary that is read.
const VOCABULARY: u64 = 1 << 28;
/// How many times wider than `tiny-gpt2` the model is, so that its embedding has a terabyte.
const WIDER: u64 = 16;

/// A model of that size, of which only the header of the weights may be read.
struct VastModel {
    files: FolderFiles,
    config: Vec<u8>,
    header: Vec<u8>,
    size: u64,
}

impl VastModel {
    fn new() -> Self {
        let folder = common::fixture("tiny-gpt2");
        let read = |file: &str| std::fs::read(folder.join(file)).expect(file);
        let mut config: Value = serde_json::from_slice(&read("config.json")).expect("a configuration");
        config["vocab_size"] = json!(VOCABULARY);
        config["n_embd"] = json!(WIDER * config["n_embd"].as_u64().expect("a width"));
        let weights = read("model.safetensors");
        let length = u64::from_le_bytes(weights[..8].try_into().expect("8 bytes")) as usize;
        let mut tensors: Value = serde_json::from_slice(&weights[8..8 + length]).expect("a header");
        let mut end = 0;
        for (name, tensor) in tensors.as_object_mut().expect("tensors") {
            let Some(shape) = tensor["shape"].as_array() else { continue };
            let mut shape: Vec<u64> = shape.iter().map(|side| side.as_u64().expect("a size")).collect();
            let kept = shape[0];
            shape.iter_mut().for_each(|side| *side *= WIDER);
            match name {
                _ if name.ends_with("wte.weight") => shape[0] = VOCABULARY,
                _ if name.ends_with("wpe.weight") => shape[0] = kept,
                _ => {}
            }
            let bytes = 4 * shape.iter().product::<u64>();
            tensor["shape"] = json!(shape);
            tensor["data_offsets"] = json!([end, end + bytes]);
            end += bytes;
        }
        let tensors = tensors.to_string().into_bytes();
        let header = [&(tensors.len() as u64).to_le_bytes()[..], &tensors].concat();
        let size = header.len() as u64 + end;
        Self { files: FolderFiles::new(folder), config: config.to_string().into_bytes(), header, size }
    }

    fn of<'a>(&'a self, file: &str) -> Option<(&'a [u8], u64)> {
        match file {
            "config.json" => Some((&self.config, self.config.len() as u64)),
            "model.safetensors" => Some((&self.header, self.size)),
            _ => None,
        }
    }
}

impl Files for VastModel {
    fn size<'a>(&'a self, file: &'a str) -> LocalBoxFuture<'a, Result<Option<u64>>> {
        match self.of(file) {
            Some((_, size)) => Box::pin(async move { Ok(Some(size)) }),
            None => self.files.size(file),
        }
    }

    fn read<'a>(&'a self, file: &'a str, range: Range<u64>) -> LocalBoxFuture<'a, Result<Vec<u8>>> {
        match self.of(file) {
            Some((bytes, _)) => {
                let read = bytes.get(range.start as usize..range.end as usize);
                Box::pin(async move { Ok(read.expect("weights are not read").to_vec()) })
            }
            None => self.files.read(file, range),
        }
    }
}

fn failure(mut events: Events) -> Error {
    block_on(async {
        while let Some(event) = events.next().await {
            match event {
                Event::Failed(error) => return error,
                Event::Block(_) => panic!("a block was measured first"),
                _ => {}
            }
        }
        panic!("there is memory for a terabyte")
    })
}

#[test]
fn a_model_that_does_not_fit_as_a_whole_is_refused_before_it_is_read() {
    let files: Rc<dyn Files> = Rc::new(VastModel::new());
    let job = Job { backend: BackendChoice::Cpu, ..Job::new("tiny-gpt2", "encyclopedia") };
    let text = || Text::Plain(std::fs::read(common::encyclopedia()).expect("a text"));
    let healing = Job { measures: [Measure::Fit, Measure::Heal].into(), ..job.clone() };
    let healed = failure(measure(healing, files.clone(), text()));
    let asked = Continuation::new("The");
    let continued = failure(continuation(job, asked, files, MapSource::measured(text())));
    for error in [healed, continued] {
        assert!(matches!(error, Error::ModelMemory { needed, .. } if needed > 1_000_000), "{error}");
    }
}

/// `tiny-llama`, which takes windows of any length.
fn endless_model() -> PathBuf {
    let (folder, original) = (Path::new(env!("CARGO_TARGET_TMPDIR")).join("endless"), common::fixture("tiny-llama"));
    std::fs::create_dir_all(&folder).expect("a folder");
    for file in ["model.safetensors", "tokenizer.json"] {
        std::fs::copy(original.join(file), folder.join(file)).expect("a copy");
    }
    let config = std::fs::read(original.join("config.json")).expect("a file");
    let mut config: Value = serde_json::from_slice(&config).expect("a configuration");
    config["max_position_embeddings"] = json!(1 << 24);
    std::fs::write(folder.join("config.json"), config.to_string()).expect("a file");
    folder
}

#[test]
fn windows_too_long_for_the_cpu_are_refused_before_anything_is_measured() {
    // A terabyte for each head.
    let seq_len = 500_000;
    let protocol = Protocol { rows: 2 * seq_len, seq_len, folds: 2, ..Protocol::default() };
    let job = Job { backend: BackendChoice::Cpu, protocol, ..Job::new("endless", "ids") };
    let ids = Text::Tokens((0..2 * seq_len as u32).map(|at| at % 50).collect());
    let error = failure(measure(job, Rc::new(FolderFiles::new(endless_model())), ids));
    let Error::InvalidSetting { field, value, hint } = &error else { panic!("{error}") };
    assert!(field == "--seq-len" && value == "500000" && hint.starts_with("for attention"), "{error}");
}
