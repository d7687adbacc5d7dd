//! Shared parts of all operations: checks, uploads, output tensors, and dispatches over shapes.

use std::rc::Rc;

use super::backend::GpuBackend;
use super::device::{Buffer, Part, Tensor};
use super::kernels::rows::ReductionKernels;
use super::kernels::{Kernel, Params};
use crate::backend::{Shape, Storage};
use crate::error::{Error, Result};

/// Cost of one element in element-wise kernels and norms, in floating-point operations of a matrix product.
const FLOPS_PER_ELEMENT: f64 = 32.0;

impl GpuBackend {
    /// Uploads rows of whole words, split into parts that fit a binding.
    pub(super) fn upload_words(&self, name: &str, shape: Shape, words: &[u32], storage: Storage) -> Result<Tensor> {
        let row_words = words.len() / shape.rows.max(1);
        let row_bytes = 4 * row_words as u64;
        if row_bytes > self.part_bytes {
            return Err(Error::DeviceLimit { what: name.into(), needed: row_bytes, limit: self.part_bytes });
        }
        let part_rows = (self.part_bytes / row_bytes.max(1)).max(1) as usize;
        let parts = words
            .chunks(part_rows * row_words.max(1))
            .enumerate()
            .map(|(i, rows)| Part {
                first_row: i * part_rows,
                rows: rows.len() / row_words,
                buffer: self.engine.input(bytemuck::cast_slice(rows)),
            })
            .collect();
        Ok(Tensor { shape, storage, parts })
    }

    /// A tensor for a kernel to write. `what` appears in errors.
    pub(super) fn output(&self, what: &str, shape: Shape) -> Result<Tensor> {
        let needed = 4 * shape.len() as u64;
        if needed > self.part_bytes {
            return Err(Error::DeviceLimit { what: what.into(), needed, limit: self.part_bytes });
        }
        let part = Part { first_row: 0, rows: shape.rows, buffer: self.engine.output(needed) };
        Ok(Tensor { shape, storage: Storage::F32, parts: Rc::new([part]) })
    }

    /// Dispatches one thread per element of `shape`.
    pub(super) fn each<P: Params>(&self, kernel: &'static Kernel, params: &P, buffers: &[&Buffer], shape: Shape) {
        self.over(kernel, params, buffers, shape, self.engine.grid(kernel, shape.len()));
    }

    /// Dispatches threads that each handle some rows of one column of `shape`.
    pub(super) fn by_column<P: Params>(&self, kernel: &'static Kernel, params: &P, buffers: &[&Buffer], shape: Shape) {
        self.over(kernel, params, buffers, shape, self.engine.column_grid(kernel, shape));
    }

    /// Dispatches the fastest row-reduction kernel, one workgroup per row of `shape`.
    pub(super) fn reduce<P: Params>(
        &self,
        ways: &'static ReductionKernels,
        params: &P,
        buffers: &[&Buffer],
        shape: Shape,
    ) {
        self.over(self.choice.reduction.of(ways), params, buffers, shape, self.engine.group_grid(shape.rows));
    }

    /// Dispatches one thread per row of `shape`.
    pub(super) fn by_row<P: Params>(&self, kernel: &'static Kernel, params: &P, buffers: &[&Buffer], shape: Shape) {
        self.over(kernel, params, buffers, shape, self.engine.grid(kernel, shape.rows));
    }

    fn over<P: Params>(
        &self,
        kernel: &'static Kernel,
        params: &P,
        buffers: &[&Buffer],
        shape: Shape,
        workgroups: [u32; 3],
    ) {
        if !shape.is_empty() {
            let ms = self.choice.ms(FLOPS_PER_ELEMENT * shape.len() as f64);
            self.engine.dispatch(kernel, params, buffers, workgroups, ms);
        }
    }
}

impl Tensor {
    /// Words per row.
    pub(super) fn row_words(&self) -> usize {
        match self.storage {
            Storage::F32 => self.shape.cols,
            Storage::F16 | Storage::Bf16 => self.shape.cols / 2,
        }
    }

    /// The buffer of an unsplit f32 tensor.
    pub(super) fn buffer(&self) -> Result<&Buffer> {
        match &self.parts[..] {
            _ if self.storage != Storage::F32 => Err(Error::Gpu {
                what: "an operation".into(),
                why: format!("it takes no tensor stored as {:?}; only tables and weights may be", self.storage),
            }),
            [part] => Ok(&part.buffer),
            parts => Err(Error::Gpu {
                what: "an operation".into(),
                why: format!("it takes no tensor in {} parts; only tables and weights may be so large", parts.len()),
            }),
        }
    }
}

/// Fails if a shape is not the expected one.
pub(super) fn equal(what: &str, found: Shape, expected: Shape) -> Result<()> {
    check(found == expected, what, || format!("shape {found:?} where {expected:?} is needed"))
}

/// Fails with `why` unless the condition holds.
pub(super) fn check(holds: bool, what: &str, why: impl FnOnce() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::Gpu { what: what.into(), why: why() }) }
}
