//! The kernels of second moments; those of exact second moments compete.

use super::comments::shader_text;
use super::kernel::{
    ELEMENTS, ELEMENTS_OVERRIDE, Kernel, Member, Needs, Params, Word, kernel, needs, params, read, read_write,
};

params!(
    /// Parameters of [`MARK_OUTLIERS`], [`QUANTISE`] and [`SUM_COLUMNS`].
    QuantiseParams { rows: u32, cols: u32, stride: u32, seq_len: u32, skip: u32, digits: u32 }
);
params!(
    /// Parameters of the products of second moments.
    GramParams {
        a_cols: u32,
        b_cols: u32,
        groups: u32,
        block_groups: u32,
        first_group: u32,
        end_group: u32,
        planes: u32,
        symmetric: u32,
        first_tile: u32,
        end_tile: u32,
    }
);
params!(
    /// Parameters of the kernels that add products to 64-bit sums.
    GramSumsParams { blocks: u32, fours: u32, first_four: u32 }
);
params!(
    /// Parameters of [`CARRY`].
    LenParams { len: u32 }
);

kernel!(
    /// Marks rows with a value outside its column's scale.
    MARK_OUTLIERS = "quantise.wgsl" "mark_outliers" (QuantiseParams)
    bindings [read(1, "x"), read(2, "scales"), read_write(3, "flags")]
    workgroup ELEMENTS, overrides ELEMENTS_OVERRIDE
);
kernel!(
    /// Digits or scaled values of the rows within the scale, 0 for other rows; also column sums, squares and largest
    /// magnitudes, one set per block.
    QUANTISE = "quantise.wgsl" "quantise" (QuantiseParams)
    bindings [
        read(1, "x"),
        read(2, "scales"),
        read(3, "flagged"),
        read_write(4, "digits"),
        read_write(5, "block_sums"),
        read_write(7, "largest"),
    ]
    workgroup ELEMENTS, overrides ELEMENTS_OVERRIDE
);
kernel!(
    /// Adds up the blocks' column sums.
    SUM_COLUMNS = "quantise.wgsl" "sum_columns" (QuantiseParams)
    bindings [read(5, "blocks"), read_write(6, "sums")]
    workgroup ELEMENTS, overrides ELEMENTS_OVERRIDE
);
kernel!(
    /// Products of f32 planes; blocks of rows run in parallel.
    GRAM_FLOATS = "gram.wgsl" after "alias Number = f32;" and ["gram_tiles.wgsl"] "gram" (GramParams)
    bindings [read(1, "a"), read(2, "b"), read_write(3, "products")]
    workgroup [4, 4, 4], overrides &[]
);
kernel!(
    /// Products of integer planes; blocks of rows run in parallel.
    GRAM_INTEGERS = "gram.wgsl" after "alias Number = u32;" and ["gram_tiles.wgsl"] "gram" (GramParams)
    bindings [read(1, "a"), read(2, "b"), read_write(3, "products")]
    workgroup [4, 4, 4], overrides &[]
);
kernel!(
    /// Exact products of packed 12-bit digits.
    GRAM_PACKED = "gram_packed.wgsl" after "alias Number = u32;" and ["gram_tiles.wgsl"] "gram_packed" (GramParams)
    bindings [read(1, "a"), read(2, "b"), read_write(3, "products")]
    workgroup [8, 4, 2], overrides &[]
);
kernel!(
    /// Exact products of packed 8-bit digits.
    GRAM_DOTS = "gram_dots.wgsl" after "alias Number = u32;" and ["gram_tiles.wgsl"] "gram_dots" (GramParams)
    bindings [read(1, "a"), read(2, "b"), read_write(3, "products")]
    workgroup [8, 8, 1], overrides &[], needs Needs::PackedDots
);
kernel!(
    /// Adds each block's sums of products of scaled values to the 64-bit sums.
    ADD_PARTIALS = "gram_sums.wgsl" after ["sums.wgsl"] "add_partials" (GramSumsParams)
    bindings [read(1, "products"), read_write(3, "sums")]
    workgroup ELEMENTS, overrides ELEMENTS_OVERRIDE
);
kernel!(
    /// Adds products of 12-bit digits to the 64-bit sums.
    ADD_INTEGERS = "gram_sums.wgsl" after ["sums.wgsl"] "add_integers" (GramSumsParams)
    bindings [read(2, "planes"), read_write(3, "sums")]
    workgroup ELEMENTS, overrides ELEMENTS_OVERRIDE
);
kernel!(
    /// Adds products of 8-bit digits and their pair sums in f32 to the 64-bit sums.
    ADD_FLOAT_DIGITS = "gram_sums.wgsl" after ["sums.wgsl"] "add_float_digits" (GramSumsParams)
    bindings [read(1, "products"), read_write(3, "sums")]
    workgroup ELEMENTS, overrides ELEMENTS_OVERRIDE
);
kernel!(
    /// Adds products of 8-bit digits, weighted by their place, to the 64-bit sums.
    ADD_DOTS = "gram_sums.wgsl" after ["sums.wgsl"] "add_dots" (GramSumsParams)
    bindings [read(2, "planes"), read_write(3, "sums")]
    workgroup ELEMENTS, overrides ELEMENTS_OVERRIDE
);
kernel!(
    /// Carries the high bits of 64-bit sums to a second array, so that the sums can keep growing.
    CARRY = "carry.wgsl" "carry" (LenParams)
    bindings [read_write(1, "sums"), read_write(2, "high")]
    workgroup ELEMENTS, overrides ELEMENTS_OVERRIDE
);

/// All kernels of this module.
pub(in crate::backend::gpu) static KERNELS: &[&Kernel] = &[
    &MARK_OUTLIERS,
    &QUANTISE,
    &SUM_COLUMNS,
    &GRAM_FLOATS,
    &GRAM_INTEGERS,
    &GRAM_PACKED,
    &GRAM_DOTS,
    &ADD_PARTIALS,
    &ADD_INTEGERS,
    &ADD_FLOAT_DIGITS,
    &ADD_DOTS,
    &CARRY,
];
