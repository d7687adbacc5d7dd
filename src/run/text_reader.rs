//! A text as the windows of token ids that a protocol cuts it into.

use crate::corpus::{TokenWindows, check_ids};
use crate::error::{Error, Result};
use crate::job::Protocol;
use crate::model::ModelConfig;
use crate::report::CorpusInfo;
use crate::weights::Files;

use super::bos;
use super::events::StageMeter;
use super::inputs::Text;
use super::tokenizer::tokenizer;

/// Texts up to this many bytes are read to the end, so that the report has their number of tokens.
const READ_WHOLE: usize = 1 << 22;

/// Reads texts with a model's tokenizer. Errors and reports call a text by a `name`.
pub(super) struct TextReader<'a> {
    pub(super) files: &'a dyn Files,
    pub(super) config: &'a ModelConfig,
    pub(super) protocol: &'a Protocol,
}

impl TextReader<'_> {
    /// The text cut into windows, and what the report says of it.
    pub(super) async fn read(&self, name: &str, text: &Text, meter: &StageMeter) -> Result<(CorpusInfo, TokenWindows)> {
        let ids = self.token_ids(name, text, &|done, total| meter.report(done, total)).await?;
        let corpus = CorpusInfo { id: name.into(), sha256: Some(text.sha256()), tokens: ids.len() };
        Ok((corpus, self.windows(name, ids).await?))
    }

    /// The windows of a text, which begin with the model's beginning-of-sequence token if the protocol says so.
    pub(super) async fn windows(&self, name: &str, ids: Vec<u32>) -> Result<TokenWindows> {
        let bos = if self.protocol.bos { Some(bos::token(self.files, self.config.vocab_size).await?) } else { None };
        TokenWindows::after(name, ids, self.protocol, bos)
    }

    /// The token ids of a text, checked against the vocabulary. A long text is read only as far as its rows need.
    pub(super) async fn token_ids(&self, name: &str, text: &Text, on_bytes: &dyn Fn(u64, u64)) -> Result<Vec<u32>> {
        let Protocol { rows, folds, seq_len, piece_chars, .. } = *self.protocol;
        let ids = match text {
            Text::Tokens(_) if piece_chars > 0 => {
                return Err(self.unusable_pieces("token ids have no characters, give a text".into()));
            }
            Text::Tokens(ids) => ids.clone(),
            Text::Plain(bytes) if piece_chars > 0 => {
                let ids = tokenizer(self.files).await?.encode_pieces(name, bytes, self.protocol, on_bytes).await?;
                if ids.is_empty() && !bytes.is_empty() {
                    let hint = format!("no piece has {seq_len} tokens, give longer pieces or a smaller --seq-len");
                    return Err(self.unusable_pieces(hint));
                }
                ids
            }
            Text::Plain(bytes) => {
                // With a window for each fold, the cause of too few windows can be named.
                let needed = rows.max(folds.saturating_mul(seq_len));
                let enough = if bytes.len() > READ_WHOLE { needed } else { usize::MAX };
                tokenizer(self.files).await?.encode_start(name, bytes, enough, on_bytes).await?
            }
        };
        if ids.is_empty() && !text.is_empty() {
            return Err(Error::NoTokens { corpus: name.into() });
        }
        check_ids(name, &ids, self.config.vocab_size)?;
        Ok(ids)
    }

    fn unusable_pieces(&self, hint: String) -> Error {
        Error::InvalidSetting { field: "--piece-chars".into(), value: self.protocol.piece_chars.to_string(), hint }
    }
}
