//! Keeps the bundled models that were chosen, the first one among them, for visits without a network.
//!
//! The service worker does it, as soon as there is one: it is not yet there when a first visit begins, and would keep
//! nothing of what was fetched before it came.

use js_sys::{Array, Function, Object, Promise, Reflect};
use leptos::prelude::*;
use leptos::task::spawn_local;
use straightedge_web::state::bundled::path;
use straightedge_web::state::form::{ModelChoice, find};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use crate::session::Session;

/// Follows the choice of a model.
pub(crate) fn follow(session: Session) {
    let files = Memo::new(move |_| {
        let name = session.form.with(|form| match &form.model {
            ModelChoice::Bundled(name) => Some(name.clone()),
            _ => None,
        })?;
        session.index.with(|index| {
            let bundled = find(index.as_deref()?, &name).ok()?;
            Some(bundled.files.keys().map(|file| path(bundled, file)).collect::<Vec<_>>())
        })
    });
    Effect::new(move |_| {
        if let Some(files) = files.get() {
            // Where there is no service worker, nothing can be kept.
            spawn_local(async move { keep(&files).await.unwrap_or_default() });
        }
    });
}

/// Tells the service worker which files to keep; `None` where there will be none.
async fn keep(files: &[String]) -> Option<()> {
    let get = |object: &JsValue, name: &str| Reflect::get(object, &name.into()).ok().filter(JsValue::is_object);
    let workers = get(&window().navigator(), "serviceWorker")?;
    let ready: Promise = get(&workers, "ready")?.dyn_into().ok()?;
    let active = get(&JsFuture::from(ready).await.ok()?, "active")?;
    let (message, paths) = (Object::new(), files.iter().map(JsValue::from).collect::<Array>());
    Reflect::set(&message, &"keep".into(), &paths).ok()?;
    let post: Function = Reflect::get(&active, &"postMessage".into()).ok()?.dyn_into().ok()?;
    post.call1(&active, &message).ok().map(drop)
}
