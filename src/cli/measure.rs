//! `measure` and `fit`: from arguments to a report on disk.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use straightedge::bundled::{Bundled, Demo};
use straightedge::corpus::parse_token_ids;
use straightedge::corpus::synthetic::{Domain, SyntheticText};
use straightedge::error::{Error, Result};
use straightedge::event::{Event, MapDump, Recorder};
use straightedge::hub::files::HubFiles;
use straightedge::hub::id::HubId;
use straightedge::hub::text::WikiText2;
use straightedge::job::{Job, Protocol};
use straightedge::report::{HealedTogether, Report};
use straightedge::run::{self, BorrowedTokenizer, Events, Inputs, Resume, ResumeFile, RowsInputs, Text};
use straightedge::trace::to_json;
use straightedge::weights::{Files, FolderFiles, maps};

use super::args::{CommonArgs, FitArgs, MeasureArgs, TextArgs};
use super::drive::{DriveOutcome, drive_with_listener};
use super::report_file::ReportFile;
use super::results::Destination;
use super::status::{Status, print_error};
use super::{bundled, hub, inputs, results, table};

/// `measure MODEL`.
pub(super) fn measure(args: &MeasureArgs) -> Result<Status> {
    let (job, inputs) = prepare(args.job()?, &args.model, &args.text)?;
    let eval = eval_text(args, &job.protocol)?;
    let feed = args.feed.as_deref().map(model_files).transpose()?;
    let resume = args.resume.as_ref().map(|path| Rc::new(ResumeFile(path.clone())) as Rc<dyn Resume>);
    let start = || run::measure_inputs(job, Inputs { eval, feed, resume, ..inputs });
    let read = [
        ("--text", &args.text.text),
        ("--tokens", &args.text.tokens),
        ("--eval-text", &args.eval_text),
        ("--eval-tokens", &args.eval_tokens),
        ("--add-to", &args.add_to),
    ];
    let read = read.into_iter().filter_map(|(name, path)| Some((name, path.as_deref()?))).collect();
    let recorder =
        args.add_to.as_deref().map(inputs::report).transpose()?.map_or_else(Recorder::default, Recorder::resume);
    let others = Others { read, recorder, trace: args.trace.as_deref(), resume: args.resume.as_deref() };
    finish(&args.common, others, start)
}

/// Resolves model, tokenizer and text of a measurement; the returned job names all of them.
pub(super) fn prepare(job: Job, model: &str, args: &TextArgs) -> Result<(Job, Inputs)> {
    job.check()?;
    let found = ModelArgument::find(model)?;
    let (corpus, text) = text(args, model, whole_rows(&job.protocol))?;
    let tokenizer = job.tokenizer.as_deref().map(model_files).transpose()?;
    let (model, checkpoint) = (found.name(), found.checkpoint());
    let job = Job { model, corpus, checkpoint, tokenizer: tokenizer.as_ref().map(pinned), ..job };
    let files = with_tokenizer(found.files(Some(&job))?, tokenizer);
    Ok((job, Inputs::new(files, text)))
}

/// `fit ROWS.safetensors`.
pub(super) fn fit(args: &FitArgs) -> Result<Status> {
    let name = inputs::name(&args.rows_file);
    let folder = args.rows_file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = args.rows_file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let files: Rc<dyn Files> = Rc::new(FolderFiles::new(folder));
    if args.rows_file.is_dir() {
        let (file, why) = (args.rows_file.display().to_string(), "it is a folder".into());
        return Err(Error::MalformedRows { file, why });
    }
    let job = args.job(name)?;
    job.check().map_err(Error::of_rows)?;
    let others = Others { read: vec![("the file of the rows", &*args.rows_file)], ..Others::default() };
    finish(&args.common, others, || run::fit(job, RowsInputs::new(files, file)))
}

/// Files of a measurement beside its report and maps, which no result may overwrite.
#[derive(Default)]
struct Others<'a> {
    /// What is read, by option.
    read: Vec<(&'a str, &'a Path)>,
    /// Holds the report that is added to.
    recorder: Recorder,
    trace: Option<&'a Path>,
    resume: Option<&'a Path>,
}

/// The model named by an argument.
enum ModelArgument {
    Folder(PathBuf),
    Bundled(&'static Bundled),
    /// Its files, and the id that was asked for: that of the files is pinned to a commit.
    Hub(HubId, Box<HubFiles>),
}

impl ModelArgument {
    /// An existing folder, a bundled model, or else a model on the hub.
    fn find(model: &str) -> Result<Self> {
        let folder = PathBuf::from(model);
        if folder.is_dir() {
            return Ok(Self::Folder(folder));
        }
        if let Some(bundled) = bundled::find(model) {
            return Ok(Self::Bundled(bundled));
        }
        let id = HubId::pasted(model, &hub::endpoint()?).map_err(|error| unknown(model, &error))?;
        match hub::open(&id) {
            // A name without owner is more often a missing folder than one of the hub's oldest models.
            Err(error) if !id.name().contains('/') => Err(unknown(model, &error)),
            files => Ok(Self::Hub(id, Box::new(files?))),
        }
    }

    /// Its name for reports.
    fn name(&self) -> String {
        match self {
            Self::Folder(folder) => inputs::name(folder),
            Self::Bundled(bundled) => bundled.name.clone(),
            Self::Hub(id, _) => id.name().to_owned(),
        }
    }

    /// The training checkpoint, if the revision is one.
    fn checkpoint(&self) -> Option<String> {
        match self {
            Self::Folder(_) => None,
            Self::Bundled(bundled) => bundled.demo.as_ref().and_then(Demo::checkpoint),
            Self::Hub(id, _) => id.checkpoint().map(Into::into),
        }
    }

    /// Its files; for a model on the hub, prints what `job` needs.
    fn files(&self, job: Option<&Job>) -> Result<Rc<dyn Files>> {
        Ok(match self {
            Self::Folder(folder) => Rc::new(FolderFiles::new(folder)),
            Self::Bundled(bundled) => Rc::new(bundled::files(bundled)),
            Self::Hub(_, files) => {
                job.map_or(Ok(()), |job| hub::print_preflight(files, job))?;
                Rc::new(HubFiles::clone(files))
            }
        })
    }
}

fn unknown(model: &str, why: &Error) -> Error {
    // The hint is given below.
    let why = why.to_string();
    let why = why.split_once("; ").map_or(&*why, |(why, _)| why).into();
    Error::NoModel { name: model.to_owned(), why, known: bundled::names() }
}

/// The model that an argument names, with its name for reports.
pub(super) fn model_files(model: &str) -> Result<(String, Rc<dyn Files>)> {
    let model = ModelArgument::find(model)?;
    Ok((model.name(), model.files(None)?))
}

/// A model with its name for reports; a model of the hub has its commit.
fn pinned((name, files): &(String, Rc<dyn Files>)) -> String {
    files.revision().map_or_else(|| name.clone(), |revision| format!("{name}@{revision}"))
}

fn with_tokenizer(model: Rc<dyn Files>, tokenizer: Option<(String, Rc<dyn Files>)>) -> Rc<dyn Files> {
    match tokenizer {
        Some((_, tokenizer)) => Rc::new(BorrowedTokenizer::new(model, tokenizer)),
        None => model,
    }
}

/// [`model_files`] with the tokenizer of another model, if one is named.
pub(super) fn model_files_with(model: &str, tokenizer: Option<&str>) -> Result<(String, Rc<dyn Files>)> {
    let (name, files) = model_files(model)?;
    Ok((name, with_tokenizer(files, tokenizer.map(model_files).transpose()?)))
}

/// The text for perplexity, if it is not the held-out windows.
fn eval_text(args: &MeasureArgs, protocol: &Protocol) -> Result<Option<(String, Text)>> {
    let [eval, tokens] = [&args.eval_text, &args.eval_tokens].map(Clone::clone);
    let named = TextArgs { text: eval, tokens, corpus: args.eval_corpus.clone() };
    let is_named = named.text.is_some() || named.tokens.is_some() || named.corpus.is_some();
    is_named.then(|| text(&named, &args.model, whole_rows(protocol))).transpose()
}

/// Rows in whole windows, as in the report, so that a synthetic text can be generated again from it.
fn whole_rows(protocol: &Protocol) -> usize {
    protocol.rows - protocol.rows % protocol.seq_len.max(1)
}

/// The requested text, or a bundled model's default. A synthetic text is long enough for `rows`.
pub(super) fn text(args: &TextArgs, model: &str, rows: usize) -> Result<(String, Text)> {
    if let Some(path) = &args.text {
        return Ok((inputs::name(path), Text::Plain(inputs::bytes(path)?)));
    }
    if let Some(path) = &args.tokens {
        let name = inputs::name(path);
        let ids = parse_token_ids(&name, &inputs::bytes(path)?)?;
        return Ok((name, Text::Tokens(ids)));
    }
    if let Some(synthetic) = args.corpus.as_deref().and_then(SyntheticText::for_measurement) {
        let synthetic = synthetic?;
        return Ok((synthetic.to_string(), Text::Plain(synthetic.text_for_rows(rows).into_bytes())));
    }
    if let Some(part) = args.corpus.as_deref().and_then(WikiText2::named) {
        return hub::wikitext(part);
    }
    let name = args.corpus.as_deref().unwrap_or(model);
    match (bundled::find(name), &args.corpus) {
        (Some(bundled), _) => Ok(bundled::text(bundled, rows)),
        (None, Some(name)) => Err(unknown_corpus(name)),
        (None, None) => Err(Error::InvalidSetting {
            field: "text".into(),
            value: "none".into(),
            hint: "give --text FILE, --tokens IDS.json or --corpus NAME".into(),
        }),
    }
}

/// Refuses an unknown text name.
pub(super) fn check_corpus(name: &str) -> Result<()> {
    if let Some(synthetic) = SyntheticText::for_measurement(name) {
        return synthetic.map(drop);
    }
    let is_known = WikiText2::named(name).is_some() || bundled::find(name).is_some();
    if is_known { Ok(()) } else { Err(unknown_corpus(name)) }
}

fn unknown_corpus(name: &str) -> Error {
    Error::InvalidSetting {
        field: "--corpus".into(),
        value: name.into(),
        hint: format!(
            "choose the text of a bundled model ({}), a generated text ({}, with a seed as in tales:7) or one from the hub ({})",
            bundled::names(),
            Domain::ALL.map(Domain::name).join(", "),
            WikiText2::ALL.map(|part| part.to_string()).join(", ")
        ),
    }
}

/// Runs a measurement and writes its results, complete or not.
fn finish(args: &CommonArgs, others: Others<'_>, start: impl FnOnce() -> Events) -> Result<Status> {
    let mut out = args.out.as_deref().map(ReportFile::of).transpose()?;
    let place = |path: Option<&Path>| path.map(Destination::of).transpose();
    let (maps, trace, resume) = (place(args.dump_maps.as_deref())?, place(others.trace)?, place(others.resume)?);
    let named = [
        ("--out", out.as_ref().map(|out| out.place().clone())),
        ("--dump-maps", maps.clone()),
        ("--trace", trace.clone()),
        ("--resume", resume),
    ];
    let named: Vec<(&str, &Destination)> =
        named.iter().filter_map(|(name, place)| Some((*name, place.as_ref()?))).collect();
    results::check_distinct(&named)?;
    results::check_unread(&others.read, &named)?;

    let mut receive = |event: &Event, report: Option<&Report>| {
        if let Some(out) = &mut out {
            out.receive(event, report);
        }
    };
    let DriveOutcome { report, maps: dumped, spans, failure } =
        drive_with_listener(start(), &args.training(), others.recorder, &mut receive);
    let mut written = Vec::new();
    if let Some(report) = &report {
        match out {
            Some(out) => written.push(out.finish(report)),
            None if !report.blocks.is_empty() => written.push(results::print(&table::table(report))),
            None => {}
        }
    }
    if let (Some(place), Some(report), false) = (&maps, &report, dumped.is_empty()) {
        written.push(keep_maps(place, &dumped, report));
    }
    if let (Some(place), false) = (&trace, spans.is_empty()) {
        written.push(place.keep(to_json(&spans).as_bytes()));
    }
    let failures: Vec<Error> = written.into_iter().filter_map(Result::err).collect();
    failures.iter().for_each(print_error);
    let status = if failures.is_empty() { Status::Done } else { Status::BadInput };
    Ok(failure.map_or(status, |error| Status::failed(&error)))
}

/// Writes maps. Those of a measurement that ended early do not replace a file with maps that they lack.
fn keep_maps(place: &Destination, dumped: &[MapDump], report: &Report) -> Result<()> {
    let bytes = maps::safetensors(dumped, report)?;
    let holds_others = |path: &Path| {
        let found = maps::MapsFile::read(path.display().to_string(), std::fs::read(path).ok()?).ok()?;
        let kinds = [None, Some(HealedTogether::STREAMS), Some(HealedTogether::TOKENS)];
        let is_dumped = |healed: Option<&str>, block: &usize| {
            dumped.iter().any(|map| map.block == *block && map.healed.as_deref() == healed)
        };
        let lacks = |healed: Option<&str>| {
            found.blocks(healed).is_ok_and(|all| !all.iter().all(|block| is_dumped(healed, block)))
        };
        Some(kinds.into_iter().any(lacks))
    };
    match place {
        Destination::File(path) if report.partial && holds_others(path) == Some(true) => {
            let elsewhere = || std::env::temp_dir().join(path.file_name().unwrap_or_default());
            let part = place.reserve().or_else(|_| Destination::File(elsewhere()).reserve())?;
            Destination::File(part.clone()).keep(&bytes)?;
            let why = "it holds more than this measurement, which ended early".into();
            let (file, place) = (path.display().to_string(), part.display().to_string());
            Err(Error::ResultElsewhere { file, why, place })
        }
        _ => place.keep(&bytes),
    }
}
