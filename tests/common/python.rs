//! The reference implementation in Python, where there is one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

/// A Python with `transformers`.
pub(crate) struct Python(PathBuf);

impl Python {
    /// That of an environment below the target folder, which `STRAIGHTEDGE_PYTHON=1` makes, or the machine's own.
    /// Without one the calling part of a test is skipped, loudly.
    pub(crate) fn find() -> Option<Self> {
        let environment = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("python");
        let own = environment.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
        if std::env::var("STRAIGHTEDGE_PYTHON").as_deref() == Ok("1") && !usable(&own) {
            let requirements = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/requirements.txt");
            let succeeds = |command: &mut Command| command.status().is_ok_and(|status| status.success());
            assert!(succeeds(Command::new("python3").args(["-m", "venv"]).arg(&environment)), "an environment");
            let install = ["-m", "pip", "install", "--quiet", "--no-cache-dir", "-r"];
            assert!(succeeds(Command::new(&own).args(install).arg(requirements)), "its packages");
        }
        let found = [own, "python3".into()].into_iter().find(|python| usable(python));
        if found.is_none() {
            eprintln!(
                "\n!!! SKIPPED: no Python with transformers; STRAIGHTEDGE_PYTHON=1 installs one (gigabytes) !!!\n"
            );
        }
        found.map(Self)
    }

    /// What tests/python/perplexity.py prints of a model's folder and of `ids`, whole windows of `seq_len` tokens.
    pub(crate) fn perplexity(&self, what: &str, folder: &Path, ids: &[u32], seq_len: usize) -> Value {
        let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("ids of {}.json", what.replace('/', " ")));
        fs::write(&file, json!(ids).to_string()).expect("ids");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/perplexity.py");
        let mut command = Command::new(&self.0);
        let output = command.arg(script).arg(folder).arg(file).arg(seq_len.to_string()).output().expect("Python runs");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{what}: {complaint}");
        serde_json::from_slice(&output.stdout).expect("JSON")
    }
}

fn usable(python: &Path) -> bool {
    let output = Command::new(python).args(["-c", "import torch, transformers"]).output();
    output.is_ok_and(|output| output.status.success())
}
