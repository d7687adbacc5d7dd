//! The kernel table: every shader, its bindings and its parameters, listed once.
//!
//! Binding 0 of every kernel is its uniform `Params`. Kernels that share a rule share a file, with an entry point each.
//! Those that take a row as a whole are in [`super::rows`], those of second moments in [`super::gram_kernels`].
//! `tests/shaders.rs` holds this table against what naga reads from the shaders.

use super::lean::lean_shader;
use super::{gram_kernels, rows};

/// How a kernel uses a storage buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Only read.
    Read,
    /// Written, and perhaps read.
    ReadWrite,
}

/// One storage buffer of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// `@binding` in the shader.
    pub slot: u32,
    /// Name of the variable in the shader.
    pub name: &'static str,
    /// How it is used.
    pub access: Access,
}

pub(super) const fn read(slot: u32, name: &'static str) -> Binding {
    Binding { slot, name, access: Access::Read }
}

pub(super) const fn read_write(slot: u32, name: &'static str) -> Binding {
    Binding { slot, name, access: Access::ReadWrite }
}

/// One member of a kernel's uniform structure; member `i` lies at byte `4·i`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Name in the shader.
    pub name: &'static str,
    /// `u32`, `i32` or `f32`.
    pub kind: &'static str,
}

/// A compute shader and how it is bound.
#[derive(Debug)]
pub struct Kernel {
    /// Entry point.
    pub name: &'static str,
    /// File under `shaders/`.
    pub file: &'static str,
    /// Files under `shaders/` that go before it, shared by several.
    pub shared: &'static [&'static str],
    /// Text of these files, without comments, with what they leave open said before them.
    pub source: &'static str,
    /// Members of its `Params`.
    pub params: &'static [Member],
    /// Storage buffers, in the order in which they are passed.
    pub bindings: &'static [Binding],
    /// Threads per workgroup.
    pub workgroup: [u32; 3],
    /// Values given to the shader's `override`s.
    pub overrides: &'static [(&'static str, f64)],
    /// What it asks of a device.
    pub needs: Needs,
}

/// What a kernel asks of a device beyond what every WebGPU device has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing.
    Nothing,
    /// Subgroup operations, however many threads a subgroup has.
    Subgroups,
    /// `dot4I8Packed`: part of WGSL that a browser may lack.
    PackedDots,
}

/// The uniform structure of a kernel: four-byte scalars in the shader's order.
pub trait Params {
    /// Its members.
    const MEMBERS: &'static [Member];
    /// The members' bits, in order.
    fn words(&self) -> Vec<u32>;
}

/// A four-byte scalar of a uniform structure.
pub(super) trait Word: Copy {
    fn bits(self) -> u32;
}

impl Word for u32 {
    fn bits(self) -> u32 {
        self
    }
}

impl Word for f32 {
    fn bits(self) -> u32 {
        self.to_bits()
    }
}

macro_rules! params {
    ($(#[$doc:meta])* $name:ident { $($member:ident: $kind:ident),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        #[allow(missing_docs, reason = "the shader explains its parameters")]
        pub struct $name {
            $(pub $member: $kind),+
        }

        impl Params for $name {
            const MEMBERS: &'static [Member] =
                &[$(Member { name: stringify!($member), kind: stringify!($kind) }),+];

            fn words(&self) -> Vec<u32> {
                vec![$(Word::bits(self.$member)),+]
            }
        }
    };
}

macro_rules! needs {
    () => {
        Needs::Nothing
    };
    ($needs:expr) => {
        $needs
    };
}

macro_rules! kernel {
    ($(#[$doc:meta])* $constant:ident = $file:literal
     $(after $($said:literal and)? [$($shared:literal),+])? $name:literal ($params:ty)
     bindings [$($binding:expr),* $(,)?] workgroup $workgroup:expr, overrides $overrides:expr $(, needs $needs:expr)?) => {
        $(#[$doc])*
        pub static $constant: Kernel = Kernel {
            name: $name,
            file: $file,
            shared: &[$($($shared),+)?],
            source: lean_shader!(
                $($($said,)? $(include_str!(concat!("../../shaders/", $shared)),)+)?
                include_str!(concat!("../../shaders/", $file))
            ),
            params: <$params as Params>::MEMBERS,
            bindings: &[$($binding),*],
            workgroup: $workgroup,
            overrides: $overrides,
            needs: needs!($($needs)?),
        };
    };
}

pub(super) use {kernel, needs, params};

params!(
    /// Parameters of [`GATHER`].
    GatherParams { count: u32, cols: u32, first_row: u32, rows: u32 }
);
params!(
    /// Parameters of the norms.
    NormParams { rows: u32, cols: u32, eps: f32 }
);
params!(
    /// Parameters of the matrix products.
    MatmulParams {
        rows: u32,
        cols: u32,
        inner: u32,
        first_row: u32,
        first_col: u32,
        out_stride: u32,
        out_offset: u32,
        has_bias: u32,
    }
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
    /// Parameters of [`rows::ATTENTION_SOFTMAX`].
    SoftmaxParams { rows: u32, seq_len: u32, causal: u32 }
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
params!(
    /// Parameters of kernels that need only a shape.
    RowsParams { rows: u32, cols: u32 }
);
/// Threads of a workgroup of element-wise kernels.
pub(super) const ELEMENTS: [u32; 3] = [64, 1, 1];
/// Threads of a workgroup of kernels with one thread per row.
pub(super) const ROWS: [u32; 3] = [32, 1, 1];
/// The same, as the shaders' override.
pub(super) const ELEMENTS_OVERRIDE: &[(&str, f64)] = &[("WORKGROUP", ELEMENTS[0] as f64)];
pub(super) const ROWS_OVERRIDE: &[(&str, f64)] = &[("WORKGROUP", ROWS[0] as f64)];
/// Threads of a workgroup of [`MATMUL_ANY`].
const LANES: [u32; 3] = [32, 1, 1];
const LANES_OVERRIDE: &[(&str, f64)] = &[("LANES", LANES[0] as f64)];
/// Threads of a workgroup of products through workgroup memory.
const TILES: [u32; 3] = [128, 1, 1];
/// Rows and columns of their tiles.
pub(super) const TILE: usize = 64;

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
    /// x·weightᵀ + bias, any inner width.
    MATMUL_ANY = "matmul_any.wgsl" after "alias Inner = f32;" and ["shared/product.wgsl"] "matmul_any" (MatmulParams)
    bindings [read(1, "x"), read(2, "weight"), read(3, "bias"), read_write(4, "out")]
    workgroup LANES, overrides LANES_OVERRIDE
);
kernel!(
    /// x·weightᵀ + bias in registers, inner width a multiple of 4.
    MATMUL_REGISTER = "matmul_register.wgsl" after "alias Inner = vec4<f32>;" and ["shared/product.wgsl"]
    "matmul_register" (MatmulParams)
    bindings [read(1, "x"), read(2, "weight"), read(3, "bias"), read_write(4, "out")]
    workgroup [8, 8, 1], overrides &[]
);
kernel!(
    /// x·weightᵀ + bias through workgroup memory, inner width a multiple of 4.
    MATMUL_SHARED = "matmul_shared.wgsl" after "alias Inner = vec4<f32>;" and ["shared/product.wgsl", "shared/tiles.wgsl"]
    "matmul_shared" (MatmulParams)
    bindings [read(1, "x"), read(2, "weight"), read(3, "bias"), read_write(4, "out")]
    workgroup TILES, overrides &[]
);
kernel!(
    /// Rotary position embedding.
    ROTATE = "rotate.wgsl" "rotate" (RotateParams)
    bindings [read(1, "x"), read(2, "cosines"), read(3, "sines"), read_write(4, "out")]
    workgroup ELEMENTS, overrides ELEMENTS_OVERRIDE
);
kernel!(
    /// Scaled q·kᵀ of every window and head.
    ATTENTION_SCORES = "attention_scores.wgsl" after ["shared/tiles.wgsl"] "attention_scores" (ScoresParams)
    bindings [read(1, "q"), read(2, "k"), read_write(3, "scores")]
    workgroup TILES, overrides &[]
);
kernel!(
    /// Weighted sums of values.
    ATTENTION_VALUES = "attention_values.wgsl" after ["shared/tiles.wgsl"] "attention_values" (ValuesParams)
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
        shared: &[],
        source: lean_shader!(include_str!("../../shaders/activation.wgsl")),
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
    /// A gradient on its way back through GELU.
    GELU_GRADIENT = "activation.wgsl" "gelu_gradient" (ActivationParams)
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

/// Every kernel, specialisations of one shader by its overrides included.
pub fn all() -> impl Iterator<Item = &'static Kernel> {
    KERNELS.iter().chain(gram_kernels::KERNELS).copied().chain(rows::OPERATIONS.into_iter().flatten())
}

/// Those that there is one of for its operation, or that [`super::matmul`] and attention choose.
static KERNELS: &[&Kernel] = &[
    &GATHER,
    &UNPACK,
    &MATMUL_ANY,
    &MATMUL_REGISTER,
    &MATMUL_SHARED,
    &ROTATE,
    &ATTENTION_SCORES,
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
    &TRANSPOSE,
    &COMBINE,
    &GELU_GRADIENT,
    &ADAM,
];
