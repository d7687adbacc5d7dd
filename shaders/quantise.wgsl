// Shifted, power-of-two-scaled values as integers of 24 bits: q = round(v * 2^(23 - e)) with v = x - shift.
//
// Everything after the one f32 subtraction is integer arithmetic on the bits, so that every device gets the same q;
// src/gpu/quantise.rs is the twin on the CPU. Rounding is half away from zero; denormals count as 0.
// Three passes share the rule: `outside` marks the rows that do not fit, `quantise` packs the digits of all others,
// `columns` sums them by column.

struct Params {
    rows: u32,
    cols: u32,
    // Columns of a row of digits: cols rounded up to whole tiles.
    stride: u32,
    // The first `skip` of every `seq_len` rows do not count.
    seq_len: u32,
    skip: u32,
    // 1: scaled f32 values instead of digits.
    fast: u32,
}

struct Scale {
    shift: f32,
    exponent: i32,
}

// q, or a mark that the value is too large or not finite.
struct Quantised {
    value: i32,
    is_outside: bool,
}

// The largest magnitude of two balanced 12-bit digits.
const LARGEST: i32 = 2047 * 4096 + 2047;
const SIGN: u32 = 0x80000000u;
const EXPONENT: u32 = 0x7f800000u;
const MANTISSA: u32 = 0x007fffffu;
const IMPLICIT: u32 = 0x00800000u;

override WORKGROUP: u32 = 64u;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> scales: array<Scale>;
// One word per row, 1 where a column is outside its scale.
@group(0) @binding(3) var<storage, read_write> flags: array<atomic<u32>>;
@group(0) @binding(4) var<storage, read_write> digits: array<i32>;
// Per column the sums of q and of q^2: 64-bit integers, low word first.
@group(0) @binding(5) var<storage, read_write> sums: array<vec4<u32>>;
// Per column the bits of the largest |x|, unshifted.
@group(0) @binding(6) var<storage, read_write> largest: array<u32>;

fn is_skipped(row: u32) -> bool {
    return row % params.seq_len < params.skip;
}

// x without denormals, which devices may or may not keep.
fn flushed(x: f32) -> f32 {
    let bits = bitcast<u32>(x);
    return bitcast<f32>(select(bits, bits & SIGN, (bits & EXPONENT) == 0u));
}

fn quantised(x: f32, scale: Scale) -> Quantised {
    if (bitcast<u32>(x) & EXPONENT) == EXPONENT {
        return Quantised(0, true);
    }
    let bits = bitcast<u32>(flushed(x) - scale.shift);
    let field = (bits & EXPONENT) >> 23u;
    if field == 0u {
        return Quantised(0, false);
    }
    // |v| = mantissa * 2^(field - 150), so |q| = mantissa * 2^-drop.
    let drop = scale.exponent + 127 - i32(field);
    if drop < 1 {
        return Quantised(0, true);
    }
    if drop > 24 {
        return Quantised(0, false);
    }
    let mantissa = (bits & MANTISSA) | IMPLICIT;
    let size = i32((mantissa + (1u << u32(drop - 1))) >> u32(drop));
    return Quantised(select(size, -size, (bits & SIGN) != 0u), size > LARGEST);
}

@compute @workgroup_size(WORKGROUP)
fn outside(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let col = id.x;
    if col >= params.cols {
        return;
    }
    let scale = scales[col];
    for (var row = id.y; row < params.rows; row += groups.y) {
        if !is_skipped(row) && quantised(x[row * params.cols + col], scale).is_outside {
            atomicStore(&flags[row], 1u);
        }
    }
}

// Times 2^-e, by adding to the exponent field; what would become denormal counts as 0.
fn scaled(x: f32, scale: Scale) -> f32 {
    let bits = bitcast<u32>(flushed(x) - scale.shift);
    let field = (bits & EXPONENT) >> 23u;
    let scaled_field = i32(field) - scale.exponent;
    let value = bitcast<f32>((bits & ~EXPONENT) | (u32(scaled_field) << 23u));
    return select(0.0, value, field > 0u && scaled_field > 0);
}

// Balanced 12-bit digits, high and low, as two 16-bit halves.
fn packed(q: i32) -> i32 {
    let low = ((q + 2048) & 4095) - 2048;
    let high = (q - low) >> 12u;
    return (high << 16u) | (low & 0xffff);
}

@compute @workgroup_size(WORKGROUP)
fn quantise(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let col = id.x;
    if col >= params.stride {
        return;
    }
    let scale = scales[min(col, params.cols - 1u)];
    for (var row = id.y; row < params.rows; row += groups.y) {
        var digit = 0;
        if col < params.cols && !is_skipped(row) && atomicLoad(&flags[row]) == 0u {
            let value = x[row * params.cols + col];
            if params.fast == 1u {
                digit = bitcast<i32>(scaled(value, scale));
            } else {
                digit = packed(quantised(value, scale).value);
            }
        }
        digits[row * params.stride + col] = digit;
    }
}

fn add64(a: vec2<u32>, low: u32, high: u32) -> vec2<u32> {
    let sum = a.x + low;
    return vec2<u32>(sum, a.y + high + select(0u, 1u, sum < low));
}

@compute @workgroup_size(WORKGROUP)
fn columns(@builtin(global_invocation_id) id: vec3<u32>) {
    let col = id.x;
    if col >= params.cols {
        return;
    }
    let scale = scales[col];
    var sum = sums[col].xy;
    var square = sums[col].zw;
    var reach = largest[col];
    for (var row = 0u; row < params.rows; row++) {
        if is_skipped(row) || atomicLoad(&flags[row]) != 0u {
            continue;
        }
        let value = x[row * params.cols + col];
        reach = max(reach, bitcast<u32>(value) & ~SIGN);
        let q = quantised(value, scale).value;
        sum = add64(sum, u32(q), u32(q >> 31u));
        // q^2 = high^2 * 2^24 + 2 * high * low * 2^12 + low^2, each part below 2^32.
        let size = u32(abs(q));
        let low = size & 4095u;
        let high = size >> 12u;
        let cross = 2u * high * low;
        square = add64(square, low * low, 0u);
        square = add64(square, cross << 12u, cross >> 20u);
        square = add64(square, (high * high) << 24u, (high * high) >> 8u);
    }
    sums[col] = vec4<u32>(sum, square);
    largest[col] = reach;
}
