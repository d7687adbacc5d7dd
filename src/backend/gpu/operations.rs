//! The operations of [`crate::backend::Backend`], each as one or a few dispatches.

use std::rc::Rc;

use super::attention::{self, Heads};
use super::autotune;
use super::backend::GpuBackend;
use super::device::{Part, Span, Tensor};
use super::dispatch::{check, equal};
use super::gram::{self, GpuGram};
use super::kernels::rows::{LAYER_NORM, NEXT_TOKEN_NLL, NormParams, RMS_NORM};
use super::kernels::{
    ACTIVATIONS, ADAM, ActivationParams, AdamParams, COMBINE, CombineParams, DistanceParams, GATHER, GELU_GRADIENT,
    GatherParams, ROTATE, ROW_COSINES, ROW_DISTANCE_RATIOS, ROW_SQUARED_DISTANCES, RotateParams, RowsParams,
    STANDARDISE, TRANSPOSE, WINDOW_PRODUCTS, WindowParams,
};
use super::matmul::{self, Product};
use super::packed;
use crate::backend::{
    Activation, Adam, AdamStep, AttentionShape, BATCH_ROWS, Backend, GramRows, GramShape, Rotary, Shape, Storage,
};
use crate::error::Result;
use crate::job::GramMode;
use crate::report::DeviceInfo;
use crate::stats::moments::{Moments, Scale};

/// Rate of a device that a batch of the default size keeps busy, in floating-point operations per millisecond; a device
/// twice as fast gets twice the rows.
const FLOPS_PER_MS_OF_BATCH: f64 = 2e9;
/// Maximum rows per batch.
const MOST_BATCH_ROWS: usize = 8192;
/// Maximum bytes of the widest tensor of a batch.
const BATCH_BYTES: usize = 64 << 20;

impl Backend for GpuBackend {
    type Tensor = Tensor;
    type Gram = GpuGram;

    const IN_MEMORY: bool = false;

    fn info(&self) -> DeviceInfo {
        self.engine.device.probe.info.clone()
    }

    fn batch_rows(&self, widest: usize) -> usize {
        if let Some(rows) = self.batch_rows {
            return rows;
        }
        batch_rows(self.choice.flops_per_ms, widest)
    }

    fn has_coarse_times(&self) -> bool {
        self.engine.waits.idle().is_coarse()
    }

    fn upload(&self, name: &str, shape: Shape, data: &[f32]) -> Result<Tensor> {
        check(data.len() == shape.len(), "uploading", || {
            format!("{name} has {} values for shape {shape:?}", data.len())
        })?;
        self.upload_words(name, shape, bytemuck::cast_slice(data), Storage::F32)
    }

    fn upload_stored(&self, name: &str, shape: Shape, data: &[f32], storage: Storage) -> Result<Tensor> {
        match packed::pack(data, shape.cols, storage) {
            Some(words) => self.upload_words(name, shape, &words, storage),
            None => self.upload(name, shape, data),
        }
    }

    fn shape(&self, tensor: &Tensor) -> Shape {
        tensor.shape
    }

    async fn read_all(&self, tensors: &[&Tensor]) -> Result<Vec<Vec<f32>>> {
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

    fn gather(&self, table: &Tensor, ids: &[u32]) -> Result<Tensor> {
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

    fn reshape(&self, x: &Tensor, shape: Shape) -> Result<Tensor> {
        x.buffer()?;
        check(x.shape.len() == shape.len(), "reshape", || format!("{:?} does not become {shape:?}", x.shape))?;
        let part = Part { first_row: 0, rows: shape.rows, buffer: x.parts[0].buffer.clone() };
        Ok(Tensor { shape, storage: x.storage, parts: Rc::new([part]) })
    }

    fn layer_norm(&self, x: &Tensor, weight: &Tensor, bias: &Tensor, eps: f32) -> Result<Tensor> {
        equal("layer_norm", weight.shape, Shape::new(1, x.shape.cols))?;
        equal("layer_norm", bias.shape, weight.shape)?;
        let out = self.output("layer norm", x.shape)?;
        let params = NormParams { rows: x.shape.rows as u32, cols: x.shape.cols as u32, eps };
        let buffers = [x.buffer()?, weight.buffer()?, bias.buffer()?, out.buffer()?];
        self.reduce(&LAYER_NORM, &params, &buffers, x.shape);
        Ok(out)
    }

    fn rms_norm(&self, x: &Tensor, weight: &Tensor, eps: f32) -> Result<Tensor> {
        equal("rms_norm", weight.shape, Shape::new(1, x.shape.cols))?;
        let out = self.output("RMS norm", x.shape)?;
        let params = NormParams { rows: x.shape.rows as u32, cols: x.shape.cols as u32, eps };
        let buffers = [x.buffer()?, weight.buffer()?, out.buffer()?];
        self.reduce(&RMS_NORM, &params, &buffers, x.shape);
        Ok(out)
    }

    fn linear(&self, x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
        check(x.shape.cols == weight.shape.cols, "linear", || {
            format!("input is {} wide, weight takes {}", x.shape.cols, weight.shape.cols)
        })?;
        if let Some(bias) = bias {
            equal("linear", bias.shape, Shape::new(1, weight.shape.rows))?;
        }
        let out = self.output("linear output", Shape::new(x.shape.rows, weight.shape.rows))?;
        let bias = bias.map(Tensor::buffer).transpose()?;
        for part in weight.parts.iter() {
            let product = Product {
                x: x.buffer()?,
                rows: x.shape.rows,
                inner: weight.shape.cols,
                weight: part,
                bias,
                out: out.buffer()?,
                out_cols: weight.shape.rows,
            };
            match weight.storage {
                Storage::F32 => matmul::record(&self.engine, &self.choice, &product),
                storage => self.packed_product(&product, storage),
            }
        }
        Ok(out)
    }

    fn rotate(&self, x: &Tensor, rotary: &Rotary<Tensor>) -> Result<Tensor> {
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

    fn attention(&self, q: &Tensor, k: &Tensor, v: &Tensor, shape: AttentionShape) -> Result<Tensor> {
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
        attention::record(&self.engine, &self.choice, &heads, shape)?;
        Ok(out)
    }

    fn activation(&self, x: &Tensor, activation: Activation) -> Result<Tensor> {
        self.activate(x, None, activation)
    }

    fn gated(&self, gate: &Tensor, up: &Tensor, activation: Activation) -> Result<Tensor> {
        self.activate(gate, Some(up), activation)
    }

    fn standardise(&self, x: &Tensor, mean: &Tensor, scale: &Tensor) -> Result<Tensor> {
        equal("standardise", mean.shape, Shape::new(1, x.shape.cols))?;
        equal("standardise", scale.shape, mean.shape)?;
        let out = self.output("standardised rows", x.shape)?;
        let params = RowsParams { rows: x.shape.rows as u32, cols: x.shape.cols as u32 };
        let buffers = [x.buffer()?, mean.buffer()?, scale.buffer()?, out.buffer()?];
        self.by_column(&STANDARDISE, &params, &buffers, x.shape);
        Ok(out)
    }

    fn row_cosines(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        equal("row_cosines", a.shape, b.shape)?;
        let out = self.output("cosines", Shape::new(a.shape.rows, 1))?;
        let params = RowsParams { rows: a.shape.rows as u32, cols: a.shape.cols as u32 };
        self.by_row(&ROW_COSINES, &params, &[a.buffer()?, b.buffer()?, out.buffer()?], a.shape);
        Ok(out)
    }

    fn row_distance_ratios(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        equal("row_distance_ratios", a.shape, b.shape)?;
        let out = self.output("distance ratios", Shape::new(a.shape.rows, 1))?;
        let params = RowsParams { rows: a.shape.rows as u32, cols: a.shape.cols as u32 };
        self.by_row(&ROW_DISTANCE_RATIOS, &params, &[a.buffer()?, b.buffer()?, out.buffer()?], a.shape);
        Ok(out)
    }

    fn row_squared_distances(&self, a: &Tensor, b: &Tensor) -> Result<Tensor> {
        let (rows_of_b, step) = if b.shape.rows == 1 { (1, 0) } else { (a.shape.rows, a.shape.cols as u32) };
        equal("row_squared_distances", b.shape, Shape::new(rows_of_b, a.shape.cols))?;
        let out = self.output("squared distances", Shape::new(a.shape.rows, 1))?;
        let params = DistanceParams { rows: a.shape.rows as u32, cols: a.shape.cols as u32, step };
        self.by_row(&ROW_SQUARED_DISTANCES, &params, &[a.buffer()?, b.buffer()?, out.buffer()?], a.shape);
        Ok(out)
    }

    fn window_products(&self, a: &Tensor, b: &Tensor, seq_len: usize, skip: usize) -> Result<Tensor> {
        equal("window_products", b.shape, a.shape)?;
        let fits = skip <= seq_len && a.shape.rows.is_multiple_of(seq_len);
        check(fits, "window_products", || format!("{} rows are no windows of {seq_len}", a.shape.rows))?;
        let sums = Shape::new(a.shape.rows / seq_len, a.shape.cols);
        let out = self.output("sums of windows", sums)?;
        let [windows, cols, seq_len, skip] = [sums.rows, sums.cols, seq_len, skip].map(|count| count as u32);
        let params = WindowParams { windows, cols, seq_len, skip };
        self.by_column(&WINDOW_PRODUCTS, &params, &[a.buffer()?, b.buffer()?, out.buffer()?], sums);
        Ok(out)
    }

    fn next_token_nll(&self, logits: &Tensor, targets: &[u32]) -> Result<Tensor> {
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

    fn transpose(&self, x: &Tensor) -> Result<Tensor> {
        let out = self.output("transpose", Shape::new(x.shape.cols, x.shape.rows))?;
        let params = RowsParams { rows: x.shape.rows as u32, cols: x.shape.cols as u32 };
        self.by_column(&TRANSPOSE, &params, &[x.buffer()?, out.buffer()?], x.shape);
        Ok(out)
    }

    fn combine(&self, a: &Tensor, alpha: f64, b: &Tensor, beta: f64) -> Result<Tensor> {
        equal("combine", a.shape, b.shape)?;
        let out = self.output("combination", a.shape)?;
        let params = CombineParams { len: a.shape.len() as u32, alpha: alpha as f32, beta: beta as f32 };
        self.each(&COMBINE, &params, &[a.buffer()?, b.buffer()?, out.buffer()?], a.shape);
        Ok(out)
    }

    fn gelu_gradient(&self, x: &Tensor, gradient: &Tensor) -> Result<Tensor> {
        equal("gelu_gradient", x.shape, gradient.shape)?;
        let out = self.output("gradient", x.shape)?;
        let params = ActivationParams { len: x.shape.len() as u32, gated: 1 };
        self.each(&GELU_GRADIENT, &params, &[x.buffer()?, gradient.buffer()?, out.buffer()?], x.shape);
        Ok(out)
    }

    fn adam(&self, state: &Adam<Tensor>, gradient: &Tensor, step: &AdamStep) -> Result<Adam<Tensor>> {
        let shape = state.parameter.shape;
        for tensor in [&state.first, &state.second, gradient] {
            equal("adam", tensor.shape, shape)?;
        }
        let new = Adam {
            parameter: self.output("parameter", shape)?,
            first: self.output("first moment", shape)?,
            second: self.output("second moment", shape)?,
        };
        let params = AdamParams {
            len: shape.len() as u32,
            beta1: AdamStep::BETA1 as f32,
            beta2: AdamStep::BETA2 as f32,
            rate: step.rate() as f32,
            correction: step.correction() as f32,
            eps: AdamStep::EPS as f32,
            keep: step.keep() as f32,
        };
        let old = [state.parameter.buffer()?, state.first.buffer()?, state.second.buffer()?, gradient.buffer()?];
        let out = [new.parameter.buffer()?, new.first.buffer()?, new.second.buffer()?];
        self.each(&ADAM, &params, &[&old[..], &out[..]].concat(), shape);
        Ok(new)
    }

    async fn gram(&self, shape: GramShape, x: &Scale, y: &Scale) -> Result<GpuGram> {
        if shape.mode == GramMode::Exact && self.exact.get().is_none() {
            let tuned = autotune::tune_exact(&self.engine, &self.choice).await?;
            self.exact.get_or_init(|| tuned);
        }
        GpuGram::new(&self.engine, shape, x, y, self.carry_rows)
    }

    fn accumulate(&self, gram: &mut GpuGram, rows: GramRows<'_, Tensor>) -> Result<()> {
        gram.accumulate(&self.engine, &self.kernel_choice(), rows)
    }

    async fn batch_end(&self, gram: Option<&mut GpuGram>) -> Result<()> {
        match gram {
            Some(gram) => gram::settle(&self.engine, gram, 1).await,
            None => self.engine.wait_for_batch_before().await,
        }
    }

    async fn wait(&self) -> Result<()> {
        self.engine.wait().await
    }

    async fn moments(&self, mut gram: GpuGram) -> Result<Vec<Moments>> {
        gram::settle(&self.engine, &mut gram, 0).await?;
        gram.moments(&self.engine).await
    }
}

impl GpuBackend {
    /// f(gate), or f(gate) ⊙ up.
    fn activate(&self, gate: &Tensor, up: Option<&Tensor>, activation: Activation) -> Result<Tensor> {
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
}

/// Rows per batch at a rate in floating-point operations per millisecond, where tensors have at most `widest` columns.
fn batch_rows(flops_per_ms: f64, widest: usize) -> usize {
    let by_memory = BATCH_BYTES / (4 * widest.max(1));
    let by_rate = BATCH_ROWS as f64 * flops_per_ms / FLOPS_PER_MS_OF_BATCH;
    // A power of two, so that small differences in measured rates do not change the batch size.
    let rows = by_memory.min(by_rate as usize).clamp(BATCH_ROWS, MOST_BATCH_ROWS);
    1 << rows.ilog2()
}

/// Index of the activation in `activation.wgsl`.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fast_device_gets_more_rows_as_far_as_memory_allows() {
        // TFLOP/s, widest tensor, rows.
        let cases = [
            (0.001, 3072, 1024),
            (2.0, 3072, 1024),
            (3.9, 3072, 1024),
            (4.1, 3072, 2048),
            (8.2, 1024, 4096),
            (16.5, 1024, 8192),
            (1e6, 1024, 8192),
            (f64::INFINITY, 1024, 8192),
            // 64 MiB of 3 072 columns are 5 461 rows.
            (16.5, 3072, 4096),
            (16.5, 16384, 1024),
            (16.5, 1 << 20, 1024),
        ];
        for (teraflops, widest, rows) in cases {
            let found = batch_rows(teraflops * 1e9, widest);
            assert_eq!(found, rows, "{teraflops} TFLOP/s, {widest} columns");
            let bytes = 4 * found * widest;
            assert!(
                found == BATCH_ROWS || bytes <= BATCH_BYTES,
                "{teraflops} TFLOP/s, {widest} columns: {bytes} bytes"
            );
        }
    }
}
