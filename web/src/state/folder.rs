//! Classifies chosen or dropped files: a model, a text, a report, captured rows, or none of these.

use straightedge_api::error::{Error, Result};

const CONFIG: &str = "config.json";

/// Kind of the chosen files; numbers are positions in the list they came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chosen {
    /// A model.
    Model(Folder),
    /// A single text file.
    Text(usize),
    /// A report of an earlier measurement.
    Report(usize),
    /// Captured rows in a single safetensors file.
    Rows(usize),
}

/// The files of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folder {
    /// Name of the folder, if the files came in one.
    pub name: Option<String>,
    /// Position of each file and its name relative to the folder.
    pub files: Vec<(usize, String)>,
}

/// Classifies files by their paths: the model is the folder of the `config.json` nearest to the top.
pub fn select_model_files(paths: &[String]) -> Result<Chosen> {
    let config = paths.iter().filter(|path| name_of(path) == CONFIG).min_by_key(|path| path.matches('/').count());
    match (config, paths) {
        (Some(config), _) => Ok(Chosen::Model(folder_of(config, paths))),
        (None, [text]) if is_text(text) => Ok(Chosen::Text(0)),
        (None, [report]) if report.to_lowercase().ends_with(".json") => Ok(Chosen::Report(0)),
        (None, [rows]) if is_rows(rows) => Ok(Chosen::Rows(0)),
        (None, _) => Err(Error::MissingFile {
            file: CONFIG.into(),
            hint: "choose a model's folder with config.json, tokenizer.json and model.safetensors or pytorch_model.bin, or one .txt file"
                .into(),
        }),
    }
}

fn folder_of(config: &str, paths: &[String]) -> Folder {
    let prefix = &config[..config.len() - CONFIG.len()];
    let inside = |(at, path): (usize, &String)| path.strip_prefix(prefix).map(|name| (at, name.to_string()));
    Folder {
        name: (!prefix.is_empty()).then(|| name_of(prefix.trim_end_matches('/')).to_string()),
        files: paths.iter().enumerate().filter_map(inside).collect(),
    }
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Files named like model weights are not rows: their configuration is missing.
fn is_rows(path: &str) -> bool {
    path.to_lowercase().ends_with(".safetensors") && !name_of(path).starts_with("model")
}

fn is_text(path: &str) -> bool {
    let lower = path.to_lowercase();
    [".txt", ".text", ".md"].iter().any(|ending| lower.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(list: &[&str]) -> Vec<String> {
        list.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_folder_is_the_one_of_the_topmost_config() {
        let chosen =
            select_model_files(&paths(&["up/readme.md", "up/m/onnx/config.json", "up/m/config.json", "up/m/a/b.bin"]));
        let files = vec![(1, "onnx/config.json".into()), (2, "config.json".into()), (3, "a/b.bin".into())];
        assert_eq!(chosen, Ok(Chosen::Model(Folder { name: Some("m".into()), files })));
    }

    #[test]
    fn loose_files_are_a_model_without_a_name() {
        let chosen = select_model_files(&paths(&["model.safetensors", "config.json"]));
        let files = vec![(0, "model.safetensors".into()), (1, "config.json".into())];
        assert_eq!(chosen, Ok(Chosen::Model(Folder { name: None, files })));
    }

    #[test]
    fn a_text_or_a_report_alone_is_one_and_anything_else_is_refused() {
        assert_eq!(select_model_files(&paths(&["Notes.TXT"])), Ok(Chosen::Text(0)));
        assert_eq!(select_model_files(&paths(&["straightedge-gpt2.json"])), Ok(Chosen::Report(0)));
        assert_eq!(select_model_files(&paths(&["rows.safetensors"])), Ok(Chosen::Rows(0)));
        for list in [&[][..], &["a.txt", "b.txt"], &["model.safetensors"], &["a.json", "b.json"]] {
            assert!(matches!(select_model_files(&paths(list)), Err(Error::MissingFile { .. })), "{list:?}");
        }
    }
}
