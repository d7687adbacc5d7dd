//! Whether a worker lives: it holds a lock, which the browser gives to whoever waits for it once the worker is no more.
//!
//! A worker that is closed or runs out of memory sends no message and causes no error event.

use js_sys::{Function, Promise, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

/// A name for a worker of this kind that no other has: that of its lock too.
pub fn name(kind: &str) -> String {
    format!("{kind} {}", js_sys::Math::random())
}

/// The name of this worker; empty where it has none.
pub fn own_name() -> String {
    Reflect::get(&js_sys::global(), &"name".into()).ok().and_then(|name| name.as_string()).unwrap_or_default()
}

/// Holds the lock of this worker from now on. Whoever started it waits for the lock after the first message.
pub async fn hold() {
    let held = Promise::new(&mut |held, _| {
        let granted = held.clone();
        let is_asked = request(&own_name(), move || {
            let _ = granted.call0(&JsValue::UNDEFINED);
            // Never given back.
            Promise::new(&mut |_, _| ())
        });
        if !is_asked {
            let _ = held.call0(&JsValue::UNDEFINED);
        }
    });
    let _ = JsFuture::from(held).await;
}

/// Calls `ended` once the worker of this name, which holds its lock, is no more. A browser without locks never does.
pub fn watch(name: &str, ended: impl FnOnce() + 'static) {
    request(name, move || {
        ended();
        Promise::resolve(&JsValue::UNDEFINED)
    });
}

/// Asks for a lock, which is kept until the promise of `granted` is; false where the browser has none.
fn request(name: &str, granted: impl FnOnce() -> Promise + 'static) -> bool {
    let get = |object: &JsValue, key: &str| Reflect::get(object, &key.into()).ok().filter(JsValue::is_object);
    let locks = get(&js_sys::global(), "navigator").and_then(|navigator| get(&navigator, "locks"));
    let ask = locks.as_ref().and_then(|locks| Reflect::get(locks, &"request".into()).ok()?.dyn_into::<Function>().ok());
    let (Some(locks), Some(ask)) = (locks, ask) else { return false };
    let granted = Closure::once_into_js(granted);
    ask.call2(&locks, &name.into(), &granted).is_ok()
}
