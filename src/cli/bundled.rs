//! Models and texts that come with the program.

use straightedge::weights::MemoryFiles;

/// A model with the text it is measured on by default.
pub(super) struct Bundled {
    name: &'static str,
    description: &'static str,
    files: &'static [(&'static str, &'static [u8])],
    text: &'static [u8],
}

macro_rules! bundled_file {
    ($model:literal, $file:literal) => {
        include_bytes!(concat!("../../web/models/", $model, "/", $file))
    };
}

const ALL: [Bundled; 1] = [Bundled {
    name: "calibration",
    description: "blocks whose linearity is known by construction",
    files: &[
        ("config.json", bundled_file!("calibration", "config.json")),
        ("model.safetensors", bundled_file!("calibration", "model.safetensors")),
        ("tokenizer.json", bundled_file!("calibration", "tokenizer.json")),
    ],
    text: bundled_file!("calibration", "text.txt"),
}];

impl Bundled {
    /// Its files.
    pub(super) fn files(&self) -> MemoryFiles {
        self.files.iter().fold(MemoryFiles::default(), |files, (name, bytes)| files.with(*name, *bytes))
    }

    /// Its text.
    pub(super) fn text(&self) -> &'static [u8] {
        self.text
    }
}

/// The bundled model of that name.
pub(super) fn find(name: &str) -> Option<&'static Bundled> {
    const BUNDLED: &[Bundled] = &ALL;
    BUNDLED.iter().find(|bundled| bundled.name == name)
}

/// All names, comma-separated.
pub(super) fn names() -> String {
    ALL.map(|bundled| bundled.name).join(", ")
}

/// One line per model.
pub(super) fn list() -> String {
    ALL.iter().map(|bundled| format!("{:<14} {}\n", bundled.name, bundled.description)).collect()
}
