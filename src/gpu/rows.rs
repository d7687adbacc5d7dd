//! What takes a row as a whole – norms, softmax, log-likelihoods – in every way that there is; [`super::autotune`] finds the
//! fastest.

use super::adapter::Device;
use super::engine::Engine;
use super::kernels::{
    Binding, ELEMENTS, Kernel, Needs, NormParams, Params, ROWS, ROWS_OVERRIDE, RowsParams, SoftmaxParams, read,
    read_write,
};
use super::lean::lean_shader;

/// Who works on a row in kernels that reduce one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// One thread, without a barrier.
    Thread,
    /// A workgroup, over its memory.
    Group,
    /// A workgroup, over its subgroups first. No browser can be asked for them through wgpu.
    #[cfg(not(target_arch = "wasm32"))]
    Subgroup,
}

impl Reduction {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::Thread,
        Self::Group,
        #[cfg(not(target_arch = "wasm32"))]
        Self::Subgroup,
    ];

    /// Whether a device has what it takes.
    pub(super) fn runs(self, device: &Device) -> bool {
        device.runs(&LAYER_NORM[self as usize])
    }
}

/// The kernels of one operation, in the order of [`Reduction::ALL`]; they are bound alike.
pub type Ways = [Kernel; Reduction::ALL.len()];

impl Engine {
    /// The kernel of an operation on `rows` rows, and its workgroups.
    pub(super) fn by_rows(
        &self,
        ways: &'static Ways,
        reduction: Reduction,
        rows: usize,
    ) -> (&'static Kernel, [u32; 3]) {
        let kernel = &ways[reduction as usize];
        let workgroups = match reduction {
            Reduction::Thread => self.grid(kernel, rows),
            _ => self.group_grid(rows),
        };
        (kernel, workgroups)
    }
}

macro_rules! ways {
    ($(#[$doc:meta])* $constant:ident = $name:literal ($params:ty) bindings $bindings:expr) => {
        $(#[$doc])*
        pub static $constant: Ways = {
            const PARAMS: &[super::kernels::Member] = <$params as Params>::MEMBERS;
            const BINDINGS: &[Binding] = &$bindings;
            [
                Kernel {
                    name: $name,
                    file: concat!($name, ".wgsl"),
                    shared: &[],
                    source: lean_shader!(include_str!(concat!("../../shaders/", $name, ".wgsl"))),
                    params: PARAMS,
                    bindings: BINDINGS,
                    workgroup: ROWS,
                    overrides: ROWS_OVERRIDE,
                    needs: Needs::Nothing,
                },
                Kernel {
                    name: concat!($name, "_group"),
                    file: "by_group.wgsl",
                    shared: &[],
                    source: lean_shader!(include_str!("../../shaders/by_group.wgsl")),
                    params: PARAMS,
                    bindings: BINDINGS,
                    workgroup: ELEMENTS,
                    overrides: &[],
                    needs: Needs::Nothing,
                },
                #[cfg(not(target_arch = "wasm32"))]
                Kernel {
                    name: concat!($name, "_subgroup"),
                    file: "by_subgroup.wgsl",
                    shared: &[],
                    source: lean_shader!(include_str!("../../shaders/by_subgroup.wgsl")),
                    params: PARAMS,
                    bindings: BINDINGS,
                    workgroup: ELEMENTS,
                    overrides: &[],
                    needs: Needs::Subgroups,
                },
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

/// Every operation.
pub(super) static OPERATIONS: [&Ways; 4] = [&LAYER_NORM, &RMS_NORM, &ATTENTION_SOFTMAX, &NEXT_TOKEN_NLL];
