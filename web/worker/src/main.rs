//! The worker: the engine in its own thread, controlled only by messages.
//!
//! It sends [`Reply::Ready`], probes the device, and then handles [`Request`]s one after the other.

mod blobs;
mod disk;
mod files;
mod http;
mod opfs;
mod parquet;
mod post;
mod preview;
mod probe;
mod remote;
mod storage;
mod sweep_files;
mod tuning;
mod turn;
mod work;

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;

use futures::StreamExt;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::future::{AbortHandle, abortable};
use straightedge::corpus::tokenizer_panic;
use straightedge::run::MapCache;
use straightedge_api::error::Error;
use straightedge_api::message::{Deletion, Memory, Reply, Request};
use straightedge_web::browser::alive;
use straightedge_worker::helpers::{self, wasm_bytes};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::{Blob, MessageEvent};

use post::{post, scope};
use turn::attentive;
use work::WorkerContext;

/// The running tasks, which a request can abort: at most one measurement or continuation, and one preview.
struct Tasks {
    measurement: Task,
    preview: Task,
    /// Requests about the browser's storage.
    shelf: UnboundedSender<Deletion>,
    /// Number of cores the browser reports to the page.
    cores: Rc<Cell<u32>>,
    /// Maps of the latest measurement.
    kept: Rc<RefCell<MapCache>>,
}

/// A task with its number.
type Task = Rc<RefCell<Option<(u32, AbortHandle)>>>;

fn main() {
    if helpers::is_helper() {
        return helpers::help();
    }
    // A panic ends this worker: what it was doing is known only here.
    std::panic::set_hook(Box::new(|panic| {
        let why = || Error::Engine { why: panic.to_string() };
        post(&Reply::Crashed(tokenizer_panic().unwrap_or_else(why)));
    }));
    let (shelf, asked) = unbounded();
    let desk = Tasks {
        measurement: Task::default(),
        preview: Task::default(),
        shelf,
        cores: Rc::default(),
        kept: Rc::default(),
    };
    spawn_local(answer_for_storage(asked));
    let listen = Closure::<dyn FnMut(MessageEvent)>::new(move |message: MessageEvent| {
        let parts = js_sys::Array::from(&message.data());
        let json = parts.shift().as_string().unwrap_or_default();
        match serde_json::from_str(&json) {
            Ok(request) => desk.obey(request, parts.iter().map(JsCast::unchecked_into).collect()),
            Err(why) => {
                post(&Reply::Crashed(Error::Engine { why: format!("page and engine do not match ({why})") }));
            }
        }
    });
    scope().set_onmessage(Some(listen.into_js_value().unchecked_ref()));
    spawn_local(async {
        alive::hold().await;
        tell_unfinished().await;
        post(&Reply::Ready);
    });
    spawn_local(async { post(&Reply::Device(probe::device().await)) });
}

/// Handles one request after the other, so that the last answer includes the last deletion.
async fn answer_for_storage(mut asked: UnboundedReceiver<Deletion>) {
    while let Some(deletion) = asked.next().await {
        post(&Reply::Storage(storage::shelf(deletion).await));
    }
}

async fn tell_unfinished() {
    post(&Reply::Unfinished(sweep_files::unfinished().await));
}

impl Tasks {
    fn means(&self) -> WorkerContext {
        WorkerContext { cores: self.cores.get(), kept: self.kept.clone() }
    }

    fn obey(&self, request: Request, handles: Vec<Blob>) {
        match request {
            Request::Measure(order) => {
                drop_task(&self.preview);
                start(&self.measurement, order.run, work::measure(*order, handles, self.means()));
            }
            Request::Resume { run, result } => {
                drop_task(&self.preview);
                let means = self.means();
                start(&self.measurement, run, async move { work::resume(run, &result, handles, means).await });
            }
            Request::Continue { order, asked } => {
                drop_task(&self.preview);
                start(&self.measurement, order.run, work::go_on(*order, *asked, handles, self.means()));
            }
            Request::Cores { cores } => self.cores.set(cores),
            Request::Preview(order) => start(&self.preview, order.run, preview::carry_out(*order, handles)),
            Request::Cancel { run } => {
                for task in [&self.measurement, &self.preview] {
                    if task.borrow().as_ref().is_some_and(|(current, _)| *current == run) {
                        drop_task(task);
                    }
                }
            }
            Request::Forget => spawn_local(async {
                sweep_files::forget().await;
                tell_unfinished().await;
            }),
            // The receiver lives as long as this worker.
            Request::Storage(deletion) => drop(self.shelf.unbounded_send(deletion)),
        }
    }
}

fn start(task: &Task, run: u32, work: impl Future<Output = ()> + 'static) {
    let (work, handle) = abortable(attentive(work));
    drop_task(task);
    *task.borrow_mut() = Some((run, handle));
    spawn_local(async move {
        // An aborted task ends like any other: everything it held has been dropped.
        let _ = work.await;
        tell_unfinished().await;
        post(&Reply::Ended { run, memory: memory() });
    });
}

fn drop_task(task: &Task) {
    if let Some((_, handle)) = task.borrow_mut().take() {
        handle.abort();
    }
}

fn memory() -> Memory {
    Memory { gpu_bytes: straightedge::backend::gpu::Memory::now().allocated, wasm_bytes: wasm_bytes() }
}
