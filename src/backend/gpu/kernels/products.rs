//! The kernels of matrix products, which compete.

use super::comments::shader_text;
use super::kernel::{Kernel, Member, Needs, Params, Word, kernel, needs, params, read, read_write};

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
/// Threads of a workgroup of [`MATMUL_ANY`].
const LANES: [u32; 3] = [32, 1, 1];
const LANES_OVERRIDE: &[(&str, f64)] = &[("LANES", LANES[0] as f64)];
/// Threads of a workgroup of products that use workgroup memory.
pub(super) const TILES: [u32; 3] = [128, 1, 1];
/// Rows and columns of their tiles.
pub(in crate::backend::gpu) const TILE: usize = 64;

kernel!(
    /// x·weightᵀ + bias for any inner width.
    MATMUL_ANY = "matmul_any.wgsl" after "alias Inner = f32;" and ["shared/product.wgsl"] "matmul_any" (MatmulParams)
    bindings [read(1, "x"), read(2, "weight"), read(3, "bias"), read_write(4, "out")]
    workgroup LANES, overrides LANES_OVERRIDE
);
kernel!(
    /// x·weightᵀ + bias in registers; the inner width is a multiple of 4.
    MATMUL_REGISTER = "matmul_register.wgsl" after "alias Inner = vec4<f32>;" and ["shared/product.wgsl"]
    "matmul_register" (MatmulParams)
    bindings [read(1, "x"), read(2, "weight"), read(3, "bias"), read_write(4, "out")]
    workgroup [8, 8, 1], overrides &[]
);
kernel!(
    /// x·weightᵀ + bias through workgroup memory; the inner width is a multiple of 4.
    MATMUL_SHARED = "matmul_shared.wgsl" after "alias Inner = vec4<f32>;" and
    ["shared/product.wgsl", "shared/tiles.wgsl", "shared/outputs_8x4.wgsl"] "matmul_shared" (MatmulParams)
    bindings [read(1, "x"), read(2, "weight"), read(3, "bias"), read_write(4, "out")]
    workgroup TILES, overrides &[]
);
kernel!(
    /// The same with twice the outputs per thread.
    MATMUL_SHARED_8X8 = "matmul_shared_8x8.wgsl" after "alias Inner = vec4<f32>;" and
    ["shared/product.wgsl", "shared/tiles.wgsl"] "matmul_shared_8x8" (MatmulParams)
    bindings [read(1, "x"), read(2, "weight"), read(3, "bias"), read_write(4, "out")]
    workgroup [64, 1, 1], overrides &[]
);
/// A way to compute x·weightᵀ.
#[derive(Debug)]
pub struct Variant {
    /// The kernel.
    pub kernel: &'static Kernel,
    /// Rows and columns of the output that one workgroup computes.
    pub tile: [usize; 2],
    /// The inner width must be a multiple of this.
    pub inner: usize,
}

/// All variants: first the one for any inner width, then those that compete.
pub static VARIANTS: &[Variant] = &[
    Variant { kernel: &MATMUL_ANY, tile: [4, 128], inner: 1 },
    Variant { kernel: &MATMUL_SHARED, tile: [TILE, TILE], inner: 4 },
    Variant { kernel: &MATMUL_SHARED_8X8, tile: [TILE, TILE], inner: 4 },
    Variant { kernel: &MATMUL_REGISTER, tile: [64, 32], inner: 4 },
];

/// The kernels of `VARIANTS`.
pub(super) static KERNELS: &[&Kernel] = &[&MATMUL_ANY, &MATMUL_SHARED, &MATMUL_SHARED_8X8, &MATMUL_REGISTER];
