// Carries all but the low 32 bits of 64-bit sums to a second array, so that the sums can keep growing:
// the total is low + 2^32 * high, with low in [0, 2^32) afterwards.

struct Params {
    // Pairs of sums.
    len: u32,
}

override WORKGROUP: u32 = 64u;

@group(0) @binding(0) var<uniform> params: Params;
// Two 64-bit integers each, low word first.
@group(0) @binding(1) var<storage, read_write> sums: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read_write> high: array<vec4<u32>>;

fn add64(a: vec2<u32>, low: u32, high: u32) -> vec2<u32> {
    let sum = a.x + low;
    return vec2<u32>(sum, a.y + high + select(0u, 1u, sum < low));
}

fn sign_word(word: u32) -> u32 {
    return u32(i32(word) >> 31u);
}

@compute @workgroup_size(WORKGROUP)
fn carry(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = id.y * groups.x * WORKGROUP + id.x;
    if i >= params.len {
        return;
    }
    let sum = sums[i];
    let above = high[i];
    high[i] = vec4<u32>(add64(above.xy, sum.y, sign_word(sum.y)), add64(above.zw, sum.w, sign_word(sum.w)));
    sums[i] = vec4<u32>(sum.x, 0u, sum.z, 0u);
}
