//! Yields to the browser: messages that have arrived are handled before the engine continues.
//!
//! A message channel does so at once, whereas timers are delayed by 4 ms each.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures::channel::oneshot;
use futures::task::AtomicWaker;
use wasm_bindgen::prelude::*;
use web_sys::{MessageChannel, MessagePort};

/// Runs `work` and yields to the browser whenever it pauses, so that a cancel is received there.
pub(crate) async fn run_yielding<F: Future>(work: F) -> F::Output {
    let browser = BrowserYield::new();
    let flag = Arc::new(WakeFlag::default());
    let waker = Waker::from(Arc::clone(&flag));
    let mut work = pin!(work);
    loop {
        flag.is_woken.store(false, Ordering::Relaxed);
        if let Poll::Ready(output) = work.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        if flag.is_woken.load(Ordering::Relaxed) {
            browser.yield_now().await;
        } else {
            flag.wait().await;
        }
    }
}

/// Whether the work can continue at once, which distinguishes a pause from waiting for something.
#[derive(Default)]
struct WakeFlag {
    is_woken: AtomicBool,
    sleeper: AtomicWaker,
}

impl WakeFlag {
    async fn wait(&self) {
        poll_fn(|context| {
            self.sleeper.register(context.waker());
            if self.is_woken.load(Ordering::Relaxed) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

impl Wake for WakeFlag {
    fn wake(self: Arc<Self>) {
        self.is_woken.store(true, Ordering::Relaxed);
        self.sleeper.wake();
    }
}

/// Yields to the browser through a message channel.
pub(crate) struct BrowserYield {
    near: Option<MessagePort>,
    far: Option<MessagePort>,
    waiting: Rc<RefCell<Option<oneshot::Sender<()>>>>,
    _listen: Closure<dyn FnMut()>,
}

impl BrowserYield {
    /// Opens the channel; without one, yielding does nothing.
    pub(crate) fn new() -> Self {
        let waiting = Rc::new(RefCell::new(None::<oneshot::Sender<()>>));
        let woken = Rc::clone(&waiting);
        let listen = Closure::<dyn FnMut()>::new(move || {
            if let Some(sender) = woken.borrow_mut().take() {
                let _ = sender.send(());
            }
        });
        let channel = MessageChannel::new().ok();
        let (near, far) = (channel.as_ref().map(MessageChannel::port1), channel.as_ref().map(MessageChannel::port2));
        if let Some(near) = &near {
            near.set_onmessage(Some(listen.as_ref().unchecked_ref()));
        }
        Self { near, far, waiting, _listen: listen }
    }

    /// Waits until the browser has handled its pending messages.
    pub(crate) async fn yield_now(&self) {
        let (sender, receiver) = oneshot::channel();
        *self.waiting.borrow_mut() = Some(sender);
        if self.far.as_ref().is_some_and(|far| far.post_message(&JsValue::NULL).is_ok()) {
            let _ = receiver.await;
        }
    }
}

impl Drop for BrowserYield {
    fn drop(&mut self) {
        for port in [&self.near, &self.far].into_iter().flatten() {
            port.close();
        }
    }
}
