//! The page: signals, views and the connection to the worker. Everything else is in the library `straightedge_web`.
//!
//! In a browser this is the page; natively it pre-renders what is recorded, shown until the page has loaded.
#![cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "what is written beforehand answers to nobody"))]
#![recursion_limit = "512"]
#![allow(unreachable_pub, reason = "the component macro makes public what it generates")]

mod app;
mod awake;
mod keep;
#[cfg(target_arch = "wasm32")]
mod language;
mod leave;
mod link;
mod permalink;
mod picked;
mod save;
mod session;
mod start;
mod store;
mod title;
mod view;

/// Builds the page in a detached element, yielding to the browser between steps, then replaces the pre-rendered page in
/// one step and restores the focus.
#[cfg(target_arch = "wasm32")]
fn main() {
    use gloo_timers::future::TimeoutFuture;
    use leptos::prelude::{RwSignal, Set, document};
    use wasm_bindgen::JsCast;
    use web_sys::HtmlElement;

    let Some(place) = document().get_element_by_id("app") else { return };
    let Ok(built) = document().create_element("div").map(|element| element.unchecked_into::<HtmlElement>()) else {
        return;
    };
    // Leptos runs no tasks before it is mounted.
    wasm_bindgen_futures::spawn_local(async move {
        let start = start::fetched().await;
        painted().await;
        let parts = RwSignal::new(0);
        leptos::mount::mount_to(built.clone(), move || app::App(app::AppProps { start, parts })).forget();
        for part in 1..=app::PARTS {
            TimeoutFuture::new(0).await;
            parts.set(part);
        }
        TimeoutFuture::new(0).await;
        let focused = document().active_element().and_then(|element| element.get_attribute("data-testid"));
        place.set_inner_html("");
        while let Some(child) = built.first_child() {
            let _ = place.append_child(&child);
        }
        parts.set(app::IN_PLACE);
        let again = focused.and_then(|name| document().query_selector(&format!("[data-testid='{name}']")).ok()?);
        if let Some(again) = again.and_then(|element| element.dyn_into::<HtmlElement>().ok()) {
            // Elements on the page can be focused.
            let _ = again.focus();
        }
    });
}

/// Waits until the pre-rendered page has been painted, if it can be seen; otherwise a fast line would keep it from being
/// seen at all.
#[cfg(target_arch = "wasm32")]
async fn painted() {
    use leptos::prelude::{document, window};

    let next_frame = js_sys::Promise::new(&mut |resolve, _| {
        if document().hidden() || window().request_animation_frame(&resolve).is_err() {
            let _ = resolve.call0(&wasm_bindgen::JsValue::UNDEFINED);
        }
    });
    let _ = wasm_bindgen_futures::JsFuture::from(next_frame).await;
    // A frame is painted after its callbacks.
    gloo_timers::future::TimeoutFuture::new(0).await;
}

/// Pre-renders every view of the first recording and every ready comparison, as JSON by name. The index of the atlas,
/// which comparisons list, comes through the standard input.
#[cfg(not(target_arch = "wasm32"))]
fn main() -> Result<(), straightedge_api::error::Error> {
    use std::collections::BTreeMap;

    use leptos::prelude::{Owner, RenderHtml, RwSignal};
    use straightedge_api::error::Error;

    let atlas = serde_json::from_reader(std::io::stdin());
    let atlas = atlas.map_err(|why| Error::MalformedJson { file: "standard input".into(), why: why.to_string() })?;
    let views = start::links().map(|(name, address)| {
        let start = start::written(address, &atlas)?;
        let html = Owner::new().with(|| {
            let (session, parts) = (session::Session::new(start), RwSignal::new(app::PARTS));
            app::Page(app::PageProps { session, parts }).to_html()
        });
        Ok((name, html))
    });
    let views = views.collect::<Result<BTreeMap<_, _>, Error>>()?;
    println!("{}", serde_json::json!(views));
    Ok(())
}
