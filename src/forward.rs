//! The forward pass, written once over [`Backend`] for all families.
//!
//! A batch is whole windows of `seq_len` tokens; every window is independent, with positions from 0. [`Layers`] takes
//! the weights of one block at a time; [`Forward`] runs a whole model on the device and passes each block's input, the
//! input of its feed-forward network and the network's output to an observer.

use crate::backend::{Activation, AttentionShape, Backend, Rotary, Shape};
use crate::error::{Error, Result};
use crate::model::{Attention, Block, Embedding, Ffn, Head, Linear, Model, ModelConfig, Norm, Residual, Rope};
use crate::replacement::replaced::{Replaced, ReplacedParts};
use crate::replacement::swap::Replacements;

/// A block's activations, one row per token.
#[derive(Clone, Debug)]
pub struct Capture<T> {
    /// Block index.
    pub block: usize,
    /// Residual stream entering the block, `(rows, hidden_size)`.
    pub hidden: T,
    /// x: the input of the feed-forward network, `(rows, hidden_size)`.
    pub ffn_in: T,
    /// y: its output, before it is added to the residual stream, `(rows, hidden_size)`.
    pub ffn_out: T,
}

/// An observer that ignores all captures.
pub fn ignore<T>(_: Capture<T>) -> Result<()> {
    Ok(())
}

/// A block up to its feed-forward network: x, and the terms that the network's output is added to.
#[derive(Clone, Debug)]
pub struct FfnInput<T> {
    /// x: the input of the feed-forward network, `(rows, hidden_size)`.
    pub ffn_in: T,
    /// The other terms of the residual stream after the block.
    pub rest: ResidualTerms<T>,
}

/// The terms that the output of a feed-forward network is added to, in the order of additions.
#[derive(Clone, Debug)]
pub enum ResidualTerms<T> {
    /// The residual stream after attention.
    Sequential(T),
    /// The output of attention, and the residual stream before both.
    Parallel(T, T),
}

/// The outputs of a block, all `(rows, hidden_size)`.
#[derive(Clone, Debug)]
pub struct BlockOutput<T> {
    /// Input of the feed-forward network.
    pub x: T,
    /// Its output.
    pub y: T,
    /// The terms that y is added to.
    pub rest: ResidualTerms<T>,
    /// The residual stream after the block.
    pub next: T,
}

/// The arithmetic of a model's parts for windows of one length; the caller passes the weights.
pub struct Layers<'a, B: Backend> {
    backend: &'a B,
    config: &'a ModelConfig,
    seq_len: usize,
    /// The tables of every rotary embedding of the model.
    rotary: Vec<(Rope, Rotary<B::Tensor>)>,
}

impl<'a, B: Backend> Layers<'a, B> {
    /// Prepares the rotary tables for windows of `seq_len` tokens.
    pub fn new(backend: &'a B, config: &'a ModelConfig, seq_len: usize) -> Result<Self> {
        let tables = |rope| Ok((rope, rotary_tables(backend, rope, config.head_dim, seq_len)?));
        Ok(Self { backend, config, seq_len, rotary: config.ropes().map(tables).collect::<Result<_>>()? })
    }

    /// The residual stream entering the first block, `(ids, hidden_size)`, for the token `ids` of whole windows.
    pub fn embed(&self, embedding: &Embedding<B::Tensor>, ids: &[u32]) -> Result<B::Tensor> {
        let mut hidden = self.backend.gather(&embedding.tokens, ids)?;
        if self.config.embedding_scale != 1.0 {
            hidden = self.scaled(&hidden, self.config.embedding_scale.into())?;
        }
        if let Some(projection) = &embedding.projection {
            hidden = self.linear(&hidden, projection)?;
        }
        if let Some(table) = &embedding.positions {
            let positions: Vec<u32> = (0..ids.len()).map(|row| (row % self.seq_len) as u32).collect();
            hidden = self.backend.add(&hidden, &self.backend.gather(table, &positions)?)?;
        }
        match &embedding.norm {
            Some(norm) => self.norm(&hidden, norm),
            None => Ok(hidden),
        }
    }

    /// Runs a block up to its feed-forward network; `hidden` is the residual stream entering it.
    pub fn enter(&self, block: &Block<B::Tensor>, hidden: &B::Tensor) -> Result<FfnInput<B::Tensor>> {
        let add = |a: &B::Tensor, b: &B::Tensor| self.backend.add(a, b);
        Ok(match self.config.residual {
            Residual::PreNorm => {
                let attended = self.attention(&self.norm(hidden, &block.attention_norm)?, &block.attention)?;
                let middle = add(hidden, &self.optional_norm(attended, block.attention_out_norm.as_ref())?)?;
                FfnInput { ffn_in: self.norm(&middle, &block.ffn_norm)?, rest: ResidualTerms::Sequential(middle) }
            }
            Residual::Parallel => {
                let attended = self.attention(&self.norm(hidden, &block.attention_norm)?, &block.attention)?;
                let ffn_in = self.norm(hidden, &block.ffn_norm)?;
                FfnInput { ffn_in, rest: ResidualTerms::Parallel(attended, hidden.clone()) }
            }
            Residual::PostNorm => {
                let attended = self.attention(hidden, &block.attention)?;
                let middle = self.norm(&add(&attended, hidden)?, &block.attention_norm)?;
                FfnInput { ffn_in: middle.clone(), rest: ResidualTerms::Sequential(middle) }
            }
        })
    }

    /// y: the output of a feed-forward network for rows x, both `(rows, hidden_size)`.
    pub fn network(&self, ffn: &Ffn<B::Tensor>, x: &B::Tensor) -> Result<B::Tensor> {
        let (up, activation) = (self.linear(x, &ffn.up)?, self.config.activation);
        let inner = match &ffn.gate {
            Some(gate) => self.backend.gated(&self.linear(x, gate)?, &up, activation)?,
            None => self.backend.activation(&up, activation)?,
        };
        self.linear(&inner, &ffn.down)
    }

    /// The residual stream after a block whose feed-forward network, or its replacement, returned `ffn_out`.
    pub fn leave(
        &self,
        block: &Block<B::Tensor>,
        rest: &ResidualTerms<B::Tensor>,
        ffn_out: &B::Tensor,
    ) -> Result<B::Tensor> {
        let ffn_out = &self.optional_norm(ffn_out.clone(), block.ffn_out_norm.as_ref())?;
        match (rest, self.config.residual) {
            (ResidualTerms::Parallel(attended, hidden), _) => {
                self.backend.add(&self.backend.add(ffn_out, attended)?, hidden)
            }
            (ResidualTerms::Sequential(middle), Residual::PostNorm) => {
                self.norm(&self.backend.add(ffn_out, middle)?, &block.ffn_norm)
            }
            (ResidualTerms::Sequential(middle), _) => self.backend.add(middle, ffn_out),
        }
    }

    /// Runs a whole block; `hidden` is the residual stream entering it.
    pub fn pass(&self, block: &Block<B::Tensor>, hidden: &B::Tensor) -> Result<BlockOutput<B::Tensor>> {
        let FfnInput { ffn_in: x, rest } = self.enter(block, hidden)?;
        let y = self.network(&block.ffn, &x)?;
        let next = self.leave(block, &rest, &y)?;
        Ok(BlockOutput { x, y, rest, next })
    }

    /// The residual stream after a block, if `part` replaces its network or the whole block.
    pub fn pass_replaced(
        &self,
        part: &Replaced<B::Tensor>,
        block: &Block<B::Tensor>,
        hidden: &B::Tensor,
    ) -> Result<B::Tensor> {
        match part {
            Replaced::Network(replacement) => {
                let FfnInput { ffn_in, rest } = self.enter(block, hidden)?;
                self.leave(block, &rest, &replacement.apply(self.backend, &ffn_in)?)
            }
            Replaced::Layer(replacement) => replacement.apply(self.backend, hidden),
            Replaced::Removed => Ok(hidden.clone()),
        }
    }

    /// Next-token logits `(rows, vocab_size)` from the residual stream after the last block.
    pub fn logits(&self, head: &Head<B::Tensor>, hidden: &B::Tensor) -> Result<B::Tensor> {
        let mut last = self.optional_norm(hidden.clone(), head.norm.as_ref())?;
        if let Some(projection) = &head.projection {
            last = self.linear(&last, projection)?;
        }
        let logits = self.linear(&last, &head.linear)?;
        match self.config.logit_softcap.map(f64::from) {
            Some(cap) => {
                let inner = self.backend.activation(&self.scaled(&logits, cap.recip())?, Activation::Tanh)?;
                self.scaled(&inner, cap)
            }
            None => Ok(logits),
        }
    }

    fn attention(&self, x: &B::Tensor, attention: &Attention<B::Tensor>) -> Result<B::Tensor> {
        let shape = AttentionShape {
            heads: self.config.num_attention_heads,
            kv_heads: self.config.num_key_value_heads,
            head_dim: self.config.head_dim,
            seq_len: self.seq_len,
            causal: self.config.causal,
            reach: attention.pattern.reach,
            scale: attention.pattern.scale,
            softcap: self.config.attention_softcap,
            alibi: self.config.alibi,
        };
        let rope = attention.pattern.rope;
        let heads =
            |linear, norm: &Option<_>| self.rotate(self.head_norm(self.linear(x, linear)?, norm.as_ref())?, rope);
        let (q, k) = (heads(&attention.q, &attention.q_norm)?, heads(&attention.k, &attention.k_norm)?);
        let mixed = self.backend.attention(&q, &k, &self.linear(x, &attention.v)?, shape)?;
        self.linear(&mixed, &attention.o)
    }

    /// The norm of every head of `x`, `(rows, heads·head_dim)`.
    fn head_norm(&self, x: B::Tensor, norm: Option<&Norm<B::Tensor>>) -> Result<B::Tensor> {
        let Some(norm) = norm else { return Ok(x) };
        let (shape, width) = (self.backend.shape(&x), self.config.head_dim);
        let heads = self.backend.reshape(&x, Shape::new(shape.len() / width, width))?;
        self.backend.reshape(&self.norm(&heads, norm)?, shape)
    }

    fn rotate(&self, x: B::Tensor, rope: Option<Rope>) -> Result<B::Tensor> {
        match self.rotary.iter().find(|(known, _)| Some(*known) == rope) {
            Some((_, rotary)) => self.backend.rotate(&x, rotary),
            None => Ok(x),
        }
    }

    fn scaled(&self, x: &B::Tensor, factor: f64) -> Result<B::Tensor> {
        self.backend.combine(x, factor, x, 0.0)
    }

    fn linear(&self, x: &B::Tensor, linear: &Linear<B::Tensor>) -> Result<B::Tensor> {
        self.backend.linear(x, &linear.weight, linear.bias.as_ref())
    }

    fn norm(&self, x: &B::Tensor, norm: &Norm<B::Tensor>) -> Result<B::Tensor> {
        match norm {
            Norm::Layer { weight, bias, eps } => self.backend.layer_norm(x, weight, bias, *eps),
            Norm::Rms { weight, eps } => self.backend.rms_norm(x, weight, *eps),
            Norm::Identity => Ok(x.clone()),
        }
    }

    fn optional_norm(&self, x: B::Tensor, norm: Option<&Norm<B::Tensor>>) -> Result<B::Tensor> {
        norm.map_or_else(|| Ok(x.clone()), |norm| self.norm(&x, norm))
    }
}

/// A whole model on a device, prepared for windows of one length.
pub struct Forward<'a, B: Backend> {
    layers: Layers<'a, B>,
    model: &'a Model<B::Tensor>,
    head: Option<Head<B::Tensor>>,
}

impl<'a, B: Backend> Forward<'a, B> {
    /// Prepares the rotary tables for windows of `seq_len` tokens.
    pub fn new(backend: &'a B, model: &'a Model<B::Tensor>, seq_len: usize) -> Result<Self> {
        Ok(Self { layers: Layers::new(backend, &model.config, seq_len)?, model, head: model.output_head() })
    }

    /// The residual stream after the last block, before the final norm, `(ids, hidden_size)`.
    ///
    /// `ids` are whole windows; every id is within the vocabulary.
    pub fn run(&self, ids: &[u32], observe: &mut dyn FnMut(Capture<B::Tensor>) -> Result<()>) -> Result<B::Tensor> {
        self.run_swapped(ids, &Replacements::new(), observe)
    }

    /// [`Forward::run`] with the feed-forward networks of `swaps` replaced.
    pub fn run_swapped(
        &self,
        ids: &[u32],
        swaps: &Replacements<B::Tensor>,
        observe: &mut dyn FnMut(Capture<B::Tensor>) -> Result<()>,
    ) -> Result<B::Tensor> {
        self.resume(0, self.layers.embed(&self.model.embedding, ids)?, swaps, observe)
    }

    /// The rest of [`Forward::run`] from block `first` on; `hidden` is the residual stream entering it, and the
    /// feed-forward networks of `swaps` are replaced.
    pub fn resume(
        &self,
        first: usize,
        mut hidden: B::Tensor,
        swaps: &Replacements<B::Tensor>,
        observe: &mut dyn FnMut(Capture<B::Tensor>) -> Result<()>,
    ) -> Result<B::Tensor> {
        for (index, block) in self.model.blocks.iter().enumerate().skip(first) {
            let FfnInput { ffn_in, rest } = self.layers.enter(block, &hidden)?;
            let ffn_out = match swaps.get(&index) {
                Some(replacement) => replacement.apply(self.layers.backend, &ffn_in)?,
                None => self.layers.network(&block.ffn, &ffn_in)?,
            };
            observe(Capture { block: index, hidden, ffn_in, ffn_out: ffn_out.clone() })?;
            hidden = self.layers.leave(block, &rest, &ffn_out)?;
        }
        Ok(hidden)
    }

    /// The residual streams after all blocks from `first` on, with replaced `parts`; `hidden` enters that block.
    pub fn streams(&self, first: usize, hidden: B::Tensor, parts: &ReplacedParts<B::Tensor>) -> Result<Vec<B::Tensor>> {
        let mut streams = vec![hidden];
        for (index, block) in self.model.blocks.iter().enumerate().skip(first) {
            let before = &streams[streams.len() - 1];
            let after = match parts.get(&index) {
                Some(part) => self.layers.pass_replaced(part, block, before)?,
                None => self.layers.pass(block, before)?.next,
            };
            streams.push(after);
        }
        Ok(streams.split_off(1))
    }

    /// Next-token logits `(rows, vocab_size)` from the last residual stream; the model must be loaded with its head.
    pub fn logits(&self, hidden: &B::Tensor) -> Result<B::Tensor> {
        let head = self.head.as_ref().ok_or_else(|| Error::MissingTensor { tensor: "output head".into() })?;
        self.layers.logits(head, hidden)
    }

    /// y: the output of the feed-forward network of `block` for any rows x, both `(rows, hidden_size)`. A block index
    /// out of range is refused as in [`crate::job::Blocks::within`].
    pub fn network(&self, block: usize, x: &B::Tensor) -> Result<B::Tensor> {
        let found = self.model.blocks.get(block).ok_or_else(|| Error::InvalidSetting {
            field: "--blocks".into(),
            value: block.to_string(),
            hint: format!("the model has blocks 0 to {}", self.model.blocks.len().saturating_sub(1)),
        })?;
        self.layers.network(&found.ffn, x)
    }

    /// Width of the logits.
    pub fn vocab_size(&self) -> usize {
        self.model.config.vocab_size
    }
}

/// cos and sin of position · frequency. Angles are rounded to f32, as in training.
fn rotary_tables<B: Backend>(backend: &B, rope: Rope, head_dim: usize, seq_len: usize) -> Result<Rotary<B::Tensor>> {
    let half = rope.rotary_dim / 2;
    let angles: Vec<f64> = (0..seq_len)
        .flat_map(|position| (0..half).map(move |i| f64::from(position as f32 * rope.frequency(i))))
        .collect();
    let table = |name: &str, f: fn(f64) -> f64| {
        let values: Vec<f32> = angles.iter().map(|&angle| f(angle) as f32).collect();
        backend.upload(name, Shape::new(seq_len, half), &values)
    };
    Ok(Rotary {
        cos: table("rotary cos", f64::cos)?,
        sin: table("rotary sin", f64::sin)?,
        rotary_dim: rope.rotary_dim,
        head_dim,
        seq_len,
    })
}
