//! Carries out orders: opens files and text from their sources, and posts the engine's events.

use std::cell::RefCell;
use std::rc::Rc;

use futures::{Stream, StreamExt};
use straightedge::corpus::synthetic::SyntheticText;
use straightedge::run::{
    self, BorrowedTokenizer, Events, Inputs, MapCache, MapSource, Resume, RowsInputs, Text, fit, measure_inputs,
};
use straightedge::weights::{Files, Listener};
use straightedge_api::continuation::Continuation;
use straightedge_api::error::{Error, Result};
use straightedge_api::event::Event;
use straightedge_api::hub::id::{Endpoint, HubId};
use straightedge_api::job::Job;
use straightedge_api::message::{ModelSource, Order, OrderInputs, Reply, TextSource};
use straightedge_web::browser::fetch;
use straightedge_worker::helpers::workers;
use web_sys::Blob;

use super::files::BlobFiles;
use super::post::post;
use super::sweep_files::{RowFile, States};
use super::yielding::BrowserYield;
use super::{probe, remote, tuning};

/// Resources shared by all orders.
pub(super) struct WorkerContext {
    /// Number of cores.
    pub(super) cores: u32,
    /// Maps that earlier measurements saved for continuations.
    pub(super) map_cache: Rc<RefCell<MapCache>>,
}

/// Measures, and saves the maps.
pub(super) async fn measure(order: Order, handles: Vec<Blob>, context: WorkerContext) {
    let run = order.run;
    let resume = States::begin(&order).await;
    let events = prepare_measurement(order, handles, &context, resume, &listener(run)).await;
    post_events(run, events, &context).await;
}

/// Resumes the unfinished measurement.
pub(super) async fn resume(run: u32, result: &str, handles: Vec<Blob>, context: WorkerContext) {
    let events = match States::resume(result).await {
        Some((order, resume)) => prepare_measurement(order, handles, &context, Some(resume), &listener(run)).await,
        None => Err(Error::UnreadableFile {
            file: "the unfinished measurement in this browser".into(),
            why: "it was completed or deleted, or another page is using it".into(),
        }),
    };
    post_events(run, events, &context).await;
}

/// Continues a prompt with a model and with its linear blocks.
pub(super) async fn continue_prompt(order: Order, settings: Continuation, handles: Vec<Blob>, context: WorkerContext) {
    let run = order.run;
    let events = prepare_continuation(order, settings, handles, &context, &listener(run)).await;
    post_events(run, events, &context).await;
}

fn listener(run: u32) -> Listener {
    Rc::new(move |event| post(&Reply::Event { run, event }))
}

async fn post_events(run: u32, events: Result<Events>, context: &WorkerContext) {
    match events {
        Ok(events) => {
            tuning::load().await;
            pass_on(run, events, &context.map_cache).await;
        }
        Err(error) => post(&Reply::Event { run, event: Event::Failed(error) }),
    }
}

async fn prepare_measurement(
    order: Order,
    handles: Vec<Blob>,
    context: &WorkerContext,
    resume: Option<Rc<dyn Resume>>,
    listener: &Listener,
) -> Result<Events> {
    let Order { mut job, work, .. } = order;
    match work {
        OrderInputs::Rows => {
            let (files, file) = rows(&job, handles);
            Ok(fit(job, RowsInputs { scratch: RowFile::open().await, ..RowsInputs::new(files, file) }))
        }
        OrderInputs::Model { model, tokenizer, text, eval, feed } => {
            let (files, handles) = files(model, handles, listener).await?;
            let files = with_tokenizer(files, tokenizer, &mut job, listener).await?;
            let feed = open_feed(feed, listener).await?;
            let text = text_of(&job, text, handles, listener).await?;
            let eval = match eval {
                Some(eval) => Some((eval.0, text_of(&job, eval.1, Vec::new(), listener).await?)),
                None => None,
            };
            job.dump_maps = true;
            let (workers, scratch) = (workers(context.cores), RowFile::open().await);
            Ok(measure_inputs(job, Inputs { eval, feed, workers, resume, scratch, ..Inputs::new(files, text) }))
        }
    }
}

async fn prepare_continuation(
    order: Order,
    settings: Continuation,
    handles: Vec<Blob>,
    context: &WorkerContext,
    listener: &Listener,
) -> Result<Events> {
    let Order { mut job, work, .. } = order;
    let OrderInputs::Model { model, tokenizer, text, .. } = work else {
        return Err(Error::InvalidSetting {
            field: "model".into(),
            value: "a file of captured rows".into(),
            hint: "captured rows cannot continue a prompt, choose a model".into(),
        });
    };
    let (files, handles) = files(model, handles, listener).await?;
    let files = with_tokenizer(files, tokenizer, &mut job, listener).await?;
    let text = text_of(&job, text, handles, listener).await?;
    let maps = MapSource::Measured { text, workers: workers(context.cores), kept: Some(context.map_cache.clone()) };
    Ok(run::continuation(job, settings, files, maps))
}

/// The one file of captured rows.
pub(super) fn rows(job: &Job, handles: Vec<Blob>) -> (Rc<dyn Files>, String) {
    let names = vec![job.model.clone()];
    (Rc::new(BlobFiles::of_handles(names, handles)), job.model.clone())
}

/// The model's files with the tokenizer of another model, if one is named; the job then names it with its commit.
pub(super) async fn with_tokenizer(
    files: Rc<dyn Files>,
    tokenizer: Option<Box<(HubId, Endpoint)>>,
    job: &mut Job,
    listener: &Listener,
) -> Result<Rc<dyn Files>> {
    let Some(source) = tokenizer else { return Ok(files) };
    let (id, endpoint) = *source;
    let tokenizer = remote::open(&id, endpoint, listener).await?;
    job.tokenizer = Some(tokenizer.id().to_string());
    Ok(Rc::new(BorrowedTokenizer::new(files, Rc::new(tokenizer))))
}

/// The files of the model whose rows are fed through the measured one's networks, with its name.
async fn open_feed(
    feed: Option<Box<(String, ModelSource)>>,
    listener: &Listener,
) -> Result<Option<(String, Rc<dyn Files>)>> {
    let Some(feed) = feed else { return Ok(None) };
    let (name, source) = *feed;
    Ok(Some((name, files(source, Vec::new(), listener).await?.0)))
}

/// The files of a model, and the handles that are not part of it.
pub(super) async fn files(
    model: ModelSource,
    mut handles: Vec<Blob>,
    listener: &Listener,
) -> Result<(Rc<dyn Files>, Vec<Blob>)> {
    let files: Rc<dyn Files> = match model {
        ModelSource::Bundled { folder, files } => Rc::new(BlobFiles::of_site(folder, files)),
        ModelSource::Hub { id, endpoint } => Rc::new(remote::open(&id, endpoint, listener).await?),
        ModelSource::Handles { names } => {
            let rest = handles.split_off(names.len().min(handles.len()));
            return Ok((Rc::new(BlobFiles::of_handles(names, handles)), rest));
        }
    };
    Ok((files, handles))
}

/// The text of a job; `handles` are those that are not part of the model.
pub(super) async fn text_of(job: &Job, text: TextSource, handles: Vec<Blob>, listener: &Listener) -> Result<Text> {
    Ok(Text::Plain(match text {
        TextSource::Pasted { content } => content.into_bytes(),
        TextSource::Bundled { path } => whole(&path, &fetch::blob(&path).await?).await?,
        TextSource::Synthetic { corpus, rows } => synthetic(&corpus, rows)?,
        TextSource::Hub { name, endpoint } => remote::text(&name, endpoint, listener).await?,
        TextSource::Handle => match handles.first() {
            Some(blob) => whole(&job.corpus, blob).await?,
            None => Vec::new(),
        },
        TextSource::Missing => Vec::new(),
    }))
}

fn synthetic(corpus: &str, rows: usize) -> Result<Vec<u8>> {
    let unknown = || Error::InvalidSetting {
        field: "text".into(),
        value: corpus.into(),
        hint: "generated texts are tales, encyclopedia and puzzles, with a seed as in tales:7".into(),
    };
    Ok(SyntheticText::for_measurement(corpus).ok_or_else(unknown)??.text_for_rows(rows).into_bytes())
}

async fn whole(name: &str, blob: &Blob) -> Result<Vec<u8>> {
    fetch::bytes(name, blob, 0, blob.size() as u64).await
}

/// Posts events and yields to the browser between them, so that a cancel is received. Maps stay here.
async fn pass_on(run: u32, events: impl Stream<Item = Event>, map_cache: &RefCell<MapCache>) {
    let yielding = BrowserYield::new();
    let mut events = std::pin::pin!(events);
    while let Some(mut event) = events.next().await {
        map_cache.borrow_mut().receive(&event);
        if matches!(event, Event::Map(_)) {
            continue;
        }
        if let Event::Started(header) = &mut event {
            probe::name(&mut header.device).await;
            // A cancel from here on keeps the tuning results.
            tuning::save().await;
        }
        if matches!(event, Event::Block(_)) {
            // Kernels of second moments are tuned when the first block needs them.
            tuning::save().await;
        }
        post(&Reply::Event { run, event });
        yielding.yield_now().await;
    }
}
