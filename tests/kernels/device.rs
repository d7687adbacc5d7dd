//! Opening a device for a test.

#[path = "../common/skip.rs"]
mod skip;

use straightedge::backend::gpu::{GpuBackend, LACKS_FEATURE, Options, Tensor, VARIANTS};
use straightedge::backend::{Backend, Shape};
use straightedge::error::Error;

/// Options that fill outputs with NaN and skip the autotune.
pub(crate) fn poisoned() -> Options {
    Options { poison: true, matmul: Some(&VARIANTS[1]), flops_per_ms: Some(1e6), ..Options::default() }
}

/// Runs a test on a device; without one the test fails, or is skipped and listed. It is also listed on a device that lacks
/// a feature that the options need.
pub(crate) fn with_device(options: Options, test: impl AsyncFnOnce(&GpuBackend)) {
    pollster::block_on(async {
        match GpuBackend::with(options).await {
            Ok(backend) => test(&backend).await,
            Err(Error::NoAdapter { why }) if why == LACKS_FEATURE => skip::list(&why),
            Err(Error::NoAdapter { why }) => skip::without_gpu(&why),
            Err(error) => panic!("{error}"),
        }
    });
}

/// A tensor on the device.
pub(crate) fn upload(backend: &GpuBackend, rows: usize, cols: usize, data: &[f32]) -> Tensor {
    backend.upload("test", Shape::new(rows, cols), data).expect("upload")
}
