// 64-bit sums += products of blocks of rows, as gram.wgsl and gram_packed.wgsl leave them: block by block, plane by plane,
// tile by tile.

struct Params {
    blocks: u32,
    // Fours of products: of a plane, and of the sums before the first one.
    fours: u32,
    first_four: u32,
}

override WORKGROUP: u32 = 64u;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> products: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> planes: array<vec4<i32>>;

@compute @workgroup_size(WORKGROUP)
fn add_fast(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
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

// Products of q = high * 4096 + low with low * low', (high + low)(high' + low') and high * high' in three planes; what
// the middle one has more than the others is the cross term.
@compute @workgroup_size(WORKGROUP)
fn add_exact(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
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
        sum = added(sum, bitcast<vec4<u32>>(low), low >> vec4<u32>(31u));
        sum = added(sum, bitcast<vec4<u32>>(cross) << vec4<u32>(12u), cross >> vec4<u32>(20u));
        sum = added(sum, bitcast<vec4<u32>>(high) << vec4<u32>(24u), high >> vec4<u32>(8u));
    }
    store(params.first_four + four, sum);
}
