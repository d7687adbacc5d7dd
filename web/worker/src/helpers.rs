//! Helper workers: more instances of the engine, each on another core and with its own memory.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use futures::FutureExt;
use futures::channel::{mpsc, oneshot};
use futures::future::LocalBoxFuture;
use js_sys::{Array, Float32Array, Float64Array, Reflect};
use straightedge::workers::{Limits, Message, Worker, Workers, serve};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::{DedicatedWorkerGlobalScope, MessageEvent, WorkerOptions, WorkerType};

use straightedge_web::browser::alive;

/// Prefix of the names of helper workers.
const NAME: &str = "helper";
/// Most helpers; cores beyond these are rarely fast ones.
const MOST: u32 = 7;
/// Narrower models finish before a helper has started.
const LEAST_WIDTH: usize = 256;
/// Most bytes of memory that all workers of a page may take.
const MOST_MEMORY: u64 = 1_500_000_000;
/// Share of a device's memory for the page.
const SHARE: f64 = 0.25;

/// The helper workers of a browser with `cores` cores.
pub fn workers(cores: u32) -> Workers {
    // In GiB, if the browser reports it.
    let memory = Reflect::get(&scope().navigator(), &"deviceMemory".into()).ok().and_then(|memory| memory.as_f64());
    let limit = memory.map_or(MOST_MEMORY, |memory| MOST_MEMORY.min((memory * SHARE * f64::from(1 << 30)) as u64));
    let worker = |_| Rc::new(Helper::default()) as Rc<dyn Worker>;
    let limits = Limits { memory: limit, hidden_size: LEAST_WIDTH };
    Workers::new((1..cores.min(MOST + 1)).map(worker).collect(), limits)
}

/// Whether this is a helper worker; outside a worker the engine has no name.
pub fn is_helper() -> bool {
    alive::own_name().starts_with(NAME)
}

/// Handles requests for the lifetime of the worker.
pub fn help() {
    let (requests, inbox) = mpsc::unbounded();
    let listen = Closure::<dyn FnMut(MessageEvent)>::new(move |message: MessageEvent| {
        // The receiver lives as long as this worker.
        let _ = requests.unbounded_send(read(&message.data().unchecked_into()));
    });
    scope().set_onmessage(Some(listen.into_js_value().unchecked_ref()));
    spawn_local(serve(inbox, |answer| {
        let (message, buffers) = written(answer);
        message.push(&(wasm_bytes() as f64).into());
        // Numbers and strings can always be posted.
        let _ = scope().post_message_with_transfer(&message, &buffers);
    }));
    spawn_local(async {
        alive::hold().await;
        let _ = scope().post_message(&JsValue::TRUE);
    });
}

/// A message as posted, and its buffers, which are transferred rather than copied.
fn written(Message { head, singles, doubles }: Message) -> (Array, Array) {
    // One after the other, so that at most one list is both inside and outside this module's memory.
    let singles: Array = singles.into_iter().map(|list| Float32Array::from(&list[..])).collect();
    let doubles: Array = doubles.into_iter().map(|list| Float64Array::from(&list[..])).collect();
    let buffer = |list: JsValue| list.unchecked_into::<Float32Array>().buffer();
    let buffers = singles.iter().chain(doubles.iter()).map(buffer).collect();
    (Array::of3(&head.into(), &singles, &doubles), buffers)
}

fn read(message: &Array) -> Message {
    let lists = |at| message.get(at).unchecked_into::<Array>();
    Message {
        head: message.get(0).as_string().unwrap_or_default(),
        singles: lists(1).iter().map(|list| list.unchecked_into::<Float32Array>().to_vec()).collect(),
        doubles: lists(2).iter().map(|list| list.unchecked_into::<Float64Array>().to_vec()).collect(),
    }
}

/// A helper worker. It starts on its first request and ends with this worker.
#[derive(Default)]
struct Helper(Rc<RefCell<State>>);

#[derive(Default)]
struct State {
    worker: Option<web_sys::Worker>,
    is_ready: bool,
    /// Whether it ended unexpectedly; a new one would end too.
    is_lost: bool,
    /// Requests from before it was ready.
    waiting: Vec<(Array, Array)>,
    /// Senders of the pending answers, in order.
    pending: VecDeque<oneshot::Sender<Message>>,
    bytes: u64,
}

impl Worker for Helper {
    fn ask(&self, request: Message) -> LocalBoxFuture<'static, Option<Message>> {
        let (sender, answer) = oneshot::channel();
        if self.start() {
            let mut state = self.0.borrow_mut();
            state.pending.push_back(sender);
            state.waiting.push(written(request));
            send_waiting(&mut state);
        }
        answer.map(Result::ok).boxed_local()
    }

    fn bytes(&self) -> u64 {
        self.0.borrow().bytes
    }
}

impl Helper {
    /// Whether a worker is running; starts one if needed.
    fn start(&self) -> bool {
        let mut state = self.0.borrow_mut();
        if state.worker.is_none() && !state.is_lost {
            state.worker = self.open();
            state.is_lost = state.worker.is_none();
        }
        !state.is_lost
    }

    fn open(&self) -> Option<web_sys::Worker> {
        let options = WorkerOptions::new();
        options.set_type(WorkerType::Module);
        let name = alive::name(NAME);
        options.set_name(&name);
        let worker = web_sys::Worker::new_with_options(&scope().location().href(), &options).ok()?;
        let state = Rc::clone(&self.0);
        let receive = Closure::<dyn FnMut(MessageEvent)>::new(move |message: MessageEvent| {
            if !state.borrow().is_ready {
                let state = Rc::clone(&state);
                alive::watch(&name, move || end(&mut state.borrow_mut()));
            }
            receive(&state, &message);
        });
        worker.set_onmessage(Some(receive.into_js_value().unchecked_ref()));
        let state = Rc::clone(&self.0);
        let fail = Closure::<dyn FnMut(JsValue)>::new(move |event: JsValue| {
            // The error is handled here and is none of the page's.
            if let Some(event) = event.dyn_ref::<web_sys::Event>() {
                event.prevent_default();
            }
            end(&mut state.borrow_mut());
        });
        worker.set_onerror(Some(fail.into_js_value().unchecked_ref()));
        Some(worker)
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        end(&mut self.0.borrow_mut());
    }
}

fn receive(state: &RefCell<State>, message: &MessageEvent) {
    let mut state = state.borrow_mut();
    let Some(answer) = message.data().dyn_into::<Array>().ok() else {
        state.is_ready = true;
        return send_waiting(&mut state);
    };
    state.bytes = state.bytes.max(answer.get(3).as_f64().unwrap_or_default() as u64);
    if let Some(sender) = state.pending.pop_front() {
        // The receiver may have been dropped.
        let _ = sender.send(read(&answer));
    }
}

fn send_waiting(state: &mut State) {
    let Some(worker) = state.worker.clone().filter(|_| state.is_ready) else { return };
    for (message, buffers) in std::mem::take(&mut state.waiting) {
        if worker.post_message_with_transfer(&message, &buffers).is_err() {
            return end(state);
        }
    }
}

/// Ends the worker; dropped senders notify the waiting requests.
fn end(state: &mut State) {
    if let Some(worker) = state.worker.take() {
        worker.set_onmessage(None);
        worker.set_onerror(None);
        worker.terminate();
    }
    *state = State { bytes: state.bytes, is_lost: true, ..State::default() };
}

/// Bytes of this module's linear memory.
pub fn wasm_bytes() -> u64 {
    let wasm: js_sys::WebAssembly::Memory = wasm_bindgen::memory().unchecked_into();
    let buffer: js_sys::ArrayBuffer = wasm.buffer().unchecked_into();
    buffer.byte_length().into()
}

fn scope() -> DedicatedWorkerGlobalScope {
    js_sys::global().unchecked_into()
}
