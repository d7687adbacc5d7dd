//! Weight shapes implied by a configuration, for models without files: GPT-2, GPT-NeoX, Llama, Mistral and Qwen2.

use super::{Attention, AttentionBias, Block, Embedding, Ffn, Linear, Model, ModelConfig, Norm};
use crate::backend::Shape;

impl ModelConfig {
    /// The shapes of the weights of a decoder of the families above, without the output head.
    pub fn shapes(&self) -> Model<Shape> {
        let width = self.hidden_size;
        Model {
            config: self.clone(),
            embedding: Embedding {
                tokens: Shape::new(self.vocab_size, width),
                projection: None,
                positions: self.rope.is_none().then(|| Shape::new(self.max_position_embeddings, width)),
                norm: None,
            },
            blocks: (0..self.num_hidden_layers).map(|layer| self.block(layer)).collect(),
            final_norm: Some(self.norm()),
            projection: None,
            head: None,
        }
    }

    fn block(&self, layer: usize) -> Block<Shape> {
        let (width, inner, biased) = (self.hidden_size, self.intermediate_size, self.ffn_bias);
        let (queries, keys) = (self.num_attention_heads * self.head_dim, self.num_key_value_heads * self.head_dim);
        let (inputs, output) = match self.attention_bias {
            AttentionBias::None => (false, false),
            AttentionBias::Inputs => (true, false),
            AttentionBias::Output => (false, true),
            AttentionBias::All => (true, true),
        };
        Block {
            attention_norm: self.norm(),
            attention: Attention {
                q: linear(queries, width, inputs),
                k: linear(keys, width, inputs),
                v: linear(keys, width, inputs),
                o: linear(width, queries, output),
                q_norm: None,
                k_norm: None,
                pattern: self.pattern(layer),
            },
            attention_out_norm: None,
            ffn_norm: self.norm(),
            ffn: Ffn {
                gate: self.gated_ffn.then(|| linear(inner, width, biased)),
                up: linear(inner, width, biased),
                down: linear(width, inner, biased),
            },
            ffn_out_norm: None,
        }
    }

    fn norm(&self) -> Norm<Shape> {
        let (row, eps) = (Shape::new(1, self.hidden_size), self.norm_eps);
        match self.architecture.has_rms_norm() {
            true => Norm::Rms { weight: row, eps },
            false => Norm::Layer { weight: row, bias: row, eps },
        }
    }
}

fn linear(outputs: usize, inputs: usize, biased: bool) -> Linear<Shape> {
    Linear { weight: Shape::new(outputs, inputs), bias: biased.then(|| Shape::new(1, outputs)) }
}
