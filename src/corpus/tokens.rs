//! Encodes and decodes text with a model's own `tokenizer.json`, as one stream without special tokens. \[tokenizers\]

use std::borrow::Cow;

use serde_json::Value;
use tokenizers::{NormalizedString, Normalizer};

use super::cuts::Cuts;
use super::guard::{failed, guarded};
use super::special_tokens::SpecialTokens;
use super::tokenizer_check::check;
use crate::error::{Error, Result};
use crate::job::Protocol;
use crate::platform::yielding::yield_now;

/// Bytes of text between two possible pauses of encoding.
const CHUNK: usize = 1 << 16;
/// Bytes of text encoded at once where it cannot be cut. Encoding takes up to 200 bytes for each.
const LARGEST_PIECE: usize = 1 << 22;
/// Bytes that a piece may become before it is encoded.
const LARGEST_NORMALIZED: u64 = 1 << 26;

/// A model's tokenizer.
pub struct Tokenizer {
    /// The file that it is told by in errors.
    file: &'static str,
    inner: tokenizers::Tokenizer,
    cuts: Cuts,
    /// Most bytes of text to encode at once.
    largest: usize,
    /// Whether tokens are byte-level: each byte is one character of GPT-2's table.
    spells_bytes: bool,
    /// The unknown token's id.
    unknown: Option<u32>,
    /// What it adds around a text by default.
    special: SpecialTokens,
}

impl Tokenizer {
    /// Reads an untrusted `tokenizer.json`. Truncation and padding are switched off: the text is one stream.
    pub fn from_json(json: &[u8]) -> Result<Self> {
        const FILE: &str = "tokenizer.json";
        Self::from_tree(FILE, serde_json::from_slice(json).map_err(|error| failed(FILE, &error))?)
    }

    /// A tokenizer from the content of a `tokenizer.json`, which was made from `file`.
    pub(super) fn from_tree(file: &'static str, mut tree: Value) -> Result<Self> {
        if !tree.is_object() {
            return Err(failed(file, &"it is not a JSON object"));
        }
        let special = SpecialTokens::of(&tree["post_processor"]).map_err(|why| failed(file, &why))?;
        // Special tokens are added only around pieces, and here.
        for unused in ["truncation", "padding", "post_processor"] {
            tree[unused] = Value::Null;
        }
        let growth = check(&tree).map_err(|why| failed(file, &why))?;
        // Rewritten, so that no field occurs twice: only the last one was checked.
        let json = tree.to_string();
        let inner = guarded(file, || tokenizers::Tokenizer::from_bytes(json.as_bytes()).and_then(without_vanishing))?;
        let unknown = tree["model"]["unk_token"].as_str().and_then(|token| inner.token_to_id(token));
        let largest = LARGEST_PIECE.min((LARGEST_NORMALIZED / growth) as usize);
        Ok(Self {
            file,
            inner,
            cuts: Cuts::of(&tree),
            largest,
            spells_bytes: spells_bytes(&tree["decoder"]),
            unknown,
            special,
        })
    }

    /// The id of the unknown token, if the vocabulary has one.
    pub fn unknown(&self) -> Option<u32> {
        self.unknown
    }

    /// The id of a token by its content.
    pub fn id(&self, token: &str) -> Option<u32> {
        self.inner.token_to_id(token)
    }

    /// Decodes token ids, special tokens included; invalid bytes become U+FFFD.
    pub fn decode(&self, ids: &[u32]) -> Result<String> {
        // The crate fails on nothing to decode.
        if ids.iter().all(|id| self.inner.id_to_token(*id).is_none()) {
            return Ok(String::new());
        }
        guarded(self.file, || self.inner.decode(ids, false))
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
        self.encode_start(corpus, bytes, usize::MAX, &|_, _| {}).await
    }

    /// Encodes the beginning of a text: until there are `enough` tokens, or to its end. `on_bytes` receives the bytes
    /// done and the total.
    pub async fn encode_start(
        &self,
        corpus: &str,
        bytes: &[u8],
        enough: usize,
        on_bytes: &dyn Fn(u64, u64),
    ) -> Result<Vec<u32>> {
        self.encode_in_pieces(corpus, bytes, CHUNK, enough, on_bytes).await
    }

    /// Cuts a text into pieces of `piece_chars` characters and encodes each by itself, with the tokenizer's own special
    /// tokens. Returns the first `seq_len` tokens of every piece that has as many, for at most `rows` tokens.
    pub async fn encode_pieces(
        &self,
        corpus: &str,
        bytes: &[u8],
        protocol: &Protocol,
        on_bytes: &dyn Fn(u64, u64),
    ) -> Result<Vec<u32>> {
        let text = utf8(corpus, bytes)?;
        let (text, mut ids, mut done) = (with_line_feeds(text), Vec::new(), 0);
        while done < text.len() && ids.len() + protocol.seq_len <= protocol.rows {
            let rest = &text[done..];
            let end = rest.char_indices().nth(protocol.piece_chars).map_or(rest.len(), |(at, _)| at);
            if end > self.largest {
                return Err(Error::UncutText { corpus: corpus.into(), megabytes: end.div_ceil(1 << 20) });
            }
            let piece = [&self.special.before[..], &self.whole(&rest[..end])?, &self.special.after].concat();
            ids.extend(piece.get(..protocol.seq_len).unwrap_or_default());
            done += end;
            on_bytes(done as u64, text.len() as u64);
            yield_now().await;
        }
        Ok(ids)
    }

    async fn encode_in_pieces(
        &self,
        corpus: &str,
        bytes: &[u8],
        size: usize,
        enough: usize,
        on_bytes: &dyn Fn(u64, u64),
    ) -> Result<Vec<u32>> {
        let text = utf8(corpus, bytes)?;
        let (mut ids, mut done) = (Vec::new(), 0);
        while done < text.len() && ids.len() < enough {
            let end = self.cuts.end(&text[done..], size.min(self.largest), self.largest);
            let end = end.ok_or_else(|| {
                let (corpus, megabytes) = (corpus.into(), (text.len() - done).div_ceil(1 << 20));
                match self.cuts {
                    Cuts::Never => Error::WholeText { corpus, megabytes, most: self.largest >> 20 },
                    _ => Error::UncutText { corpus, megabytes },
                }
            })?;
            let before = text[..done].chars().next_back();
            ids.extend(self.piece(before, &text[done..done + end])?);
            done += end;
            on_bytes(done as u64, bytes.len() as u64);
            yield_now().await;
        }
        Ok(ids)
    }

    /// The tokens of a piece of text that follows the character `before`.
    fn piece(&self, before: Option<char>, piece: &str) -> Result<Vec<u32>> {
        let Some(before) = before.map(String::from) else { return self.whole(piece) };
        let known = self.whole(&before)?.len();
        let mut ids = self.whole(&(before + piece))?;
        ids.drain(..known.min(ids.len()));
        Ok(ids)
    }

    fn whole(&self, text: &str) -> Result<Vec<u32>> {
        let encode = || self.inner.encode_fast(with_line_feeds(text), false);
        guarded(self.file, || encode().map(|found| found.get_ids().to_vec()))
    }
}

fn utf8<'a>(corpus: &str, bytes: &'a [u8]) -> Result<&'a str> {
    std::str::from_utf8(bytes).map_err(|error| Error::NotUtf8 { corpus: corpus.into(), byte: error.valid_up_to() })
}

/// Refuses a tokenizer with an added token that its normalizer makes nothing of: the crate then finds it everywhere, also
/// within a character, and panics.
fn without_vanishing(inner: tokenizers::Tokenizer) -> tokenizers::Result<tokenizers::Tokenizer> {
    let Some(normalizer) = inner.get_normalizer() else { return Ok(inner) };
    for token in inner.get_added_tokens_decoder().values().filter(|token| token.normalized) {
        let mut content = NormalizedString::from(&*token.content);
        normalizer.normalize(&mut content)?;
        if content.get().is_empty() {
            return Err(format!("the normalizer makes nothing of the added token {:?}", token.content).into());
        }
    }
    Ok(inner)
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

#[cfg(test)]
impl Tokenizer {
    /// The tokens of a text cut where it may be, and the number of pieces.
    pub(super) fn in_pieces(&self, text: &str, size: usize) -> (Vec<u32>, usize) {
        let pieces = std::cell::Cell::new(0);
        let count = |_, _| pieces.set(pieces.get() + 1);
        let encoded = self.encode_in_pieces("text", text.as_bytes(), size, usize::MAX, &count);
        (futures::executor::block_on(encoded).expect("an encoding"), pieces.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_end_is_a_line_feed() {
        assert_eq!(with_line_feeds("a\r\n\r\nb\rc\n\rd"), "a\n\nb\nc\n\nd");
        assert!(matches!(with_line_feeds("a\nb"), Cow::Borrowed("a\nb")));
    }
}
