//! Layouts of the digits for second moments, and the kernels that multiply and add them.

use super::gram::{
    ADD_DOTS, ADD_FLOAT_DIGITS, ADD_INTEGERS, ADD_PARTIALS, GRAM_DOTS, GRAM_FLOATS, GRAM_INTEGERS, GRAM_PACKED,
};
use super::kernel::Kernel;

/// Rows of a block in f32 sums and in column sums.
pub(in crate::backend::gpu) const BLOCK_ROWS: usize = 64;
/// Rows of a block in exact sums: with 12-bit digits the cross terms stay below 2³¹, with 8-bit digits in f32 all sums
/// stay within 2²⁴ (`gram_sums.wgsl` derives both).
const EXACT_BLOCK_ROWS: usize = 256;

/// How exact products are computed from digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exact {
    /// 12-bit digits as integers, one plane per digit.
    IntegerPlanes,
    /// 12-bit digits as integers, both packed in one word.
    IntegerPacked,
    /// 8-bit digits and their pair sums in f32, one plane each.
    FloatDigits,
    /// 8-bit digits, with packed dot products of four.
    DotPacked,
}

impl Exact {
    /// All variants. The first one is fastest on most hardware: it takes six multiply-adds in f32, whereas three
    /// integer ones take as long as twelve on Apple, AMD and Intel GPUs and as six on NVIDIA GPUs, and packed dot
    /// products are often emulated.
    pub const ALL: [Self; 4] = [Self::FloatDigits, Self::IntegerPlanes, Self::IntegerPacked, Self::DotPacked];

    /// The kernel that multiplies digits.
    pub fn kernel(self) -> &'static Kernel {
        self.form().multiply
    }

    /// The layout, with its cost on the slowest devices: long dispatches can lose the device, short ones cost little.
    pub(in crate::backend::gpu) const fn form(self) -> Form {
        let planes = Form {
            digits: 1,
            planes: 3,
            products: 3,
            block_rows: EXACT_BLOCK_ROWS,
            // Three products that each take four times as long as in f32.
            flops: 24.0,
            multiply: &GRAM_INTEGERS,
            add: &ADD_INTEGERS,
        };
        match self {
            Self::IntegerPlanes => planes,
            Self::IntegerPacked => Form { digits: 2, planes: 1, multiply: &GRAM_PACKED, ..planes },
            Self::FloatDigits => Form {
                digits: 3,
                planes: 6,
                products: 6,
                flops: 18.0,
                multiply: &GRAM_FLOATS,
                add: &ADD_FLOAT_DIGITS,
                ..planes
            },
            // Nine products of sixteen operations per four rows, where packed dot products are emulated.
            Self::DotPacked => {
                Form { digits: 4, planes: 1, products: 5, flops: 36.0, multiply: &GRAM_DOTS, add: &ADD_DOTS, ..planes }
            }
        }
    }
}

/// Digit layout of a batch, and its kernels.
#[derive(Clone, Copy)]
pub(in crate::backend::gpu) struct Form {
    /// Number of the layout in the shader.
    pub(in crate::backend::gpu) digits: u32,
    /// Planes of digits.
    pub(in crate::backend::gpu) planes: usize,
    /// Planes of products.
    pub(in crate::backend::gpu) products: usize,
    pub(in crate::backend::gpu) block_rows: usize,
    /// Cost of one product, where a multiply-add of a matrix product counts as two.
    pub(in crate::backend::gpu) flops: f64,
    pub(in crate::backend::gpu) multiply: &'static Kernel,
    pub(in crate::backend::gpu) add: &'static Kernel,
}

impl Form {
    /// The layout of fast second moments: scaled values in f32.
    pub(in crate::backend::gpu) const FAST: Self = Self {
        digits: 0,
        planes: 1,
        products: 1,
        block_rows: BLOCK_ROWS,
        flops: 3.0,
        multiply: &GRAM_FLOATS,
        add: &ADD_PARTIALS,
    };
}
