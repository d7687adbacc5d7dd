//! An order carried out: files and text from wherever they are, and the engine's events as they come.

use std::rc::Rc;

use futures::{Stream, StreamExt};
use straightedge::corpus::made::Made;
use straightedge::error::{Error, Result};
use straightedge::event::Event;
use straightedge::job::Job;
use straightedge::run::{Events, Inputs, Text, fit, measure_inputs};
use straightedge::weights::{Files, Listener};
use straightedge_web::fetch;
use straightedge_web::message::{ModelSource, Order, Reply, TextSource, Work};
use web_sys::Blob;

use super::crew::crew;
use super::files::BlobFiles;
use super::turn::Turn;
use super::{post, probe, remote};

/// Measures, in a browser with so many cores.
pub(super) async fn carry_out(order: Order, handles: Vec<Blob>, cores: u32) {
    let run = order.run;
    let listener: Listener = Rc::new(move |event| post(&Reply::Event { run, event }));
    match prepare(order, handles, cores, &listener).await {
        Ok(events) => pass_on(run, events).await,
        Err(error) => post(&Reply::Event { run, event: Event::Failed(error) }),
    }
}

async fn prepare(order: Order, handles: Vec<Blob>, cores: u32, listener: &Listener) -> Result<Events> {
    let Order { run: _, job, work } = order;
    match work {
        Work::Rows => {
            let (files, file) = rows(&job, handles);
            Ok(fit(job, files, file))
        }
        Work::Model { model, text } => {
            let (files, handles) = files(model, handles, listener).await?;
            let text = text_of(&job, text, handles, listener).await?;
            Ok(measure_inputs(job, Inputs { crew: crew(cores), ..Inputs::new(files, text) }))
        }
    }
}

/// The one file of captured rows.
pub(super) fn rows(job: &Job, handles: Vec<Blob>) -> (Rc<dyn Files>, String) {
    let names = vec![job.model.clone()];
    (Rc::new(BlobFiles::of_handles(names, handles)), job.model.clone())
}

/// The files of a model, and the handles that are not theirs.
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

/// The text of a job; `handles` are those that are not the model's.
pub(super) async fn text_of(job: &Job, text: TextSource, handles: Vec<Blob>, listener: &Listener) -> Result<Text> {
    Ok(Text::Plain(match text {
        TextSource::Pasted { content } => content.into_bytes(),
        TextSource::Bundled { path } => whole(&path, &fetch::blob(&path).await?).await?,
        TextSource::Made { corpus, rows } => made(&corpus, rows)?,
        TextSource::Hub { name, endpoint } => remote::text(&name, endpoint, listener).await?,
        TextSource::Handle => match handles.first() {
            Some(blob) => whole(&job.corpus, blob).await?,
            None => Vec::new(),
        },
        TextSource::Missing => Vec::new(),
    }))
}

fn made(corpus: &str, rows: usize) -> Result<Vec<u8>> {
    let unknown = || Error::InvalidSetting {
        field: "text".into(),
        value: corpus.into(),
        hint: "made texts are tales, encyclopedia and puzzles, with a seed as in tales:7".into(),
    };
    Ok(Made::for_measurement(corpus).ok_or_else(unknown)??.text_for_rows(rows).into_bytes())
}

async fn whole(name: &str, blob: &Blob) -> Result<Vec<u8>> {
    fetch::bytes(name, blob, 0, blob.size() as u64).await
}

/// Between two events the browser gets its turn, so that a cancel is heard.
async fn pass_on(run: u32, events: impl Stream<Item = Event>) {
    let turn = Turn::new();
    let mut events = std::pin::pin!(events);
    while let Some(mut event) = events.next().await {
        if let Event::Started(header) = &mut event {
            probe::name(&mut header.device).await;
        }
        post(&Reply::Event { run, event });
        turn.give().await;
    }
}
