//! Detects that a worker ended, which causes no message and no error event when it is closed or out of memory.
//!
//! The worker holds a Web Lock; the browser grants it to a waiting request when the worker ends.

use js_sys::{Function, Promise, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

/// A unique name for a worker of this kind, also the name of its lock.
pub fn name(kind: &str) -> String {
    format!("{kind} {}", js_sys::Math::random())
}

/// The name of this worker; empty if it has none.
pub fn own_name() -> String {
    Reflect::get(&js_sys::global(), &"name".into()).ok().and_then(|name| name.as_string()).unwrap_or_default()
}

/// Holds this worker's lock for its lifetime. Its creator requests the lock after the first message.
pub async fn hold() {
    let held = Promise::new(&mut |held, _| {
        let granted = held.clone();
        let is_requested = request(&own_name(), move || {
            let _ = granted.call0(&JsValue::UNDEFINED);
            // Never resolves, so the lock is never released.
            Promise::new(&mut |_, _| ())
        });
        if !is_requested {
            let _ = held.call0(&JsValue::UNDEFINED);
        }
    });
    let _ = JsFuture::from(held).await;
}

/// Calls `ended` when the worker of this name ends. Never calls it in a browser without Web Locks.
pub fn watch(name: &str, ended: impl FnOnce() + 'static) {
    request(name, move || {
        ended();
        Promise::resolve(&JsValue::UNDEFINED)
    });
}

/// Requests a lock, held until the promise from `granted` resolves; false if the browser has no Web Locks.
fn request(name: &str, granted: impl FnOnce() -> Promise + 'static) -> bool {
    let get = |object: &JsValue, key: &str| Reflect::get(object, &key.into()).ok().filter(JsValue::is_object);
    let locks = get(&js_sys::global(), "navigator").and_then(|navigator| get(&navigator, "locks"));
    let request_lock =
        locks.as_ref().and_then(|locks| Reflect::get(locks, &"request".into()).ok()?.dyn_into::<Function>().ok());
    let (Some(locks), Some(request_lock)) = (locks, request_lock) else { return false };
    let granted = Closure::once_into_js(granted);
    request_lock.call2(&locks, &name.into(), &granted).is_ok()
}
