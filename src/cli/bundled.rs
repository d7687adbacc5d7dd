//! Bundled models and texts, embedded in the executable.

use std::sync::LazyLock;

use include_dir::{Dir, include_dir};
use straightedge::bundled::{Bundled, DefaultText};
use straightedge::corpus::synthetic::SyntheticText;
use straightedge::run::Text;
use straightedge::weights::MemoryFiles;

/// The same files as on the page.
static FILES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/web/models");

static INDEX: LazyLock<Vec<Bundled>> = LazyLock::new(|| {
    let index = FILES.get_file("index.json").map(|file| serde_json::from_slice(file.contents()));
    index.and_then(Result::ok).expect("the list of bundled models is read by a test")
});

/// The files of a bundled model.
pub(super) fn files(bundled: &Bundled) -> MemoryFiles {
    let names = bundled.files.keys().filter_map(|name| Some((name, contents(bundled, name)?)));
    names.fold(MemoryFiles::default(), |files, (name, bytes)| files.with(name.as_str(), bytes))
}

/// The default text of a bundled model, with its name; a synthetic one is long enough for `rows`.
pub(super) fn text(bundled: &Bundled, rows: usize) -> (String, Text) {
    match &bundled.text {
        DefaultText::File(file) => {
            (format!("{} text", bundled.name), Text::Plain(contents(bundled, file).unwrap_or_default().to_vec()))
        }
        DefaultText::Corpus(name) => {
            let text = SyntheticText::for_measurement(name)
                .and_then(Result::ok)
                .map(|synthetic| synthetic.text_for_rows(rows));
            (name.clone(), Text::Plain(text.unwrap_or_default().into_bytes()))
        }
    }
}

/// The bundled model named `name`.
pub(super) fn find(name: &str) -> Option<&'static Bundled> {
    INDEX.iter().find(|bundled| bundled.name == name)
}

/// All names, comma-separated.
pub(super) fn names() -> String {
    INDEX.iter().map(|bundled| bundled.name.as_str()).collect::<Vec<_>>().join(", ")
}

/// One line per model: name, size and description.
pub(super) fn list() -> String {
    let line = |bundled: &Bundled| {
        let megabytes = bundled.files.values().sum::<u64>() as f64 / 1e6;
        format!("{:<20} {megabytes:>5.1} MB  {}\n", bundled.name, bundled.about)
    };
    INDEX.iter().map(line).collect()
}

fn contents(bundled: &Bundled, file: &str) -> Option<&'static [u8]> {
    FILES.get_file(format!("{}/{file}", bundled.name)).map(include_dir::File::contents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bundled_model_is_whole() {
        assert!(INDEX.len() > 1, "{}", names());
        for bundled in INDEX.iter() {
            for (name, size) in &bundled.files {
                let found = contents(bundled, name).map(|bytes| bytes.len() as u64);
                assert_eq!(found, Some(*size), "{}/{name}", bundled.name);
            }
            let (corpus, text) = text(bundled, 100);
            assert!(matches!(text, Text::Plain(text) if text.len() > 500), "{corpus}");
        }
    }
}
