// 64-bit sums += products of blocks of rows, as gram.wgsl and gram_packed.wgsl leave them: block by block, plane by plane,
// tile by tile.

struct Params {
    // Blocks to add.
    first_block: u32,
    end_block: u32,
    // Fours of products: of a plane, and of the sums before the first one.
    fours: u32,
    first_four: u32,
}

override WORKGROUP: u32 = 64u;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> products: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> planes: array<vec4<i32>>;
// Two 64-bit integers each, low word first.
@group(0) @binding(3) var<storage, read_write> sums: array<vec4<u32>>;

// Four 64-bit integers.
struct Four64 {
    low: vec4<u32>,
    high: vec4<u32>,
}

fn load(four: u32) -> Four64 {
    let at = 2u * (params.first_four + four);
    let first = sums[at];
    let second = sums[at + 1u];
    return Four64(vec4<u32>(first.xz, second.xz), vec4<u32>(first.yw, second.yw));
}

fn store(four: u32, sum: Four64) {
    let at = 2u * (params.first_four + four);
    sums[at] = vec4<u32>(sum.low.x, sum.high.x, sum.low.y, sum.high.y);
    sums[at + 1u] = vec4<u32>(sum.low.z, sum.high.z, sum.low.w, sum.high.w);
}

fn added(to: Four64, low: vec4<u32>, high: vec4<i32>) -> Four64 {
    let sum = to.low + low;
    let carry = select(vec4<u32>(), vec4<u32>(1u), sum < low);
    return Four64(sum, to.high + bitcast<vec4<u32>>(high) + carry);
}

// Products below 64 of values of 2^-23 each, in multiples of 2^-39: what is beyond multiples of 2^-14 is kept apart until
// the end, so that 64 blocks of either stay within 31 bits and 64-bit sums are added to once.
@compute @workgroup_size(WORKGROUP)
fn add_fast(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let four = id.y * groups.x * WORKGROUP + id.x;
    if four >= params.fours {
        return;
    }
    var whole = vec4<i32>();
    var rest = vec4<i32>();
    for (var block = params.first_block; block < params.end_block; block++) {
        let scaled = products[block * params.fours + four] * 0x1p14f;
        let cut = vec4<i32>(scaled);
        whole += cut;
        rest += vec4<i32>((scaled - vec4<f32>(cut)) * 0x1p25f);
    }
    store(four, added(load(four), bitcast<vec4<u32>>(rest) << vec4<u32>(7u), whole + (rest >> vec4<u32>(25u))));
}

// Products of q = high * 4096 + low with low * low', (high + low)(high' + low') and high * high' in three planes; what
// the middle one has more than the others is the cross term.
@compute @workgroup_size(WORKGROUP)
fn add_exact(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let four = id.y * groups.x * WORKGROUP + id.x;
    if four >= params.fours {
        return;
    }
    var sum = load(four);
    for (var block = params.first_block; block < params.end_block; block++) {
        let at = 3u * block * params.fours + four;
        let low = planes[at];
        let high = planes[at + 2u * params.fours];
        let cross = planes[at + params.fours] - low - high;
        sum = added(sum, bitcast<vec4<u32>>(low), low >> vec4<u32>(31u));
        sum = added(sum, bitcast<vec4<u32>>(cross) << vec4<u32>(12u), cross >> vec4<u32>(20u));
        sum = added(sum, bitcast<vec4<u32>>(high) << vec4<u32>(24u), high >> vec4<u32>(8u));
    }
    store(four, sum);
}
