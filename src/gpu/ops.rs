//! The operations of a forward pass, each as one or a few dispatches.

use std::rc::Rc;

use super::attention::{self, Heads};
use super::engine::Engine;
use super::kernels::{
    ACTIVATIONS, ActivationParams, GATHER, GatherParams, Kernel, NormParams, Params, ROTATE, ROW_COSINES,
    ROW_DISTANCE_RATIOS, RotateParams, RowsParams, STANDARDISE,
};
use super::rows::{LAYER_NORM, NEXT_TOKEN_NLL, RMS_NORM, Ways};
use super::tensor::{Buffer, Part, Tensor};
use super::wait::Span;
use super::{GpuBackend, matmul, packed};
use crate::backend::{Activation, AttentionShape, Rotary, Shape, Storage};
use crate::error::{Error, Result};

/// Time of one element in element-wise kernels and norms, in floating-point operations of a matrix product.
const FLOPS_PER_ELEMENT: f64 = 32.0;

/// Rows of a column that one thread takes.
const ROWS_PER_THREAD: usize = 8;

impl Engine {
    /// Workgroups that give `threads` threads, spread over two dimensions where one does not suffice.
    pub(super) fn grid(&self, kernel: &Kernel, threads: usize) -> [u32; 3] {
        let groups = threads.div_ceil(kernel.workgroup[0] as usize);
        let width = groups.min(self.device.max_workgroups()).max(1);
        [width as u32, groups.div_ceil(width) as u32, 1]
    }

    /// One workgroup per row, spread over two dimensions where one does not suffice.
    pub(super) fn group_grid(&self, rows: usize) -> [u32; 3] {
        let width = rows.min(self.device.max_workgroups()).max(1);
        [width as u32, rows.div_ceil(width) as u32, 1]
    }

    /// Workgroups along columns, each thread taking every so-manieth row of its column: no division, and what belongs
    /// to a column is loaded once.
    pub(super) fn column_grid(&self, kernel: &Kernel, shape: Shape) -> [u32; 3] {
        let rows = shape.rows.div_ceil(ROWS_PER_THREAD).clamp(1, self.device.max_workgroups());
        [shape.cols.div_ceil(kernel.workgroup[0] as usize) as u32, rows as u32, 1]
    }
}

impl GpuBackend {
    pub(super) fn upload_rows(&self, name: &str, shape: Shape, data: &[f32]) -> Result<Tensor> {
        check(data.len() == shape.len(), "uploading", || {
            format!("{name} has {} values for shape {shape:?}", data.len())
        })?;
        self.upload_words(name, shape, bytemuck::cast_slice(data), Storage::F32)
    }

    /// Uploads rows of whole words, cut into parts that a binding can show.
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

    pub(super) async fn read_rows(&self, tensors: &[&Tensor]) -> Result<Vec<Vec<f32>>> {
        let mut words: Vec<_> =
            tensors.iter().map(|tensor| vec![0u32; tensor.shape.rows * tensor.row_words()]).collect();
        let (mut spans, mut places) = (Vec::new(), Vec::new());
        for (index, tensor) in tensors.iter().enumerate() {
            for part in tensor.parts.iter() {
                spans.push(Span { buffer: &part.buffer, offset: 0, size: 4 * (part.rows * tensor.row_words()) as u64 });
                places.push((index, part.first_row * tensor.row_words()));
            }
        }
        let take = |span: usize, offset: u64, bytes: &[u8]| {
            let (index, first) = places[span];
            let first = first + offset as usize / 4;
            let to: &mut [u8] = bytemuck::cast_slice_mut(&mut words[index][first..first + bytes.len() / 4]);
            to.copy_from_slice(bytes);
        };
        self.engine.read(&spans, take).await?;
        let values = |(words, tensor): (Vec<u32>, &&Tensor)| match tensor.storage {
            Storage::F32 => words.into_iter().map(f32::from_bits).collect(),
            storage => packed::unpack(words.into_iter(), storage).collect(),
        };
        Ok(words.into_iter().zip(tensors).map(values).collect())
    }

    pub(super) fn gather_rows(&self, table: &Tensor, ids: &[u32]) -> Result<Tensor> {
        check(ids.iter().all(|id| (*id as usize) < table.shape.rows), "gather", || {
            format!("an id is beyond the table's {} rows", table.shape.rows)
        })?;
        let row_words = table.row_words();
        let words = self.output("gathered rows", Shape::new(ids.len(), row_words))?;
        let id_buffer = self.engine.input(bytemuck::cast_slice(ids));
        for part in table.parts.iter() {
            let params = GatherParams {
                count: ids.len() as u32,
                cols: row_words as u32,
                first_row: part.first_row as u32,
                rows: part.rows as u32,
            };
            self.by_column(&GATHER, &params, &[&id_buffer, &part.buffer, words.buffer()?], words.shape);
        }
        match table.storage {
            Storage::F32 => Ok(words),
            storage => self.widened(&Tensor { shape: Shape::new(ids.len(), table.shape.cols), storage, ..words }),
        }
    }

    pub(super) fn layer_norm_rows(&self, x: &Tensor, weight: &Tensor, bias: &Tensor, eps: f32) -> Result<Tensor> {
        equal("layer_norm", weight.shape, Shape::new(1, x.shape.cols))?;
        equal("layer_norm", bias.shape, weight.shape)?;
        let out = self.output("layer norm", x.shape)?;
        let params = NormParams { rows: x.shape.rows as u32, cols: x.shape.cols as u32, eps };
        let buffers = [x.buffer()?, weight.buffer()?, bias.buffer()?, out.buffer()?];
        self.reduce(&LAYER_NORM, &params, &buffers, x.shape);
        Ok(out)
    }

    pub(super) fn rms_norm_rows(&self, x: &Tensor, weight: &Tensor, eps: f32) -> Result<Tensor> {
        equal("rms_norm", weight.shape, Shape::new(1, x.shape.cols))?;
        let out = self.output("RMS norm", x.shape)?;
        let params = NormParams { rows: x.shape.rows as u32, cols: x.shape.cols as u32, eps };
        let buffers = [x.buffer()?, weight.buffer()?, out.buffer()?];
        self.reduce(&RMS_NORM, &params, &buffers, x.shape);
        Ok(out)
    }

    pub(super) fn linear_map(&self, x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
        check(x.shape.cols == weight.shape.cols, "linear", || {
            format!("input is {} wide, weight takes {}", x.shape.cols, weight.shape.cols)
        })?;
        if let Some(bias) = bias {
            equal("linear", bias.shape, Shape::new(1, weight.shape.rows))?;
        }
        let out = self.output("linear output", Shape::new(x.shape.rows, weight.shape.rows))?;
        let bias = bias.map(Tensor::buffer).transpose()?;
        let x = (x.buffer()?, x.shape.rows);
        match weight.storage {
            Storage::F32 => matmul::linear(&self.engine, &self.pace, x, weight, bias, out.buffer()?),
            _ => self.packed_linear(x, weight, bias, out.buffer()?),
        }
        Ok(out)
    }

    pub(super) fn rotate_heads(&self, x: &Tensor, rotary: &Rotary<Tensor>) -> Result<Tensor> {
        let angles = Shape::new(rotary.seq_len, rotary.rotary_dim / 2);
        equal("rotate", rotary.cos.shape, angles)?;
        equal("rotate", rotary.sin.shape, angles)?;
        check(
            x.shape.cols.is_multiple_of(rotary.head_dim)
                && rotary.rotary_dim <= rotary.head_dim
                && rotary.rotary_dim.is_multiple_of(2)
                && x.shape.rows.is_multiple_of(rotary.seq_len),
            "rotate",
            || format!("{:?} is not made of such heads and windows", x.shape),
        )?;
        let out = self.output("rotated heads", x.shape)?;
        let params = RotateParams {
            rows: x.shape.rows as u32,
            cols: x.shape.cols as u32,
            head_dim: rotary.head_dim as u32,
            rotary_dim: rotary.rotary_dim as u32,
            seq_len: rotary.seq_len as u32,
        };
        let buffers = [x.buffer()?, rotary.cos.buffer()?, rotary.sin.buffer()?, out.buffer()?];
        self.by_column(&ROTATE, &params, &buffers, x.shape);
        Ok(out)
    }

    pub(super) fn attend(&self, q: &Tensor, k: &Tensor, v: &Tensor, shape: AttentionShape) -> Result<Tensor> {
        let kv = Shape::new(q.shape.rows, shape.kv_heads * shape.head_dim);
        equal("attention", q.shape, Shape::new(q.shape.rows, shape.heads * shape.head_dim))?;
        equal("attention", k.shape, kv)?;
        equal("attention", v.shape, kv)?;
        check(
            q.shape.rows.is_multiple_of(shape.seq_len) && shape.heads.is_multiple_of(shape.kv_heads),
            "attention",
            || format!("{} rows are not whole windows of {shape:?}", q.shape.rows),
        )?;
        let out = self.output("attention output", q.shape)?;
        let heads = Heads {
            q: q.buffer()?,
            k: k.buffer()?,
            v: v.buffer()?,
            out: out.buffer()?,
            windows: q.shape.rows / shape.seq_len,
        };
        attention::record(&self.engine, &self.pace, &heads, shape)?;
        Ok(out)
    }

    /// f(gate), or f(gate) ⊙ up.
    pub(super) fn activate(&self, gate: &Tensor, up: Option<&Tensor>, activation: Activation) -> Result<Tensor> {
        let factor = up.unwrap_or(gate);
        equal("activation", gate.shape, factor.shape)?;
        let out = self.output("activation", gate.shape)?;
        let params = ActivationParams { len: gate.shape.len() as u32, gated: up.is_some().into() };
        self.each(
            &ACTIVATIONS[kind(activation)],
            &params,
            &[gate.buffer()?, factor.buffer()?, out.buffer()?],
            gate.shape,
        );
        Ok(out)
    }

    pub(super) fn standardise_columns(&self, x: &Tensor, mean: &Tensor, scale: &Tensor) -> Result<Tensor> {
        equal("standardise", mean.shape, Shape::new(1, x.shape.cols))?;
        equal("standardise", scale.shape, mean.shape)?;
        let out = self.output("standardised rows", x.shape)?;
        let params = RowsParams { rows: x.shape.rows as u32, cols: x.shape.cols as u32 };
        let buffers = [x.buffer()?, mean.buffer()?, scale.buffer()?, out.buffer()?];
        self.by_column(&STANDARDISE, &params, &buffers, x.shape);
        Ok(out)
    }

    pub(super) fn cosines(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        equal("row_cosines", a.shape, b.shape)?;
        let out = self.output("cosines", Shape::new(a.shape.rows, 1))?;
        let params = RowsParams { rows: a.shape.rows as u32, cols: a.shape.cols as u32 };
        self.by_row(&ROW_COSINES, &params, &[a.buffer()?, b.buffer()?, out.buffer()?], a.shape);
        Ok(out)
    }

    pub(super) fn distance_ratios(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        equal("row_distance_ratios", a.shape, b.shape)?;
        let out = self.output("distance ratios", Shape::new(a.shape.rows, 1))?;
        let params = RowsParams { rows: a.shape.rows as u32, cols: a.shape.cols as u32 };
        self.by_row(&ROW_DISTANCE_RATIOS, &params, &[a.buffer()?, b.buffer()?, out.buffer()?], a.shape);
        Ok(out)
    }

    pub(super) fn nll(&self, logits: &Tensor, targets: &[u32]) -> Result<Tensor> {
        let shape = logits.shape;
        let fits = targets.len() == shape.rows && targets.iter().all(|target| (*target as usize) < shape.cols);
        check(fits, "next_token_nll", || "targets are beyond the logits".into())?;
        let out = self.output("log-likelihoods", Shape::new(shape.rows, 1))?;
        let target_buffer = self.engine.input(bytemuck::cast_slice(targets));
        let params = RowsParams { rows: shape.rows as u32, cols: shape.cols as u32 };
        let buffers = [logits.buffer()?, &target_buffer, out.buffer()?];
        self.reduce(&NEXT_TOKEN_NLL, &params, &buffers, shape);
        Ok(out)
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

    /// Dispatches threads that take some rows of a column of `shape`.
    pub(super) fn by_column<P: Params>(&self, kernel: &'static Kernel, params: &P, buffers: &[&Buffer], shape: Shape) {
        self.over(kernel, params, buffers, shape, self.engine.column_grid(kernel, shape));
    }

    /// Dispatches the fastest of the kernels that take a row of `shape` as a whole.
    fn reduce<P: Params>(&self, ways: &'static Ways, params: &P, buffers: &[&Buffer], shape: Shape) {
        let (kernel, workgroups) = self.engine.by_rows(ways, self.pace.reduction, shape.rows);
        self.over(kernel, params, buffers, shape, workgroups);
    }

    /// Dispatches one thread per row of `shape`.
    fn by_row<P: Params>(&self, kernel: &'static Kernel, params: &P, buffers: &[&Buffer], shape: Shape) {
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
            let ms = self.pace.ms(FLOPS_PER_ELEMENT * shape.len() as f64);
            self.engine.dispatch(kernel, params, buffers, workgroups, ms);
        }
    }
}

impl Tensor {
    /// Words of a row.
    fn row_words(&self) -> usize {
        match self.storage {
            Storage::F32 => self.shape.cols,
            Storage::F16 | Storage::Bf16 => self.shape.cols / 2,
        }
    }

    /// The only buffer of a tensor in f32 that is not a split table.
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

/// The constants of `activation.wgsl`.
const fn kind(activation: Activation) -> usize {
    match activation {
        Activation::Gelu => 0,
        Activation::GeluTanh => 1,
        Activation::QuickGelu => 2,
        Activation::Relu => 3,
        Activation::ReluSquared => 4,
        Activation::Silu => 5,
        Activation::Tanh => 6,
        Activation::Sigmoid => 7,
        Activation::Identity => 8,
    }
}

pub(super) fn equal(what: &str, found: Shape, expected: Shape) -> Result<()> {
    check(found == expected, what, || format!("shape {found:?} where {expected:?} is needed"))
}

fn check(holds: bool, what: &str, why: impl FnOnce() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::Gpu { what: what.into(), why: why() }) }
}
