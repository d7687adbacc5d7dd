//! The model's beginning-of-sequence token.

use serde_json::Value;

use super::tokenizer::tokenizer;
use crate::corpus::special_token;
use crate::error::{Error, Result};
use crate::weights::{Files, read_whole};

/// The id of the token, below `vocab_size`: of `config.json` or `generation_config.json`, or else of the name in
/// `tokenizer_config.json`.
pub(super) async fn token(files: &dyn Files, vocab_size: usize) -> Result<u32> {
    let mut found = None;
    for file in ["config.json", "generation_config.json"] {
        if found.is_none() {
            found = id(&json(files, file).await?["bos_token_id"]);
        }
    }
    if found.is_none()
        && let Some(name) = special_token(&json(files, "tokenizer_config.json").await?["bos_token"])
    {
        found = tokenizer(files).await?.id(name);
    }
    let refused = |value: String, hint: &str| Error::InvalidSetting { field: "--bos".into(), value, hint: hint.into() };
    match found {
        Some(id) if (id as usize) < vocab_size => Ok(id),
        Some(id) => {
            Err(refused(format!("token {id}"), "the vocabulary of the model ends before it, measure without it"))
        }
        None => {
            let hint = "config.json, generation_config.json and tokenizer_config.json name no beginning-of-sequence token, measure without it";
            Err(refused("a first token for this model".into(), hint))
        }
    }
}

/// An id, or the first of several.
fn id(value: &Value) -> Option<u32> {
    u32::try_from(value.as_u64().or_else(|| value[0].as_u64())?).ok()
}

/// A JSON file, or null if there is none.
async fn json(files: &dyn Files, file: &str) -> Result<Value> {
    match files.size(file).await? {
        None => Ok(Value::Null),
        Some(_) => serde_json::from_slice(&read_whole(files, file, "").await?)
            .map_err(|error| Error::MalformedJson { file: file.into(), why: error.to_string() }),
    }
}
