//! `measure` and `fit`: from arguments to a report on disk.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use straightedge::corpus::made::{Domain, Made};
use straightedge::corpus::parse_token_ids;
use straightedge::error::{Error, Result};
use straightedge::run::{self, Events, Inputs, Text};
use straightedge::weights::{Files, FolderFiles};

use super::args::{CommonArgs, FitArgs, MeasureArgs, TextArgs};
use super::drive::{Driven, drive};
use super::{Status, bundled, complain, inputs, maps, output, table};

/// `measure MODEL`.
pub(super) fn measure(args: &MeasureArgs) -> Result<Status> {
    let (model, files) = model_files(&args.model)?;
    // Rows of whole windows, as the report counts them, so that its text can be made again from it.
    let rows = args.common.rows - args.common.rows % args.seq_len.max(1);
    let (corpus, text) = text(&args.text, &args.model, rows)?;
    let job = args.job(model, corpus)?;
    job.check()?;
    let eval = eval_text(args)?;
    let feed = args.feed.as_deref().map(model_files).transpose()?;
    finish(&args.common, || run::measure_inputs(job, Inputs { files, text, eval, feed }))
}

/// `fit ROWS.safetensors`.
pub(super) fn fit(args: &FitArgs) -> Result<Status> {
    let name = inputs::name(&args.rows_file);
    let folder = args.rows_file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = args.rows_file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let files: Rc<dyn Files> = Rc::new(FolderFiles::new(folder));
    let job = args.job(name)?;
    job.check()?;
    finish(&args.common, || run::fit(job, files, file))
}

/// The model that an argument names: a folder, or a bundled one.
pub(super) fn model_files(model: &str) -> Result<(String, Rc<dyn Files>)> {
    let folder = PathBuf::from(model);
    if folder.is_dir() {
        return Ok((inputs::name(&folder), Rc::new(FolderFiles::new(folder))));
    }
    match bundled::find(model) {
        Some(bundled) => Ok((model.to_owned(), Rc::new(bundled::files(bundled)))),
        None => Err(Error::UnknownModel { name: model.to_owned(), known: bundled::names() }),
    }
}

/// What perplexity is measured on, where that is not the held-out windows.
fn eval_text(args: &MeasureArgs) -> Result<Option<Text>> {
    match (&args.eval_text, &args.eval_tokens) {
        (Some(path), _) => Ok(Some(Text::Plain(inputs::bytes(path)?))),
        (None, Some(path)) => {
            let ids = parse_token_ids(&inputs::name(path), &inputs::bytes(path)?)?;
            Ok(Some(Text::Tokens(ids)))
        }
        (None, None) => Ok(None),
    }
}

/// The text asked for, a made one long enough for `rows`; a bundled model's own where none is.
pub(super) fn text(args: &TextArgs, model: &str, rows: usize) -> Result<(String, Text)> {
    if let Some(path) = &args.text {
        return Ok((inputs::name(path), Text::Plain(inputs::bytes(path)?)));
    }
    if let Some(path) = &args.tokens {
        let name = inputs::name(path);
        let ids = parse_token_ids(&name, &inputs::bytes(path)?)?;
        return Ok((name, Text::Tokens(ids)));
    }
    if let Some(made) = args.corpus.as_deref().and_then(Made::for_measurement) {
        let made = made?;
        return Ok((made.to_string(), Text::Plain(made.text_for_rows(rows).into_bytes())));
    }
    let name = args.corpus.as_deref().unwrap_or(model);
    match (bundled::find(name), &args.corpus) {
        (Some(bundled), _) => Ok(bundled::text(bundled, rows)),
        (None, Some(name)) => Err(Error::InvalidSetting {
            field: "--corpus".into(),
            value: name.clone(),
            hint: format!(
                "bundled texts are those of {}, made ones {}, with a seed as in tales:7",
                bundled::names(),
                Domain::ALL.map(Domain::name).join(", ")
            ),
        }),
        (None, None) => Err(Error::InvalidSetting {
            field: "text".into(),
            value: "none".into(),
            hint: "give --text FILE, --tokens IDS.json or --corpus NAME".into(),
        }),
    }
}

/// Runs a measurement and writes what it came to, complete or not.
fn finish(args: &CommonArgs, start: impl FnOnce() -> Events) -> Result<Status> {
    for path in args.out.iter().chain(&args.dump_maps) {
        output::check_writable(path)?;
    }
    let Driven { report, maps: dumped, failure } = drive(start(), &args.training());
    if let Some(report) = &report {
        match &args.out {
            Some(path) => output::write(path, report.to_json().as_bytes())?,
            None if !report.blocks.is_empty() => output::print(&table::table(report))?,
            None => {}
        }
    }
    if let (Some(path), Some(report), false) = (&args.dump_maps, &report, dumped.is_empty()) {
        output::write(path, &maps::safetensors(&dumped, report)?)?;
    }
    Ok(match failure {
        None => Status::Done,
        Some(error) => {
            complain(&error);
            if error == Error::Cancelled { Status::Interrupted } else { Status::BadInput }
        }
    })
}
