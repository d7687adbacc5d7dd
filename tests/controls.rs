//! The controls: the same fits under other conditions, checked against known results.

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

use futures::StreamExt;
use futures::executor::block_on;
use straightedge::error::Error;
use straightedge::event::{Event, Recorder, Stage};
use straightedge::job::{BackendChoice, Job, Measure, Protocol};
use straightedge::report::{BlockReport, ControlReport, Report};
use straightedge::run::{self, Inputs, RowsInputs, Text};
use straightedge::weights::{Files, FolderFiles, MemoryFiles};

/// Small enough for a software GPU: 40 windows, 2048 training rows.
const ROWS: Protocol = Protocol {
    rows: 2560,
    seq_len: 64,
    folds: 5,
    interleaved_folds: false,
    skip_positions: 0,
    bos: false,
    piece_chars: 0,
    gram: EXACT,
    seed: 0,
};
const EXACT: straightedge::job::GramMode = straightedge::job::GramMode::Exact;
const CPU: BackendChoice = BackendChoice::Cpu;

fn calibration() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("web/models/calibration")
}

fn folder(path: &Path) -> Rc<dyn Files> {
    Rc::new(FolderFiles::new(path))
}

fn text(path: &Path) -> Text {
    Text::Plain(std::fs::read(path).expect("a text"))
}

/// All events of a measurement of `model` with controls.
fn events(
    model: &Path,
    text: Text,
    protocol: &Protocol,
    backend: BackendChoice,
    feed: Option<Rc<dyn Files>>,
) -> Vec<Event> {
    let job = Job {
        protocol: protocol.clone(),
        measures: [Measure::Fit, Measure::Controls].into(),
        backend,
        ..Job::new("measured", "text")
    };
    let feed = feed.map(|files| ("feeding".to_owned(), files));
    block_on(run::measure_inputs(job, Inputs { feed, ..Inputs::new(folder(model), text) }).collect())
}

fn report(events: &[Event]) -> Report {
    let mut recorder = Recorder::default();
    events.iter().for_each(|event| recorder.record(event));
    let report = recorder.into_report().expect("a report");
    assert!(!report.partial && !report.blocks.is_empty(), "{:?}", events.last());
    report
}

/// A reference model on its text.
fn measure(name: &str, protocol: &Protocol, backend: BackendChoice, feed: Option<&str>) -> Report {
    let feed = feed.map(|feed| folder(&common::fixture(feed)));
    report(&events(&common::fixture(name), text(&common::encyclopedia()), protocol, backend, feed))
}

fn r2(block: &BlockReport, control: &str) -> f64 {
    let what = format!("block {}, {control}", block.block);
    block.controls.get(control).unwrap_or_else(|| panic!("{what} is absent")).r2_lin.unwrap_or_else(|| panic!("{what}"))
}

fn profile(report: &Report, control: &str) -> Vec<f64> {
    report.blocks.iter().map(|block| r2(block, control)).collect()
}

fn own(block: &BlockReport) -> ControlReport {
    let BlockReport { r2_lin, r2_lin_scalar, r2_feature_median, effective_rank, .. } = *block;
    ControlReport { r2_lin, r2_lin_scalar, r2_feature_median, effective_rank }
}

#[test]
fn weights_drawn_anew_change_the_profile_and_follow_the_seed() {
    let first = measure("tiny-gpt2", &ROWS, CPU, None);
    let again = measure("tiny-gpt2", &ROWS, CPU, None);
    let other = measure("tiny-gpt2", &Protocol { seed: 1, ..ROWS }, CPU, None);
    for control in ["shuffled", "reinit_block", "reinit_model", "gaussian"] {
        assert_eq!(profile(&first, control), profile(&again, control), "{control} is reproducible");
        for (block, (a, b)) in profile(&first, control).into_iter().zip(profile(&other, control)).enumerate() {
            assert!((a - b).abs() > 1e-6, "{control}, block {block}: {a} for one seed, {b} for another");
        }
    }
    for block in &first.blocks {
        let trained = block.r2_lin.expect("R²");
        for control in ["reinit_block", "reinit_model"] {
            // A small random network stays in its activation's linear range: 0.97 and more, against 0.91 at most.
            let drawn = r2(block, control);
            assert!(drawn > trained + 0.05 && drawn < 1.0, "block {}, {control}: {drawn}, {trained}", block.block);
        }
    }
    assert_eq!(first.blocks[0].r2_lin, other.blocks[0].r2_lin, "the seed leaves the fit itself alone");
}

/// Against the reference's own random numbers, permutation and network.
#[test]
fn shuffled_weights_fit_as_the_reference_does() {
    for (name, text_name) in common::OWN {
        let folder_of = common::fixture(name);
        let rows = Protocol { rows: 15_000, seq_len: 128, ..ROWS };
        let file = common::fixture(format!("texts/{text_name}.txt"));
        let found = report(&events(&folder_of, text(&file), &rows, CPU, None));
        let expected = std::fs::read_to_string(folder_of.join("expected.json")).expect("expected values");
        let expected: serde_json::Value = serde_json::from_str(&expected).expect("JSON");
        for (block, expected) in found.blocks.iter().zip(expected["blocks"].as_array().expect("blocks")) {
            let control = block.controls["shuffled"];
            let number = |field: &str| expected["shuffled"][field].as_f64().expect("a number");
            let what = format!("{name}, block {}", block.block);
            common::assert_close(&what, control.r2_lin, number("r2_lin"), 1e-6);
            common::assert_close(&what, control.r2_lin_scalar, number("r2_lin_scalar"), 1e-6);
            common::assert_close(&what, control.r2_feature_median, number("r2_feature_median"), 1e-6);
        }
    }
}

#[test]
fn both_backends_draw_the_same() {
    if common::gpu().is_none() {
        return;
    }
    let protocol = Protocol { rows: 1280, ..ROWS };
    for (name, feed) in [("tiny-gpt2", "tiny-llama"), ("tiny-bert", "tiny-gpt2")] {
        let on = |backend| measure(name, &protocol, backend, Some(feed));
        let (cpu, gpu) = (on(CPU), on(BackendChoice::Gpu));
        assert_eq!(cpu.blocks.len(), gpu.blocks.len());
        let names: Vec<_> = cpu.blocks[0].controls.keys().cloned().collect();
        assert_eq!(
            names,
            [
                "cross_feed",
                "cross_feed_matched",
                "first_position",
                "gaussian",
                "reinit_block",
                "reinit_model",
                "shuffled"
            ]
        );
        for control in names {
            for (cpu, gpu) in cpu.blocks.iter().zip(&gpu.blocks) {
                let what = format!("{name}, block {}, {control}", cpu.block);
                common::assert_close(&what, Some(r2(gpu, &control)), r2(cpu, &control), 1e-5);
            }
        }
    }
}

#[test]
fn an_affine_block_is_affine_on_gaussian_inputs_too() {
    for backend in common::backends() {
        let calibration = calibration();
        let events = events(&calibration, text(&calibration.join("text.txt")), &ROWS, backend, None);
        let report = report(&events);
        let affine = r2(&report.blocks[0], "gaussian");
        assert!((1.0 - affine).abs() <= 1e-9, "{backend:?}: {affine}");
        // Block 3 returns a constant: undefined with a warning, but not with other weights.
        assert_eq!(report.blocks[3].controls["gaussian"], ControlReport::default());
        let said = |warning: &&straightedge::report::Warning| warning.text.contains("control gaussian");
        assert_eq!(report.warnings.iter().find(said).and_then(|warning| warning.block), Some(3));
        assert!(r2(&report.blocks[3], "reinit_block") > 0.9);
    }
}

#[test]
fn the_table_shows_controls() {
    let shown =
        straightedge(&["measure", "calibration", "--rows", "1280", "--measures", "controls", "--backend", "cpu"]);
    let table = String::from_utf8(shown.stdout).expect("UTF-8");
    let heading = table.lines().position(|line| line.contains("gaussian")).expect("a table of controls");
    let cells = |line: usize| table.lines().nth(line).expect("a line").split_whitespace().collect::<Vec<_>>();
    let (names, affine) = (cells(heading), cells(heading + 1));
    assert_eq!((names.len(), affine.len()), (7, 7), "{table}");
    for (name, value) in names.iter().zip(&affine).filter(|(name, _)| ["gaussian", "first_position"].contains(name)) {
        assert_eq!(*value, "1.000000", "{name} on the affine block\n{table}");
    }
}

#[test]
fn the_first_position_is_left_out_or_put_back() {
    let (with, without) = (ROWS, Protocol { skip_positions: 1, ..ROWS });
    let with = measure("tiny-gpt2", &with, CPU, None);
    let without = measure("tiny-gpt2", &without, CPU, None);
    for (with, without) in with.blocks.iter().zip(&without.blocks) {
        assert_ne!(own(with), own(without), "a control that changes nothing would pass as well");
        assert_eq!(with.controls["first_position"], own(without));
        assert_eq!(without.controls["first_position"], own(with));
    }
    let said = |report: &Report| report.warnings.iter().any(|warning| warning.code == "first_position_with");
    assert!(said(&without) && !said(&with));
}

#[test]
fn windows_of_one_position_have_no_other() {
    let protocol = Protocol { seq_len: 1, rows: 400, ..ROWS };
    let report = measure("tiny-gpt2", &protocol, CPU, None);
    assert!(report.blocks.iter().all(|block| block.controls["first_position"] == ControlReport::default()));
    assert!(report.warnings.iter().any(|warning| warning.code == "no_control"), "{:?}", report.warnings);
    assert!(report.blocks.iter().all(|block| block.controls["reinit_block"].r2_lin.is_some()));
}

#[test]
fn a_model_fed_by_itself_fits_as_it_does() {
    for name in ["tiny-gpt2", "tiny-gpt_neox", "tiny-bert"] {
        let report = measure(name, &ROWS, CPU, Some(name));
        for block in &report.blocks {
            for control in ["cross_feed", "cross_feed_matched"] {
                let what = format!("{name}, block {}, {control}", block.block);
                common::assert_close(&what, Some(r2(block, control)), block.r2_lin.expect("R²"), 1e-9);
            }
        }
    }
}

#[test]
fn one_family_feeds_another() {
    let report = measure("tiny-gpt2", &ROWS, CPU, Some("tiny-llama"));
    for block in &report.blocks {
        let (raw, matched) = (r2(block, "cross_feed"), r2(block, "cross_feed_matched"));
        let itself = block.r2_lin.expect("R²");
        assert!(raw.is_finite() && matched.is_finite());
        assert!((raw - itself).abs() > 1e-3 && (raw - matched).abs() > 1e-3, "{raw} {matched} {itself}");
    }
}

#[test]
fn a_shallower_model_feeds_the_blocks_it_has() {
    let shallow = memory(&common::fixture("tiny-gpt2"), |name, bytes| match name {
        "config.json" => text_of(bytes).replace("\"n_layer\": 4", "\"n_layer\": 2").into_bytes(),
        _ => bytes,
    });
    let model = common::fixture("tiny-gpt2");
    let report = report(&events(&model, text(&common::encyclopedia()), &ROWS, CPU, Some(shallow)));
    let fed: Vec<bool> = report.blocks.iter().map(|block| block.controls.contains_key("cross_feed")).collect();
    assert_eq!(fed, [true, true, false, false]);
    assert!(report.warnings.iter().any(|warning| warning.code == "feed_blocks"), "{:?}", report.warnings);
    common::assert_close(
        "block 1",
        Some(r2(&report.blocks[1], "cross_feed_matched")),
        report.blocks[1].r2_lin.expect("R²"),
        1e-9,
    );
}

#[test]
fn a_feeding_model_that_does_not_fit_is_one_typed_error() {
    let (model, text) = (common::fixture("tiny-gpt2"), common::encyclopedia());
    let run = |rest: &[&str]| {
        let given = [&["measure", path(&model), "--text", path(&text), "--backend", "cpu"], rest].concat();
        let output = straightedge(&given);
        assert_eq!(output.status.code(), Some(2), "{rest:?}");
        let complaint = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
        complaint
    };
    let wide = run(&["--measures", "controls", "--feed", path(&common::fixture("char-llama"))]);
    assert!(wide.starts_with("straightedge: --feed: char-llama of hidden size 128"), "{wide}");
    let unasked = run(&["--feed", path(&common::fixture("tiny-llama"))]);
    assert!(unasked.contains("--measures controls"), "{unasked}");
    let unknown = run(&["--measures", "controls", "--feed", "nobody"]);
    assert!(unknown.starts_with("straightedge: nobody: no such folder or bundled model"), "{unknown}");
}

#[test]
fn a_text_too_short_for_the_feeding_model_names_it() {
    let model = common::fixture("tiny-gpt2");
    let text = std::fs::read(common::encyclopedia()).expect("a text");
    let protocol = Protocol { rows: 1 << 20, folds: 5, ..ROWS };
    let failure = |feed: &str, bytes: usize| {
        let events =
            events(&model, Text::Plain(text[..bytes].to_vec()), &protocol, CPU, Some(folder(&common::fixture(feed))));
        match events.last() {
            Some(Event::Failed(error)) => Some(error.clone()),
            _ => None,
        }
    };
    let short = (1..40).map(|step| step * 50).find_map(|bytes| match failure("tiny-bert", bytes) {
        Some(Error::TooFewRows { corpus, .. } | Error::TooFewWindows { corpus, .. }) if corpus != "text" => {
            Some(corpus)
        }
        _ => None,
    });
    assert_eq!(short.as_deref(), Some("text as feeding reads it"));
}

#[test]
fn a_cancelled_measurement_keeps_the_controls_it_finished() {
    let all = events(&common::fixture("tiny-gpt2"), text(&common::encyclopedia()), &ROWS, CPU, None);
    let stop = all.iter().position(|event| match event {
        Event::Block(block) => block.block == 3 && block.controls.contains_key("reinit_block"),
        _ => false,
    });
    let mut recorder = Recorder::default();
    all[..=stop.expect("controls one by one")].iter().for_each(|event| recorder.record(event));
    let report = recorder.into_report().expect("a report");
    assert!(report.partial);
    for block in &report.blocks {
        let names: Vec<&str> = block.controls.keys().map(String::as_str).collect();
        let expected: &[&str] = match block.block {
            3 => &["first_position", "reinit_block", "shuffled"],
            _ => &["first_position", "gaussian", "reinit_block", "reinit_model", "shuffled"],
        };
        assert_eq!(names, expected, "block {}", block.block);
    }
    progress_counts_rows_over_all_controls(&all);
}

fn progress_counts_rows_over_all_controls(events: &[Event]) {
    let of_controls = |event: &Event| match event {
        Event::Progress(progress) if progress.stage == Stage::Controls => Some((progress.done, progress.total)),
        _ => None,
    };
    let progress: Vec<(u64, u64)> = events.iter().filter_map(of_controls).collect();
    assert!(progress.is_sorted(), "{progress:?}");
    // Five controls of four blocks.
    let all = 5 * 4 * 2560;
    assert_eq!((progress[0], progress[progress.len() - 1]), ((0, all), (all, all)));
}

#[test]
fn captured_rows_have_no_controls() {
    let job = Job { measures: [Measure::Fit, Measure::Controls].into(), backend: CPU, ..Job::new("rows", "rows") };
    let events = run::fit(job, RowsInputs::new(folder(&common::fixture("planted")), "k2.safetensors"));
    let last = block_on(events.collect::<Vec<_>>()).pop();
    assert!(matches!(&last, Some(Event::Failed(Error::InvalidSetting { .. }))), "{last:?}");
}

/// A model's files in memory, each modified by `change`.
fn memory(folder: &Path, change: impl Fn(&str, Vec<u8>) -> Vec<u8>) -> Rc<dyn Files> {
    let names = ["config.json", "model.safetensors", "tokenizer.json"];
    let files: BTreeMap<&str, Vec<u8>> =
        names.map(|name| (name, change(name, std::fs::read(folder.join(name)).expect("a file")))).into();
    Rc::new(files.into_iter().fold(MemoryFiles::default(), |files, (name, bytes)| files.with(name, bytes)))
}

fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("UTF-8")
}

fn path(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn straightedge(args: &[&str]) -> std::process::Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_straightedge"));
    // A name without a folder would be looked up on the hub, which is offline here.
    command.env("HF_HUB_OFFLINE", "1").env("HF_HOME", env!("CARGO_TARGET_TMPDIR")).env_remove("HF_HUB_CACHE");
    command.args(args).output().expect("the program runs")
}
