//! Decodes token ids one by one into text; a character appears only when all of its bytes have arrived.

use super::Tokenizer;
use crate::continuation::Token;
use crate::error::Result;

/// Context tokens decoded along with new ones, because the start of a text may decode differently.
const CONTEXT_TOKENS: usize = 4;
/// Most tokens that wait for the rest of a character, which has at most four UTF-8 bytes.
const MOST_WAITING: usize = 4;

/// Incremental decoder of a growing text.
#[derive(Clone, Debug)]
pub struct IncrementalDecoder {
    /// The last decoded tokens, then those still waiting.
    ids: Vec<u32>,
    /// Number of decoded ones among them.
    decoded: usize,
}

impl IncrementalDecoder {
    /// A decoder after `ids`, which must end with a whole character.
    pub fn after(ids: &[u32]) -> Self {
        let ids = ids[ids.len().saturating_sub(CONTEXT_TOKENS)..].to_vec();
        Self { decoded: ids.len(), ids }
    }

    /// Appends a token and returns it with the text it completes.
    pub fn push(&mut self, tokenizer: &Tokenizer, id: u32) -> Result<Token> {
        self.ids.push(id);
        let (before, all) = (tokenizer.decode(&self.ids[..self.decoded])?, tokenizer.decode(&self.ids)?);
        let is_whole = !all.ends_with(char::REPLACEMENT_CHARACTER) || self.ids.len() - self.decoded >= MOST_WAITING;
        let text = if is_whole { added(&before, &all) } else { String::new() };
        if is_whole {
            self.ids.drain(..self.ids.len().saturating_sub(CONTEXT_TOKENS));
            self.decoded = self.ids.len();
        }
        Ok(Token { id, name: tokenizer.name(id), text })
    }
}

/// The part of `all` after their common prefix with `before`.
fn added(before: &str, all: &str) -> String {
    let common = before.char_indices().zip(all.chars()).find(|((_, a), b)| a != b);
    let end = common.map_or(before.len().min(all.len()), |((at, _), _)| at);
    all[end..].into()
}

#[cfg(test)]
mod tests {
    use pollster::block_on;

    use super::*;

    fn demo() -> Tokenizer {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/web/models/demo-gpt2/tokenizer.json");
        Tokenizer::from_json(&std::fs::read(file).expect("a file")).expect("a tokenizer")
    }

    #[test]
    fn the_pieces_of_any_text_are_that_text_and_no_character_comes_half() {
        let tokenizer = demo();
        let text = " Ein Löffel – „zwölf“ 🦉 日本 e\u{301}\n\nend";
        let ids = block_on(tokenizer.encode("text", text.as_bytes())).expect("ids");
        assert!(ids.len() > text.chars().count() / 2, "single bytes are among them");
        let prompt = block_on(tokenizer.encode("text", b"Once")).expect("ids");
        let mut decoder = IncrementalDecoder::after(&prompt);
        let tokens: Vec<Token> = ids.iter().map(|id| decoder.push(&tokenizer, *id).expect("a piece")).collect();
        assert_eq!(tokens.iter().map(|token| token.text.as_str()).collect::<String>(), text);
        assert!(tokens.iter().any(|token| token.text.is_empty()), "a character of several tokens");
        assert!(tokens.iter().all(|token| !token.text.contains(char::REPLACEMENT_CHARACTER)), "{tokens:?}");
        let owl: Vec<&str> =
            tokens.iter().map(|token| token.name.as_str()).filter(|name| name.contains("0x")).collect();
        assert!(owl.contains(&"0xF0"), "{owl:?}");
    }

    #[test]
    fn bytes_that_are_no_character_are_told_as_such_and_hold_nothing_up() {
        let tokenizer = demo();
        let owl = block_on(tokenizer.encode("text", "🦉".as_bytes())).expect("ids");
        let mut decoder = IncrementalDecoder::after(&[]);
        let mut text = String::new();
        for id in [owl[0], owl[0], owl[0], owl[0], owl[0]] {
            text += &decoder.push(&tokenizer, id).expect("a piece").text;
        }
        assert!(!text.is_empty() && text.chars().all(|c| c == char::REPLACEMENT_CHARACTER), "{text:?}");
        let word = block_on(tokenizer.encode("text", b" owl")).expect("ids");
        for id in word {
            text += &decoder.push(&tokenizer, id).expect("a piece").text;
        }
        assert!(text.ends_with(" owl"), "{text:?}");
    }
}
