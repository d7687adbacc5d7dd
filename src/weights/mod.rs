//! Weights in safetensors or PyTorch files, read tensor by tensor: the description first, then one tensor's bytes at a
//! time.
//!
//! Files are accessed through [`source::Files`]; their contents are untrusted.

mod decode;
mod header;
pub mod maps;
mod place;
mod rows;
pub mod source;
mod tensors;
mod torch;
mod write;

pub use rows::RowsFile;
#[cfg(not(target_arch = "wasm32"))]
pub use source::FolderFiles;
pub(crate) use source::refuse_pointer;
pub use source::{FilePart, Files, Listener, MemoryFiles, read_whole};
pub use tensors::{ByteProgress, Weights, has_safetensors, has_weights, is_weight_file};
pub use write::{NewTensor, write_model};
