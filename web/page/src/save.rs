//! Saves files generated in the page: texts as they are, pictures rendered from SVG.

use std::time::Duration;

use gloo_timers::callback::Timeout;
use js_sys::{Array, Promise};
use leptos::prelude::document;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    Blob, BlobPropertyBag, CanvasRenderingContext2d, HtmlAnchorElement, HtmlCanvasElement, HtmlImageElement, Url,
};

/// Pixels of a picture per unit of its drawing.
const DENSITY: f64 = 2.0;

/// How long a file stays available at its URL: some browsers start the download after the click has ended.
const FETCHED: Duration = Duration::from_secs(60);

/// Saves a text. Fails only in a browser that cannot download at all.
pub(crate) fn text(name: &str, kind: &str, content: &str) -> Result<(), JsValue> {
    let bag = BlobPropertyBag::new();
    bag.set_type(kind);
    blob(name, &Blob::new_with_str_sequence_and_options(&Array::of1(&content.into()), &bag)?)
}

/// Renders an SVG and saves it as PNG. Fails if the browser cannot draw it or lacks memory for the pixels.
pub(crate) async fn png(name: &str, svg: &str) -> Result<(), JsValue> {
    let image = loaded(&format!("data:image/svg+xml,{}", js_sys::encode_uri_component(svg))).await?;
    let canvas: HtmlCanvasElement = document().create_element("canvas")?.unchecked_into();
    canvas.set_width((f64::from(image.natural_width()) * DENSITY) as u32);
    canvas.set_height((f64::from(image.natural_height()) * DENSITY) as u32);
    let context = canvas.get_context("2d")?.ok_or("no context to draw in")?;
    let context: CanvasRenderingContext2d = context.unchecked_into();
    context.scale(DENSITY, DENSITY)?;
    context.draw_image_with_html_image_element(&image, 0.0, 0.0)?;
    blob(name, &encoded(&canvas).await?)
}

/// A loaded image. `decode` would wait for the next frame, which a page in the background never gets.
async fn loaded(address: &str) -> Result<HtmlImageElement, JsValue> {
    let image = HtmlImageElement::new()?;
    let there = Promise::new(&mut |there, failed| {
        image.set_onload(Some(&there));
        image.set_onerror(Some(&failed));
    });
    image.set_src(address);
    JsFuture::from(there).await?;
    Ok(image)
}

async fn encoded(canvas: &HtmlCanvasElement) -> Result<Blob, JsValue> {
    let mut asked = Ok(());
    let encoded = Promise::new(&mut |encoded, _| asked = canvas.to_blob(&encoded));
    asked?;
    // A picture too large to encode arrives as null.
    JsFuture::from(encoded).await?.dyn_into()
}

fn blob(name: &str, blob: &Blob) -> Result<(), JsValue> {
    let address = Url::create_object_url_with_blob(blob)?;
    let anchor: HtmlAnchorElement = document().create_element("a")?.unchecked_into();
    anchor.set_href(&address);
    anchor.set_download(name);
    anchor.click();
    Timeout::new(FETCHED.as_millis() as u32, move || drop(Url::revoke_object_url(&address))).forget();
    Ok(())
}
