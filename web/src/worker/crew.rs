//! Helping workers: the engine several times over, each solving one block at a time. A browser's way to use more cores
//! without shared memory.

use std::cell::RefCell;
use std::rc::Rc;

use futures::FutureExt;
use futures::channel::oneshot;
use futures::future::LocalBoxFuture;
use js_sys::{Array, Float64Array, Reflect};
use straightedge::crew::{Crew, OwnThreads};
use straightedge::error::Result;
use straightedge::moments::Moments;
use straightedge::solve::{BlockScore, score_block};
use wasm_bindgen::prelude::*;
use web_sys::{MessageEvent, Worker, WorkerOptions, WorkerType};

use super::{scope, wasm_bytes};

/// Name of a worker that helps.
const NAME: &str = "helper";
/// More helpers take more memory than they save time: each needs that of about thirty matrices.
const MOST: u32 = 3;
/// Narrower blocks are solved before a helper has started.
const WIDE: usize = 256;
/// Gibibytes of memory up to which a device has none to spare.
const SMALL_DEVICE: f64 = 2.0;

/// Who solves in a browser with so many cores.
pub(super) fn crew(cores: u32) -> Rc<dyn Crew> {
    let memory = Reflect::get(&scope().navigator(), &"deviceMemory".into()).ok().and_then(|memory| memory.as_f64());
    let has_room = memory.is_none_or(|memory| memory > SMALL_DEVICE);
    // One helper alone would do what this worker then waits for.
    match cores.saturating_sub(1).min(MOST) {
        helpers @ 2.. if has_room => Rc::new(Helpers { hands: (0..helpers).map(|_| Hand::default()).collect() }),
        _ => Rc::new(OwnThreads),
    }
}

/// Whether this worker is one that helps.
pub(super) fn is_helper() -> bool {
    scope().name() == NAME
}

/// Solves what comes, for as long as the worker lives.
pub(super) fn help() {
    let listen = Closure::<dyn FnMut(MessageEvent)>::new(|message: MessageEvent| answer(&Array::from(&message.data())));
    scope().set_onmessage(Some(listen.into_js_value().unchecked_ref()));
    let _ = scope().post_message(&JsValue::TRUE);
}

/// The block's number and the tapes of its folds in; bytes of memory and the score's tape, or nothing, out.
fn answer(task: &Array) {
    let block = task.shift().as_f64().unwrap_or_default() as usize;
    let fold = |tape: JsValue| Moments::from_tape(&Float64Array::from(tape).to_vec());
    let folds: Option<Vec<Moments>> = task.iter().map(fold).collect();
    // What cannot be solved is found out again where errors are told.
    let score = folds.and_then(|folds| score_block(block, &folds).ok());
    let tape = score.map_or(JsValue::NULL, |score| Float64Array::from(&score.to_tape()[..]).into());
    let answer = Array::of2(&(wasm_bytes() as f64).into(), &tape);
    // Numbers can always be posted.
    let _ = scope().post_message_with_transfer(&answer, &transferred(&answer));
}

/// Workers that were started when they were first needed, and end with this.
struct Helpers {
    hands: Vec<Hand>,
}

impl Crew for Helpers {
    fn hands(&self) -> usize {
        self.hands.len()
    }

    fn score(&self, block: usize, folds: Vec<Moments>) -> LocalBoxFuture<'_, Result<Option<BlockScore>>> {
        let hand = self.hands.iter().find(|hand| hand.is_free());
        match hand.filter(|_| folds[0].d_in() >= WIDE) {
            Some(hand) => hand.score(block, folds).map(Ok).boxed_local(),
            None => OwnThreads.score(block, folds),
        }
    }

    fn bytes(&self) -> u64 {
        self.hands.iter().map(|hand| hand.0.borrow().bytes).sum()
    }
}

/// One helping worker, or the place for one.
#[derive(Default)]
struct Hand(Rc<RefCell<State>>);

#[derive(Default)]
struct State {
    worker: Option<Worker>,
    is_ready: bool,
    /// A task that came before the worker was ready.
    waiting: Option<Array>,
    /// Who waits for the answer.
    asked: Option<oneshot::Sender<Float64Array>>,
    bytes: u64,
}

impl Hand {
    fn is_free(&self) -> bool {
        self.0.borrow().asked.is_none()
    }

    async fn score(&self, block: usize, folds: Vec<Moments>) -> Option<BlockScore> {
        let task = Array::of1(&(block as f64).into());
        for fold in folds {
            // One by one, so that nothing lies in this module's memory twice.
            task.push(&Float64Array::from(&fold.to_tape()[..]));
        }
        let (sender, answer) = oneshot::channel();
        self.0.borrow_mut().asked = Some(sender);
        self.hand_over(task)?;
        let tape = answer.await.ok()?;
        BlockScore::from_tape(&tape.to_vec())
    }

    fn hand_over(&self, task: Array) -> Option<()> {
        if self.0.borrow().worker.is_none() {
            let worker = self.start()?;
            self.0.borrow_mut().worker = Some(worker);
        }
        self.0.borrow_mut().waiting = Some(task);
        send(&mut self.0.borrow_mut());
        Some(())
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
        return send(&mut state);
    };
    state.bytes = state.bytes.max(answer.get(0).as_f64().unwrap_or_default() as u64);
    // Without a tape the sender is dropped, which tells as much.
    if let (Some(asked), Ok(tape)) = (state.asked.take(), answer.get(1).dyn_into()) {
        let _ = asked.send(tape);
    }
}

fn send(state: &mut State) {
    if !state.is_ready {
        return;
    }
    let is_sent = match (&state.worker, state.waiting.take()) {
        (Some(worker), Some(task)) => worker.post_message_with_transfer(&task, &transferred(&task)).is_ok(),
        _ => true,
    };
    if !is_sent {
        end(state);
    }
}

/// Whoever waits hears of it by the sender's end.
fn end(state: &mut State) {
    if let Some(worker) = state.worker.take() {
        worker.set_onmessage(None);
        worker.set_onerror(None);
        worker.terminate();
    }
    *state = State { bytes: state.bytes, ..State::default() };
}

/// The memory behind every list of numbers in a message, to be moved rather than copied.
fn transferred(message: &Array) -> Array {
    message.iter().filter_map(|part| part.dyn_into::<Float64Array>().ok()).map(|tape| tape.buffer()).collect()
}
