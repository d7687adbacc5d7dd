// Quantises shifted values to 24-bit integers by a power-of-two scale: q = round(v * 2^(23 - e)) with v = x - shift.
//
// Everything but the one f32 subtraction is integer arithmetic on the bits, so that every device computes the same q;
// src/backend/gpu/quantise.rs is the CPU implementation. Rounding is half away from zero; denormals count as 0.
// `mark_outliers` flags the rows outside the scale, `quantise` writes the digits of all others for the Gram kernels and sums
// every block of rows by column, `sum_columns` adds these sums up.

struct Params {
    rows: u32,
    cols: u32,
    // Columns of a row of digits: cols rounded up to whole tiles.
    stride: u32,
    // The first `skip` of every `seq_len` rows are left out.
    seq_len: u32,
    skip: u32,
    // Digit layout of the Gram kernel.
    digits: u32,
}

struct Scale {
    shift: f32,
    exponent: i32,
}

// f32 values scaled to magnitudes below 1.
const SCALED: u32 = 0u;
// Balanced 12-bit digits in three planes: low digits, digit sums, high digits.
const INTEGER_PLANES: u32 = 1u;
// The same digits as the halves of a word.
const INTEGER_PACKED: u32 = 2u;
// Balanced 8-bit digits as f32 in six planes: lowest, middle, highest, lowest + middle, lowest + highest, middle +
// highest. The remaining layout has the same digits packed: four rows in a word, three words of a vec4.
const FLOAT_DIGITS: u32 = 3u;

// Mantissa of the smallest magnitude that rounds to more than 127 * 2^16 + 127 * 2^8 + 127, the limit of three 8-bit
// digits from -128 to 127: (0x7f7f7f + 0.5) * 2^(e - 23) = (1 + TOO_LARGE * 2^-23) * 2^(e - 1).
const TOO_LARGE: u32 = 0x7efeffu;
const SIGN: u32 = 0x80000000u;
const EXPONENT: u32 = 0x7f800000u;
const MANTISSA: u32 = 0x007fffffu;
const IMPLICIT: u32 = 0x00800000u;
// Groups of four rows in a block of column sums.
const BLOCK: u32 = 16u;

override WORKGROUP: u32 = 64u;

@group(0) @binding(0) var<uniform> params: Params;
// f32 as bits: devices may flush a denormal to 0 on load, and may change a NaN.
@group(0) @binding(1) var<storage, read> x: array<u32>;
@group(0) @binding(2) var<storage, read> scales: array<Scale>;
// One word per row: 1 if a value is outside its column's scale.
@group(0) @binding(3) var<storage, read_write> flags: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read> flagged: array<u32>;
// Four rows of a column are adjacent.
@group(0) @binding(4) var<storage, read_write> digits: array<vec4<u32>>;
// Sums of q and of q^2 per block and column, then per column: 64-bit integers, low word first.
@group(0) @binding(5) var<storage, read_write> block_sums: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read> blocks: array<vec4<u32>>;
@group(0) @binding(6) var<storage, read_write> sums: array<vec4<u32>>;
// Bits of the largest |x| per column, unshifted.
@group(0) @binding(7) var<storage, read_write> largest: array<atomic<u32>>;

fn groups() -> u32 {
    return (params.rows + 3u) / 4u;
}

// Rows beyond the last one repeat it.
fn fetch(first: u32, col: u32) -> vec4<u32> {
    let row = min(first + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(params.rows - 1u)) * params.cols + col;
    return vec4<u32>(x[row.x], x[row.y], x[row.z], x[row.w]);
}

fn is_skipped(first: u32) -> vec4<bool> {
    let row = first + vec4<u32>(0u, 1u, 2u, 3u);
    let is_early = row % params.seq_len < vec4<u32>(params.skip);
    return is_early | (row >= vec4<u32>(params.rows));
}

// x - shift, with denormal x flushed to 0, because devices may or may not keep denormals.
fn shifted(x: vec4<u32>, scale: Scale) -> vec4<u32> {
    let flushed = select(x, x & vec4<u32>(SIGN), (x & vec4<u32>(EXPONENT)) == vec4<u32>());
    return bitcast<vec4<u32>>(bitcast<vec4<f32>>(flushed) - scale.shift);
}

fn field(bits: vec4<u32>) -> vec4<i32> {
    return bitcast<vec4<i32>>((bits & vec4<u32>(EXPONENT)) >> vec4<u32>(23u));
}

// Whether values are too large or not finite.
fn is_outlier(x: vec4<u32>, scale: Scale) -> vec4<bool> {
    let limit = (bitcast<u32>(scale.exponent + 126) << 23u) | TOO_LARGE;
    let size = shifted(x, scale) & vec4<u32>(~SIGN);
    let is_no_number = (x & vec4<u32>(EXPONENT)) == vec4<u32>(EXPONENT);
    return (size >= vec4<u32>(limit)) | is_no_number;
}

// q of four rows that are within the scale.
fn quantised(x: vec4<u32>, scale: Scale) -> vec4<i32> {
    let bits = shifted(x, scale);
    let exponent = field(bits);
    // |v| = mantissa * 2^(exponent - 150), so |q| = mantissa * 2^-drop: 0 if more than 24 bits are dropped.
    let drop = scale.exponent + 127 - exponent;
    let by = bitcast<vec4<u32>>(clamp(drop, vec4<i32>(1), vec4<i32>(25)));
    let mantissa = (bits & vec4<u32>(MANTISSA)) | vec4<u32>(IMPLICIT);
    let rounded = bitcast<vec4<i32>>((mantissa + (vec4<u32>(1u) << (by - 1u))) >> by);
    let size = select(rounded, vec4<i32>(), exponent == vec4<i32>());
    return select(size, -size, (bits & vec4<u32>(SIGN)) != vec4<u32>());
}

@compute @workgroup_size(WORKGROUP)
fn mark_outliers(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) workgroups: vec3<u32>) {
    let col = id.x;
    if col >= params.cols {
        return;
    }
    let scale = scales[col];
    for (var group = id.y; group < groups(); group += workgroups.y) {
        let row = 4u * group;
        let found = is_outlier(fetch(row, col), scale) & !is_skipped(row);
        if any(found) {
            for (var i = 0u; i < 4u; i++) {
                if found[i] {
                    atomicStore(&flags[row + i], 1u);
                }
            }
        }
    }
}

// Scales by 2^-e through the exponent field; results that would be denormal become 0.
fn scaled(x: vec4<u32>, scale: Scale) -> vec4<u32> {
    let bits = shifted(x, scale);
    let exponent = field(bits) - scale.exponent;
    let value = (bits & vec4<u32>(~EXPONENT)) | (bitcast<vec4<u32>>(exponent) << vec4<u32>(23u));
    let is_zero = (field(bits) == vec4<i32>()) | (exponent <= vec4<i32>());
    return select(value, vec4<u32>(), is_zero);
}

// The lowest balanced digit of `bits` bits.
fn lowest(q: vec4<i32>, bits: u32) -> vec4<i32> {
    let half = vec4<i32>(1) << vec4<u32>(bits - 1u);
    return ((q + half) & (2 * half - 1)) - half;
}

fn store(group: u32, col: u32, q: vec4<i32>, scaled: vec4<u32>) {
    let at = group * params.stride + col;
    switch params.digits {
        case SCALED: {
            digits[at] = scaled;
        }
        case INTEGER_PLANES, INTEGER_PACKED: {
            store_twelve(at, q);
        }
        default: {
            store_eight(at, q);
        }
    }
}

fn store_twelve(at: u32, q: vec4<i32>) {
    let low = lowest(q, 12u);
    let high = (q - low) >> vec4<u32>(12u);
    if params.digits == INTEGER_PACKED {
        digits[at] = bitcast<vec4<u32>>((high << vec4<u32>(16u)) | (low & vec4<i32>(0xffff)));
        return;
    }
    let plane = groups() * params.stride;
    digits[at] = bitcast<vec4<u32>>(low);
    digits[at + plane] = bitcast<vec4<u32>>(low + high);
    digits[at + 2u * plane] = bitcast<vec4<u32>>(high);
}

fn store_eight(at: u32, q: vec4<i32>) {
    let zero = lowest(q, 8u);
    let rest = (q - zero) >> vec4<u32>(8u);
    let one = lowest(rest, 8u);
    let two = (rest - one) >> vec4<u32>(8u);
    if params.digits != FLOAT_DIGITS {
        digits[at] = vec4<u32>(four_bytes(zero), four_bytes(one), four_bytes(two), 0u);
        return;
    }
    let plane = groups() * params.stride;
    digits[at] = float_bits(zero);
    digits[at + plane] = float_bits(one);
    digits[at + 2u * plane] = float_bits(two);
    digits[at + 3u * plane] = float_bits(zero + one);
    digits[at + 4u * plane] = float_bits(zero + two);
    digits[at + 5u * plane] = float_bits(one + two);
}

fn float_bits(digit: vec4<i32>) -> vec4<u32> {
    return bitcast<vec4<u32>>(vec4<f32>(digit));
}

// Packs four rows' digits in a word, the first row in the lowest byte.
fn four_bytes(digit: vec4<i32>) -> u32 {
    let byte = (bitcast<vec4<u32>>(digit) & vec4<u32>(0xffu)) << vec4<u32>(0u, 8u, 16u, 24u);
    return byte.x | byte.y | byte.z | byte.w;
}

fn add64(a: vec2<u32>, low: u32, high: u32) -> vec2<u32> {
    let sum = a.x + low;
    return vec2<u32>(sum, a.y + high + select(0u, 1u, sum < low));
}

// Adds q^2 = high^2 * 2^24 + 2 * high * low * 2^12 + low^2 to a 64-bit sum; each part of four rows is below 2^32.
fn add_squares(sum: vec2<u32>, q: vec4<i32>) -> vec2<u32> {
    let size = vec4<u32>(abs(q));
    let low = size & vec4<u32>(4095u);
    let high = size >> vec4<u32>(12u);
    let cross = 2u * dot(high, low);
    let with_low = add64(sum, dot(low, low), 0u);
    let with_cross = add64(with_low, cross << 12u, cross >> 20u);
    return add64(with_cross, dot(high, high) << 24u, dot(high, high) >> 8u);
}

@compute @workgroup_size(WORKGROUP)
fn quantise(@builtin(global_invocation_id) id: vec3<u32>) {
    let col = id.x;
    if col >= params.stride {
        return;
    }
    let is_padding = vec4<bool>(col >= params.cols);
    let own = min(col, params.cols - 1u);
    let scale = scales[own];
    // A sum of 64 24-bit integers fits 30 bits.
    var sum = vec4<i32>();
    var squares = vec2<u32>();
    var reach = vec4<u32>();
    for (var group = id.y * BLOCK; group < min((id.y + 1u) * BLOCK, groups()); group++) {
        let row = 4u * group;
        let rows = min(row + vec4<u32>(0u, 1u, 2u, 3u), vec4<u32>(params.rows - 1u));
        let marks = vec4<u32>(flagged[rows.x], flagged[rows.y], flagged[rows.z], flagged[rows.w]);
        let is_left_out = is_padding | is_skipped(row) | (marks != vec4<u32>());
        let value = fetch(row, own);
        let q = select(quantised(value, scale), vec4<i32>(), is_left_out);
        store(group, col, q, select(scaled(value, scale), vec4<u32>(), is_left_out));
        sum += q;
        squares = add_squares(squares, q);
        reach = max(reach, select(value & vec4<u32>(~SIGN), vec4<u32>(), is_left_out));
    }
    if col < params.cols {
        let total = sum.x + sum.y + sum.z + sum.w;
        block_sums[id.y * params.cols + col] = vec4<u32>(u32(total), u32(total >> 31u), squares);
        atomicMax(&largest[col], max(max(reach.x, reach.y), max(reach.z, reach.w)));
    }
}

@compute @workgroup_size(WORKGROUP)
fn sum_columns(@builtin(global_invocation_id) id: vec3<u32>) {
    let col = id.x;
    if col >= params.cols {
        return;
    }
    var sum = sums[col].xy;
    var squares = sums[col].zw;
    for (var block = 0u; block < (groups() + BLOCK - 1u) / BLOCK; block++) {
        let more = blocks[block * params.cols + col];
        sum = add64(sum, more.x, more.y);
        squares = add64(squares, more.z, more.w);
    }
    sums[col] = vec4<u32>(sum, squares);
}
