//! `export`: writes the model with some blocks linear, or without some layers, as a folder in Hugging Face layout.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use pollster::block_on;
use straightedge::error::{Error, Result};
use straightedge::event::MapDump;
use straightedge::job::{Blocks, Job, Measure, Protocol};
use straightedge::model::ModelConfig;
use straightedge::replacement::export::{self, ExportedTensors};
use straightedge::replacement::kept_layers::KeptLayers;
use straightedge::report::{AppInfo, Report, orders};
use straightedge::run;
use straightedge::weights::maps::MapsFile;
use straightedge::weights::{Files, NewTensor, Weights, read_whole, write_model};

use super::args::ExportArgs;
use super::drive::{DriveOutcome, drive};
use super::status::Status;
use super::{inputs, measure, results};

/// Files copied unchanged if present.
const COMPANIONS: [&str; 17] = [
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "tokenizer.model",
    "spiece.model",
    "chat_template.jinja",
    "chat_template.json",
    "LICENSE",
    "LICENSE.txt",
    "LICENSE.md",
    "NOTICE",
    "USE_POLICY.md",
];

/// `export MODEL`.
pub(super) fn export(args: &ExportArgs) -> Result<Status> {
    let report = inputs::report(&args.report)?;
    let (name, files) = measure::model_files_with(&args.model, report.model.tokenizer.as_deref())?;
    let json = block_on(read_whole(&*files, "config.json", "give a folder in Hugging Face layout"))?;
    let json = String::from_utf8(json)
        .map_err(|error| Error::MalformedJson { file: "config.json".into(), why: error.to_string() })?;
    let config = ModelConfig::from_json(&json)?;
    let given = args.maps.as_deref().map(|path| given_maps(path, &report)).transpose()?;
    let linear = match (&given, args.healed.as_deref()) {
        (Some(maps), Some(learned)) => Some(healed_blocks(maps, learned)?),
        _ => args.blocks.clone(),
    };
    let chosen = |blocks: &Option<Blocks>| match blocks {
        Some(blocks) => blocks.within(config.num_hidden_layers),
        None => Ok(Vec::new()),
    };
    let (blocks, removed) = (chosen(&linear)?, chosen(&args.remove_layers)?);
    check_disjoint(&blocks, &removed)?;
    if !blocks.is_empty() {
        export::check(&config)?;
    }
    check_vacant(&args.out)?;
    let folder = Folder::create(&args.out)?;
    let weights = block_on(Weights::open(files.clone()))?;
    // All tensors are read, if only to be copied.
    block_on(weights.prepare(&weights.names().map(str::to_owned).collect::<Vec<_>>()))?;
    same("model", &block_on(weights.sha256(&|_, _| ()))?, report.model.sha256.as_deref())?;
    let kept = KeptLayers::new(&config, &weights, &removed)?;
    let maps = match (&given, &linear) {
        (_, None) => Vec::new(),
        (Some(maps), _) => {
            blocks.iter().map(|&block| maps.block(block, args.healed.as_deref())).collect::<Result<_>>()?
        }
        (None, Some(chosen)) => measured_maps(args, chosen, name, files.clone(), &report)?,
    };
    let exported = match blocks.is_empty() {
        true => ExportedTensors::default(),
        false => export::export(&json, &config, &weights, &maps)?,
    };
    let whole = exported.config.as_ref().unwrap_or(&json);
    let config = if removed.is_empty() { whole.clone() } else { kept.config(whole)? };
    folder.write("config.json", config.as_bytes())?;
    folder.write("straightedge.json", provenance(args, &report, &blocks, &removed).as_bytes())?;
    for name in COMPANIONS {
        if let Some(size) = block_on(files.size(name))? {
            folder.write(name, &block_on(files.read(name, 0..size))?)?;
        }
    }
    folder.write_weights(&weights, &exported.tensors, &kept)?;
    folder.finish()?;
    results::print(&summary(args, &report, [&blocks, &removed], &exported))?;
    Ok(Status::Done)
}

/// Refuses a layer that is both left out and made linear.
fn check_disjoint(blocks: &[usize], removed: &[usize]) -> Result<()> {
    match blocks.iter().find(|block| removed.contains(block)) {
        Some(block) => Err(Error::InvalidSetting {
            field: "--remove-layers".into(),
            value: block.to_string(),
            hint: "a layer that is left out has no block to make linear; name it once".into(),
        }),
        None => Ok(()),
    }
}

/// Reads a maps file and checks that it belongs to the report.
fn given_maps(path: &Path, report: &Report) -> Result<MapsFile> {
    let maps = MapsFile::read(path.display().to_string(), inputs::bytes(path)?)?;
    same("model of the maps", &maps.model, report.model.sha256.as_deref())?;
    same("text of the maps", &maps.corpus, report.corpus.sha256.as_deref())?;
    Ok(maps)
}

/// The blocks whose maps `learned` something together.
fn healed_blocks(maps: &MapsFile, learned: &str) -> Result<Blocks> {
    let blocks = maps.blocks(Some(learned))?;
    if blocks.is_empty() {
        return Err(Error::InvalidSetting {
            field: "--healed".into(),
            value: learned.into(),
            hint: "the file of --maps has no such maps, write it again with --measures heal-together".into(),
        });
    }
    Ok(Blocks::of(blocks))
}

/// Measures the maps again, with the report's protocol and text.
fn measured_maps(
    args: &ExportArgs,
    blocks: &Blocks,
    model: String,
    files: Rc<dyn Files>,
    report: &Report,
) -> Result<Vec<MapDump>> {
    let (corpus, text) = measure::text(&args.text, &args.model, report.protocol.rows)?;
    same("text", &text.sha256(), report.corpus.sha256.as_deref())?;
    let job = Job {
        protocol: Protocol::from(&report.protocol),
        measures: [Measure::Fit].into(),
        blocks: Some(blocks.clone()),
        backend: args.backend,
        dump_maps: true,
        ..Job::new(model, corpus)
    };
    let training = job.training;
    let events = run::measure(job, files, text);
    let DriveOutcome { maps, failure, .. } = drive(events, &training);
    failure.map_or(Ok(maps), Err)
}

fn same(what: &str, found: &str, reported: Option<&str>) -> Result<()> {
    let reported = reported.unwrap_or("none");
    if found == reported {
        return Ok(());
    }
    Err(Error::NotTheReported { what: what.into(), found: found.into(), reported: reported.into() })
}

/// The provenance record of the exported folder.
fn provenance(args: &ExportArgs, report: &Report, blocks: &[usize], removed: &[usize]) -> String {
    let text = serde_json::json!({
        "app": AppInfo::this(), "linear_blocks": blocks, "healed": args.healed, "removed_layers": removed,
        "model": report.model, "corpus": report.corpus, "protocol": report.protocol,
    });
    format!("{text:#}\n")
}

/// The change of perplexity that the report has for the model with these linear `blocks`: of one block, or of all that
/// were healed together.
fn reported_change(args: &ExportArgs, report: &Report, blocks: &[usize]) -> Option<f64> {
    if let Some(learned) = &args.healed {
        let healed = report.healed_together.get(orders::GREEDY_REFITTED)?;
        return *healed.delta_ppl.get(learned).filter(|_| healed.blocks == blocks)?;
    }
    let [block] = blocks else { return None };
    *report.blocks.iter().find(|found| found.block == *block)?.delta_ppl.get("linear")?
}

fn summary(args: &ExportArgs, report: &Report, [blocks, removed]: [&[usize]; 2], exported: &ExportedTensors) -> String {
    let list = |what: &str, found: &[usize]| {
        let numbers = found.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        (!found.is_empty()).then(|| format!("{what} {numbers}"))
    };
    let changes = [
        list(if args.healed.is_some() { "with healed linear blocks" } else { "with linear blocks" }, blocks),
        list("without layers", removed),
    ];
    let changes = changes.into_iter().flatten().collect::<Vec<_>>().join(" and ");
    let mut text = format!("{}: {} {changes}\n", args.out.display(), report.model.id);
    if let (Some(ppl), Some(delta), []) = (report.ppl, reported_change(args, report, blocks), removed) {
        text += &format!("perplexity by the report: {:.6}, original {ppl:.6}\n", ppl + delta);
    }
    if exported.config.is_some() {
        text += "written as a Llama model with mlp_bias, whose other blocks have biases of zero\n";
    }
    if report.model.dtype.as_deref().is_some_and(|dtype| dtype != "F32") {
        text += "the new tensors are F32; load the model with dtype float32 to keep all of their digits\n";
    }
    text
}

/// Refuses an output folder that exists and is not empty, or whose parent is missing.
fn check_vacant(out: &Path) -> Result<()> {
    let refuse = |why: &str| Err(Error::UnwritableFile { file: out.display().to_string(), why: why.into() });
    match fs::read_dir(out).map(|entries| entries.count()) {
        Ok(0) => Ok(()),
        Ok(_) => refuse("the folder is not empty"),
        Err(_) if out.exists() => refuse("it is not a folder that can be read"),
        Err(_) => match parent(out).is_dir() && out.file_name().is_some() {
            true => Ok(()),
            false => refuse("the folder above it does not exist"),
        },
    }
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// An output folder with a temporary name until it is complete; deleted if it never is.
struct Folder {
    out: PathBuf,
    part: PathBuf,
    finished: bool,
}

impl Folder {
    fn create(out: &Path) -> Result<Self> {
        let out = &out.canonicalize().unwrap_or_else(|_| out.to_owned());
        let mut name = out.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{}.part", std::process::id()));
        let part = parent(out).join(name);
        fs::create_dir(&part).map_err(|error| unwritable(&part, &error))?;
        Ok(Self { out: out.into(), part, finished: false })
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.part.join(name);
        fs::write(&path, bytes).map_err(|error| unwritable(&path, &error))
    }

    fn write_weights(&self, weights: &Weights, new: &BTreeMap<String, NewTensor>, kept: &KeptLayers) -> Result<()> {
        let path = self.part.join("model.safetensors");
        let failed = |error: std::io::Error| unwritable(&path, &error);
        let mut file = BufWriter::new(File::create(&path).map_err(failed)?);
        let mut take = |bytes: &[u8]| file.write_all(bytes).map_err(failed);
        block_on(write_model(weights, new, &|name| kept.name(name), &mut take))?;
        file.flush().map_err(failed)
    }

    /// Renames the folder to its final name, or moves its files into the empty folder of that name.
    fn finish(mut self) -> Result<()> {
        let moved = match self.out.is_dir() {
            true => self.move_files(),
            false => fs::rename(&self.part, &self.out),
        };
        moved.map_err(|error| unwritable(&self.out, &error))?;
        self.finished = true;
        Ok(())
    }

    fn move_files(&self) -> std::io::Result<()> {
        for file in fs::read_dir(&self.part)? {
            let file = file?;
            fs::rename(file.path(), self.out.join(file.file_name()))?;
        }
        fs::remove_dir(&self.part)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.finished {
            let _ = fs::remove_dir_all(&self.part);
        }
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Error {
    Error::UnwritableFile { file: path.display().to_string(), why: error.to_string() }
}
