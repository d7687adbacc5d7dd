//! Kernels that reduce rows – norms, softmax, log-likelihoods – with one workgroup per row. There are two ways of
//! reduction; [`crate::backend::gpu::autotune`] finds the faster.

use super::comments::shader_text;
use super::kernel::{Binding, ELEMENTS, Kernel, Member, Needs, Params, RowsParams, Word, params, read, read_write};

params!(
    /// Parameters of the norms.
    NormParams { rows: u32, cols: u32, eps: f32 }
);
params!(
    /// Parameters of [`ATTENTION_SOFTMAX`].
    SoftmaxParams { rows: u32, seq_len: u32, causal: u32, reach: u32 }
);

/// How a workgroup reduces a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// Through workgroup memory.
    Workgroup,
    /// Through subgroup operations first. In browsers, wgpu cannot request them.
    #[cfg(not(target_arch = "wasm32"))]
    Subgroup,
}

impl Reduction {
    /// All reductions.
    pub const ALL: &[Self] = &[
        Self::Workgroup,
        #[cfg(not(target_arch = "wasm32"))]
        Self::Subgroup,
    ];

    /// The kernel of an operation.
    pub fn of(self, ways: &'static ReductionKernels) -> &'static Kernel {
        &ways[self as usize]
    }
}

/// The kernels of one operation, in the order of [`Reduction::ALL`], with the same bindings.
pub type ReductionKernels = [Kernel; Reduction::ALL.len()];

macro_rules! way {
    ($name:literal, $way:literal, $params:ty, $bindings:expr, $needs:expr) => {
        Kernel {
            name: concat!($name, "_", $way),
            file: "rows.wgsl",
            shared: &[concat!("shared/reduce_", $way, ".wgsl")],
            source: shader_text!(
                include_str!(concat!("../../../../shaders/shared/reduce_", $way, ".wgsl")),
                include_str!("../../../../shaders/rows.wgsl")
            ),
            params: <$params as Params>::MEMBERS,
            bindings: $bindings,
            workgroup: ELEMENTS,
            overrides: &[],
            needs: $needs,
        }
    };
}

macro_rules! ways {
    ($(#[$doc:meta])* $constant:ident = $name:literal ($params:ty) bindings $bindings:expr) => {
        $(#[$doc])*
        pub static $constant: ReductionKernels = {
            const BINDINGS: &[Binding] = &$bindings;
            [
                way!($name, "workgroup", $params, BINDINGS, Needs::Nothing),
                #[cfg(not(target_arch = "wasm32"))]
                way!($name, "subgroup", $params, BINDINGS, Needs::Subgroups),
            ]
        };
    };
}

ways!(
    /// LayerNorm.
    LAYER_NORM = "layer_norm" (NormParams)
    bindings [read(1, "x"), read(2, "weight"), read(3, "bias"), read_write(4, "out")]
);
ways!(
    /// RMSNorm.
    RMS_NORM = "rms_norm" (NormParams)
    bindings [read(1, "x"), read(2, "weight"), read_write(4, "out")]
);
ways!(
    /// Softmax of every row of scores.
    ATTENTION_SOFTMAX = "attention_softmax" (SoftmaxParams)
    bindings [read_write(1, "scores")]
);
ways!(
    /// Negative log-likelihoods of target tokens.
    NEXT_TOKEN_NLL = "next_token_nll" (RowsParams)
    bindings [read(1, "logits"), read(2, "targets"), read_write(3, "losses")]
);

/// All operations.
pub(in crate::backend::gpu) static OPERATIONS: [&ReductionKernels; 4] =
    [&LAYER_NORM, &RMS_NORM, &ATTENTION_SOFTMAX, &NEXT_TOKEN_NLL];
