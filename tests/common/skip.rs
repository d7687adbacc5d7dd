//! Handling of tests without a GPU adapter. The integration tests, those of `kernels` and the engine's unit tests share
//! this file.

use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::thread;

/// Fails for lack of an adapter; under `STRAIGHTEDGE_WITHOUT_GPU=1` it only adds the calling test to the file named by
/// `STRAIGHTEDGE_SKIPPED`.
#[track_caller]
pub(crate) fn without_gpu(why: &str) {
    assert!(
        env::var("STRAIGHTEDGE_WITHOUT_GPU").as_deref() == Ok("1"),
        "no GPU adapter: {why}; install a GPU's driver or a software one (on Debian: mesa-vulkan-drivers), or set \
         STRAIGHTEDGE_WITHOUT_GPU=1, as `cargo xtask test --without-gpu` does, to leave out what needs one"
    );
    list(&format!("no GPU adapter: {why}"));
}

/// Adds the calling test to the file named by `STRAIGHTEDGE_SKIPPED`.
pub(crate) fn list(why: &str) {
    let test = thread::current().name().unwrap_or("a test").to_owned();
    let line = format!("{}::{test}: {why}\n", env!("CARGO_CRATE_NAME"));
    eprint!("SKIPPED {line}");
    if let Some(list) = env::var_os("STRAIGHTEDGE_SKIPPED") {
        let file = OpenOptions::new().create(true).append(true).open(list);
        file.and_then(|mut file| file.write_all(line.as_bytes()))
            .expect("the file of STRAIGHTEDGE_SKIPPED is writable");
    }
}
