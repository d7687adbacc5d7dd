//! A prompt continued side by side: against an exported model in double precision, against itself, on both backends,
//! and in every failure case.

mod common;

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::rc::Rc;

use futures::StreamExt;
use futures::executor::block_on;
use straightedge::backend::Backend;
use straightedge::backend::cpu::CpuBackend;
use straightedge::backend::gpu::Memory;
use straightedge::continuation::{Continuation, Step};
use straightedge::corpus::Tokenizer;
use straightedge::corpus::synthetic::SyntheticText;
use straightedge::error::Error;
use straightedge::event::{Event, MapDump, Stage};
use straightedge::forward::{Forward, ignore};
use straightedge::job::{BackendChoice, Blocks, Job, Protocol};
use straightedge::model::{ModelConfig, ModelParts, load};
use straightedge::replacement::export::export;
use straightedge::run::{MapCache, MapSource, Text, continuation, measure};
use straightedge::transcript::Transcript;
use straightedge::weights::{Files, FolderFiles, MemoryFiles, Weights, write_model};
use straightedge::workers::Workers;

const PROMPT: &str = "The cook lived in";

fn web(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("web/models").join(name)
}

fn files(folder: &Path) -> Rc<dyn Files> {
    Rc::new(FolderFiles::new(folder))
}

/// Few enough rows for a test, enough for every block of width 128 to be solved.
fn job(backend: BackendChoice, blocks: &[usize]) -> Job {
    let protocol = Protocol { rows: 1280, seq_len: 32, ..Protocol::default() };
    Job { protocol, backend, blocks: Some(Blocks::of(blocks.iter().copied())), ..Job::new("model", "tales:1") }
}

fn tales() -> Text {
    Text::Plain(
        SyntheticText::for_measurement("tales:1").expect("a domain").expect("a seed").text_for_rows(1280).into_bytes(),
    )
}

fn settings(tokens: usize) -> Continuation {
    Continuation { tokens, ..Continuation::new(PROMPT) }
}

/// A continuation's transcript, and its stages.
fn continued(
    job: Job,
    settings: Continuation,
    files: Rc<dyn Files>,
    maps: MapSource,
) -> Result<(Transcript, Vec<Stage>), Error> {
    let events: Vec<Event> = block_on(continuation(job, settings, files, maps).collect());
    let (mut transcript, mut stages) = (Transcript::default(), Vec::new());
    for event in &events {
        transcript.record(event);
        match event {
            Event::Failed(error) => return Err(error.clone()),
            Event::Progress(progress) => stages.push(progress.stage),
            _ => {}
        }
    }
    assert!(matches!(events.last(), Some(Event::Finished(_))), "{:?}", events.last());
    Ok((transcript, stages))
}

/// The maps of a separate measurement.
fn maps(job: Job, files: Rc<dyn Files>, text: Text) -> Vec<MapDump> {
    let events: Vec<Event> = block_on(measure(Job { dump_maps: true, ..job }, files, text).collect());
    let map = |event| if let Event::Map(map) = event { Some(*map) } else { None };
    events.into_iter().filter_map(map).collect()
}

/// The model with these maps replacing its networks, as `export` writes it.
fn exported(folder: &Path, maps: &[MapDump]) -> Rc<dyn Files> {
    let json = fs::read_to_string(folder.join("config.json")).expect("a configuration");
    let config = ModelConfig::from_json(&json).expect("a configuration");
    let weights = block_on(Weights::open(files(folder))).expect("weights");
    let exported = export(&json, &config, &weights, maps).expect("a linear model");
    let mut bytes = Vec::new();
    let mut take = |part: &[u8]| {
        bytes.extend_from_slice(part);
        Ok(())
    };
    block_on(write_model(&weights, &exported.tensors, &|name| Some(name.into()), &mut take)).expect("weights");
    let json = exported.config.unwrap_or(json).into_bytes();
    Rc::new(MemoryFiles::default().with("config.json", json).with("model.safetensors", bytes))
}

/// ln softmax of the logits after `ids`, in double precision except for the final conversion.
fn log_probabilities(files: &Rc<dyn Files>, ids: &[u32]) -> Vec<f64> {
    block_on(async {
        let backend = CpuBackend::oracle();
        let size = files.size("config.json").await.expect("a size").expect("a file");
        let json = files.read("config.json", 0..size).await.expect("a configuration");
        let config = ModelConfig::from_json(&String::from_utf8_lossy(&json)).expect("a configuration");
        let weights = Weights::open(files.clone()).await.expect("weights");
        let model = load(&backend, &config, &weights, ModelParts::WithHead, &|_, _| {}).await.expect("a model");
        let forward = Forward::new(&backend, &model, ids.len()).expect("tables");
        let hidden = forward.run(ids, &mut ignore).expect("a forward pass");
        let last = backend.gather(&hidden, &[ids.len() as u32 - 1]).expect("a row");
        let logits = backend.read(&forward.logits(&last).expect("logits")).await.expect("logits");
        let total: f64 = logits.iter().map(|logit| f64::from(*logit).exp()).sum();
        logits.iter().map(|logit| f64::from(*logit) - total.ln()).collect()
    })
}

fn argmax(values: &[f64]) -> u32 {
    (0..values.len()).fold(0, |best, at| if values[at] > values[best] { at } else { best }) as u32
}

fn prompt_ids(folder: &Path) -> Vec<u32> {
    let json = fs::read(folder.join("tokenizer.json")).expect("a tokenizer");
    let tokenizer = Tokenizer::from_json(&json).expect("a tokenizer");
    block_on(tokenizer.encode("prompt", PROMPT.as_bytes())).expect("ids")
}

#[test]
fn every_step_is_that_of_the_original_and_of_the_exported_linear_model() {
    let folder = web("demo-gpt2");
    let job = job(BackendChoice::Cpu, &[1, 3, 4]);
    let linear = exported(&folder, &maps(job.clone(), files(&folder), tales()));
    let (transcript, stages) =
        continued(job, settings(12), files(&folder), MapSource::measured(tales())).expect("a continuation");
    assert!(stages.contains(&Stage::Measure) && stages.contains(&Stage::Continue), "{stages:?}");
    assert_eq!(transcript.steps.len(), 12);
    assert!(transcript.parting().is_some(), "three linear blocks of six say something else: {:?}", transcript.text());
    let original = files(&folder);
    let (mut ours, mut theirs) = (prompt_ids(&folder), prompt_ids(&folder));
    for step in &transcript.steps {
        let (p, q) = (log_probabilities(&original, &ours), log_probabilities(&linear, &ours));
        let own = log_probabilities(&linear, &theirs);
        assert_eq!((step.token.original.id, step.token.linear.id), (argmax(&p), argmax(&own)), "step {}", step.step);
        let kl: f64 = p.iter().zip(&q).map(|(p, q)| p.exp() * (p - q)).sum();
        common::assert_close("kl", Some(step.kl), kl, 1e-4);
        let entropy = |logs: &[f64]| -logs.iter().map(|log| log.exp() * log).sum::<f64>();
        common::assert_close("entropy", Some(step.entropy.original), entropy(&p), 1e-4);
        common::assert_close("entropy of linear", Some(step.entropy.linear), entropy(&q), 1e-4);
        check_candidates(step, &p, &q, (ours != theirs).then_some(&own[..]));
        ours.push(step.token.original.id);
        theirs.push(step.token.linear.id);
    }
    let ppl = transcript.opening.expect("an opening").ppl;
    for (found, files) in [(ppl.original, &original), (ppl.linear, &linear)] {
        let prompt = prompt_ids(&folder);
        let nll = |at: usize| -log_probabilities(files, &prompt[..at])[prompt[at] as usize];
        let mean = (1..prompt.len()).map(nll).sum::<f64>() / (prompt.len() - 1) as f64;
        common::assert_close("perplexity of the prompt", found, mean.exp(), 1e-4 * mean.exp());
    }
}

/// The five likeliest tokens of each model, with both probabilities.
fn check_candidates(step: &Step, p: &[f64], q: &[f64], own: Option<&[f64]>) {
    for logs in [p, q] {
        let mut order: Vec<usize> = (0..logs.len()).collect();
        order.sort_by(|a, b| logs[*b].total_cmp(&logs[*a]));
        // Pairs that f32 might order differently are skipped.
        for pair in order[..6].windows(2).take_while(|pair| logs[pair[0]] - logs[pair[1]] > 1e-4) {
            assert!(
                step.candidates.iter().any(|found| found.id as usize == pair[0]),
                "{}: {:?}",
                pair[0],
                step.candidates
            );
        }
    }
    assert!((5..=10).contains(&step.candidates.len()));
    for found in &step.candidates {
        common::assert_close("p", found.probability.original, p[found.id as usize].exp(), 1e-4);
        common::assert_close("q", found.probability.linear, q[found.id as usize].exp(), 1e-4);
    }
    assert_eq!(step.own.len(), if own.is_some() { 5 } else { 0 });
    for (found, own) in step.own.iter().zip(own.iter().cycle()) {
        common::assert_close("own", found.probability.linear, own[found.id as usize].exp(), 1e-4);
        assert_eq!(found.probability.original, None);
    }
}

#[test]
fn without_linear_blocks_nothing_differs_and_nothing_is_measured() {
    let drawn = |seed| Continuation { temperature: 1.0, seed, ..settings(15) };
    let mut texts = Vec::new();
    for settings in [settings(15), drawn(5), drawn(5), drawn(6)] {
        let job = job(BackendChoice::Cpu, &[]);
        let empty = MapSource::measured(Text::Plain(Vec::new()));
        let (transcript, stages) = continued(job, settings, files(&web("demo-neox")), empty).expect("a continuation");
        assert!(!stages.contains(&Stage::Measure) && !stages.contains(&Stage::Tokenize), "{stages:?}");
        assert_eq!((transcript.steps.len(), transcript.parting(), transcript.mean_kl()), (15, None, Some(0.0)));
        let ppl = transcript.opening.as_ref().expect("an opening").ppl;
        assert!(ppl.original.is_some() && ppl.original == ppl.linear);
        texts.push(transcript.text().original);
    }
    assert!(texts[1] == texts[2] && texts[1] != texts[3] && texts[0] != texts[1], "the seed decides: {texts:?}");
}

#[test]
fn an_affine_block_made_linear_is_the_same_model() {
    let folder = web("calibration");
    let text = || Text::Plain(fs::read(folder.join("text.txt")).expect("a text"));
    let run = |blocks: &[usize]| {
        let settings = Continuation { prompt: "Straightedge".into(), ..settings(12) };
        let (transcript, _) =
            continued(job(BackendChoice::Cpu, blocks), settings, files(&folder), MapSource::measured(text()))
                .expect("a continuation");
        transcript
    };
    let affine = run(&[0]);
    assert_eq!(affine.steps.len(), 12);
    assert!(affine.steps.iter().all(|step| step.kl <= 1e-7), "{:?}", affine.mean_kl());
    assert_eq!(affine.parting(), None);
    assert_eq!(run(&[0]).steps, affine.steps, "repeatable");
    assert!(run(&[5]).mean_kl() > Some(1e-5), "this one is not linear");
}

#[test]
fn maps_that_were_kept_are_not_measured_again() {
    let (folder, kept) = (web("demo-llama"), Rc::new(RefCell::new(MapCache::default())));
    let run = |blocks: &[usize]| {
        let source = MapSource::Measured { text: tales(), workers: Workers::default(), kept: Some(kept.clone()) };
        let events = continuation(job(BackendChoice::Cpu, blocks), settings(6), files(&folder), source);
        let events: Vec<Event> = block_on(events.inspect(|event| kept.borrow_mut().receive(event)).collect());
        let has = |stage| events.iter().any(|event| matches!(event, Event::Progress(p) if p.stage == stage));
        let mut transcript = Transcript::default();
        events.iter().for_each(|event| transcript.record(event));
        (has(Stage::Measure), transcript)
    };
    let (was_measured, first) = run(&[2]);
    let (is_measured, again) = run(&[2]);
    assert!(was_measured && !is_measured);
    assert_eq!((first.steps.len(), &first.steps), (6, &again.steps));
    assert_eq!(first.measured, again.measured);
    let (is_measured, other) = run(&[0, 5]);
    assert!(!is_measured, "all blocks were measured, for later");
    let alone = continued(job(BackendChoice::Cpu, &[0, 5]), settings(6), files(&folder), MapSource::measured(tales()))
        .expect("one")
        .0;
    assert_eq!(other.steps, alone.steps);
}

#[test]
fn both_backends_go_on_alike_and_a_cancelled_one_leaves_no_device_memory() {
    if common::gpu().is_none() {
        return;
    }
    let folder = common::fixture("tiny-llama");
    let text = || Text::Plain(fs::read(common::encyclopedia()).expect("a text"));
    let run = |backend| {
        continued(job(backend, &[1, 2]), settings(4), files(&folder), MapSource::measured(text()))
            .expect("a continuation")
            .0
    };
    let (cpu, gpu) = (run(BackendChoice::Cpu), run(BackendChoice::Gpu));
    assert_eq!(gpu.opening.as_ref().expect("an opening").device.backend, "gpu");
    assert_eq!((cpu.text(), cpu.steps.len(), gpu.steps.len()), (gpu.text(), 4, 4));
    for (a, b) in cpu.steps.iter().zip(&gpu.steps) {
        common::assert_close("kl", Some(b.kl), a.kl, 1e-4);
        common::assert_close("entropy", Some(b.entropy.linear), a.entropy.linear, 1e-4);
    }
    let before = Memory::now().allocated;
    block_on(async {
        let mut events =
            continuation(job(BackendChoice::Gpu, &[1, 2]), settings(40), files(&folder), MapSource::measured(text()));
        while let Some(event) = events.next().await {
            assert!(!matches!(event, Event::Finished(_) | Event::Failed(_)), "{event:?}");
            if matches!(&event, Event::Step(step) if step.step == 1) {
                assert!(Memory::now().allocated > before, "the model is on the device");
                break;
            }
        }
    });
    assert_eq!(Memory::now().allocated, before);
}

#[test]
fn a_full_context_ends_with_a_sentence_and_a_prompt_beyond_it_is_refused() {
    let folder = web("demo-gpt2");
    let json = fs::read(folder.join("tokenizer.json")).expect("a tokenizer");
    let tokenizer = Tokenizer::from_json(&json).expect("a tokenizer");
    let Text::Plain(text) = tales() else { unreachable!() };
    let ids = block_on(tokenizer.encode("text", &text)).expect("ids");
    let prompt = |tokens: usize| {
        let prompt = tokenizer.decode(&ids[..tokens]).expect("a text");
        let found = block_on(tokenizer.encode("text", prompt.as_bytes())).expect("ids").len();
        (Continuation { prompt, ..settings(40) }, found)
    };
    let run =
        |settings| continued(job(BackendChoice::Cpu, &[]), settings, files(&folder), MapSource::Given(Vec::new()));
    let (nearly_full, tokens) = prompt(126);
    let (transcript, _) = run(nearly_full).expect("a continuation");
    assert_eq!(transcript.steps.len(), 128 - tokens + 1);
    assert!(transcript.warnings.iter().any(|warning| warning.code == "context_full"), "{:?}", transcript.warnings);
    let (too_long, tokens) = prompt(140);
    assert!(tokens > 128);
    assert_refused(run(too_long), "--prompt", "128");
}

#[track_caller]
fn assert_refused<T: std::fmt::Debug>(found: Result<T, Error>, name: &str, why: &str) {
    match found {
        Err(Error::InvalidSetting { field, value, hint }) => {
            assert_eq!(field, name);
            assert!(value.contains(why) || hint.contains(why), "{value}; {hint}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_cannot_be_continued_is_refused_by_name() {
    let folder = web("demo-gpt2");
    let given = || MapSource::Given(Vec::new());
    let run = |blocks: &[usize], prompt: &str, files: Rc<dyn Files>, maps| {
        let settings = Continuation { prompt: prompt.into(), ..settings(3) };
        continued(job(BackendChoice::Cpu, blocks), settings, files, maps)
    };
    assert_refused(run(&[], "", files(&folder), given()), "--prompt", "nothing");
    assert_refused(run(&[6], PROMPT, files(&folder), MapSource::measured(tales())), "--blocks", "0 to 5");
    assert_refused(run(&[2], PROMPT, files(&folder), given()), "--maps", "block 2");
    let empty = MapSource::measured(Text::Plain(Vec::new()));
    assert!(matches!(run(&[2], PROMPT, files(&folder), empty), Err(Error::EmptyText { .. })));
    assert_refused(run(&[], "a", files(&common::fixture("tiny-bert")), given()), "model", "encoder");
    assert_refused(run(&[], "Tom 🦉", files(&common::fixture("char-llama")), given()), "--prompt", "unknown");
    assert!(run(&[], "Tom", files(&common::fixture("char-llama")), given()).is_ok());
}

#[test]
fn logits_that_are_not_finite_are_an_error_and_no_token() {
    let folder = web("demo-gpt2");
    let ones = |len: usize| vec![1.0; len];
    let map = MapDump {
        healed: None,
        block: 3,
        weight: ones(128 * 128),
        bias: ones(128),
        mean_x: ones(128),
        deviation_x: ones(128),
        // Beyond f32.
        mean_y: vec![1e300; 128],
    };
    let found = continued(job(BackendChoice::Cpu, &[3]), settings(3), files(&folder), MapSource::Given(vec![map]));
    assert!(
        matches!(&found, Err(Error::NonFiniteLogits { what, tokens }) if what.contains("linear") && *tokens > 0),
        "{found:?}"
    );
}

fn straightedge(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_straightedge")).args(args).output().expect("the program runs")
}

#[test]
fn the_command_line_tells_both_texts_and_takes_maps_that_were_dumped() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("continuation");
    fs::create_dir_all(&folder).expect("a folder");
    let file = |name: &str| folder.join(name).to_str().expect("UTF-8").to_owned();
    let (maps, out, report) = (file("maps.safetensors"), file("sides.json"), file("report.json"));
    let measure = ["measure", "calibration", "--backend", "cpu", "--dump-maps", &maps, "--out", &report];
    assert_eq!(straightedge(&measure).status.code(), Some(0));
    let base = ["continue", "calibration", "--prompt", "ABC", "--tokens", "5", "--backend", "cpu"];
    let with = |more: &[&str]| straightedge(&[&base[..], more].concat());
    let output = with(&["--blocks", "0,2", "--maps", &maps, "--out", &out]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let given: serde_json::Value = serde_json::from_slice(&fs::read(&out).expect("a file")).expect("JSON");
    let fitted: serde_json::Value =
        serde_json::from_slice(&with(&["--blocks", "0,2", "--out", "-"]).stdout).expect("JSON");
    assert_eq!(given["steps"], fitted["steps"], "the same maps");
    assert_eq!((&given["measured"], fitted["measured"]["corpus"]["id"].is_string()), (&serde_json::Value::Null, true));
    assert_eq!(given["opening"]["blocks"], serde_json::json!([0, 2]));
    let table = String::from_utf8_lossy(&with(&["--blocks", "none"]).stdout).into_owned();
    assert!(table.contains("no linear block") && table.contains("the texts are identical"), "{table}");
    for (more, word) in [
        (&["--blocks", "9"][..], "--blocks"),
        (&["--tokens", "0"], "--tokens"),
        (&["--temperature", "11"], "temperature"),
        (&["--maps", &report], "report.json"),
        (&["--blocks", "x"], "0,3-5"),
    ] {
        // Options given twice are refused, so each is given once.
        let base: &[&str] = if more[0] == "--tokens" { &["continue", "calibration", "--prompt", "ABC"] } else { &base };
        let refused = straightedge(&[base, more].concat());
        let complaint = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(2), "{more:?}: {complaint}");
        assert!(complaint.contains(word), "{complaint}");
    }
}

#[cfg(unix)]
#[test]
fn who_interrupts_it_is_told_of_nothing_that_is_kept() {
    let interrupted_after = |seconds: u64| {
        let child = Command::new(env!("CARGO_BIN_EXE_straightedge"))
            .args(["continue", "demo-gpt2", "--backend", "cpu", "--rows", "400000", "--prompt", PROMPT])
            .args(["--corpus", "tales:1"])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .expect("the program runs");
        std::thread::sleep(std::time::Duration::from_secs(seconds));
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs").success());
        let Output { status, stderr, .. } = child.wait_with_output().expect("it ends");
        // Before it measures, a signal ends it as it ends any program, or not at all where its parent ignores the signal.
        let code = status.code().filter(|code| *code != 0);
        code.map(|code| (code, String::from_utf8(stderr).expect("UTF-8")))
    };
    let (code, said) = [1, 3, 10].into_iter().find_map(interrupted_after).expect("a status");
    assert_eq!(code, 130, "{said}");
    assert!(said.trim_end().ends_with("straightedge: cancelled: stopped on request"), "{said}");
}
