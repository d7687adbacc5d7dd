// Unpacks 16-bit weights to f32, two at a time: out[2i] and out[2i + 1] from the low and the high half of a word.
//
// Uses integer operations only, because devices may flush subnormal numbers of either format, and a model's smallest
// weights are subnormal. In f32 they are normal, unless a bf16 value is subnormal in f32 too.

struct Params {
    // Number of words, and the first one.
    len: u32,
    first: u32,
    // 1 for bf16, 0 for IEEE half precision. Infinity and NaN are not supported.
    bf16: u32,
}

override WORKGROUP: u32 = 64u;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> words: array<u32>;
// Bits of f32.
@group(0) @binding(2) var<storage, read_write> out: array<vec2<u32>>;

fn widened(half: u32) -> u32 {
    if params.bf16 == 1u {
        return half << 16u;
    }
    let sign = (half & 0x8000u) << 16u;
    let size = half & 0x7fffu;
    if size >= 0x400u {
        // Rebiases the exponent from 15 to 127.
        return sign | ((size << 13u) + (112u << 23u));
    }
    if size == 0u {
        return sign;
    }
    // size * 2^-24 is a normal f32 with `top` as its leading bit.
    let top = firstLeadingBit(size);
    return sign | ((top + 103u) << 23u) | ((size << (23u - top)) & 0x7fffffu);
}

@compute @workgroup_size(WORKGROUP)
fn unpack(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = id.y * groups.x * WORKGROUP + id.x;
    if i < params.len {
        let word = words[params.first + i];
        out[i] = vec2<u32>(widened(word & 0xffffu), widened(word >> 16u));
    }
}
