//! Checks an untrusted `tokenizer.json` before it is handed to the crate `tokenizers`, which panics on some files, and
//! in a browser a panic ends the worker. \[tokenizers\]
//!
//! Components are recognised by their fields, because older files do not name their type.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::charsmap;
use super::pattern_check::{LONGEST_PATTERN, is_bounded};

/// The most components of one kind in a file.
const MOST_STEPS: usize = 64;
/// Characters of a refused regular expression in an error.
const SHOWN_PATTERN: usize = 40;
/// Bytes that may become of one byte of text. Albert's table after NFKD stays below 1 000.
const LARGEST_GROWTH: u64 = 1 << 12;
/// Bytes of the marks that tokens of a word may bear.
const LONGEST_MARK: usize = 64;
/// Characters of a word that WordPiece tries to split, which takes time with their square; BERT has 100.
const LONGEST_WORD: u64 = 1000;
/// Bytes of a token. The trie of a Unigram vocabulary is taken down recursively, and tokens of other models own their text.
const LONGEST_PIECE: usize = 1 << 10;
/// Bytes of a token's text that count as part of the text that it replaces, enough for the usual unknown tokens.
const USUAL_TOKEN: u64 = 16;
/// Bytes of all pieces of a Unigram vocabulary, whose trie takes about a hundred times as many; XLM-R's has 2 MB.
const LARGEST_VOCABULARY: usize = 1 << 24;

type Checked<T> = std::result::Result<T, String>;

/// Refuses a file that makes the crate panic, or take time or memory out of proportion. Returns the most bytes that one
/// byte of text can grow to, in text and tokens together.
pub(super) fn check(tree: &Value) -> Checked<u64> {
    is_record("model", &tree["model"])?;
    model(&tree["model"])?;
    added_tokens(&tree["added_tokens"])?;
    let mut growth = 1;
    for kind in ["normalizer", "pre_tokenizer"] {
        growth = component(kind, &tree[kind], &mut 0, growth)?;
    }
    component("decoder", &tree["decoder"], &mut 0, 1)?;
    Ok(growth * copied(&tree["model"]).div_ceil(USUAL_TOKEN).max(1))
}

/// Refuses lists: the crate reads some of them as objects by position, which this check does not model.
fn is_record(path: &str, value: &Value) -> Checked<()> {
    if value.is_object() || value.is_null() { Ok(()) } else { Err(format!("{path} is not a JSON object")) }
}

/// Checks a component and those within it; `growth` is what those before it make of a byte of text.
fn component(path: &str, value: &Value, steps: &mut usize, mut growth: u64) -> Checked<u64> {
    let refuse = |field: &str, why: &str| Err(format!("{path}.{field} {why}"));
    *steps += 1;
    if *steps > MOST_STEPS {
        return Err(format!("{path} is one of more than {MOST_STEPS} steps"));
    }
    is_record(path, value)?;
    if value["length"] == 0 {
        return refuse("length", "is 0");
    }
    if value["stop"].as_u64().is_some_and(|stop| stop > 0) {
        return refuse("stop", "is not 0, which is not supported");
    }
    if value["type"] == "CTC" {
        return refuse("type", "is CTC, which is for speech");
    }
    if value["prepend"] == "" {
        return refuse("prepend", "is empty");
    }
    let pattern = &value["pattern"];
    if pattern["String"] == "" || pattern["Regex"] == "" {
        return refuse("pattern", "is empty");
    }
    if ["String", "Regex"].iter().any(|kind| pattern[kind].as_str().is_some_and(|text| text.len() > LONGEST_PATTERN)) {
        return refuse("pattern", "is longer than 2 kB");
    }
    if let Some(pattern) = pattern["Regex"].as_str() {
        // Text inserted by an empty match has no source position, which later steps need.
        if value.get("content").is_some() && !always_matches_something(pattern) {
            return refuse("pattern", "can match nothing, or is not a plain regular expression");
        }
        if !is_bounded(pattern) {
            let start: String = pattern.chars().take(SHOWN_PATTERN).collect();
            return refuse("pattern", &format!("may take too long to match, which is not supported: {start}"));
        }
    }
    growth = growth.saturating_mul(own_growth(path, value)?);
    for list in ["normalizers", "pretokenizers", "decoders"] {
        for (index, inner) in value[list].as_array().into_iter().flatten().enumerate() {
            growth = component(&format!("{path}.{list}[{index}]"), inner, steps, growth)?;
        }
    }
    if growth > LARGEST_GROWTH {
        return Err(format!("{path} can make a text more than {LARGEST_GROWTH} times as long"));
    }
    Ok(growth)
}

/// The most bytes that a component alone makes of one byte. Those of Unicode's forms are in its report 15.
fn own_growth(path: &str, value: &Value) -> Checked<u64> {
    let len = |field: &str| value[field].as_str().map_or(0, str::len) as u64;
    if value["type"] == "Precompiled" || value.get("precompiled_charsmap").is_some() {
        let wrong = |why: &dyn ToString| format!("{path}.precompiled_charsmap cannot be used: {}", why.to_string());
        let table = value["precompiled_charsmap"].as_str().ok_or_else(|| wrong(&"it is no text"))?;
        let table = STANDARD.decode(table).map_err(|error| wrong(&error))?;
        return charsmap::growth(&table).map_err(|why| wrong(&why));
    }
    if let Some(pattern) = value["pattern"]["String"].as_str() {
        return Ok(len("content").div_ceil(pattern.len() as u64).max(1));
    }
    Ok(match value["type"].as_str() {
        Some("Replace") => len("content").max(1),
        Some("Prepend") => 1 + len("prepend"),
        Some("Metaspace") => 1 + len("replacement"),
        Some("NFKC" | "NFKD") => 11,
        Some("BertNormalizer") => 10,
        Some("NFC" | "NFD" | "Lowercase") => 3,
        Some("ByteLevel") => 3,
        Some(_) => 1,
        None => (1 + len("content")) * (1 + len("prepend")) * (1 + len("replacement")),
    })
}

/// Whether no match of a regular expression is empty.
fn always_matches_something(pattern: &str) -> bool {
    regex_syntax::parse(pattern).is_ok_and(|parsed| parsed.properties().minimum_len().is_none_or(|len| len > 0))
}

fn model(model: &Value) -> Checked<()> {
    if model["dropout"].as_f64().is_some_and(|dropout| dropout > 0.0) {
        return Err("its BPE dropout would make tokens random".into());
    }
    for field in ["continuing_subword_prefix", "end_of_word_suffix"] {
        if model[field].as_str().is_some_and(|mark| mark.len() > LONGEST_MARK) {
            return Err(format!("model.{field} is longer than {LONGEST_MARK} bytes"));
        }
    }
    if model["max_input_chars_per_word"].as_u64().is_some_and(|most| most > LONGEST_WORD) {
        return Err(format!("model.max_input_chars_per_word is more than {LONGEST_WORD}"));
    }
    if model["unk_token"].as_str().is_some_and(|token| token.len() > LONGEST_PIECE) {
        return Err(format!("model.unk_token is longer than {LONGEST_PIECE} bytes"));
    }
    pieces(&model["vocab"])?;
    merges(model)
}

/// Most bytes that a token may add to the text that it replaces: its marks, the text of the unknown token, or that of
/// another token with the same id.
fn copied(model: &Value) -> u64 {
    let len = |field: &str| model[field].as_str().map_or(0, str::len);
    let vocab = model["vocab"].as_object();
    // Lengths by id; a token whose id lies beyond the others counts as if it were shared.
    let (mut lens, mut longest) = (vec![0; vocab.map_or(0, |vocab| vocab.len())], len("unk_token"));
    for (token, id) in vocab.into_iter().flatten() {
        let place = id.as_u64().and_then(|id| lens.get_mut(usize::try_from(id).ok()?));
        let other = place.map_or(token.len(), |place| std::mem::replace(place, token.len()));
        if other > 0 {
            longest = longest.max(other).max(token.len());
        }
    }
    (longest + len("continuing_subword_prefix") + len("end_of_word_suffix")) as u64
}

/// The vocabulary: tokens with their ids, or for a Unigram model pairs of a piece and its score.
fn pieces(vocab: &Value) -> Checked<()> {
    if let Some((_, id)) = vocab.as_object().into_iter().flatten().find(|(token, _)| token.len() > LONGEST_PIECE) {
        return Err(format!("model.vocab[{id}] is longer than {LONGEST_PIECE} bytes"));
    }
    let mut bytes = 0;
    for (id, piece) in vocab.as_array().into_iter().flatten().enumerate() {
        let len = piece[0].as_str().map_or(0, str::len);
        if len > LONGEST_PIECE {
            return Err(format!("model.vocab[{id}] is longer than {LONGEST_PIECE} bytes"));
        }
        bytes += len;
    }
    if bytes > LARGEST_VOCABULARY {
        return Err("model.vocab holds more than 16 MB of text".into());
    }
    Ok(())
}

/// The two tokens of a merge, which older files write as one text.
pub(super) fn merge_parts(merge: &Value) -> Option<(&str, &str)> {
    match merge {
        Value::String(pair) => pair.split_once(' '),
        merge => Some((merge[0].as_str()?, merge[1].as_str()?)),
    }
}

/// Every merge must make one token of the vocabulary from two others.
fn merges(model: &Value) -> Checked<()> {
    let prefix = model["continuing_subword_prefix"].as_str().unwrap_or_default();
    let has = |token: &str| model["vocab"].get(token).is_some();
    let mut merged = String::new();
    for (rank, merge) in model["merges"].as_array().into_iter().flatten().enumerate() {
        let refuse = |why: &str| Err(format!("model.merges[{rank}] {why}"));
        let Some((left, right)) = merge_parts(merge) else {
            // The crate skips the version in the first line of a merges.txt.
            if merge.as_str().is_some_and(|line| line.starts_with("#version")) {
                continue;
            }
            return refuse("is not a pair of tokens");
        };
        let Some(continued) = right.strip_prefix(prefix) else {
            return refuse("lacks model.continuing_subword_prefix");
        };
        merged.clear();
        merged.push_str(left);
        merged.push_str(continued);
        if ![left, right, &*merged].into_iter().all(has) {
            return refuse("names a token that model.vocab lacks");
        }
    }
    Ok(())
}

/// Tokens that take the blanks around them must not overlap in the text, which those made of blanks do.
fn added_tokens(tokens: &Value) -> Checked<()> {
    let tokens = tokens.as_array().map(Vec::as_slice).unwrap_or_default();
    let is_long = |token: &Value| token["content"].as_str().is_some_and(|content| content.len() > LONGEST_PIECE);
    if let Some(index) = tokens.iter().position(is_long) {
        return Err(format!("added_tokens[{index}] is longer than {LONGEST_PIECE} bytes"));
    }
    let is_blank = |token: &Value| token["content"].as_str().is_some_and(|content| content.trim().is_empty());
    let blank = tokens.iter().position(|token| token["lstrip"] == true && is_blank(token));
    match blank {
        Some(index) if tokens.iter().any(|token| token["rstrip"] == true) => {
            Err(format!("added_tokens[{index}] is blank, and others take the blanks around them"))
        }
        _ => Ok(()),
    }
}
