//! The connection to the worker: sends orders, receives replies, and replaces a worker that does not cancel.

use std::cell::RefCell;
use std::rc::Rc;

use gloo_timers::callback::Timeout;
use js_sys::Array;
use straightedge_api::continuation::Continuation;
use straightedge_api::error::Error;
use straightedge_api::message::{Deletion, Order, Reply, Request};
use straightedge_web::browser::alive;
use straightedge_web::browser::fetch::{message_of, reason};
use wasm_bindgen::prelude::*;
use web_sys::{File, MessageEvent, Worker, WorkerOptions, WorkerType};

/// Prefix of the names of engine workers.
const NAME: &str = "engine";
/// The script that starts the engine, relative to the page.
const ENGINE: &str = "./engine.js";
/// Milliseconds for a worker to handle a cancel; it cannot while it computes on the CPU.
const PATIENCE: u32 = 1000;

/// A worker and its pending requests. Clones share it.
#[derive(Clone)]
pub(crate) struct Link(Rc<Shared>);

struct Shared {
    receive: Box<dyn Fn(Reply)>,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    worker: Option<Worker>,
    is_ready: bool,
    /// The worker's current order; a cancelled one stays until it has ended.
    busy_with: Option<u32>,
    /// Requests from before the worker was ready, orders with their number.
    waiting: Vec<(Option<u32>, JsValue)>,
    deadline: Option<Timeout>,
}

impl Link {
    /// Starts a worker; `receive` gets every reply.
    pub(crate) fn open(receive: impl Fn(Reply) + 'static) -> Self {
        let link = Self(Rc::new(Shared { receive: Box::new(receive), state: RefCell::default() }));
        link.start();
        link
    }

    /// Orders a measurement, with its file handles.
    pub(crate) fn measure(&self, order: Order, handles: &[File]) {
        self.occupy(order.run, &Request::Measure(Box::new(order)), handles);
    }

    /// Resumes the unfinished measurement under another number.
    pub(crate) fn resume(&self, run: u32, result: String, handles: &[File]) {
        self.occupy(run, &Request::Resume { run, result }, handles);
    }

    /// Orders a continuation, with its file handles.
    pub(crate) fn continue_prompt(&self, order: Order, settings: Continuation, handles: &[File]) {
        self.occupy(order.run, &Request::Continue { order: Box::new(order), settings: Box::new(settings) }, handles);
    }

    /// Sends an order; any earlier order ends now.
    fn occupy(&self, run: u32, request: &Request, handles: &[File]) {
        if self.0.state.borrow().busy_with.is_some() {
            self.stop();
        }
        self.send(Some(run), request, handles);
        self.0.state.borrow_mut().busy_with = Some(run);
    }

    /// Requests a preview of an order; an earlier request is dropped.
    pub(crate) fn preview(&self, order: Order, handles: &[File]) {
        self.send(Some(order.run), &Request::Preview(Box::new(order)), handles);
    }

    /// Requests the contents of the browser's storage, after an optional deletion.
    pub(crate) fn request_storage(&self, deletion: Deletion) {
        self.send(None, &Request::Storage(deletion), &[]);
    }

    /// Deletes the unfinished measurement.
    pub(crate) fn forget_unfinished(&self) {
        self.send(None, &Request::Forget, &[]);
    }

    /// Cancels a preview.
    pub(crate) fn forget(&self, run: u32) {
        self.0.state.borrow_mut().waiting.retain(|(number, _)| *number != Some(run));
        self.send(None, &Request::Cancel { run }, &[]);
    }

    fn send(&self, number: Option<u32>, request: &Request, handles: &[File]) {
        if self.0.state.borrow().worker.is_none() {
            self.start();
        }
        let message = message(request, handles);
        let mut state = self.0.state.borrow_mut();
        match &state.worker {
            Some(worker) if state.is_ready => post(worker, &message),
            _ => state.waiting.push((number, message)),
        }
    }

    /// Requests a cancel, and enforces it if nothing happens.
    pub(crate) fn cancel(&self, run: u32) {
        let mut state = self.0.state.borrow_mut();
        let waiting = state.waiting.len();
        state.waiting.retain(|(number, _)| *number != Some(run));
        if state.waiting.len() < waiting {
            state.busy_with = None;
        }
        if state.busy_with != Some(run) {
            return;
        }
        if let Some(worker) = &state.worker {
            post(worker, &message(&Request::Cancel { run }, &[]));
        }
        let link = self.clone();
        state.deadline = Some(Timeout::new(PATIENCE, move || {
            link.stop();
            link.start();
        }));
    }

    fn start(&self) {
        let options = WorkerOptions::new();
        options.set_type(WorkerType::Module);
        let name = alive::name(NAME);
        options.set_name(&name);
        let worker = match Worker::new_with_options(ENGINE, &options) {
            Ok(worker) => worker,
            Err(why) => return (self.0.receive)(crash(reason(&why))),
        };
        let link = self.clone();
        let started = worker.clone();
        let on_message = Closure::<dyn Fn(MessageEvent)>::new(move |event: MessageEvent| {
            if !link.0.state.borrow().is_ready {
                link.watch(&name, started.clone());
            }
            link.receive(&event);
        });
        worker.set_onmessage(Some(on_message.into_js_value().unchecked_ref()));
        let link = self.clone();
        // An error within the engine has a message; a script that cannot be loaded causes an event without one.
        let on_error = Closure::<dyn Fn(JsValue)>::new(move |event: JsValue| {
            link.deliver(crash(message_of(&event).unwrap_or_else(|| "it could not be loaded".into())));
        });
        worker.set_onerror(Some(on_error.into_js_value().unchecked_ref()));
        self.0.state.borrow_mut().worker = Some(worker);
    }

    /// Detects the end of a worker that was not ended here.
    fn watch(&self, name: &str, worker: Worker) {
        let link = self.clone();
        alive::watch(name, move || {
            let is_missed = link.0.state.borrow().worker.as_ref() == Some(&worker);
            if is_missed {
                link.deliver(crash("the browser ended it, probably for lack of memory".into()));
            }
        });
    }

    fn stop(&self) {
        let state = self.0.state.take();
        if let Some(worker) = state.worker {
            worker.set_onmessage(None);
            worker.set_onerror(None);
            worker.terminate();
        }
    }

    fn receive(&self, event: &MessageEvent) {
        let json = event.data().as_string().unwrap_or_default();
        self.deliver(serde_json::from_str(&json).unwrap_or_else(|why| crash(why.to_string())));
    }

    fn deliver(&self, reply: Reply) {
        match &reply {
            Reply::Ready => self.ready(),
            Reply::Ended { run, .. } => self.ended(*run),
            Reply::Crashed(_) => self.crashed(),
            _ => {}
        }
        (self.0.receive)(reply);
    }

    fn ready(&self) {
        let mut state = self.0.state.borrow_mut();
        state.is_ready = true;
        let waiting = std::mem::take(&mut state.waiting);
        if let Some(worker) = &state.worker {
            post(worker, &message(&Request::Cores { cores: cores() }, &[]));
            waiting.iter().for_each(|(_, message)| post(worker, message));
        }
    }

    /// A worker that crashed while working is replaced, because its measurement may be resumable.
    fn crashed(&self) {
        let was_busy = self.0.state.borrow().busy_with.is_some();
        self.stop();
        if was_busy {
            self.start();
        }
    }

    fn ended(&self, run: u32) {
        let mut state = self.0.state.borrow_mut();
        if state.busy_with == Some(run) {
            state.busy_with = None;
            state.deadline = None;
        }
    }
}

/// A crash of the engine for a reason in words.
fn crash(why: String) -> Reply {
    Reply::Crashed(Error::Engine { why })
}

/// A request as posted: its JSON, then the handles.
fn message(request: &Request, handles: &[File]) -> JsValue {
    let json = serde_json::to_string(request).unwrap_or_default();
    let parts = Array::of1(&json.into());
    for handle in handles {
        parts.push(handle);
    }
    parts.into()
}

/// Number of cores reported by the browser; one if it reports none.
fn cores() -> u32 {
    web_sys::window().map_or(1, |window| window.navigator().hardware_concurrency() as u32)
}

/// Strings and file handles can always be posted.
fn post(worker: &Worker, message: &JsValue) {
    let _ = worker.post_message(message);
}
