// 64-bit sums += products of blocks of rows, in the layout of the gram kernels: by block, plane and tile.
//
// Integers are added as u32, which wrap around; a signed right shift is applied only to sums that fit 32 bits.

struct Params {
    blocks: u32,
    // Groups of four products: in a plane, and before the first sum.
    fours: u32,
    first_four: u32,
}

override WORKGROUP: u32 = 64u;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> products: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> planes: array<vec4<u32>>;

@compute @workgroup_size(WORKGROUP)
fn add_partials(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let four = id.y * groups.x * WORKGROUP + id.x;
    if four >= params.fours {
        return;
    }
    var parts = Parts();
    for (var block = 0u; block < params.blocks; block++) {
        parts = with_block(parts, products[block * params.fours + four]);
    }
    add_parts(params.first_four + four, parts);
}

// Adds four 32-bit integers times 2^by, 0 < by < 32.
fn added_times(sum: Vec4U64, value: vec4<u32>, by: u32) -> Vec4U64 {
    let high = bitcast<vec4<i32>>(value) >> vec4<u32>(32u - by);
    return added(sum, value << vec4<u32>(by), high);
}

fn added_plain(sum: Vec4U64, value: vec4<u32>) -> Vec4U64 {
    return added(sum, value, bitcast<vec4<i32>>(value) >> vec4<u32>(31u));
}

// Adds products of q = high * 4096 + low, given low * low', (high + low)(high' + low') and high * high' in three
// planes; the middle plane minus the other two is the cross term. The middle plane may wrap around, the cross term does
// not: low digits are at most 2048 in magnitude, high ones 2040, so it is below 256 * 2 * 2048 * 2048 = 2^31.
@compute @workgroup_size(WORKGROUP)
fn add_integers(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let four = id.y * groups.x * WORKGROUP + id.x;
    if four >= params.fours {
        return;
    }
    var sum = load(params.first_four + four);
    for (var block = 0u; block < params.blocks; block++) {
        let at = 3u * block * params.fours + four;
        let low = planes[at];
        let high = planes[at + 2u * params.fours];
        let cross = planes[at + params.fours] - low - high;
        sum = added_plain(sum, low);
        sum = added_times(sum, cross, 12u);
        sum = added_times(sum, high, 24u);
    }
    store(params.first_four + four, sum);
}

// Adds sums of products of 8-bit digits; weight i is 2^(8 i).
fn with_weights(
    sum: Vec4U64, zero: vec4<u32>, one: vec4<u32>, two: vec4<u32>, three: vec4<u32>, four: vec4<u32>,
) -> Vec4U64 {
    let low = added_times(added_plain(sum, zero), one, 8u);
    let middle = added_times(added_times(low, two, 16u), three, 24u);
    return added(middle, vec4<u32>(), bitcast<vec4<i32>>(four));
}

// Adds products of q = d2 * 2^16 + d1 * 2^8 + d0, computed in f32 from d0, d1, d2, d0 + d1, d0 + d2 and d1 + d2 in six
// planes; a pair's product minus those of its two digits is the cross term.
//
// They are exact: a digit is at most 128 in magnitude and a pair at most 256, so a product is an integer of at most
// 2^16, and any partial sum over the 256 rows of a block is at most 2^24, which f32 represents. So nothing is ever
// rounded, in any order of additions, with or without fused multiply-add.
@compute @workgroup_size(WORKGROUP)
fn add_float_digits(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let four = id.y * groups.x * WORKGROUP + id.x;
    if four >= params.fours {
        return;
    }
    var sum = load(params.first_four + four);
    for (var block = 0u; block < params.blocks; block++) {
        let at = 6u * block * params.fours + four;
        let zero = integers(products[at]);
        let one = integers(products[at + params.fours]);
        let two = integers(products[at + 2u * params.fours]);
        let zero_one = integers(products[at + 3u * params.fours]) - zero - one;
        let zero_two = integers(products[at + 4u * params.fours]) - zero - two;
        let one_two = integers(products[at + 5u * params.fours]) - one - two;
        sum = with_weights(sum, zero, zero_one, zero_two + one, one_two, two);
    }
    store(params.first_four + four, sum);
}

fn integers(values: vec4<f32>) -> vec4<u32> {
    return bitcast<vec4<u32>>(vec4<i32>(values));
}

// Adds the products of gram_dots.wgsl, which are already combined by weight.
@compute @workgroup_size(WORKGROUP)
fn add_dots(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let four = id.y * groups.x * WORKGROUP + id.x;
    if four >= params.fours {
        return;
    }
    var sum = load(params.first_four + four);
    for (var block = 0u; block < params.blocks; block++) {
        let at = 5u * block * params.fours + four;
        sum = with_weights(
            sum,
            planes[at],
            planes[at + params.fours],
            planes[at + 2u * params.fours],
            planes[at + 3u * params.fours],
            planes[at + 4u * params.fours],
        );
    }
    store(params.first_four + four, sum);
}
