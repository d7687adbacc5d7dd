//! Kernels of operations that have only one kernel.

use super::comments::shader_text;
use super::kernel::{
    ELEMENTS, ELEMENTS_OVERRIDE, Kernel, Member, Needs, Params, ROWS, ROWS_OVERRIDE, RowsParams, Word, kernel, needs,
    params, read, read_write,
};
use super::products::TILES;

params!(
    /// Parameters of [`ROW_SQUARED_DISTANCES`].
    DistanceParams { rows: u32, cols: u32, step: u32 }
);
params!(
    /// Parameters of [`WINDOW_PRODUCTS`].
    WindowParams { windows: u32, cols: u32, seq_len: u32, skip: u32 }
);
params!(
    /// Parameters of [`GATHER`].
    GatherParams { count: u32, cols: u32, first_row: u32, rows: u32 }
);
params!(
    /// Parameters of [`ROTATE`].
    RotateParams { rows: u32, cols: u32, head_dim: u32, rotary_dim: u32, seq_len: u32 }
);
params!(
    /// Parameters of [`ATTENTION_SCORES`].
    ScoresParams {
        seq_len: u32,
        heads: u32,
        kv_heads: u32,
        head_dim: u32,
        first: u32,
        causal: u32,
        scale: f32,
    }
);
params!(
    /// Parameters of [`ATTENTION_TERMS`].
    TermsParams { len: u32, seq_len: u32, heads: u32, first: u32, softcap: f32 }
);
params!(
    /// Parameters of [`ATTENTION_VALUES`].
    ValuesParams { seq_len: u32, heads: u32, kv_heads: u32, head_dim: u32, first: u32, causal: u32 }
);
params!(
    /// Parameters of [`ACTIVATIONS`].
    ActivationParams { len: u32, gated: u32 }
);
params!(
    /// Parameters of [`UNPACK`].
    UnpackParams { len: u32, first: u32, bf16: u32 }
);
params!(
    /// Parameters of [`COMBINE`].
    CombineParams { len: u32, alpha: f32, beta: f32 }
);
params!(
    /// Parameters of [`ADAM`].
    AdamParams {
        len: u32,
        beta1: f32,
        beta2: f32,
        rate: f32,
        correction: f32,
        eps: f32,
        keep: f32,
    }
);
kernel!(
    /// Rows of a table by id.
    GATHER = "gather.wgsl" "gather" (GatherParams)
    bindings [read(1, "ids"), read(2, "table"), read_write(3, "out")]
    workgroup ELEMENTS, overrides ELEMENTS_OVERRIDE
);
kernel!(
    /// Values stored in 16 bits as f32.
    UNPACK = "unpack.wgsl" "unpack" (UnpackParams)
    bindings [read(1, "words"), read_write(2, "out")]
    workgroup ELEMENTS, overrides ELEMENTS_OVERRIDE
);
kernel!(
    /// Rotary position embedding.
    ROTATE = "rotate.wgsl" "rotate" (RotateParams)
    bindings [read(1, "x"), read(2, "cosines"), read(3, "sines"), read_write(4, "out")]
    workgroup ELEMENTS, overrides ELEMENTS_OVERRIDE
);
kernel!(
    /// Scaled q·kᵀ of every window and head.
    ATTENTION_SCORES = "attention_scores.wgsl" after ["shared/tiles.wgsl", "shared/outputs_8x4.wgsl"]
    "attention_scores" (ScoresParams)
    bindings [read(1, "q"), read(2, "k"), read_write(3, "scores")]
    workgroup TILES, overrides &[]
);
kernel!(
    /// Capped scores, and the bias of ALiBi.
    ATTENTION_TERMS = "attention_terms.wgsl" after ["shared/tanh.wgsl"] "attention_terms" (TermsParams)
    bindings [read(1, "slopes"), read_write(2, "scores")]
    workgroup ELEMENTS, overrides ELEMENTS_OVERRIDE
);
kernel!(
    /// Weighted sums of values.
    ATTENTION_VALUES = "attention_values.wgsl" after ["shared/tiles.wgsl", "shared/outputs_8x4.wgsl"]
    "attention_values" (ValuesParams)
    bindings [read(1, "weights"), read(2, "v"), read_write(3, "out")]
    workgroup TILES, overrides &[]
);
/// Activations, plain and gated, in the order of the constants in the shader.
pub static ACTIVATIONS: [Kernel; 9] = [
    activation(&[("WORKGROUP", 64.0), ("KIND", 0.0)]),
    activation(&[("WORKGROUP", 64.0), ("KIND", 1.0)]),
    activation(&[("WORKGROUP", 64.0), ("KIND", 2.0)]),
    activation(&[("WORKGROUP", 64.0), ("KIND", 3.0)]),
    activation(&[("WORKGROUP", 64.0), ("KIND", 4.0)]),
    activation(&[("WORKGROUP", 64.0), ("KIND", 5.0)]),
    activation(&[("WORKGROUP", 64.0), ("KIND", 6.0)]),
    activation(&[("WORKGROUP", 64.0), ("KIND", 7.0)]),
    activation(&[("WORKGROUP", 64.0), ("KIND", 8.0)]),
];

const fn activation(overrides: &'static [(&'static str, f64)]) -> Kernel {
    Kernel {
        name: "activation",
        file: "activation.wgsl",
        shared: &["shared/tanh.wgsl"],
        source: shader_text!(
            include_str!("../../../../shaders/shared/tanh.wgsl"),
            include_str!("../../../../shaders/activation.wgsl")
        ),
        params: ActivationParams::MEMBERS,
        bindings: const { &[read(1, "gate"), read(2, "up"), read_write(3, "out")] },
        workgroup: ELEMENTS,
        overrides,
        needs: Needs::Nothing,
    }
}

kernel!(
    /// (x − mean) ⊙ scale by column.
    STANDARDISE = "standardise.wgsl" "standardise" (RowsParams)
    bindings [read(1, "x"), read(2, "mean"), read(3, "scale"), read_write(4, "out")]
    workgroup ELEMENTS, overrides ELEMENTS_OVERRIDE
);
kernel!(
    /// Cosines between rows.
    ROW_COSINES = "row_cosines.wgsl" "row_cosines" (RowsParams)
    bindings [read(1, "a"), read(2, "b"), read_write(3, "out")]
    workgroup ROWS, overrides ROWS_OVERRIDE
);
kernel!(
    /// Distances between rows, relative to the first.
    ROW_DISTANCE_RATIOS = "row_distance_ratios.wgsl" "row_distance_ratios" (RowsParams)
    bindings [read(1, "a"), read(2, "b"), read_write(3, "out")]
    workgroup ROWS, overrides ROWS_OVERRIDE
);
kernel!(
    /// Squared distances between rows.
    ROW_SQUARED_DISTANCES = "row_squared_distances.wgsl" "row_squared_distances" (DistanceParams)
    bindings [read(1, "a"), read(2, "b"), read_write(3, "out")]
    workgroup ROWS, overrides ROWS_OVERRIDE
);
kernel!(
    /// Sums of products over windows.
    WINDOW_PRODUCTS = "window_products.wgsl" "window_products" (WindowParams)
    bindings [read(1, "a"), read(2, "b"), read_write(3, "out")]
    workgroup ELEMENTS, overrides ELEMENTS_OVERRIDE
);
kernel!(
    /// xᵀ.
    TRANSPOSE = "transpose.wgsl" "transpose_rows" (RowsParams)
    bindings [read(1, "x"), read_write(2, "out")]
    workgroup ELEMENTS, overrides ELEMENTS_OVERRIDE
);
kernel!(
    /// α·a + β·b.
    COMBINE = "combine.wgsl" "combine" (CombineParams)
    bindings [read(1, "a"), read(2, "b"), read_write(3, "out")]
    workgroup ELEMENTS, overrides ELEMENTS_OVERRIDE
);
kernel!(
    /// The gradient through GELU.
    GELU_GRADIENT = "activation.wgsl" after ["shared/tanh.wgsl"] "gelu_gradient" (ActivationParams)
    bindings [read(1, "gate"), read(2, "up"), read_write(3, "out")]
    workgroup ELEMENTS, overrides &[("WORKGROUP", 64.0), ("KIND", 0.0)]
);
kernel!(
    /// One step of Adam.
    ADAM = "adam.wgsl" "adam" (AdamParams)
    bindings [
        read(1, "parameter"),
        read(2, "first"),
        read(3, "second"),
        read(4, "gradient"),
        read_write(5, "new_parameter"),
        read_write(6, "new_first"),
        read_write(7, "new_second"),
    ]
    workgroup ELEMENTS, overrides ELEMENTS_OVERRIDE
);

/// All kernels of this module.
pub(super) static KERNELS: &[&Kernel] = &[
    &GATHER,
    &UNPACK,
    &ROTATE,
    &ATTENTION_SCORES,
    &ATTENTION_TERMS,
    &ATTENTION_VALUES,
    &ACTIVATIONS[0],
    &ACTIVATIONS[1],
    &ACTIVATIONS[2],
    &ACTIVATIONS[3],
    &ACTIVATIONS[4],
    &ACTIVATIONS[5],
    &ACTIVATIONS[6],
    &ACTIVATIONS[7],
    &ACTIVATIONS[8],
    &STANDARDISE,
    &ROW_COSINES,
    &ROW_DISTANCE_RATIOS,
    &ROW_SQUARED_DISTANCES,
    &WINDOW_PRODUCTS,
    &TRANSPOSE,
    &COMBINE,
    &GELU_GRADIENT,
    &ADAM,
];
