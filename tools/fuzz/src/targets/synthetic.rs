//! Valid safetensors files, made of names, formats, shapes and bytes.

use serde_json::{Map, Value, json};

/// A tensor: name, format, shape, bytes.
pub(super) type SyntheticTensor = (&'static str, &'static str, Vec<usize>, Vec<u8>);

/// A tensor of F32.
pub(super) fn f32s(name: &'static str, shape: &[usize]) -> SyntheticTensor {
    let count: usize = shape.iter().product();
    (name, "F32", shape.to_vec(), (0..count).flat_map(|at| (at as f32 / 4.0 - 1.0).to_le_bytes()).collect())
}

/// A tensor of F64.
pub(super) fn f64s(name: &'static str, shape: &[usize], values: &[f64]) -> SyntheticTensor {
    (name, "F64", shape.to_vec(), values.iter().flat_map(|value| value.to_le_bytes()).collect())
}

/// A file of these tensors, with metadata if there is any.
pub(super) fn safetensors(tensors: &[SyntheticTensor], metadata: Value) -> Vec<u8> {
    let (mut header, mut data) = (Map::new(), Vec::new());
    if metadata.is_object() {
        header.insert("__metadata__".into(), metadata);
    }
    for (name, dtype, shape, bytes) in tensors {
        let offsets = [data.len(), data.len() + bytes.len()];
        header.insert((*name).into(), json!({"dtype": dtype, "shape": shape, "data_offsets": offsets}));
        data.extend(bytes);
    }
    let header = Value::Object(header).to_string().into_bytes();
    [&(header.len() as u64).to_le_bytes()[..], &header, &data].concat()
}
