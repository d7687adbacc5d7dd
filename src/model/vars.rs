//! A path in a checkpoint's tree of tensors, so that family files mirror the checkpoint's structure.

use std::fmt::Display;
use std::ops::Range;

use super::config::AttentionPattern;
use super::stored::{Arrangement, CheckpointTensor};
use super::{Block, Linear, ModelConfig, ModelParts, Norm};
use crate::error::Result;
use crate::weights::Weights;

/// A path such as `transformer.h.0.attn`. Every tensor that it returns has been checked for presence and shape.
pub(super) struct Vars<'a> {
    weights: &'a Weights,
    path: String,
}

impl<'a> Vars<'a> {
    /// The root of the tree.
    pub(super) fn root(weights: &'a Weights) -> Self {
        Self { weights, path: String::new() }
    }

    /// The path `segment` below this one.
    pub(super) fn at(&self, segment: impl Display) -> Self {
        Self { weights: self.weights, path: self.name(segment) }
    }

    /// The path `prefix` below this one if it has a tensor `probe`, else this path: some exports drop the prefix.
    pub(super) fn at_if_there(&self, prefix: &str, probe: &str) -> Self {
        let below = self.at(prefix);
        if below.has(probe) { below } else { Self { weights: self.weights, path: self.path.clone() } }
    }

    fn name(&self, segment: impl Display) -> String {
        if self.path.is_empty() { segment.to_string() } else { format!("{}.{segment}", self.path) }
    }

    fn has(&self, name: &str) -> bool {
        self.weights.has(&self.name(name))
    }

    fn stored(&self, name: &str, shape: &[usize], rows: usize, arrangement: Arrangement) -> Result<CheckpointTensor> {
        let name = self.name(name);
        self.weights.check(&name, shape)?;
        Ok(CheckpointTensor { name, shape: shape.into(), rows, arrangement })
    }

    /// A tensor `(rows, cols)`.
    pub(super) fn matrix(&self, name: &str, rows: usize, cols: usize) -> Result<CheckpointTensor> {
        self.stored(name, &[rows, cols], rows, Arrangement::Same)
    }

    /// The token embedding `weight` (vocab_size, embedding_size).
    pub(super) fn embedding(&self, config: &ModelConfig) -> Result<CheckpointTensor> {
        self.matrix("weight", config.vocab_size, config.embedding_size)
    }

    /// The blocks below this path, which are numbered from 0, each read by `block`.
    pub(super) fn blocks(
        &self,
        config: &ModelConfig,
        block: impl Fn(&Self, &ModelConfig, AttentionPattern) -> Result<Block<CheckpointTensor>>,
    ) -> Result<Vec<Block<CheckpointTensor>>> {
        (0..config.num_hidden_layers).map(|layer| block(&self.at(layer), config, config.pattern(layer))).collect()
    }

    /// A vector, as `(1, len)`.
    pub(super) fn vector(&self, name: &str, len: usize) -> Result<CheckpointTensor> {
        self.stored(name, &[len], 1, Arrangement::Same)
    }

    /// The position table `name`, without the rows before that of position 0.
    pub(super) fn positions(&self, name: &str, config: &ModelConfig) -> Result<CheckpointTensor> {
        let (positions, width, first) = (config.max_position_embeddings, config.hidden_size, config.position_offset);
        let rows = first + positions;
        let arrangement = if first == 0 { Arrangement::Same } else { Arrangement::RowRange(first..rows) };
        self.stored(name, &[rows, width], positions, arrangement)
    }

    /// The same with the embedding `types` of token type 0 added to each row, which every token of a window has.
    pub(super) fn typed_positions(&self, name: &str, types: &str, config: &ModelConfig) -> Result<CheckpointTensor> {
        let (positions, width, first) = (config.max_position_embeddings, config.hidden_size, config.position_offset);
        self.weights.check(&self.name(types), &[config.type_vocab_size, width])?;
        let arrangement = Arrangement::PlusFirstRow { first, name: self.name(types), rows: config.type_vocab_size };
        self.stored(name, &[first + positions, width], positions, arrangement)
    }

    /// `weight` (outputs, inputs), and `bias` if there is one.
    pub(super) fn linear(&self, outputs: usize, inputs: usize, has_bias: bool) -> Result<Linear<CheckpointTensor>> {
        let bias = if has_bias { Some(self.vector("bias", outputs)?) } else { None };
        Ok(Linear { weight: self.matrix("weight", outputs, inputs)?, bias })
    }

    /// The outputs `columns` of a layer with weight `(inputs, outputs)` and a bias.
    pub(super) fn conv1d(
        &self,
        inputs: usize,
        outputs: usize,
        columns: Range<usize>,
    ) -> Result<Linear<CheckpointTensor>> {
        let of_bias = if columns.len() == outputs { Arrangement::Same } else { Arrangement::Columns(columns.clone()) };
        let rows = columns.len();
        Ok(Linear {
            weight: self.stored("weight", &[inputs, outputs], rows, Arrangement::Columns(columns))?,
            bias: Some(self.stored("bias", &[outputs], 1, of_bias)?),
        })
    }

    /// The outputs `rows` of a layer with weight `(outputs, inputs)`.
    pub(super) fn linear_rows(
        &self,
        outputs: usize,
        inputs: usize,
        rows: Range<usize>,
        has_bias: bool,
    ) -> Result<Linear<CheckpointTensor>> {
        let bias = if has_bias {
            Some(self.stored("bias", &[outputs], 1, Arrangement::RowRange(rows.clone()))?)
        } else {
            None
        };
        let count = rows.len();
        Ok(Linear { weight: self.stored("weight", &[outputs, inputs], count, Arrangement::RowRange(rows))?, bias })
    }

    /// One of three parts of a layer whose outputs are ordered `(heads, 3, head_dim)`; each part is `width` wide.
    pub(super) fn head_part(
        &self,
        part: usize,
        head_dim: usize,
        width: usize,
        has_bias: bool,
    ) -> Result<Linear<CheckpointTensor>> {
        let arrangement = |width| Arrangement::HeadPart { part, head_dim, width };
        let bias = if has_bias { Some(self.stored("bias", &[3 * width], 1, arrangement(1))?) } else { None };
        Ok(Linear { weight: self.stored("weight", &[3 * width, width], width, arrangement(width))?, bias })
    }

    /// The output head `name`: the embedding if tied, `None` if not needed.
    pub(super) fn head(
        &self,
        name: &str,
        embedding: &CheckpointTensor,
        config: &ModelConfig,
        parts: ModelParts,
    ) -> Result<Option<Linear<CheckpointTensor>>> {
        match (parts, config.tie_word_embeddings) {
            (ModelParts::Body, _) => Ok(None),
            (ModelParts::WithHead, true) => Ok(Some(Linear { weight: embedding.clone(), bias: None })),
            (ModelParts::WithHead, false) => {
                self.at(name).linear(config.vocab_size, config.embedding_size, config.head_bias).map(Some)
            }
        }
    }

    /// LayerNorm; old checkpoints name its weight and bias `gamma` and `beta`.
    pub(super) fn layer_norm(&self, width: usize, eps: f32) -> Result<Norm<CheckpointTensor>> {
        let old = !self.has("weight") && self.has("gamma");
        let (weight, bias) = if old { ("gamma", "beta") } else { ("weight", "bias") };
        Ok(Norm::Layer { weight: self.vector(weight, width)?, bias: self.vector(bias, width)?, eps })
    }

    /// LayerNorm without a bias.
    pub(super) fn unbiased_layer_norm(&self, width: usize, eps: f32) -> Result<Norm<CheckpointTensor>> {
        let bias = self.stored("weight", &[width], 1, Arrangement::Zeros)?;
        Ok(Norm::Layer { weight: self.vector("weight", width)?, bias, eps })
    }

    /// RMSNorm.
    pub(super) fn rms_norm(&self, width: usize, eps: f32) -> Result<Norm<CheckpointTensor>> {
        Ok(Norm::Rms { weight: self.vector("weight", width)?, eps })
    }

    /// RMSNorm whose scale is stored less 1 (Gemma).
    pub(super) fn rms_norm_plus_one(&self, width: usize, eps: f32) -> Result<Norm<CheckpointTensor>> {
        Ok(Norm::Rms { weight: self.stored("weight", &[width], 1, Arrangement::PlusOne)?, eps })
    }
}
