//! The page: signals, views and the link to the worker. Everything else is in the library beside it.
//!
//! In a browser this is the page; natively it writes the page's first view, which is shown until the browser has it.
#![cfg_attr(not(target_arch = "wasm32"), allow(dead_code, reason = "what is written beforehand answers to nobody"))]
#![recursion_limit = "512"]
#![allow(unreachable_pub, reason = "the component macro makes public what it generates")]

mod app;
mod awake;
mod keep;
mod leave;
mod link;
mod permalink;
mod picked;
mod save;
mod session;
mod start;
mod view;

/// Takes the place of what was written beforehand, in one go, with the focus where it was.
#[cfg(target_arch = "wasm32")]
fn main() {
    use leptos::prelude::document;
    use wasm_bindgen::JsCast;
    use web_sys::HtmlElement;

    let Some(place) = document().get_element_by_id("app").and_then(|place| place.dyn_into::<HtmlElement>().ok()) else {
        return;
    };
    // Before there is a page, leptos runs no tasks.
    wasm_bindgen_futures::spawn_local(async move {
        let start = start::fetched().await;
        let focused = document().active_element().and_then(|element| element.get_attribute("data-testid"));
        place.set_inner_html("");
        leptos::mount::mount_to(place, move || app::App(app::AppProps { start })).forget();
        let again = focused.and_then(|name| document().query_selector(&format!("[data-testid='{name}']")).ok()?);
        if let Some(again) = again.and_then(|element| element.dyn_into::<HtmlElement>().ok()) {
            // What is on the page can be focused.
            let _ = again.focus();
        }
    });
}

/// Writes the page as it looks at first, for index.html.
#[cfg(not(target_arch = "wasm32"))]
fn main() -> Result<(), straightedge_api::error::Error> {
    use leptos::prelude::{Owner, RenderHtml};

    let start = start::written()?;
    println!("{}", Owner::new().with(|| app::Page(app::PageProps { session: session::Session::new(start) }).to_html()));
    Ok(())
}
