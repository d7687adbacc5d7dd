//! Encodes and decodes text with a model's own `tokenizer.json`, as one stream without special tokens. \[tokenizers\]

use std::borrow::Cow;

use serde_json::Value;

use crate::error::{Error, Result};
use crate::platform::yielding::yield_now;

/// Bytes of text between two possible pauses of encoding.
const CHUNK: usize = 1 << 16;

/// A model's tokenizer.
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    /// Whether a text can be cut between a letter or digit and a space without changing a token.
    cuttable: bool,
    /// Whether tokens are byte-level: each byte is one character of GPT-2's table.
    spells_bytes: bool,
    /// The unknown token's id.
    unknown: Option<u32>,
}

impl Tokenizer {
    /// Reads an untrusted `tokenizer.json`. Truncation and padding are switched off: the text is one stream.
    pub fn from_json(json: &[u8]) -> Result<Self> {
        let failed = |error: &dyn ToString| Error::Tokenizer { why: error.to_string() };
        let tree: Value = serde_json::from_slice(json).map_err(|error| failed(&error))?;
        if tree["model"]["dropout"].as_f64().is_some_and(|dropout| dropout > 0.0) {
            return Err(failed(&"its BPE dropout would make tokens random"));
        }
        let mut inner = tokenizers::Tokenizer::from_bytes(json).map_err(|error| failed(&error))?;
        inner.with_truncation(None).map_err(|error| failed(&error))?;
        inner.with_padding(None);
        let unknown = tree["model"]["unk_token"].as_str().and_then(|token| inner.token_to_id(token));
        Ok(Self { inner, cuttable: is_cuttable(&tree), spells_bytes: spells_bytes(&tree["decoder"]), unknown })
    }

    /// The id of the unknown token, if the vocabulary has one.
    pub fn unknown(&self) -> Option<u32> {
        self.unknown
    }

    /// Decodes token ids, special tokens included; invalid bytes become U+FFFD.
    pub fn decode(&self, ids: &[u32]) -> Result<String> {
        self.inner.decode(ids, false).map_err(|error| Error::Tokenizer { why: error.to_string() })
    }

    /// A token for display: its characters, its bytes if they are not valid UTF-8, or `#id` if there is no such token.
    pub fn name(&self, id: u32) -> String {
        let Some(token) = self.inner.id_to_token(id) else { return format!("#{id}") };
        // SentencePiece's mark for a space.
        let bytes = if self.spells_bytes { token.chars().map(spelled_byte).collect() } else { None::<Vec<u8>> };
        match bytes.map(String::from_utf8) {
            None => token.replace('\u{2581}', " "),
            Some(Ok(text)) => text,
            Some(Err(bytes)) => {
                let bytes = bytes.into_bytes();
                bytes.iter().map(|byte| format!("0x{byte:02X}")).collect::<Vec<_>>().join(" ")
            }
        }
    }

    /// Encodes UTF-8 bytes; `corpus` names the text in errors. Every line end is read as a line feed.
    pub async fn encode(&self, corpus: &str, bytes: &[u8]) -> Result<Vec<u32>> {
        self.encode_with_listener(corpus, bytes, &|_, _| {}).await
    }

    /// [`Tokenizer::encode`] with a callback that receives the bytes done and the total.
    pub async fn encode_with_listener(
        &self,
        corpus: &str,
        bytes: &[u8],
        on_bytes: &dyn Fn(u64, u64),
    ) -> Result<Vec<u32>> {
        self.encode_in_chunks(corpus, bytes, CHUNK, on_bytes).await
    }

    async fn encode_in_chunks(
        &self,
        corpus: &str,
        bytes: &[u8],
        size: usize,
        on_bytes: &dyn Fn(u64, u64),
    ) -> Result<Vec<u32>> {
        let mut rest = std::str::from_utf8(bytes)
            .map_err(|error| Error::NotUtf8 { corpus: corpus.into(), byte: error.valid_up_to() })?;
        let mut ids = Vec::new();
        while !rest.is_empty() {
            let end = if self.cuttable { cut_after(rest, size) } else { rest.len() };
            let (chunk, after) = rest.split_at(end);
            let encoding = self.inner.encode_fast(with_line_feeds(chunk), false);
            ids.extend_from_slice(encoding.map_err(|error| Error::Tokenizer { why: error.to_string() })?.get_ids());
            rest = after;
            on_bytes((bytes.len() - rest.len()) as u64, bytes.len() as u64);
            yield_now().await;
        }
        Ok(ids)
    }
}

/// Normalises line ends as the reference implementations do: `\r\n` and `\r` become `\n`.
fn with_line_feeds(text: &str) -> Cow<'_, str> {
    if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n").into() } else { text.into() }
}

/// Reads a flat JSON array of token ids; `file` names it in errors.
pub fn parse_token_ids(file: &str, json: &[u8]) -> Result<Vec<u32>> {
    serde_json::from_slice(json)
        .map_err(|error| Error::MalformedJson { file: file.into(), why: format!("a flat list of token ids: {error}") })
}

/// Refuses ids outside the vocabulary.
pub fn check_ids(corpus: &str, ids: &[u32], vocab_size: usize) -> Result<()> {
    match ids.iter().position(|&id| id as usize >= vocab_size) {
        Some(position) => {
            Err(Error::TokenOutOfRange { corpus: corpus.into(), position, id: ids[position], vocab_size })
        }
        None => Ok(()),
    }
}

/// The first place at or after `size` bytes between an ASCII letter or digit and a space; else the end.
fn cut_after(text: &str, size: usize) -> usize {
    let is_cut = |pair: &[u8]| pair[0].is_ascii_alphanumeric() && pair[1] == b' ';
    let start = size.clamp(1, text.len()) - 1;
    text.as_bytes()[start..].windows(2).position(is_cut).map_or(text.len(), |found| start + found + 1)
}

/// Whether a decoder is byte-level or contains a byte-level one.
fn spells_bytes(decoder: &Value) -> bool {
    decoder["type"] == "ByteLevel" || decoder["decoders"].as_array().is_some_and(|all| all.iter().any(spells_bytes))
}

/// The byte of a character in GPT-2's table: printable bytes map to themselves, the others to U+0100 onwards.
fn spelled_byte(character: char) -> Option<u8> {
    let is_seen = |byte: &u8| matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
    match u32::from(character) {
        code @ 0..=0xff => u8::try_from(code).ok().filter(is_seen),
        code => (0..=u8::MAX).filter(|byte| !is_seen(byte)).nth(code as usize - 0x100),
    }
}

/// Whether cutting a text between an ASCII letter or digit and a space provably changes no token.
///
/// This holds if normalisation does not look across the cut, no added token spans it or depends on its neighbours, and
/// the pre-tokenizer always splits there without looking beyond the space. Only forms for which this has been shown are
/// listed; any other tokenizer encodes the whole text at once.
fn is_cuttable(tree: &Value) -> bool {
    let normalizer = matches!(tree["normalizer"]["type"].as_str(), None | Some("NFC" | "BertNormalizer"));
    let added = tree["added_tokens"].as_array().is_none_or(|tokens| tokens.iter().all(stays_on_one_side));
    normalizer && added && separates_words(&tree["pre_tokenizer"])
}

/// Whether matching an added token is independent of the text beyond a cut.
fn stays_on_one_side(token: &Value) -> bool {
    let content = token["content"].as_str().unwrap_or_default();
    let spans = content.as_bytes().windows(2).any(|pair| pair[0].is_ascii_alphanumeric() && pair[1] == b' ');
    !spans && token["rstrip"] == false && token["single_word"] == false
}

/// Whether the pre-tokenizer always splits between a letter or digit and a space.
fn separates_words(pre_tokenizer: &Value) -> bool {
    match pre_tokenizer["type"].as_str() {
        Some("BertPreTokenizer") => true,
        Some("ByteLevel") => pre_tokenizer["use_regex"] != false,
        Some("Sequence") => match pre_tokenizer["pretokenizers"].as_array().map(Vec::as_slice) {
            Some([split, bytes]) => {
                is_known_split(split) && bytes["type"] == "ByteLevel" && bytes["use_regex"] == false
            }
            _ => false,
        },
        _ => false,
    }
}

/// The split patterns of Llama 3 and Qwen2: a match ending in a letter or digit never continues with a space.
fn is_known_split(split: &Value) -> bool {
    let pattern = split["pattern"]["Regex"].as_str().unwrap_or_default();
    split["type"] == "Split"
        && split["behavior"] == "Isolated"
        && split["invert"] == false
        && KNOWN_PATTERNS.contains(&pattern)
}

const KNOWN_PATTERNS: [&str; 2] = [
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
];

#[cfg(test)]
mod tests {
    use futures::executor::block_on;
    use serde_json::json;

    use super::*;

    /// Words, runs of blanks, line ends, punctuation, digits, accents apart from their letters, and a special token.
    const TEXT: &str = "a b  c   d\n e \n\n f1 23 4567 x's y 've \u{e9}t\u{e9} e\u{301} \u{301}z 中文 q <s> <s>r s<s> t,u . v\t w \r\n x\u{a0}y  z ";

    fn byte_level(pre_tokenizer: Value) -> Value {
        let alphabet: Vec<char> = ('!'..='~').chain('\u{a1}'..='\u{ac}').chain('\u{ae}'..='\u{143}').collect();
        let mut vocab: serde_json::Map<String, Value> =
            alphabet.iter().enumerate().map(|(id, letter)| (letter.to_string(), json!(id))).collect();
        for pair in ["Ġa", "Ġb", "ĠĠ", "ĊĠ", "Ġf", "23", "Ġx", "'s", "Ġq", "zĠ"] {
            vocab.insert(pair.into(), json!(vocab.len()));
        }
        let merges = ["Ġ a", "Ġ b", "Ġ Ġ", "Ċ Ġ", "Ġ f", "2 3", "Ġ x", "' s", "Ġ q", "z Ġ"];
        let special = json!({"id": vocab.len(), "content": "<s>", "single_word": false, "lstrip": true, "rstrip": false,
            "normalized": false, "special": true});
        json!({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [special], "normalizer": {"type": "NFC"},
            "pre_tokenizer": pre_tokenizer, "post_processor": null, "decoder": null,
            "model": {"type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
                "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "vocab": vocab, "merges": merges}})
    }

    fn encode(tree: &Value, chunk: usize, cuttable: bool) -> Vec<u32> {
        let mut tokenizer = Tokenizer::from_json(tree.to_string().as_bytes()).expect("tokenizer");
        assert_eq!(tokenizer.cuttable, cuttable, "{}", tree["pre_tokenizer"]);
        tokenizer.cuttable = true;
        block_on(tokenizer.encode_in_chunks("text", TEXT.as_bytes(), chunk, &|_, _| {})).expect("encoding")
    }

    fn bytes_after(pattern: &str) -> Value {
        let split = json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false});
        let bytes = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false});
        json!({"type": "Sequence", "pretokenizers": [split, bytes]})
    }

    #[test]
    fn cutting_changes_no_token_where_it_is_allowed() {
        let gpt2 = |prefix: bool| json!({"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": true});
        for words in [gpt2(false), gpt2(true), bytes_after(KNOWN_PATTERNS[0]), bytes_after(KNOWN_PATTERNS[1])] {
            let tree = byte_level(words);
            let whole = encode(&tree, usize::MAX, true);
            assert!(whole.len() > 60);
            assert_eq!(whole, encode(&tree, 1, true), "{}", tree["pre_tokenizer"]);
        }
    }

    #[test]
    fn a_tokenizer_without_words_is_not_cut() {
        // One word across blanks: "z Ġ" merges across a cut, so that a forced cut becomes visible.
        let tree = byte_level(bytes_after(r"[^x]+|x"));
        assert_ne!(encode(&tree, usize::MAX, false), encode(&tree, 1, false));
        let mut spanning = byte_level(json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true}));
        assert!(is_cuttable(&spanning));
        spanning["added_tokens"][0]["content"] = json!("b  c");
        assert!(!is_cuttable(&spanning));
        spanning["added_tokens"][0]["content"] = json!("<s>");
        spanning["added_tokens"][0]["rstrip"] = json!(true);
        assert!(!is_cuttable(&spanning));
    }

    #[test]
    fn every_line_end_is_a_line_feed() {
        assert_eq!(with_line_feeds("a\r\n\r\nb\rc\n\rd"), "a\n\nb\nc\n\nd");
        assert!(matches!(with_line_feeds("a\nb"), Cow::Borrowed("a\nb")));
    }

    #[test]
    fn cuts_lie_between_a_letter_and_a_space() {
        assert_eq!(cut_after("ab cd e", 1), 2);
        assert_eq!(cut_after("ab cd e", 3), 5);
        assert_eq!(cut_after("ab cd e", 6), 7);
        assert_eq!(cut_after("ab", 100), 2);
        assert_eq!(cut_after("é. ü", 1), 6);
    }
}
