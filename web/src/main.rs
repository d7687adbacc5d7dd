//! The page: signals, views and the link to the worker. Everything else is in the library beside it.
#![allow(unreachable_pub, reason = "the component macro makes public what it generates")]

mod app;
mod compare;
mod link;
mod look;
mod picked;
mod session;
mod view;

use leptos::prelude::document;
use wasm_bindgen::JsCast;

fn main() {
    let Some(place) = document().get_element_by_id("app").and_then(|place| place.dyn_into().ok()) else { return };
    let place: web_sys::HtmlElement = place;
    place.set_inner_html("");
    leptos::mount::mount_to(place, app::App).forget();
}
