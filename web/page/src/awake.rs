//! Keeps the screen on while the engine computes, because a phone that goes to sleep stops it.
//!
//! The browser releases the wake lock when the page is hidden, so it is requested again when the page becomes visible.
//! Where it is missing or refused, for example with a low battery, the screen behaves as usual.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use js_sys::{Function, Promise, Reflect};
use leptos::prelude::*;
use leptos::task::spawn_local;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use crate::session::Session;

/// Holds the screen's wake lock while the engine is working.
pub(crate) fn keep(session: Session) {
    let screen = Rc::new(Screen::default());
    let is_busy = Memo::new(move |_| session.is_busy());
    let of_work = screen.clone();
    Effect::new(move |_| {
        of_work.is_needed.set(is_busy.get());
        of_work.update();
    });
    let seen = Closure::<dyn FnMut()>::new(move || screen.update());
    // Without this event the page keeps the lock it has.
    let _ = document().add_event_listener_with_callback("visibilitychange", seen.into_js_value().unchecked_ref());
}

/// The page's wake lock and its state.
#[derive(Default)]
struct Screen {
    is_needed: Cell<bool>,
    is_pending: Cell<bool>,
    lock: RefCell<Option<JsValue>>,
}

impl Screen {
    /// Requests or releases the lock, as currently needed.
    fn update(self: &Rc<Self>) {
        if !self.is_needed.get() {
            if let Some(lock) = self.lock.take() {
                // Releasing a lock that the browser already released is allowed.
                let _ = call(&lock, "release");
            }
        } else if !self.is_held() && !self.is_pending.replace(true) {
            let screen = self.clone();
            spawn_local(async move {
                let lock = request_lock().await;
                screen.is_pending.set(false);
                if lock.is_some() {
                    screen.lock.replace(lock);
                    // The work may have ended while the browser decided.
                    screen.update();
                }
            });
        }
    }

    fn is_held(&self) -> bool {
        let is_released = |lock: &JsValue| Reflect::get(lock, &"released".into()).is_ok_and(|it| it.is_truthy());
        self.lock.borrow().as_ref().is_some_and(|lock| !is_released(lock))
    }
}

/// Requests the lock; `None` where the browser has none or refuses it.
async fn request_lock() -> Option<JsValue> {
    let locks = Reflect::get(&window().navigator(), &"wakeLock".into()).ok().filter(JsValue::is_object)?;
    JsFuture::from(call(&locks, "request")?).await.ok()
}

/// The promise that a method without arguments returns.
fn call(object: &JsValue, method: &str) -> Option<Promise> {
    let method: Function = Reflect::get(object, &method.into()).ok()?.dyn_into().ok()?;
    method.call0(object).ok()?.dyn_into().ok()
}
