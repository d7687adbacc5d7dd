//! Everything known before the first row: the text as windows, and the model and corpus for the report.

use crate::backend::Backend;
use crate::corpus::{Folds, TokenWindows, check_ids};
use crate::error::{Error, Result};
use crate::job::{Job, Protocol};
use crate::model::ModelConfig;
use crate::report::{AppInfo, CorpusInfo, Header, ModelInfo, Ordered, ProtocolInfo};
use crate::solve::TAU;
use crate::weights::{Files, RowsFile, Weights, read_whole};

use super::bos;
use super::events::StageMeter;
use super::inputs::Text;
use super::tokenizer::tokenizer;

/// Texts up to this many bytes are read to the end, so that the report has their number of tokens.
const READ_WHOLE: usize = 1 << 22;

/// Reads a model's configuration, and refuses settings that do not fit it.
pub(super) async fn read_config(files: &dyn Files, job: &Job) -> Result<ModelConfig> {
    let hint = "give a folder in Hugging Face layout";
    let json = read_whole(files, "config.json", hint).await?;
    let config = ModelConfig::from_json(&String::from_utf8_lossy(&json))?;
    config.check_window(job.protocol.seq_len)?;
    if let Some(blocks) = &job.blocks {
        blocks.within(config.num_hidden_layers)?;
    }
    if let Some(ranks) = &job.ranks {
        ranks.within(config.hidden_size)?;
    }
    Ok(config)
}

/// Model, text, protocol and device, for the report.
pub(super) fn header<B: Backend>(
    backend: &B,
    job: &Job,
    model: ModelInfo,
    corpus: CorpusInfo,
    folds: &Folds,
) -> Header {
    let heldout = folds.windows(folds.len() - 1).len();
    let mut protocol = ProtocolInfo::new(&job.protocol, folds.all().len(), heldout, TAU);
    protocol.gram = backend.gram_mode(job.protocol.gram);
    Header { app: AppInfo::this(), model, corpus, protocol, device: backend.info(), ordered: Ordered::of(job) }
}

/// The text cut into windows by the protocol; `name` names it in the report and in errors.
pub(super) async fn read_text(
    files: &dyn Files,
    name: &str,
    protocol: &Protocol,
    config: &ModelConfig,
    text: &Text,
    meter: &StageMeter,
) -> Result<(CorpusInfo, TokenWindows)> {
    let ids = token_ids(files, name, protocol, config, text, &|done, total| meter.report(done, total)).await?;
    let corpus = CorpusInfo { id: name.into(), sha256: Some(text.sha256()), tokens: ids.len() };
    Ok((corpus, windows(files, name, protocol, config, ids).await?))
}

/// The windows of a text, which begin with the model's beginning-of-sequence token if the protocol says so.
pub(super) async fn windows(
    files: &dyn Files,
    name: &str,
    protocol: &Protocol,
    config: &ModelConfig,
    ids: Vec<u32>,
) -> Result<TokenWindows> {
    let bos = if protocol.bos { Some(bos::token(files, config.vocab_size).await?) } else { None };
    TokenWindows::after(name, ids, protocol, bos)
}

/// The token ids of a text, checked against the vocabulary. A long text is read only as far as its rows need.
pub(super) async fn token_ids(
    files: &dyn Files,
    name: &str,
    protocol: &Protocol,
    config: &ModelConfig,
    text: &Text,
    on_bytes: &dyn Fn(u64, u64),
) -> Result<Vec<u32>> {
    let ids = match text {
        Text::Tokens(_) if protocol.piece_chars > 0 => {
            let (field, value) = ("--piece-chars".into(), protocol.piece_chars.to_string());
            return Err(Error::InvalidSetting {
                field,
                value,
                hint: "token ids have no characters, give a text".into(),
            });
        }
        Text::Tokens(ids) => ids.clone(),
        Text::Plain(bytes) => {
            // With a window for each fold, the cause of too few windows can be named.
            let needed = protocol.rows.max(protocol.folds.saturating_mul(protocol.seq_len));
            if protocol.piece_chars > 0 {
                let ids = tokenizer(files).await?.encode_pieces(name, bytes, protocol, on_bytes).await?;
                check_ids(name, &ids, config.vocab_size)?;
                return if ids.is_empty() && !bytes.is_empty() { Err(short_pieces(protocol)) } else { Ok(ids) };
            }
            let enough = if bytes.len() > READ_WHOLE { needed } else { usize::MAX };
            tokenizer(files).await?.encode_start(name, bytes, enough, on_bytes).await?
        }
    };
    if ids.is_empty() && !text.is_empty() {
        return Err(Error::NoTokens { corpus: name.into() });
    }
    check_ids(name, &ids, config.vocab_size)?;
    Ok(ids)
}

/// The error of pieces of which none holds a window.
fn short_pieces(protocol: &Protocol) -> Error {
    Error::InvalidSetting {
        field: "--piece-chars".into(),
        value: protocol.piece_chars.to_string(),
        hint: format!("no piece has {} tokens, give longer pieces or a smaller --seq-len", protocol.seq_len),
    }
}

/// The model's section of the report.
pub(super) async fn model_info(
    job: &Job,
    config: &ModelConfig,
    weights: &Weights,
    meter: &StageMeter,
) -> Result<ModelInfo> {
    Ok(ModelInfo {
        id: job.model.clone(),
        revision: weights.revision(),
        checkpoint: job.checkpoint.clone(),
        tokenizer: job.tokenizer.clone(),
        architecture: config.architecture.name().into(),
        sha256: Some(weights.sha256(&|done, total| meter.report(done, total)).await?),
        sha256_claimed: !weights.is_verified(),
        dtype: weights.dtype().map(Into::into),
        hidden_size: config.hidden_size,
        intermediate_size: Some(config.intermediate_size),
        num_hidden_layers: config.num_hidden_layers,
        hidden_act: Some(config.hidden_act.clone()),
        ffn_parameters: Some(config.ffn_parameters()),
        expected_rank: expected_rank(config),
        vocab_size: Some(config.vocab_size),
    })
}

/// The rows file as the report's model.
pub(super) async fn rows_info(job: &Job, file: &RowsFile, meter: &StageMeter) -> Result<ModelInfo> {
    Ok(ModelInfo {
        id: job.model.clone(),
        architecture: "rows".into(),
        sha256: Some(file.sha256(&|done, total| meter.report(done, total)).await?),
        dtype: file.dtype().map(Into::into),
        hidden_size: file.d_in,
        num_hidden_layers: 1,
        ..ModelInfo::default()
    })
}

/// d − 1 under LayerNorm, whose output has an exact affine dependency, d under RMSNorm (docs/measures.md, section 2).
pub(super) fn expected_rank(config: &ModelConfig) -> Option<usize> {
    Some(if config.architecture.has_rms_norm() { config.hidden_size } else { config.hidden_size - 1 })
}
