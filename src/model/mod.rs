//! Model families as data: their configurations and the role of every checkpoint tensor.
//!
//! No arithmetic here. A family file (`gpt2`, `neox`, `llama`, `bert`) maps its `config.json` onto [`ModelConfig`] and
//! its checkpoint names onto a [`Model`] of [`CheckpointTensor`] places; `families` dispatches among them. `load` loads
//! these places onto a backend as a whole, `checkpoint` part by part; `forward` runs on either.

mod bert;
mod checkpoint;
mod config;
mod families;
mod fields;
mod gpt2;
mod layout;
mod llama;
mod load;
mod neox;
mod parts;
mod reinit;
mod rope;
mod shapes;
mod shuffled;
mod store;
mod stored;
mod token_rows;
mod vars;

pub use checkpoint::Checkpoint;
pub use config::{Architecture, AttentionBias, ModelConfig, Residual, Rope};
pub use families::{checkpoint, stored};
pub use load::{fetch, load};
pub use parts::{Attention, Block, Embedding, Ffn, Head, Linear, Model, ModelPart, Norm};
pub use reinit::Draw;
pub use stored::CheckpointTensor;
pub use token_rows::TokenRows;
