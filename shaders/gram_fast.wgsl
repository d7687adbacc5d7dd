// sums += A^T B over rows of f32 values below 1 in magnitude: blocks of 64 rows in f32, 8 x 8 products per thread, no
// barrier; a block's sum is cut to multiples of 2^-45 and added to the same 64-bit sums as the exact kernel's.
//
// Sums lie in tiles of 32 x 32, row-major within; of a symmetric product only tiles on and above the diagonal.

struct Params {
    first_row: u32,
    end_row: u32,
    // Columns of a row of a and of b, in vec4.
    a_stride: u32,
    b_stride: u32,
    // First row of tiles of this dispatch.
    first_tile: u32,
    symmetric: u32,
}

const TILE: u32 = 32u;
const BLOCK: u32 = 64u;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> b: array<vec4<f32>>;
// Two 64-bit integers each, low word first.
@group(0) @binding(3) var<storage, read_write> sums: array<vec4<u32>>;

// Four 64-bit sums plus value * 2^46 each, for |value| < 2^16: the whole part of value * 2^14 belongs to the high word,
// what is left of it to the low one. No branch and no shift by a number that is not known: on software adapters these
// sums take a tenth to a third of the kernel's time.
fn flush_four(at: u32, value: vec4<f32>) {
    let scaled = value * 0x1p14f;
    let whole = vec4<i32>(scaled);
    let rest = vec4<i32>((scaled - vec4<f32>(whole)) * 0x1p31f);
    let first = sums[at];
    let second = sums[at + 1u];
    let before = vec4<u32>(first.xz, second.xz);
    let low = before + bitcast<vec4<u32>>(rest << vec4<u32>(1u));
    let carry = select(vec4<u32>(), vec4<u32>(1u), low < before);
    let high = vec4<u32>(first.yw, second.yw) + bitcast<vec4<u32>>(whole + (rest >> vec4<u32>(31u))) + carry;
    sums[at] = vec4<u32>(low.x, high.x, low.y, high.y);
    sums[at + 1u] = vec4<u32>(low.z, high.z, low.w, high.w);
}

// One row of a thread's products; its right half lies half a tile beside the left one.
fn flush(at: u32, left: vec4<f32>, right: vec4<f32>) {
    flush_four(at, left);
    flush_four(at + TILE / 4u, right);
}

// A tile for every z: neighbours in x read neighbouring columns, the other half of a thread's lies half a tile further.
@compute @workgroup_size(4, 4, 4)
fn gram_fast(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let tile_row = params.first_tile + group.y;
    let tile_col = group.x * 4u + local.z;
    let tiles = params.b_stride / (TILE / 4u);
    if tile_col >= tiles || (params.symmetric == 1u && tile_col < tile_row) {
        return;
    }
    // Of a symmetric product, rows of tiles before this one lack 0, 1, 2 … tiles.
    let missing = select(0u, tile_row * (tile_row + 1u) / 2u, params.symmetric == 1u);
    let tile = tile_row * tiles + tile_col - missing;
    let sums_at = (tile * TILE * TILE + local.y * 4u * TILE + local.x * 4u) / 2u;
    let a_col = tile_row * (TILE / 4u) + local.y;
    let b_col = tile_col * (TILE / 4u) + local.x;

    for (var first = params.first_row; first < params.end_row; first += BLOCK) {
        let end = min(first + BLOCK, params.end_row);
        var left0 = vec4<f32>();
        var right0 = vec4<f32>();
        var left1 = vec4<f32>();
        var right1 = vec4<f32>();
        var left2 = vec4<f32>();
        var right2 = vec4<f32>();
        var left3 = vec4<f32>();
        var right3 = vec4<f32>();
        var left4 = vec4<f32>();
        var right4 = vec4<f32>();
        var left5 = vec4<f32>();
        var right5 = vec4<f32>();
        var left6 = vec4<f32>();
        var right6 = vec4<f32>();
        var left7 = vec4<f32>();
        var right7 = vec4<f32>();
        for (var row = first; row < end; row++) {
            let a_at = row * params.a_stride + a_col;
            let b_at = row * params.b_stride + b_col;
            let top = a[a_at];
            let bottom = a[a_at + TILE / 8u];
            let left = b[b_at];
            let right = b[b_at + TILE / 8u];
            left0 += top.x * left;
            right0 += top.x * right;
            left1 += top.y * left;
            right1 += top.y * right;
            left2 += top.z * left;
            right2 += top.z * right;
            left3 += top.w * left;
            right3 += top.w * right;
            left4 += bottom.x * left;
            right4 += bottom.x * right;
            left5 += bottom.y * left;
            right5 += bottom.y * right;
            left6 += bottom.z * left;
            right6 += bottom.z * right;
            left7 += bottom.w * left;
            right7 += bottom.w * right;
        }
        flush(sums_at + 0u * TILE / 2u, left0, right0);
        flush(sums_at + 1u * TILE / 2u, left1, right1);
        flush(sums_at + 2u * TILE / 2u, left2, right2);
        flush(sums_at + 3u * TILE / 2u, left3, right3);
        flush(sums_at + 16u * TILE / 2u, left4, right4);
        flush(sums_at + 17u * TILE / 2u, left5, right5);
        flush(sums_at + 18u * TILE / 2u, left6, right6);
        flush(sums_at + 19u * TILE / 2u, left7, right7);
    }
}
