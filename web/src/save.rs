//! Files for the user's disk, made in the page: text as it is, pictures drawn from SVG.

use js_sys::Array;
use leptos::prelude::document;
use leptos::task::spawn_local;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{
    Blob, BlobPropertyBag, CanvasRenderingContext2d, HtmlAnchorElement, HtmlCanvasElement, HtmlImageElement, Url,
};

/// Pixels of a picture per unit of its drawing.
const DENSITY: f64 = 2.0;

/// Saves a text.
pub(crate) fn text(name: &str, kind: &str, content: &str) -> Result<(), JsValue> {
    let bag = BlobPropertyBag::new();
    bag.set_type(kind);
    blob(name, &Blob::new_with_str_sequence_and_options(&Array::of1(&content.into()), &bag)?)
}

/// Draws an SVG and saves the picture, once it is drawn.
pub(crate) fn png(name: String, svg: String) {
    spawn_local(async move {
        // A browser that cannot draw has told its console why.
        let _ = drawn(&name, &svg).await;
    });
}

async fn drawn(name: &str, svg: &str) -> Result<(), JsValue> {
    let image = HtmlImageElement::new()?;
    let escaped = js_sys::encode_uri_component(svg);
    image.set_src(&format!("data:image/svg+xml,{escaped}"));
    JsFuture::from(image.decode()).await?;
    let canvas: HtmlCanvasElement = document().create_element("canvas")?.unchecked_into();
    canvas.set_width((f64::from(image.natural_width()) * DENSITY) as u32);
    canvas.set_height((f64::from(image.natural_height()) * DENSITY) as u32);
    let context = canvas.get_context("2d")?.ok_or("no context to draw in")?;
    let context: CanvasRenderingContext2d = context.unchecked_into();
    context.scale(DENSITY, DENSITY)?;
    context.draw_image_with_html_image_element(&image, 0.0, 0.0)?;
    let name = name.to_string();
    let save = Closure::once_into_js(move |picture: Option<Blob>| {
        // A browser that cannot make an address for a picture cannot download at all.
        let _ = picture.map(|picture| blob(&name, &picture));
    });
    canvas.to_blob(save.unchecked_ref())
}

fn blob(name: &str, blob: &Blob) -> Result<(), JsValue> {
    let address = Url::create_object_url_with_blob(blob)?;
    let anchor: HtmlAnchorElement = document().create_element("a")?.unchecked_into();
    anchor.set_href(&address);
    anchor.set_download(name);
    anchor.click();
    Url::revoke_object_url(&address)
}
