//! How the digits of second moments are laid out, and which kernels multiply and add them.

use super::gram::{
    ADD_DOTS, ADD_FLOAT_DIGITS, ADD_INTEGERS, ADD_PARTIALS, GRAM_DOTS, GRAM_FLOATS, GRAM_INTEGERS, GRAM_PACKED,
};
use super::kernel::Kernel;

/// Rows of a block of f32 sums, and of sums by column.
pub(in crate::backend::gpu) const BLOCK_ROWS: usize = 64;
/// Rows of a block of exact sums: of 12-bit digits the cross terms stay below 2³¹, of 8-bit digits in f32 all sums within
/// 2²⁴ (`gram_sums.wgsl` says why).
const EXACT_BLOCK_ROWS: usize = 256;

/// How exact products are made of digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exact {
    /// 12-bit digits as integers, each plane of them by itself.
    IntegerPlanes,
    /// The same from one word for both.
    IntegerPacked,
    /// 8-bit digits and their pairs in f32, each plane of them by itself.
    FloatDigits,
    /// 8-bit digits, four of them times four in one operation.
    DotPacked,
}

impl Exact {
    /// All of them. The first one is the fastest on most hardware: six multiply-adds in f32, where three of integers take
    /// as long as twelve on GPUs of Apple, AMD and Intel and as six on those of NVIDIA, and packed dot products are often
    /// taken apart.
    pub const ALL: [Self; 4] = [Self::FloatDigits, Self::IntegerPlanes, Self::IntegerPacked, Self::DotPacked];

    /// The kernel that multiplies.
    pub fn kernel(self) -> &'static Kernel {
        self.form().multiply
    }

    /// Times are those of the slowest devices: dispatches too short cost little, and those too long cost the device.
    pub(in crate::backend::gpu) const fn form(self) -> Form {
        let planes = Form {
            digits: 1,
            planes: 3,
            products: 3,
            block_rows: EXACT_BLOCK_ROWS,
            // Three products that take four times as long as in f32.
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
            // Nine products of sixteen operations for four rows, where they are taken apart.
            Self::DotPacked => {
                Form { digits: 4, planes: 1, products: 5, flops: 36.0, multiply: &GRAM_DOTS, add: &ADD_DOTS, ..planes }
            }
        }
    }
}

/// The form of a batch's digits, and what is done with them.
#[derive(Clone, Copy)]
pub(in crate::backend::gpu) struct Form {
    /// As the shader numbers it.
    pub(in crate::backend::gpu) digits: u32,
    /// Planes of digits.
    pub(in crate::backend::gpu) planes: usize,
    /// Planes of products.
    pub(in crate::backend::gpu) products: usize,
    pub(in crate::backend::gpu) block_rows: usize,
    /// Operations whose time one product takes, against two of a matrix product.
    pub(in crate::backend::gpu) flops: f64,
    pub(in crate::backend::gpu) multiply: &'static Kernel,
    pub(in crate::backend::gpu) add: &'static Kernel,
}

impl Form {
    /// Of fast second moments: scaled values in f32.
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
