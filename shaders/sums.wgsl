// 64-bit sums. The kernel table puts this file before the kernels that add to them.

// Two 64-bit integers each, low word first.
@group(0) @binding(3) var<storage, read_write> sums: array<vec4<u32>>;

// Four 64-bit integers.
struct Vec4U64 {
    low: vec4<u32>,
    high: vec4<u32>,
}

fn load(four: u32) -> Vec4U64 {
    let first = sums[2u * four];
    let second = sums[2u * four + 1u];
    return Vec4U64(vec4<u32>(first.xz, second.xz), vec4<u32>(first.yw, second.yw));
}

fn store(four: u32, sum: Vec4U64) {
    sums[2u * four] = vec4<u32>(sum.low.x, sum.high.x, sum.low.y, sum.high.y);
    sums[2u * four + 1u] = vec4<u32>(sum.low.z, sum.high.z, sum.low.w, sum.high.w);
}

fn added(to: Vec4U64, low: vec4<u32>, high: vec4<i32>) -> Vec4U64 {
    let sum = to.low + low;
    let carry = select(vec4<u32>(), vec4<u32>(1u), sum < low);
    return Vec4U64(sum, to.high + bitcast<vec4<u32>>(high) + carry);
}

// Splits f32 sums of products of values in units of 2^-23 each, below 64 in magnitude: multiples of 2^-14 and the rest,
// in multiples of 2^-39, are accumulated separately, so that 64 blocks of either fit 31 bits and sums are updated once.
struct Parts {
    whole: vec4<i32>,
    rest: vec4<i32>,
}

fn with_block(parts: Parts, products: vec4<f32>) -> Parts {
    let scaled = products * 0x1p14f;
    let cut = vec4<i32>(scaled);
    return Parts(parts.whole + cut, parts.rest + vec4<i32>((scaled - vec4<f32>(cut)) * 0x1p25f));
}

fn add_parts(four: u32, parts: Parts) {
    let low = bitcast<vec4<u32>>(parts.rest) << vec4<u32>(7u);
    store(four, added(load(four), low, parts.whole + (parts.rest >> vec4<u32>(25u))));
}
