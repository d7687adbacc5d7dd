//! `continue`: continues a prompt with a model, and with the same model after some blocks were made linear.

use std::path::Path;
use std::rc::Rc;

use pollster::block_on;
use straightedge::continuation::{Both, Continuation, Step};
use straightedge::error::{Error, Result};
use straightedge::event::{MapDump, Recorder};
use straightedge::job::Job;
use straightedge::model::ModelConfig;
use straightedge::report::{AppInfo, Interval};
use straightedge::run::{self, MapSource};
use straightedge::transcript::Transcript;
use straightedge::weights::maps::MapsFile;
use straightedge::weights::{Files, Weights, read_whole};

use super::args::ContinueArgs;
use super::drive::{DriveOutcome, drive_with_listener};
use super::grid::{Column, column, fixed, grid};
use super::results::Destination;
use super::status::Status;
use super::{inputs, measure, results};

/// `continue MODEL`.
pub(super) fn continuation(args: &ContinueArgs) -> Result<Status> {
    let settings = args.settings();
    settings.check()?;
    let place = args.out.as_deref().map(Destination::of).transpose()?;
    let read = [("--maps", &args.maps), ("--text", &args.text)];
    let read: Vec<_> = read.into_iter().filter_map(|(name, path)| Some((name, path.as_deref()?))).collect();
    results::check_unread(&read, &place.iter().map(|place| ("--out", place)).collect::<Vec<_>>())?;
    let (name, files) = measure::model_files_with(&args.model, args.tokenizer.as_deref())?;
    let (job, maps) = match &args.maps {
        Some(path) => (args.job(name, "given maps".into()), MapSource::Given(map_cache(args, path, &files)?)),
        // Without linear blocks no maps are needed.
        None if !args.has_linear() => (args.job(name, "none".into()), MapSource::Given(Vec::new())),
        None => {
            let rows = args.rows - args.rows % args.seq_len.max(1);
            let (corpus, text) = measure::text(&args.text(), &args.model, rows)?;
            (args.job(name, corpus), MapSource::measured(text))
        }
    };
    job.check()?;
    let (training, mut transcript) = (job.training, Transcript::default());
    let events = run::continuation(job.clone(), settings.clone(), files, maps);
    let DriveOutcome { failure, .. } =
        drive_with_listener(events, &training, Recorder::default(), &mut |event, _| transcript.record(event));
    if transcript.opening.is_some() {
        match &place {
            Some(place) => place.keep(json(&job, &settings, &transcript).as_bytes())?,
            None => results::print(&text(&settings, &transcript))?,
        }
    }
    failure.map_or(Ok(Status::Done), Err)
}

/// Reads a maps file and checks that it belongs to the model.
fn map_cache(args: &ContinueArgs, path: &Path, files: &Rc<dyn Files>) -> Result<Vec<MapDump>> {
    let maps = MapsFile::read(path.display().to_string(), inputs::bytes(path)?)?;
    let json = block_on(read_whole(&**files, "config.json", "give a folder in Hugging Face layout"))?;
    let config = ModelConfig::from_json(&String::from_utf8_lossy(&json))?;
    let weights = block_on(Weights::open(files.clone()))?;
    let found = block_on(weights.sha256(&|_, _| ()))?;
    if found != maps.model {
        return Err(Error::NotTheReported { what: "model of the maps".into(), found, reported: maps.model });
    }
    let job = args.job(String::new(), String::new());
    job.chosen_blocks(config.num_hidden_layers)?.into_iter().map(|block| maps.block(block, None)).collect()
}

/// The whole result, with the settings that reproduce it.
fn json(job: &Job, settings: &Continuation, transcript: &Transcript) -> String {
    let text = transcript.text();
    let all = serde_json::json!({
        "app": AppInfo::this(), "model": job.model, "asked": settings, "text": text,
        "parting": transcript.parting(), "mean_kl": transcript.mean_kl(), "kl_interval": transcript.kl_interval(), "measured": transcript.measured,
        "opening": transcript.opening, "steps": transcript.steps, "warnings": transcript.warnings,
    });
    format!("{all:#}\n")
}

/// Both texts, and the numbers of every step.
fn text(settings: &Continuation, transcript: &Transcript) -> String {
    let Some(opening) = &transcript.opening else { return String::new() };
    let ppl = |value: Option<f64>| value.map_or("undefined".into(), |ppl| format!("{ppl:.4}"));
    let blocks = match opening.blocks.iter().map(usize::to_string).collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => "no linear block".into(),
        list => format!("linear blocks {list}"),
    };
    let mut text = format!("{} side by side with {blocks}, on the {}\n", opening.model, opening.device.backend);
    text += &format!("prompt of {} tokens", opening.prompt_tokens);
    text += &format!(", perplexity {} original, {} linear\n", ppl(opening.ppl.original), ppl(opening.ppl.linear));
    let Both { original, linear } = transcript.text();
    for (name, added) in [("original", original), ("linear", linear)] {
        text += &format!("\n{name}:\n{}{added}\n", settings.prompt);
    }
    text += &format!("\n{}", grid(&columns(), &transcript.steps));
    if let Some(kl) = transcript.mean_kl() {
        let parting = transcript
            .parting()
            .map_or("the texts are identical".into(), |at| format!("the texts diverge at step {at}"));
        let interval = transcript.kl_interval();
        let interval = interval.map(|Interval { low, high }| format!(" (95 %: {low:.6} to {high:.6})"));
        text += &format!("mean KL {kl:.6}{} nats, {parting}\n", interval.unwrap_or_default());
    }
    text
}

fn columns() -> [Column<Step>; 6] {
    let theirs = |step: &Step| if step.is_same() { "=".into() } else { format!("{:?}", step.token.linear.name) };
    [
        column("step", |step: &Step| step.step.to_string()),
        column("original", |step: &Step| format!("{:?}", step.token.original.name)),
        column("linear", theirs),
        column("KL (nats)", |step: &Step| fixed(Some(step.kl))),
        column("entropy", |step: &Step| fixed(Some(step.entropy.original))),
        column("of linear", |step: &Step| fixed(Some(step.entropy.linear))),
    ]
}
