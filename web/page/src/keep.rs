//! Caches the chosen bundled models, including the initial one, for offline visits.
//!
//! The page sends their paths to the service worker once that is active: on a first visit it starts too late to see the
//! requests themselves.

use js_sys::{Array, Function, Object, Promise, Reflect};
use leptos::prelude::*;
use leptos::task::spawn_local;
use straightedge_web::state::bundled::path;
use straightedge_web::state::form::{ModelChoice, find};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use crate::session::Session;

/// Caches every bundled model once it is chosen.
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
            // Without a service worker nothing can be cached.
            spawn_local(async move { keep(&files).await.unwrap_or_default() });
        }
    });
}

/// Sends the service worker the paths of files to cache; `None` if the page has no service worker.
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
