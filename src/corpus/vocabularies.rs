//! Gives the `tokenizer.json` that stands for the older files of a vocabulary: `vocab.json` with `merges.txt`, or
//! `vocab.txt`.

use serde_json::{Map, Value, json};

use super::cuts::KNOWN_PATTERNS;

/// The names of special tokens in `tokenizer_config.json`.
const SPECIAL: [&str; 7] = ["bos_token", "eos_token", "unk_token", "pad_token", "cls_token", "sep_token", "mask_token"];
/// Special tokens where no file names them: those of GPT-2, RoBERTa and OPT, and BERT.
const USUAL: [&str; 11] =
    ["<|endoftext|>", "<s>", "</s>", "<unk>", "<pad>", "<mask>", "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];

/// Byte-level BPE, as of GPT-2, OPT, GPT-Neo, RoBERTa and Qwen2.
pub(super) fn byte_pairs(vocab: Map<String, Value>, merges: &str, config: &Value) -> Result<Value, String> {
    let missing = byte_alphabet().filter(|letter| !vocab.contains_key(&letter.to_string())).count();
    if missing > 0 {
        return Err(format!("it is no byte-level vocabulary, {missing} of 256 bytes are missing"));
    }
    let lines = merges.lines().filter(|line| !line.starts_with("#version") && !line.trim().is_empty());
    let merges: Vec<_> = lines.map(|line| line.split_once(' ').map(|(left, right)| [left, right])).collect();
    let merges: Vec<_> =
        merges.into_iter().collect::<Option<_>>().ok_or("a line of merges.txt is no pair of tokens")?;
    let adds_space = config["add_prefix_space"] == true;
    let bytes = |splits: bool| json!({"type": "ByteLevel", "add_prefix_space": adds_space, "trim_offsets": true, "use_regex": splits});
    let is_qwen = config["tokenizer_class"].as_str().is_some_and(|class| class.starts_with("Qwen2"));
    let words =
        json!({"type": "Split", "pattern": {"Regex": KNOWN_PATTERNS[1]}, "behavior": "Isolated", "invert": false});
    let (normalizer, pre_tokenizer) = match is_qwen {
        true => (json!({"type": "NFC"}), json!({"type": "Sequence", "pretokenizers": [words, bytes(false)]})),
        false => (Value::Null, bytes(true)),
    };
    Ok(json!({
        "version": "1.0",
        "added_tokens": added(config, &vocab),
        "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer,
        "decoder": bytes(true),
        "model": {"type": "BPE", "fuse_unk": false, "byte_fallback": false, "vocab": vocab, "merges": merges},
    }))
}

/// WordPiece, as of BERT: a token per line.
pub(super) fn word_pieces(vocab: &str, config: &Value) -> Result<Value, String> {
    let vocab = vocab.replace("\r\n", "\n");
    let lines = vocab.strip_suffix('\n').unwrap_or(&vocab).split('\n').enumerate();
    let vocab: Map<_, _> = lines.map(|(id, token)| (token.to_owned(), json!(id))).collect();
    let unknown = special_token(&config["unk_token"]).unwrap_or("[UNK]");
    if !vocab.contains_key(unknown) {
        return Err(format!("it lacks the unknown token {unknown}"));
    }
    let or = |field: &str, usual: bool| config[field].as_bool().unwrap_or(usual);
    Ok(json!({
        "version": "1.0",
        "added_tokens": added(config, &vocab),
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": true,
            "handle_chinese_chars": or("tokenize_chinese_chars", true),
            "strip_accents": config["strip_accents"].as_bool(),
            "lowercase": or("do_lower_case", true),
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
        "model": {
            "type": "WordPiece",
            "unk_token": unknown,
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100,
            "vocab": vocab,
        },
    }))
}

/// A token of `tokenizer_config.json`, which is a text or an object.
pub fn special_token(token: &Value) -> Option<&str> {
    token.as_str().or_else(|| token["content"].as_str())
}

/// The tokens found in a text before anything else, in the order of their ids.
fn added(config: &Value, vocab: &Map<String, Value>) -> Vec<Value> {
    let flags = |content: &str| {
        json!({"content": content, "single_word": false, "lstrip": content == "<mask>", "rstrip": false,
            "normalized": false, "special": true})
    };
    let mut tokens: Vec<(u64, Value)> = match config["added_tokens_decoder"].as_object() {
        Some(listed) => listed.iter().filter_map(|(id, token)| Some((id.parse().ok()?, token.clone()))).collect(),
        None => {
            let named = SPECIAL.into_iter().filter_map(|name| special_token(&config[name])).chain(USUAL);
            named.filter_map(|token| Some((vocab.get(token)?.as_u64()?, flags(token)))).collect()
        }
    };
    tokens.sort_by_key(|(id, _)| *id);
    tokens.dedup_by_key(|(id, _)| *id);
    let with_id = tokens.into_iter().filter_map(|(id, mut token)| {
        token.as_object_mut()?.insert("id".into(), json!(id));
        Some(token)
    });
    with_id.collect()
}

/// The characters that stand for bytes in GPT-2's vocabulary.
fn byte_alphabet() -> impl Iterator<Item = char> {
    ('!'..='~').chain('\u{a1}'..='\u{ac}').chain('\u{ae}'..='\u{143}')
}
