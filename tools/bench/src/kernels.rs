//! Times every operation of a forward pass separately, at the model's sizes.

use straightedge::backend::{Activation, AttentionShape, Backend, Shape as Sizes};
use straightedge::error::Result;
use straightedge::platform::random::Random;

use crate::clock::shortest;
use crate::results::KernelLine;
use crate::settings::{Settings, Shape};

/// Time limit in milliseconds of the largest product.
const SLOW_MS: f64 = 400.0;

/// Times the operations on a device with a peak of `peak` GFLOP/s.
pub(crate) async fn time<B: Backend>(
    backend: &B,
    shape: Shape,
    settings: &Settings,
    peak: Option<f64>,
) -> Result<Vec<KernelLine>> {
    let mut bench =
        KernelBench { backend, shape, seq_len: settings.seq_len, rows: settings.seq_len, peak, lines: Vec::new() };
    bench.choose_rows().await?;
    let d = shape.width;
    for (inputs, outputs) in [(d, d), (d, 4 * d), (4 * d, d)] {
        bench.product(inputs, outputs).await?;
    }
    bench.attention().await?;
    bench.elementwise().await?;
    Ok(bench.lines)
}

struct KernelBench<'a, B> {
    backend: &'a B,
    shape: Shape,
    seq_len: usize,
    rows: usize,
    peak: Option<f64>,
    lines: Vec<KernelLine>,
}

impl<B: Backend> KernelBench<'_, B> {
    /// Chooses the number of windows: the engine's batch, unless the largest product then exceeds its time.
    async fn choose_rows(&mut self) -> Result<()> {
        let d = self.shape.width;
        let (x, weight) = (self.tensor(self.rows, d)?, self.tensor(4 * d, d)?);
        let ms = shortest(self.backend, || self.backend.linear(&x, &weight, None).map(drop)).await?;
        let windows = ((SLOW_MS / ms) as usize).clamp(1, (self.backend.batch_rows(4 * d) / self.seq_len).max(1));
        self.rows = windows * self.seq_len;
        Ok(())
    }

    async fn product(&mut self, inputs: usize, outputs: usize) -> Result<()> {
        let (x, weight) = (self.tensor(self.rows, inputs)?, self.tensor(outputs, inputs)?);
        let bias = self.tensor(1, outputs)?;
        let ms = shortest(self.backend, || self.backend.linear(&x, &weight, Some(&bias)).map(drop)).await?;
        let values = self.rows * (inputs + outputs) + inputs * outputs;
        self.line(format!("product {inputs} to {outputs}"), ms, &[2, self.rows, inputs, outputs], values);
        Ok(())
    }

    async fn attention(&mut self) -> Result<()> {
        let (d, heads) = (self.shape.width, self.shape.heads());
        let shape = AttentionShape { causal: true, ..AttentionShape::full(heads, d / heads, self.seq_len) };
        let (q, k, v) = (self.tensor(self.rows, d)?, self.tensor(self.rows, d)?, self.tensor(self.rows, d)?);
        let ms = shortest(self.backend, || self.backend.attention(&q, &k, &v, shape).map(drop)).await?;
        // Two products per pair of positions, of which causal attention needs half.
        let pairs = self.rows * (self.seq_len + 1) / 2;
        self.line(format!("attention, {heads} heads"), ms, &[4, pairs, d], 4 * self.rows * d);
        Ok(())
    }

    async fn elementwise(&mut self) -> Result<()> {
        let (backend, rows, d) = (self.backend, self.rows, self.shape.width);
        let (x, other) = (self.tensor(rows, d)?, self.tensor(rows, d)?);
        let (weight, bias) = (self.tensor(1, d)?, self.tensor(1, d)?);
        let ms = shortest(backend, || backend.layer_norm(&x, &weight, &bias, 1e-5).map(drop)).await?;
        self.line(format!("LayerNorm {d}"), ms, &[7, rows, d], 2 * rows * d);
        let ms = shortest(backend, || backend.rms_norm(&x, &weight, 1e-5).map(drop)).await?;
        self.line(format!("RMSNorm {d}"), ms, &[4, rows, d], 2 * rows * d);
        let wide = self.tensor(rows, 4 * d)?;
        let ms = shortest(backend, || backend.activation(&wide, Activation::GeluTanh).map(drop)).await?;
        self.line(format!("GELU {}", 4 * d), ms, &[8, rows, 4 * d], 2 * rows * 4 * d);
        let ms = shortest(backend, || backend.add(&x, &other).map(drop)).await?;
        self.line(format!("add {d}"), ms, &[rows, d], 3 * rows * d);
        let ids: Vec<u32> = (0..rows as u32).map(|row| (row * 7919) % rows as u32).collect();
        let ms = shortest(backend, || backend.gather(&x, &ids).map(drop)).await?;
        self.line(format!("gather {d}"), ms, &[0], 2 * rows * d);
        Ok(())
    }

    fn tensor(&self, rows: usize, cols: usize) -> Result<B::Tensor> {
        let mut random = Random::stream(1, &[rows as u64, cols as u64]);
        let values = random.values(rows * cols);
        self.backend.upload("bench", Sizes::new(rows, cols), &values)
    }

    /// `flops` are factors, because their product may overflow a browser's `usize`.
    fn line(&mut self, name: String, ms: f64, flops: &[usize], values: usize) {
        let gflops = flops.iter().map(|factor| *factor as f64).product::<f64>() / ms / 1e6;
        self.lines.push(KernelLine {
            name,
            rows: self.rows,
            ms,
            gflops,
            gbytes: 4.0 * values as f64 / ms / 1e6,
            share: self.peak.map(|peak| gflops / peak),
        });
    }
}
