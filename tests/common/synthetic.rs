//! Synthetic safetensors files.

use std::rc::Rc;

use futures::executor::block_on;
use serde_json::{Map, Value, json};
use straightedge::error::Error;
use straightedge::weights::{Files, MemoryFiles, Weights};

/// A tensor of a synthetic file: name, format, shape, bytes.
#[derive(Clone)]
pub(crate) struct TestTensor {
    pub(crate) name: String,
    pub(crate) dtype: &'static str,
    pub(crate) shape: Vec<usize>,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) fn f32s(name: &str, shape: &[usize], values: &[f32]) -> TestTensor {
    let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    TestTensor { name: name.into(), dtype: "F32", shape: shape.into(), bytes }
}

/// A file whose header is the given JSON.
pub(crate) fn file(header: &Value, data: &[u8]) -> Vec<u8> {
    let header = header.to_string().into_bytes();
    [&(header.len() as u64).to_le_bytes()[..], &header, data].concat()
}

/// A valid file with these tensors.
pub(crate) fn safetensors(tensors: &[TestTensor]) -> Vec<u8> {
    let mut header = Map::new();
    let mut data = Vec::new();
    for tensor in tensors {
        let offsets = [data.len(), data.len() + tensor.bytes.len()];
        header.insert(
            tensor.name.clone(),
            json!({"dtype": tensor.dtype, "shape": tensor.shape, "data_offsets": offsets}),
        );
        data.extend(&tensor.bytes);
    }
    file(&Value::Object(header), &data)
}

pub(crate) fn single(bytes: Vec<u8>) -> Rc<dyn Files> {
    Rc::new(MemoryFiles::default().with("model.safetensors", bytes))
}

pub(crate) fn open(files: Rc<dyn Files>) -> Result<Weights, Error> {
    block_on(Weights::open(files))
}
