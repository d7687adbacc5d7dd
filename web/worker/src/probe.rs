//! The devices available to the engine here.

use js_sys::{Function, Object, Promise, Reflect};
use straightedge_api::message::AvailableDevice;
use straightedge_api::report::DeviceInfo;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

/// Requests an adapter; nothing of a model is loaded yet.
pub(crate) async fn device() -> AvailableDevice {
    match straightedge::backend::gpu::probe().await {
        Ok(mut found) => {
            name(&mut found.info).await;
            AvailableDevice::Gpu { info: found.info, software: found.is_software }
        }
        Err(error) => AvailableDevice::Cpu { why: error.to_string() },
    }
}

/// Names a nameless GPU as the browser does.
///
/// wgpu knows only an adapter's description, which browsers hide; they do reveal vendor and architecture.
pub(crate) async fn name(device: &mut DeviceInfo) {
    if device.backend == "gpu" && device.adapter.is_none() {
        device.adapter = vendor_and_architecture().await;
    }
}

pub(crate) async fn vendor_and_architecture() -> Option<String> {
    let gpu = get(&get(&js_sys::global(), "navigator")?, "gpu")?;
    let request: Function = get(&gpu, "requestAdapter")?.dyn_into().ok()?;
    let options = Object::new();
    Reflect::set(&options, &"powerPreference".into(), &"high-performance".into()).ok()?;
    let promise: Promise = request.call1(&gpu, &options).ok()?.dyn_into().ok()?;
    let info = get(&JsFuture::from(promise).await.ok()?, "info")?;
    let parts = ["vendor", "architecture"].map(|key| get(&info, key).and_then(|part| part.as_string()));
    let name = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    (!name.is_empty()).then_some(name)
}

fn get(object: &JsValue, key: &str) -> Option<JsValue> {
    Reflect::get(object, &key.into()).ok().filter(|value| !value.is_undefined() && !value.is_null())
}
