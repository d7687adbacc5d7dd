//! A helping worker: the engine once more, which does half of every block's solve. A browser's way to use another core
//! without shared memory.
//!
//! It takes the part that needs least of the other one (`straightedge::solve`), so that both are busy for about as long,
//! and so that a block at a time is all that either holds. More helpers would each hold a block's moments again, 47 MB
//! at GPT-2's width, and then wait for the part that is done here.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use futures::FutureExt;
use futures::channel::oneshot;
use futures::future::{LocalBoxFuture, ready};
use js_sys::{Array, Float64Array, Reflect};
use straightedge::crew::{Crew, Folds, OwnThreads};
use straightedge::error::Result;
use straightedge::moments::Moments;
use straightedge::pause::pause;
use straightedge::solve::{BlockScore, HeadlineFit, Kept, Remainder, Rest};
use wasm_bindgen::prelude::*;
use web_sys::{DedicatedWorkerGlobalScope, MessageEvent, Worker, WorkerOptions, WorkerType};

/// Name of a worker that helps.
const NAME: &str = "helper";
/// Narrower blocks are solved before a helper has started.
const WIDE: usize = 256;
/// Gibibytes of memory up to which a device has none to spare.
const SMALL_DEVICE: f64 = 2.0;

/// Who solves in a browser with so many cores.
pub fn crew(cores: u32) -> Rc<dyn Crew> {
    let memory = Reflect::get(&scope().navigator(), &"deviceMemory".into()).ok().and_then(|memory| memory.as_f64());
    let has_room = memory.is_none_or(|memory| memory > SMALL_DEVICE);
    if cores >= 2 && has_room { Rc::new(Helped::default()) } else { Rc::new(OwnThreads) }
}

/// Whether this worker is one that helps; where the engine runs without a worker there is no name.
pub fn is_helper() -> bool {
    Reflect::get(&scope(), &"name".into()).is_ok_and(|name| name == NAME)
}

/// Does its part of what comes, for as long as the worker lives.
pub fn help() {
    let mut task = None;
    let listen = Closure::<dyn FnMut(MessageEvent)>::new(move |message: MessageEvent| {
        let told: Array = message.data().unchecked_into();
        match told.length() {
            1 => answer(task.take(), &told),
            _ => task = begin(&told),
        }
    });
    scope().set_onmessage(Some(listen.into_js_value().unchecked_ref()));
    let _ = scope().post_message(&JsValue::TRUE);
}

/// What is done of a block, and its folds.
type Begun = (Remainder, Vec<Moments>);

/// The block's number and the tapes of its folds in. What cannot be solved is found out again where errors are told.
fn begin(told: &Array) -> Option<Begun> {
    let block = told.shift().as_f64()? as usize;
    let folds: Vec<Moments> = told.iter().map(|tape| Moments::from_tape(&numbers(tape))).collect::<Option<_>>()?;
    Some((Remainder::new(block, &folds).ok()?, folds))
}

/// The tape of what the fit keeps in; bytes of memory and the tape of the rest, or nothing, out.
fn answer(task: Option<Begun>, told: &Array) {
    let rest = task.zip(Kept::from_tape(&numbers(told.shift())));
    let rest = rest.and_then(|((part, folds), kept)| part.finish(&folds, &kept).ok());
    let tape = rest.map_or(JsValue::NULL, |rest| Float64Array::from(&rest.to_tape()[..]).into());
    // Numbers can always be posted.
    let _ = scope().post_message(&Array::of2(&(wasm_bytes() as f64).into(), &tape));
}

fn numbers(tape: JsValue) -> Vec<f64> {
    Float64Array::from(tape).to_vec()
}

/// Headlines here, the rest on a worker that was started when it was first needed, and ends with this.
#[derive(Default)]
struct Helped {
    hand: Hand,
}

impl Crew for Helped {
    fn score<'a>(&'a self, block: usize, folds: Folds<'a>) -> LocalBoxFuture<'a, Result<Option<BlockScore>>> {
        self.share(block, folds).boxed_local()
    }

    fn bytes(&self) -> u64 {
        self.hand.0.borrow().bytes
    }
}

impl Helped {
    async fn share(&self, block: usize, folds: Folds<'_>) -> Result<Option<BlockScore>> {
        let folds = folds.await?;
        let wide = folds[0].d_in() >= WIDE;
        let Some(rest) = wide.then(|| self.hand.begin(block, &folds)).flatten() else {
            return OwnThreads.score(block, ready(Ok(folds)).boxed_local()).await;
        };
        let fit = HeadlineFit::new(block, &folds)?;
        self.hand.tell(fit.kept());
        pause().await;
        let score = fit.score(&folds)?;
        drop((fit, folds));
        Ok(rest.await.ok().map(|rest| score.complete(rest)))
    }
}

/// A helping worker, or the place for one.
#[derive(Default)]
struct Hand(Rc<RefCell<State>>);

#[derive(Default)]
struct State {
    worker: Option<Worker>,
    is_ready: bool,
    /// Whether a worker came to an end by itself, as another one would.
    is_lost: bool,
    /// What was to be told before the worker was ready.
    waiting: Vec<Array>,
    /// Who waits for answers, in their order.
    asked: VecDeque<oneshot::Sender<Rest>>,
    bytes: u64,
}

impl Hand {
    /// Hands a block's folds over, to be followed by what their fit keeps; `None` where there is no worker.
    fn begin(&self, block: usize, folds: &[Moments]) -> Option<oneshot::Receiver<Rest>> {
        if self.0.borrow().is_lost {
            return None;
        }
        if self.0.borrow().worker.is_none() {
            let worker = self.start()?;
            self.0.borrow_mut().worker = Some(worker);
        }
        let task = Array::of1(&(block as f64).into());
        for fold in folds {
            // One by one, so that no more than one lies in this module's memory twice.
            task.push(&Float64Array::from(&fold.to_tape()[..]));
        }
        let (sender, rest) = oneshot::channel();
        self.0.borrow_mut().asked.push_back(sender);
        self.send(task);
        Some(rest)
    }

    fn tell(&self, kept: &Kept) {
        self.send(Array::of1(&Float64Array::from(&kept.to_tape()[..])));
    }

    fn send(&self, message: Array) {
        let mut state = self.0.borrow_mut();
        state.waiting.push(message);
        send_waiting(&mut state);
    }

    fn start(&self) -> Option<Worker> {
        let options = WorkerOptions::new();
        options.set_type(WorkerType::Module);
        options.set_name(NAME);
        let worker = Worker::new_with_options(&scope().location().href(), &options).ok()?;
        let state = Rc::clone(&self.0);
        let hear = Closure::<dyn FnMut(MessageEvent)>::new(move |message: MessageEvent| receive(&state, &message));
        worker.set_onmessage(Some(hear.into_js_value().unchecked_ref()));
        let state = Rc::clone(&self.0);
        let fail = Closure::<dyn FnMut(JsValue)>::new(move |event: JsValue| {
            // It is heard here, and no error of the page's.
            if let Some(event) = event.dyn_ref::<web_sys::Event>() {
                event.prevent_default();
            }
            end(&mut state.borrow_mut());
        });
        worker.set_onerror(Some(fail.into_js_value().unchecked_ref()));
        Some(worker)
    }
}

impl Drop for Hand {
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
    state.bytes = state.bytes.max(answer.get(0).as_f64().unwrap_or_default() as u64);
    // Without a tape the sender is dropped, which tells as much.
    let tape = answer.get(1).dyn_into::<Float64Array>().ok();
    if let (Some(asked), Some(rest)) = (state.asked.pop_front(), tape.and_then(|tape| Rest::from_tape(&tape.to_vec())))
    {
        let _ = asked.send(rest);
    }
}

fn send_waiting(state: &mut State) {
    let Some(worker) = state.worker.clone().filter(|_| state.is_ready) else { return };
    for message in std::mem::take(&mut state.waiting) {
        if worker.post_message_with_transfer(&message, &transferred(&message)).is_err() {
            return end(state);
        }
    }
}

/// Whoever waits hears of it by the sender's end.
fn end(state: &mut State) {
    if let Some(worker) = state.worker.take() {
        worker.set_onmessage(None);
        worker.set_onerror(None);
        worker.terminate();
    }
    *state = State { bytes: state.bytes, is_lost: true, ..State::default() };
}

/// The memory behind every list of numbers in a message, to be moved rather than copied.
fn transferred(message: &Array) -> Array {
    message.iter().filter_map(|part| part.dyn_into::<Float64Array>().ok()).map(|tape| tape.buffer()).collect()
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
