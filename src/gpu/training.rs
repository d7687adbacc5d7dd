//! What the training of probes needs besides the operations of a forward pass.

use super::GpuBackend;
use super::kernels::{
    ADAM, ActivationParams, AdamParams, COMBINE, CombineParams, GELU_GRADIENT, RowsParams, TRANSPOSE,
};
use super::ops::equal;
use super::tensor::Tensor;
use crate::backend::{Adam, AdamStep, Shape};
use crate::error::Result;

impl GpuBackend {
    pub(super) fn transposed(&self, x: &Tensor) -> Result<Tensor> {
        let out = self.output("transpose", Shape::new(x.shape.cols, x.shape.rows))?;
        let params = RowsParams { rows: x.shape.rows as u32, cols: x.shape.cols as u32 };
        self.by_column(&TRANSPOSE, &params, &[x.buffer()?, out.buffer()?], x.shape);
        Ok(out)
    }

    pub(super) fn combination(&self, a: &Tensor, alpha: f32, b: &Tensor, beta: f32) -> Result<Tensor> {
        equal("combine", a.shape, b.shape)?;
        let out = self.output("combination", a.shape)?;
        let params = CombineParams { len: a.shape.len() as u32, alpha, beta };
        self.each(&COMBINE, &params, &[a.buffer()?, b.buffer()?, out.buffer()?], a.shape);
        Ok(out)
    }

    pub(super) fn through_gelu(&self, x: &Tensor, gradient: &Tensor) -> Result<Tensor> {
        equal("gelu_gradient", x.shape, gradient.shape)?;
        let out = self.output("gradient", x.shape)?;
        let params = ActivationParams { len: x.shape.len() as u32, gated: 1 };
        self.each(&GELU_GRADIENT, &params, &[x.buffer()?, gradient.buffer()?, out.buffer()?], x.shape);
        Ok(out)
    }

    pub(super) fn adam_step(&self, state: &Adam<Tensor>, gradient: &Tensor, step: &AdamStep) -> Result<Adam<Tensor>> {
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
}
