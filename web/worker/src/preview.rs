//! Previews: a model on the hub before its weights are fetched, and the rows its text yields.

use std::rc::Rc;

use straightedge::run::{extent, rows_extent};
use straightedge::weights::Listener;
use straightedge_api::corpus_size::CorpusSize;
use straightedge_api::error::Result;
use straightedge_api::event::{Event, Progress, Stage};
use straightedge_api::message::{ModelSource, Order, OrderInputs, Reply, TextSource};
use web_sys::Blob;

use super::post::post;
use super::{remote, work};

/// Computes what an order would amount to, and reports it piece by piece.
pub(super) async fn run(order: Order, handles: Vec<Blob>) {
    let run = order.run;
    let listener: Listener = Rc::new(move |event| post(&Reply::Previewing { run, event }));
    if let OrderInputs::Model { model: ModelSource::Hub { id, endpoint }, .. } = &order.work {
        let found = remote::preflight(id, endpoint.clone(), &order.job, &listener).await;
        let has_model = found.as_ref().is_ok_and(|found| found.architecture.is_some());
        post(&Reply::Preflight { run, found });
        if !has_model {
            return;
        }
    }
    let Some(found) = text_size(order, handles, &listener).await else { return };
    post(&Reply::CorpusSize { run, found });
}

/// `None` if there is no text yet, or if it would have to be fetched first.
async fn text_size(order: Order, handles: Vec<Blob>, listener: &Listener) -> Option<Result<CorpusSize>> {
    let Order { mut job, work, .. } = order;
    match work {
        OrderInputs::Rows => {
            let (files, file) = work::rows(&job, handles);
            Some(rows_extent(&job, files, &file).await)
        }
        OrderInputs::Model { text: TextSource::Missing, .. } => None,
        OrderInputs::Model { model, tokenizer, text, .. } => {
            if let TextSource::Hub { name, endpoint } = &text
                && !remote::holds_text(name, endpoint.clone(), listener).await.unwrap_or(false)
            {
                return None;
            }
            let preview = async {
                let (files, handles) = work::files(model, handles, listener).await?;
                let files = work::with_tokenizer(files, tokenizer, &mut job, listener).await?;
                let text = work::text_of(&job, text, handles, listener).await?;
                let seconds = 0.0;
                let on_bytes = |done, total| {
                    listener(Event::Progress(Progress { stage: Stage::Tokenize, done, total, seconds }));
                };
                extent(&job, &*files, &text, &on_bytes).await
            };
            Some(preview.await)
        }
    }
}
