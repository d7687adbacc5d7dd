//! What the engine can compute on here.

use straightedge_web::message::Device;

/// Asks for an adapter; nothing of a model is loaded yet.
pub(crate) async fn device() -> Device {
    match straightedge::gpu::probe().await {
        Ok(found) => Device::Gpu { info: found.info, software: found.is_software },
        Err(error) => Device::Cpu { why: error.to_string() },
    }
}
