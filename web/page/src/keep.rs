//! Caches the chosen bundled models, including the initial one, for offline visits.
//!
//! The page sends their paths to the service worker once that is active: on a first visit it starts too late to see the
//! requests themselves.

use std::collections::BTreeSet;

use js_sys::{Array, Function, Object, Promise, Reflect};
use leptos::prelude::*;
use leptos::task::spawn_local;
use straightedge_api::bundled::Bundled;
use straightedge_web::state::bundled::path;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use crate::session::Choices;

/// Caches every bundled model once it is chosen.
pub(crate) fn follow(choices: Choices) {
    let files = Memo::new(move |_| {
        let paths = |bundled: &Bundled| bundled.files.keys().map(|file| path(bundled, file)).collect::<Vec<_>>();
        choices.with_bundled(paths)
    });
    let registration = RwSignal::new_local(None::<JsValue>);
    // Without a service worker, which is never ready, nothing can be cached.
    spawn_local(async move { registration.set(ready().await) });
    let chosen = StoredValue::new(BTreeSet::new());
    Effect::new(move |_| {
        chosen.update_value(|chosen| chosen.extend(files.get().into_iter().flatten()));
        registration.with(|registration| {
            if let Some(registration) = registration {
                chosen.with_value(|chosen| keep(registration, chosen)).unwrap_or_default();
            }
        });
    });
}

/// The registration of a service worker once one is active; `None` if the browser has none.
async fn ready() -> Option<JsValue> {
    let workers = object(&window().navigator(), "serviceWorker")?;
    let ready: Promise = object(&workers, "ready")?.dyn_into().ok()?;
    JsFuture::from(ready).await.ok()
}

/// Sends the service worker that is active now the paths of files to cache.
fn keep(registration: &JsValue, files: &BTreeSet<String>) -> Option<()> {
    let worker = object(registration, "active")?;
    let (message, paths) = (Object::new(), files.iter().map(JsValue::from).collect::<Array>());
    Reflect::set(&message, &"keep".into(), &paths).ok()?;
    let post: Function = Reflect::get(&worker, &"postMessage".into()).ok()?.dyn_into().ok()?;
    post.call1(&worker, &message).ok().map(drop)
}

fn object(of: &JsValue, name: &str) -> Option<JsValue> {
    Reflect::get(of, &name.into()).ok().filter(JsValue::is_object)
}
