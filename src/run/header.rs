//! Everything known before the first row, for the report: the model, the corpus, the protocol and the device.

use crate::backend::Backend;
use crate::corpus::Folds;
use crate::error::Result;
use crate::job::Job;
use crate::model::ModelConfig;
use crate::report::{AppInfo, CorpusInfo, Header, ModelInfo, Ordered, ProtocolInfo};
use crate::solve::TAU;
use crate::weights::{Files, RowsFile, Weights, read_whole};

use super::events::StageMeter;

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
