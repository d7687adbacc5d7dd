//! The reference implementation in Python.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

/// The output of a script in `tests/reference`: one JSON value.
pub(crate) fn run(script: &str, arguments: &[&OsStr]) -> Value {
    let python = env::var_os("STRAIGHTEDGE_PYTHON").expect(
        "STRAIGHTEDGE_PYTHON names no Python with the packages of tests/reference/requirements.txt; \
         `cargo xtask test reference` makes one",
    );
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference").join(script);
    let output = Command::new(&python).arg(&script).args(arguments).output();
    let output = output.unwrap_or_else(|why| panic!("STRAIGHTEDGE_PYTHON: {} does not run: {why}", python.display()));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {complaint}", script.display());
    serde_json::from_slice(&output.stdout).unwrap_or_else(|why| panic!("{}: {why}: {complaint}", script.display()))
}

/// The output of `perplexity.py` for a model's folder and `ids`, whole windows of `seq_len` tokens.
pub(crate) fn perplexity(what: &str, folder: &Path, ids: &[u32], seq_len: usize) -> Value {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("ids of {}.json", what.replace('/', " ")));
    fs::write(&file, json!(ids).to_string()).expect("ids");
    run("perplexity.py", &[folder.as_os_str(), file.as_os_str(), seq_len.to_string().as_ref()])
}
