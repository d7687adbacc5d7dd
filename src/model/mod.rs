//! Model families as data: their configurations and the role of every checkpoint tensor.
//!
//! No arithmetic here. A file of `families/` maps the `config.json` of a family onto [`ModelConfig`] and its checkpoint
//! names onto a [`Model`] of [`CheckpointTensor`] places. `load` loads these places onto a backend as a whole,
//! `checkpoint` part by part; `forward` runs on either.

mod architecture;
mod checkpoint;
mod config;
mod families;
mod fields;
mod layout;
mod load;
mod parts;
mod reinit;
mod rope;
mod shapes;
mod shuffled;
mod store;
mod stored;
mod token_rows;
mod vars;

pub use architecture::Architecture;
pub use checkpoint::Checkpoint;
pub use config::{AttentionBias, AttentionPattern, LocalAttention, ModelConfig, Residual};
pub use families::{checkpoint, stored};
pub use load::{fetch, load};
pub use parts::{Attention, Block, Embedding, Ffn, Head, Linear, Model, ModelPart, ModelParts, Norm};
pub use reinit::Draw;
pub use rope::{Rope, RopeScaling};
pub use stored::CheckpointTensor;
pub use token_rows::TokenRows;
