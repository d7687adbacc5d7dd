//! Chooses the device: a hardware GPU if there is one, else the CPU with a warning.

use crate::backend::gpu::{GpuBackend, Options};
use crate::error::{Error, Result};
use crate::event::Stage;
use crate::job::BackendChoice;
use crate::report::{Warning, WarningKind};
use crate::trace::Lane;

use super::events::Emitter;

/// Runs `$body` with `$backend` bound to the chosen backend: the only place that names both backends.
macro_rules! on_device {
    ($choice:expr, $options:expr, $out:expr, $backend:ident => $body:expr) => {
        match $crate::run::device::gpu($choice, $options, $out).await? {
            Some($backend) => $body,
            None => {
                let $backend = $crate::backend::cpu::CpuBackend::new();
                $body
            }
        }
    };
}
pub(super) use on_device;

/// The GPU, or `None` for the CPU. `auto` prefers the CPU to a software adapter, which is slower.
pub(super) async fn gpu(choice: BackendChoice, options: Options, out: &Emitter) -> Result<Option<GpuBackend>> {
    if choice == BackendChoice::Cpu {
        return Ok(None);
    }
    let meter = out.stage(Stage::Device, 0);
    let on_progress = |done: usize, total: usize| meter.report(done as u64, total as u64);
    match out.span(Lane::Device, None, GpuBackend::open_with_progress(choice, options, &on_progress)).await {
        Err(Error::NoAdapter { why }) if choice == BackendChoice::Auto => {
            out.warn(Warning::new(&WarningKind::NoAdapter { why }));
            Ok(None)
        }
        found => found.map(Some),
    }
}
