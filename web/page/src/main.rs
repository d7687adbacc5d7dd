//! The page: signals, views and the connection to the worker. Everything else is in the library `straightedge_web`.
//!
//! In a browser this is the page; natively it pre-renders the first view, shown until the page has loaded.
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

/// Replaces the pre-rendered page in one step and keeps the focus.
#[cfg(target_arch = "wasm32")]
fn main() {
    use leptos::prelude::document;
    use wasm_bindgen::JsCast;
    use web_sys::HtmlElement;

    let Some(place) = document().get_element_by_id("app").and_then(|place| place.dyn_into::<HtmlElement>().ok()) else {
        return;
    };
    // Leptos runs no tasks before it is mounted.
    wasm_bindgen_futures::spawn_local(async move {
        let start = start::fetched().await;
        let focused = document().active_element().and_then(|element| element.get_attribute("data-testid"));
        place.set_inner_html("");
        leptos::mount::mount_to(place, move || app::App(app::AppProps { start })).forget();
        let again = focused.and_then(|name| document().query_selector(&format!("[data-testid='{name}']")).ok()?);
        if let Some(again) = again.and_then(|element| element.dyn_into::<HtmlElement>().ok()) {
            // Elements on the page can be focused.
            let _ = again.focus();
        }
    });
}

/// Pre-renders the first view for index.html.
#[cfg(not(target_arch = "wasm32"))]
fn main() -> Result<(), straightedge_api::error::Error> {
    use leptos::prelude::{Owner, RenderHtml};

    let start = start::written()?;
    println!("{}", Owner::new().with(|| app::Page(app::PageProps { session: session::Session::new(start) }).to_html()));
    Ok(())
}
