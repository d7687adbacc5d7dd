//! A fused operation as candle's custom operations. \[candle-core\]

use candle_core::{CpuStorage, CustomOp1, CustomOp2, CustomOp3, Device, Layout, Result, Shape, Storage, Tensor, bail};

/// An operation of N contiguous f32 tensors, with its gradient.
pub(crate) trait Fused<const N: usize>: Send + Sync + 'static {
    /// Name for errors.
    const NAME: &'static str;

    /// Columns of the result if the first input has `cols`.
    fn cols(&self, cols: usize) -> usize {
        cols
    }

    /// The result.
    fn forward(&self, inputs: [&[f32]; N]) -> Vec<f32>;

    /// The gradient of every input, given the result and its gradient.
    fn backward(&self, inputs: [&[f32]; N], output: &[f32], gradient: &[f32]) -> [Vec<f32>; N];
}

/// Applies an operation of one tensor.
pub(crate) fn apply_1(op: impl Fused<1>, a: &Tensor) -> Result<Tensor> {
    a.contiguous()?.apply_op1(Op(op))
}

/// Applies an operation of two tensors.
pub(crate) fn apply_2(op: impl Fused<2>, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    a.contiguous()?.apply_op2(&b.contiguous()?, Op(op))
}

/// Applies an operation of three tensors.
pub(crate) fn apply_3(op: impl Fused<3>, a: &Tensor, b: &Tensor, c: &Tensor) -> Result<Tensor> {
    a.contiguous()?.apply_op3(&b.contiguous()?, &c.contiguous()?, Op(op))
}

struct Op<F>(F);

impl<F: Fused<1>> CustomOp1 for Op<F> {
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn cpu_fwd(&self, a: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        forward(&self.0, [(a, layout)])
    }

    fn bwd(&self, a: &Tensor, output: &Tensor, gradient: &Tensor) -> Result<Option<Tensor>> {
        let [a] = backward(&self.0, [a], output, gradient)?;
        Ok(Some(a))
    }
}

impl<F: Fused<2>> CustomOp2 for Op<F> {
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn cpu_fwd(&self, a: &CpuStorage, la: &Layout, b: &CpuStorage, lb: &Layout) -> Result<(CpuStorage, Shape)> {
        forward(&self.0, [(a, la), (b, lb)])
    }

    fn bwd(
        &self,
        a: &Tensor,
        b: &Tensor,
        output: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let [a, b] = backward(&self.0, [a, b], output, gradient)?;
        Ok((Some(a), Some(b)))
    }
}

impl<F: Fused<3>> CustomOp3 for Op<F> {
    fn name(&self) -> &'static str {
        F::NAME
    }

    fn cpu_fwd(
        &self,
        a: &CpuStorage,
        la: &Layout,
        b: &CpuStorage,
        lb: &Layout,
        c: &CpuStorage,
        lc: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        forward(&self.0, [(a, la), (b, lb), (c, lc)])
    }

    fn bwd(
        &self,
        a: &Tensor,
        b: &Tensor,
        c: &Tensor,
        output: &Tensor,
        gradient: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        let [a, b, c] = backward(&self.0, [a, b, c], output, gradient)?;
        Ok((Some(a), Some(b), Some(c)))
    }
}

fn forward<F: Fused<N>, const N: usize>(op: &F, inputs: [(&CpuStorage, &Layout); N]) -> Result<(CpuStorage, Shape)> {
    let mut dims = inputs[0].1.dims().to_vec();
    if let Some(cols) = dims.last_mut() {
        *cols = op.cols(*cols);
    }
    let mut slices: [&[f32]; N] = [&[]; N];
    for (slice, (storage, layout)) in slices.iter_mut().zip(inputs) {
        *slice = values(storage, layout, F::NAME)?;
    }
    Ok((CpuStorage::F32(op.forward(slices)), Shape::from_dims(&dims)))
}

fn backward<F: Fused<N>, const N: usize>(
    op: &F,
    inputs: [&Tensor; N],
    output: &Tensor,
    gradient: &Tensor,
) -> Result<[Tensor; N]> {
    let gradient = gradient.contiguous()?;
    let guards = inputs.map(Tensor::storage_and_layout);
    let (output, gradient) = (output.storage_and_layout(), gradient.storage_and_layout());
    let mut slices: [&[f32]; N] = [&[]; N];
    for (slice, (storage, layout)) in slices.iter_mut().zip(&guards) {
        *slice = on_cpu(storage, layout, F::NAME)?;
    }
    let (output, gradient) = (on_cpu(&output.0, output.1, F::NAME)?, on_cpu(&gradient.0, gradient.1, F::NAME)?);
    let found = op.backward(slices, output, gradient);
    let mut shaped =
        found.into_iter().zip(inputs).map(|(values, like)| Tensor::from_vec(values, like.shape(), &Device::Cpu));
    let mut failure = None;
    let tensors = std::array::from_fn(|_| match shaped.next() {
        Some(Ok(tensor)) => tensor,
        Some(Err(error)) => {
            failure = Some(error);
            inputs[0].clone()
        }
        None => inputs[0].clone(),
    });
    failure.map_or(Ok(tensors), Err)
}

fn on_cpu<'a>(storage: &'a Storage, layout: &Layout, name: &str) -> Result<&'a [f32]> {
    match storage {
        Storage::Cpu(storage) => values(storage, layout, name),
        _ => bail!("{name} runs on the CPU only"),
    }
}

fn values<'a>(storage: &'a CpuStorage, layout: &Layout, name: &str) -> Result<&'a [f32]> {
    match (storage, layout.contiguous_offsets()) {
        (CpuStorage::F32(values), Some((start, end))) => Ok(&values[start..end]),
        _ => bail!("{name} needs contiguous f32 values"),
    }
}
