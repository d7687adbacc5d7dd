//! Where a tensor lies in its file, whatever the file's format.

use std::collections::BTreeMap;
use std::ops::Range;

use safetensors::tensor::Dtype;

/// The tensors of one file by name.
pub(super) type Places = BTreeMap<String, TensorPlace>;

/// Format, shape and place of a tensor.
pub(super) struct TensorPlace {
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<usize>,
    /// Byte range within the file; empty for a view.
    pub(super) bytes: Range<u64>,
    /// Strides of a view whose elements do not lie in row-major order, which cannot be read.
    pub(super) strides: Option<Vec<u64>>,
}
