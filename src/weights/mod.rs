//! Weights in safetensors files, read tensor by tensor.

pub mod source;
