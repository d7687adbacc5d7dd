//! The Parquet reader: a separate module, loaded when a text needs it and dropped with its memory.

use futures::future::LocalBoxFuture;
use js_sys::{ArrayBuffer, Function, Object, Reflect, Uint8Array, WebAssembly};
use straightedge::hub::text::Table;
use straightedge_web::browser::fetch::{reason, timeout};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{RequestInit, Response};

use super::post::scope;

/// Path of the module, relative to the page.
const MODULE: &str = "table.wasm";

/// Reads tables with the module.
pub(crate) struct ParquetModule;

impl Table for ParquetModule {
    fn texts(&self, file: Vec<u8>) -> LocalBoxFuture<'_, Result<String, String>> {
        Box::pin(async move {
            let module =
                module().await.map_err(|why| format!("{MODULE} did not arrive as it was built ({})", reason(&why)))?;
            let loaded = JsFuture::from(WebAssembly::instantiate_buffer(&module, &Object::new())).await;
            read(&loaded.map_err(|why| reason(&why))?, &file).map_err(|why| reason(&why))?
        })
    }
}

/// The module, which the browser compares with the hash that the build wrote into `engine.js`.
async fn module() -> Result<Vec<u8>, JsValue> {
    let integrity = Reflect::get(&scope(), &"tableIntegrity".into())?.as_string().unwrap_or_default();
    let how = RequestInit::new();
    how.set_integrity(&integrity);
    how.set_signal(Some(&timeout()));
    let response: Response = JsFuture::from(scope().fetch_with_str_and_init(MODULE, &how)).await?.unchecked_into();
    let bytes: ArrayBuffer = JsFuture::from(response.array_buffer()?).await?.unchecked_into();
    Ok(Uint8Array::new(&bytes).to_vec())
}

/// Reads `file` with the module: a text, or the reason why there is none.
fn read(loaded: &JsValue, file: &[u8]) -> Result<Result<String, String>, JsValue> {
    let exports = Reflect::get(&Reflect::get(loaded, &"instance".into())?, &"exports".into())?;
    let call = |name: &str, argument: &JsValue| {
        let function: Function = Reflect::get(&exports, &name.into())?.dyn_into()?;
        let result = function.call1(&JsValue::UNDEFINED, argument)?;
        result.as_f64().map(|number| number as u32).ok_or(result)
    };
    let memory: WebAssembly::Memory = Reflect::get(&exports, &"memory".into())?.dyn_into()?;
    // Every call may move the memory, so views of it are created anew.
    let view = |place: u32, length: u32| Uint8Array::new_with_byte_offset_and_length(&memory.buffer(), place, length);
    let length = JsValue::from(file.len() as u32);
    let place = call("allocate", &length)?;
    view(place, file.len() as u32).copy_from(file);
    let failed = call("read", &JsValue::UNDEFINED)? != 0;
    let (place, length) = (call("place", &JsValue::UNDEFINED)?, call("length", &JsValue::UNDEFINED)?);
    let text = String::from_utf8_lossy(&view(place, length).to_vec()).into_owned();
    Ok(if failed { Err(text) } else { Ok(text) })
}
