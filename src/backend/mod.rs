//! The operations that a forward pass, the accumulation of second moments and the training of probes need.
//!
//! All code above this trait is device-independent: none of it names wgpu or candle. Activations and weights are
//! two-dimensional, row-major `(rows, cols)`, one row per token. On an asynchronous device, operations record work and
//! return at once; only the `async` ones wait.

mod attention;
pub mod cpu;
pub mod gpu;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::job::GramMode;
use crate::report::DeviceInfo;
use crate::stats::moments::{Moments, Scale};

pub use attention::AttentionShape;

/// Default rows per batch: enough to keep most devices busy, few enough to stop soon after a cancel.
pub const BATCH_ROWS: usize = 1024;

/// Rows and columns of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Tokens; output features for a weight.
    pub rows: usize,
    /// Features.
    pub cols: usize,
}

impl Shape {
    /// `rows` × `cols`.
    pub const fn new(rows: usize, cols: usize) -> Self {
        Self { rows, cols }
    }

    /// Number of elements.
    pub const fn len(self) -> usize {
        self.rows * self.cols
    }

    /// Whether there is no element.
    pub const fn is_empty(self) -> bool {
        self.len() == 0
    }
}

/// How a checkpoint stores the elements of a weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Storage {
    /// Single precision.
    #[default]
    F32,
    /// IEEE half precision.
    F16,
    /// The upper half of single precision.
    Bf16,
}

/// Element-wise functions, named by formula and not by their names in configurations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Activation {
    /// x·Φ(x), with the error function.
    Gelu,
    /// 0.5·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))).
    GeluTanh,
    /// x·sigmoid(1.702·x).
    QuickGelu,
    /// max(x, 0).
    Relu,
    /// max(x, 0)².
    ReluSquared,
    /// x·sigmoid(x).
    Silu,
    /// tanh(x).
    Tanh,
    /// 1/(1 + e^−x).
    Sigmoid,
    /// x.
    Identity,
}

/// Rotary tables for one window: `cos` and `sin` are `(seq_len, rotary_dim / 2)`.
#[derive(Clone, Debug)]
pub struct Rotary<T> {
    /// cos(position · frequency).
    pub cos: T,
    /// sin(position · frequency).
    pub sin: T,
    /// Leading features of every head that are rotated; feature i pairs with i + rotary_dim / 2. Even.
    pub rotary_dim: usize,
    /// Width of a head.
    pub head_dim: usize,
    /// Positions per window.
    pub seq_len: usize,
}

/// Dimensions of one block's second moments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GramShape {
    /// Width of x.
    pub d_in: usize,
    /// Width of y.
    pub d_out: usize,
    /// Number of folds, accumulated separately; the last one also accumulates the full yyᵀ.
    pub folds: usize,
    /// Exact integer sums or fast f32 sums.
    pub mode: GramMode,
}

/// One batch of a block's rows: whole windows of one fold.
#[derive(Clone, Copy, Debug)]
pub struct GramRows<'a, T> {
    /// Block of the rows, for error messages.
    pub block: usize,
    /// Fold of all rows.
    pub fold: usize,
    /// Part of the fold. Where sums depend on the order of rows, each part is summed separately, so that the result
    /// does not depend on which worker sums which part. Rows of a part are consecutive.
    pub part: usize,
    /// Index of the first row in the corpus, for error messages.
    pub first_row: usize,
    /// Input of the block, `(rows, d_in)`.
    pub x: &'a T,
    /// Output of the block, `(rows, d_out)`.
    pub y: &'a T,
    /// Positions per window: `rows` is a multiple of it.
    pub seq_len: usize,
    /// Leading positions of every window that are left out.
    pub skip_positions: usize,
}

/// A parameter in training with its Adam moments; all of one shape.
#[derive(Clone, Debug)]
pub struct Adam<T> {
    /// The parameter.
    pub parameter: T,
    /// Exponential moving average of the gradient.
    pub first: T,
    /// Exponential moving average of the squared gradient.
    pub second: T,
}

/// One step of Adam with decoupled weight decay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamStep {
    /// Number of this step, counted from 1.
    pub step: usize,
    /// Learning rate of this step.
    pub learning_rate: f64,
    /// Decoupled weight decay, multiplied by the learning rate.
    pub weight_decay: f64,
}

impl AdamStep {
    /// Decay of the first moment.
    pub const BETA1: f64 = 0.9;
    /// Decay of the second moment.
    pub const BETA2: f64 = 0.999;
    /// Added to the square root of the second moment.
    pub const EPS: f64 = 1e-8;

    /// Learning rate divided by the bias correction of the first moment.
    pub fn rate(&self) -> f64 {
        self.learning_rate / (1.0 - Self::BETA1.powf(self.step as f64))
    }

    /// Reciprocal square root of the bias correction of the second moment.
    pub fn correction(&self) -> f64 {
        (1.0 - Self::BETA2.powf(self.step as f64)).sqrt().recip()
    }

    /// Factor by which weight decay scales the parameter.
    pub fn keep(&self) -> f64 {
        1.0 - self.learning_rate * self.weight_decay
    }
}

/// A device that computes the operations of a model.
#[allow(async_fn_in_trait, reason = "one thread by design: a page's worker has no other")]
pub trait Backend {
    /// A two-dimensional f32 array on the device; cloning shares it.
    type Tensor: Clone + 'static;
    /// Accumulated second moments of one block.
    type Gram;

    /// Whether tensors lie in this process's memory.
    const IN_MEMORY: bool;

    /// The device, for the report.
    fn info(&self) -> DeviceInfo;

    /// The Gram mode that the backend uses for a requested one.
    fn gram_mode(&self, requested: GramMode) -> GramMode {
        requested
    }

    /// Rows per batch that keep the device busy, given the number of columns of the widest activation.
    fn batch_rows(&self, _widest: usize) -> usize {
        BATCH_ROWS
    }

    /// Whether waits are too slow for timing single operations.
    fn has_coarse_times(&self) -> bool {
        false
    }

    /// Copies row-major `data` to the device; `name` appears in errors.
    fn upload(&self, name: &str, shape: Shape, data: &[f32]) -> Result<Self::Tensor>;

    /// Like [`Backend::upload`], for an embedding table or the weight of a linear layer that the checkpoint stores as
    /// `storage`. The device may keep that storage format; results are the same as after [`Backend::upload`]. Only
    /// [`Backend::gather`], [`Backend::linear`] and [`Backend::read`] accept such a tensor.
    fn upload_stored(&self, name: &str, shape: Shape, data: &[f32], storage: Storage) -> Result<Self::Tensor> {
        let _ = storage;
        self.upload(name, shape, data)
    }

    /// Shape of a tensor.
    fn shape(&self, tensor: &Self::Tensor) -> Shape;

    /// Copies tensors back to the host, each row-major, with a single wait.
    async fn read_all(&self, tensors: &[&Self::Tensor]) -> Result<Vec<Vec<f32>>>;

    /// Copies a tensor back to the host, row-major.
    async fn read(&self, tensor: &Self::Tensor) -> Result<Vec<f32>> {
        Ok(self.read_all(&[tensor]).await?.pop().unwrap_or_default())
    }

    /// Rows `ids` of `table`; every id must be below its row count.
    fn gather(&self, table: &Self::Tensor, ids: &[u32]) -> Result<Self::Tensor>;

    /// The same elements in other rows; `shape` has as many elements.
    fn reshape(&self, x: &Self::Tensor, shape: Shape) -> Result<Self::Tensor>;

    /// a + b, equal shapes.
    fn add(&self, a: &Self::Tensor, b: &Self::Tensor) -> Result<Self::Tensor> {
        self.combine(a, 1.0, b, 1.0)
    }

    /// (x − mean)/√(var + eps)·weight + bias, per row; weight and bias are `(1, cols)`.
    fn layer_norm(
        &self,
        x: &Self::Tensor,
        weight: &Self::Tensor,
        bias: &Self::Tensor,
        eps: f32,
    ) -> Result<Self::Tensor>;

    /// x/√(mean(x²) + eps)·weight, per row; weight is `(1, cols)`.
    fn rms_norm(&self, x: &Self::Tensor, weight: &Self::Tensor, eps: f32) -> Result<Self::Tensor>;

    /// x·weightᵀ + bias; weight is `(out, in)`, bias `(1, out)`.
    fn linear(&self, x: &Self::Tensor, weight: &Self::Tensor, bias: Option<&Self::Tensor>) -> Result<Self::Tensor>;

    /// Rotary position embedding of every head of x.
    fn rotate(&self, x: &Self::Tensor, rotary: &Rotary<Self::Tensor>) -> Result<Self::Tensor>;

    /// Attention per window and head, `(rows, heads·head_dim)`.
    fn attention(
        &self,
        q: &Self::Tensor,
        k: &Self::Tensor,
        v: &Self::Tensor,
        shape: AttentionShape,
    ) -> Result<Self::Tensor>;

    /// The activation of every element.
    fn activation(&self, x: &Self::Tensor, activation: Activation) -> Result<Self::Tensor>;

    /// activation(gate) ⊙ up, equal shapes.
    fn gated(&self, gate: &Self::Tensor, up: &Self::Tensor, activation: Activation) -> Result<Self::Tensor>;

    /// (x − mean) ⊙ scale; mean and scale are `(1, cols)`.
    fn standardise(&self, x: &Self::Tensor, mean: &Self::Tensor, scale: &Self::Tensor) -> Result<Self::Tensor>;

    /// Cosine of every row of a with the same row of b, `(rows, 1)`; 0 where a row is 0.
    fn row_cosines(&self, a: &Self::Tensor, b: &Self::Tensor) -> Result<Self::Tensor>;

    /// ‖b − a‖/‖a‖ of every row, `(rows, 1)`; 0 where both are 0.
    fn row_distance_ratios(&self, a: &Self::Tensor, b: &Self::Tensor) -> Result<Self::Tensor>;

    /// ‖a − b‖² of every row, `(rows, 1)`; b has the shape of a, or one row that is taken from all.
    fn row_squared_distances(&self, a: &Self::Tensor, b: &Self::Tensor) -> Result<Self::Tensor>;

    /// Σ a ⊙ b over the rows of every window of `seq_len` rows but its first `skip`, `(windows, cols)`; equal shapes, of
    /// whole windows.
    fn window_products(&self, a: &Self::Tensor, b: &Self::Tensor, seq_len: usize, skip: usize) -> Result<Self::Tensor>;

    /// −log softmax(logits) at the target of every row, natural logarithm, `(rows, 1)`; targets are below `cols`.
    fn next_token_nll(&self, logits: &Self::Tensor, targets: &[u32]) -> Result<Self::Tensor>;

    /// xᵀ, `(cols, rows)`.
    fn transpose(&self, x: &Self::Tensor) -> Result<Self::Tensor>;

    /// α·a + β·b, equal shapes.
    fn combine(&self, a: &Self::Tensor, alpha: f64, b: &Self::Tensor, beta: f64) -> Result<Self::Tensor>;

    /// gradient ⊙ f′(x) for f = [`Activation::Gelu`], equal shapes.
    fn gelu_gradient(&self, x: &Self::Tensor, gradient: &Self::Tensor) -> Result<Self::Tensor>;

    /// The parameter and its moments after one step with `gradient`; `state` itself is unchanged.
    fn adam(&self, state: &Adam<Self::Tensor>, gradient: &Self::Tensor, step: &AdamStep) -> Result<Adam<Self::Tensor>>;

    /// Empty accumulators for one block; `x` and `y` are the scales chosen from its first batch.
    async fn gram(&self, shape: GramShape, x: &Scale, y: &Scale) -> Result<Self::Gram>;

    /// Adds a batch of rows.
    fn accumulate(&self, gram: &mut Self::Gram, rows: GramRows<'_, Self::Tensor>) -> Result<()>;

    /// Ends a batch: waits until the device has finished the previous batch, so that it always has one queued. With a
    /// Gram, also adds rows outside its scale.
    ///
    /// NaN or infinity raises [`crate::error::Error::NonFiniteActivation`] here, in `accumulate` or in `moments`.
    async fn batch_end(&self, gram: Option<&mut Self::Gram>) -> Result<()>;

    /// Waits until the device has finished all recorded work.
    async fn wait(&self) -> Result<()>;

    /// Second moments of every fold.
    async fn moments(&self, gram: Self::Gram) -> Result<Vec<Moments>>;
}
