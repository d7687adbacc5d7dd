//! Opening a device, or saying aloud that there is none.

use straightedge::backend::{Backend, Shape};
use straightedge::error::Error;
use straightedge::gpu::matmul::VARIANTS;
use straightedge::gpu::{GpuBackend, Options, Tensor};

/// Options that fill outputs with NaN and do not race.
pub(crate) fn poisoned() -> Options {
    Options { poison: true, matmul: Some(&VARIANTS[1]), flops_per_ms: Some(1e6), ..Options::default() }
}

/// Runs a test on a device, or skips it where there is none and none is required.
pub(crate) fn with_device(options: Options, test: impl AsyncFnOnce(&GpuBackend)) {
    pollster::block_on(async {
        match GpuBackend::with(options).await {
            Ok(backend) => test(&backend).await,
            Err(Error::NoAdapter { why }) if std::env::var("REQUIRE_GPU").as_deref() != Ok("1") => {
                eprintln!("SKIPPED: no GPU adapter ({why}); REQUIRE_GPU=1 makes this a failure");
            }
            Err(error) => panic!("{error}"),
        }
    });
}

/// A tensor on the device.
pub(crate) fn upload(backend: &GpuBackend, rows: usize, cols: usize, data: &[f32]) -> Tensor {
    backend.upload("test", Shape::new(rows, cols), data).expect("upload")
}
