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
mod work;
mod yielding;

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;

use futures::StreamExt;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use futures::future::{AbortHandle, abortable, ready};
use straightedge::corpus::tokenizer_panic;
use straightedge::run::MapCache;
use straightedge_api::error::Error;
use straightedge_api::message::{Deletion, EngineMemory, Reply, Request};
use straightedge_web::browser::alive;
use straightedge_worker::helpers::{self, wasm_bytes};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::{Blob, MessageEvent};

use post::{post, scope};
use work::WorkerContext;
use yielding::run_yielding;

/// The running tasks, which a request can abort: at most one measurement or continuation, and one preview.
struct Tasks {
    measurement: Task,
    preview: Task,
    /// Requests about the browser's storage.
    deletions: UnboundedSender<Deletion>,
    /// Number of cores the browser reports to the page.
    cores: Rc<Cell<u32>>,
    /// Maps of the latest measurement.
    map_cache: Rc<RefCell<MapCache>>,
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
    let (deletions, requested_deletions) = unbounded();
    let tasks = Tasks {
        measurement: Task::default(),
        preview: Task::default(),
        deletions,
        cores: Rc::default(),
        map_cache: Rc::default(),
    };
    spawn_local(answer_storage_requests(requested_deletions));
    let listen = Closure::<dyn FnMut(MessageEvent)>::new(move |message: MessageEvent| {
        let parts = js_sys::Array::from(&message.data());
        let json = parts.shift().as_string().unwrap_or_default();
        match serde_json::from_str(&json) {
            Ok(request) => tasks.handle(request, parts.iter().map(JsCast::unchecked_into).collect()),
            Err(why) => {
                post(&Reply::Crashed(Error::Engine { why: format!("page and engine do not match ({why})") }));
            }
        }
    });
    scope().set_onmessage(Some(listen.into_js_value().unchecked_ref()));
    spawn_local(async {
        alive::hold().await;
        post_unfinished().await;
        post(&Reply::Ready);
    });
    spawn_local(async { post(&Reply::Device(probe::device().await)) });
}

/// Handles one request after the other, so that the last answer includes the last deletion.
async fn answer_storage_requests(mut deletions: UnboundedReceiver<Deletion>) {
    while let Some(deletion) = deletions.next().await {
        post(&Reply::Storage(storage::report_after(deletion).await));
    }
}

async fn post_unfinished() {
    post(&Reply::Unfinished(sweep_files::unfinished().await));
}

impl Tasks {
    fn context(&self) -> WorkerContext {
        WorkerContext { cores: self.cores.get(), map_cache: self.map_cache.clone() }
    }

    fn handle(&self, request: Request, handles: Vec<Blob>) {
        match request {
            Request::Measure(order) => self.measure(order.run, work::measure(*order, handles, self.context())),
            Request::Resume { run, result } => {
                let context = self.context();
                self.measure(run, async move { work::resume(run, &result, handles, context).await });
            }
            Request::Continue { order, settings } => {
                self.measure(order.run, work::continue_prompt(*order, *settings, handles, self.context()));
            }
            Request::Cores { cores } => self.cores.set(cores),
            // A preview saves no state: opening the states would keep those of a measurement from being opened.
            Request::Preview(order) => start(&self.preview, order.run, preview::run(*order, handles), ready(())),
            Request::Cancel { run } => {
                for task in [&self.measurement, &self.preview] {
                    if task.borrow().as_ref().is_some_and(|(current, _)| *current == run) {
                        drop_task(task);
                    }
                }
            }
            Request::Forget => spawn_local(async {
                sweep_files::forget().await;
                post_unfinished().await;
            }),
            // The receiver lives as long as this worker.
            Request::Storage(deletion) => drop(self.deletions.unbounded_send(deletion)),
        }
    }

    fn measure(&self, run: u32, work: impl Future<Output = ()> + 'static) {
        drop_task(&self.preview);
        start(&self.measurement, run, work, post_unfinished());
    }
}

/// Replaces what `task` was doing by `work`; `then` follows its end, however it ended.
fn start(task: &Task, run: u32, work: impl Future<Output = ()> + 'static, then: impl Future<Output = ()> + 'static) {
    let (work, handle) = abortable(run_yielding(work));
    drop_task(task);
    *task.borrow_mut() = Some((run, handle));
    spawn_local(async move {
        // An aborted task ends like any other: everything it held has been dropped.
        let _ = work.await;
        then.await;
        post(&Reply::Ended { run, memory: memory() });
    });
}

fn drop_task(task: &Task) {
    if let Some((_, handle)) = task.borrow_mut().take() {
        handle.abort();
    }
}

fn memory() -> EngineMemory {
    EngineMemory { gpu_bytes: straightedge::backend::gpu::Memory::now().allocated, wasm_bytes: wasm_bytes() }
}
