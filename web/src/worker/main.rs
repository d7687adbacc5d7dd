//! The worker: the engine in a thread of its own, spoken to by messages alone.
//!
//! It says [`Reply::Ready`], finds out what it can compute on, and then carries out one [`Request`] after the other.

mod files;
mod probe;
mod turn;

use std::cell::RefCell;
use std::rc::Rc;

use futures::future::{AbortHandle, abortable};
use futures::{Stream, StreamExt};
use straightedge::corpus::made::Made;
use straightedge::error::{Error, Result};
use straightedge::event::Event;
use straightedge::run::{Text, measure};
use straightedge_web::fetch;
use straightedge_web::message::{Order, Reply, Request, TextSource};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::{Blob, DedicatedWorkerGlobalScope, MessageEvent};

use files::BlobFiles;
use turn::Turn;

/// The measurement under way, to be dropped on request.
type Underway = Rc<RefCell<Option<(u32, AbortHandle)>>>;

fn main() {
    std::panic::set_hook(Box::new(|panic| post(&Reply::Crashed { why: panic.to_string() })));
    let underway = Underway::default();
    let listen = Closure::<dyn FnMut(MessageEvent)>::new(move |message: MessageEvent| {
        let parts = js_sys::Array::from(&message.data());
        let json = parts.shift().as_string().unwrap_or_default();
        match serde_json::from_str(&json) {
            Ok(request) => obey(request, parts.iter().map(JsCast::unchecked_into).collect(), &underway),
            Err(why) => post(&Reply::Crashed { why: format!("page and engine do not fit together ({why})") }),
        }
    });
    scope().set_onmessage(Some(listen.into_js_value().unchecked_ref()));
    post(&Reply::Ready);
    spawn_local(async { post(&Reply::Device(probe::device().await)) });
}

fn obey(request: Request, handles: Vec<Blob>, underway: &Underway) {
    match request {
        Request::Measure(order) => {
            let run = order.run;
            let (task, handle) = abortable(carry_out(*order, handles));
            if let Some((_, earlier)) = underway.borrow_mut().replace((run, handle)) {
                earlier.abort();
            }
            spawn_local(async move {
                // An aborted task ends like any other: its stream is dropped by now.
                let _ = task.await;
                post(&Reply::Ended { run });
            });
        }
        Request::Cancel { run } => {
            if let Some((_, handle)) = underway.borrow().as_ref().filter(|(current, _)| *current == run) {
                handle.abort();
            }
        }
    }
}

async fn carry_out(order: Order, handles: Vec<Blob>) {
    let run = order.run;
    match prepare(order, handles).await {
        Ok(events) => pass_on(run, events).await,
        Err(error) => post(&Reply::Event { run, event: Event::Failed(error) }),
    }
}

async fn prepare(order: Order, mut handles: Vec<Blob>) -> Result<impl Stream<Item = Event>> {
    let text = match order.text {
        TextSource::Pasted { content } => content.into_bytes(),
        TextSource::Made { corpus, rows } => made(&corpus, rows)?.into_bytes(),
        TextSource::Bundled { path } => whole(&path, &fetch::blob(&path).await?).await?,
        TextSource::Handle => match handles.pop() {
            Some(blob) => whole(&order.job.corpus, &blob).await?,
            None => Vec::new(),
        },
    };
    let files = Rc::new(BlobFiles::new(order.model, handles));
    Ok(measure(order.job, files, Text::Plain(text)))
}

fn made(corpus: &str, rows: usize) -> Result<String> {
    let unknown = || Error::InvalidSetting {
        field: "text".into(),
        value: corpus.into(),
        hint: "made texts are tales, encyclopedia and puzzles, with a seed as in tales:7".into(),
    };
    Ok(Made::for_measurement(corpus).ok_or_else(unknown)??.text_for_rows(rows))
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

fn post(reply: &Reply) {
    let json = serde_json::to_string(reply).unwrap_or_else(|why| format!(r#"{{"crashed":{{"why":"{why}"}}}}"#));
    // Posting a string fails only when the page is gone.
    let _ = scope().post_message(&json.into());
}

fn scope() -> DedicatedWorkerGlobalScope {
    js_sys::global().unchecked_into()
}
