//! Which files hold a model's tokenizer, and the tokenizer that they make.

use serde_json::Value;

use super::guard::failed;
use super::tokens::Tokenizer;
use super::{sentencepiece, vocabularies};
use crate::error::{Error, Result};

/// The kinds of files that hold a tokenizer, the preferred ones first. Each is needed but the configuration, which is read
/// if it is there.
pub const TOKENIZER_KINDS: [&[&str]; 4] =
    [&["tokenizer.json"], &["vocab.json", "merges.txt", CONFIG], &["tokenizer.model", CONFIG], &["vocab.txt", CONFIG]];
const CONFIG: &str = "tokenizer_config.json";
/// Bytes of one of these files; the `tokenizer.json` of Gemma 3 has 33 MB.
const LARGEST: u64 = 1 << 27;

/// The files of a tokenizer among those of a model; `None` if it has none.
pub fn tokenizer_files(has: impl Fn(&str) -> bool) -> Option<Vec<&'static str>> {
    let is_whole = |kind: &&&[&str]| kind.iter().all(|file| *file == CONFIG || has(file));
    Some(TOKENIZER_KINDS.iter().find(is_whole)?.iter().copied().filter(|file| has(file)).collect())
}

/// Refuses a file of a tokenizer that is too large to be one.
pub fn check_tokenizer_size(file: &str, size: u64) -> Result<()> {
    if size > LARGEST { Err(failed(file, &"it is larger than 128 MB")) } else { Ok(()) }
}

impl Tokenizer {
    /// The tokenizer of untrusted files, which are those of [`tokenizer_files`] with their content.
    pub fn from_files(files: &[(&str, Vec<u8>)]) -> Result<Self> {
        let find = |name: &str| files.iter().find(|(file, _)| *file == name).map(|(_, bytes)| &**bytes);
        let config = find(CONFIG).map_or(Ok(Value::Null), |bytes| json(CONFIG, bytes))?;
        let (file, tree) = match files.first() {
            Some(("tokenizer.json", bytes)) => return Self::from_json(bytes),
            Some(("vocab.json", bytes)) => {
                let merges = text("merges.txt", find("merges.txt").unwrap_or_default())?;
                let Value::Object(vocab) = json("vocab.json", bytes)? else {
                    return Err(failed("vocab.json", &"it is no list of tokens with their ids"));
                };
                ("vocab.json", vocabularies::byte_pairs(vocab, merges, &config))
            }
            Some(("tokenizer.model", bytes)) => ("tokenizer.model", sentencepiece::tree(bytes).map_err(String::from)),
            Some(("vocab.txt", bytes)) => ("vocab.txt", vocabularies::word_pieces(text("vocab.txt", bytes)?, &config)),
            _ => {
                let hint = "put the model's tokenizer.json beside config.json, or vocab.json with merges.txt, tokenizer.model or vocab.txt, or name another model with --tokenizer";
                return Err(Error::MissingFile { file: "tokenizer.json".into(), hint: hint.into() });
            }
        };
        Self::from_tree(file, tree.map_err(|why| failed(file, &why))?)
    }
}

fn json(file: &str, bytes: &[u8]) -> Result<Value> {
    serde_json::from_slice(bytes).map_err(|error| Error::MalformedJson { file: file.into(), why: error.to_string() })
}

fn text<'a>(file: &str, bytes: &'a [u8]) -> Result<&'a str> {
    std::str::from_utf8(bytes).map_err(|_| failed(file, &"it is not UTF-8"))
}
