// sums += A^T B over rows of 24-bit integers, exactly: 4 x 4 products per thread, no barrier.
//
// A value is q = high * 4096 + low with balanced 12-bit digits, so a product needs three integer products:
// low * low', high * high' and (high + low)(high' + low'), whose excess over the other two is the cross term. Each
// stays below 2^25 in magnitude, so that a block of 64 rows cannot overflow an i32; blocks go to 64-bit sums.
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
@group(0) @binding(1) var<storage, read> a: array<vec4<i32>>;
@group(0) @binding(2) var<storage, read> b: array<vec4<i32>>;
// Two 64-bit integers each, low word first.
@group(0) @binding(3) var<storage, read_write> sums: array<vec4<u32>>;

fn add64(a: vec2<u32>, low: u32, high: u32) -> vec2<u32> {
    let sum = a.x + low;
    return vec2<u32>(sum, a.y + high + select(0u, 1u, sum < low));
}

// A 64-bit sum plus low + middle * 2^12 + high * 2^24.
fn added(to: vec2<u32>, low: i32, middle: i32, high: i32) -> vec2<u32> {
    let with_low = add64(to, u32(low), u32(low >> 31u));
    let with_middle = add64(with_low, u32(middle) << 12u, u32(middle >> 20u));
    return add64(with_middle, u32(high) << 24u, u32(high >> 8u));
}

fn flush(at: u32, low: vec4<i32>, both: vec4<i32>, high: vec4<i32>) {
    let middle = both - low - high;
    let left = sums[at];
    let right = sums[at + 1u];
    sums[at] = vec4<u32>(
        added(left.xy, low.x, middle.x, high.x),
        added(left.zw, low.y, middle.y, high.y),
    );
    sums[at + 1u] = vec4<u32>(
        added(right.xy, low.z, middle.z, high.z),
        added(right.zw, low.w, middle.w, high.w),
    );
}

@compute @workgroup_size(8, 8)
fn gram_exact(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let tile_row = params.first_tile + group.y;
    let tile_col = group.x;
    if params.symmetric == 1u && tile_col < tile_row {
        return;
    }
    let tiles = params.b_stride / (TILE / 4u);
    // Of a symmetric product, rows of tiles before this one lack 0, 1, 2 … tiles.
    let missing = select(0u, tile_row * (tile_row + 1u) / 2u, params.symmetric == 1u);
    let tile = tile_row * tiles + tile_col - missing;
    let sums_at = (tile * TILE * TILE + local.y * 4u * TILE + local.x * 4u) / 2u;
    let a_col = tile_row * (TILE / 4u) + local.y;
    let b_col = tile_col * (TILE / 4u) + local.x;

    for (var first = params.first_row; first < params.end_row; first += BLOCK) {
        let end = min(first + BLOCK, params.end_row);
        var low0 = vec4<i32>();
        var low1 = vec4<i32>();
        var low2 = vec4<i32>();
        var low3 = vec4<i32>();
        var both0 = vec4<i32>();
        var both1 = vec4<i32>();
        var both2 = vec4<i32>();
        var both3 = vec4<i32>();
        var high0 = vec4<i32>();
        var high1 = vec4<i32>();
        var high2 = vec4<i32>();
        var high3 = vec4<i32>();
        for (var row = first; row < end; row++) {
            let a_packed = a[row * params.a_stride + a_col];
            let b_packed = b[row * params.b_stride + b_col];
            let a_high = a_packed >> vec4<u32>(16u);
            let b_high = b_packed >> vec4<u32>(16u);
            let a_low = (a_packed << vec4<u32>(16u)) >> vec4<u32>(16u);
            let b_low = (b_packed << vec4<u32>(16u)) >> vec4<u32>(16u);
            let a_both = a_high + a_low;
            let b_both = b_high + b_low;
            low0 += a_low.x * b_low;
            low1 += a_low.y * b_low;
            low2 += a_low.z * b_low;
            low3 += a_low.w * b_low;
            both0 += a_both.x * b_both;
            both1 += a_both.y * b_both;
            both2 += a_both.z * b_both;
            both3 += a_both.w * b_both;
            high0 += a_high.x * b_high;
            high1 += a_high.y * b_high;
            high2 += a_high.z * b_high;
            high3 += a_high.w * b_high;
        }
        flush(sums_at, low0, both0, high0);
        flush(sums_at + TILE / 2u, low1, both1, high1);
        flush(sums_at + TILE, low2, both2, high2);
        flush(sums_at + 3u * TILE / 2u, low3, both3, high3);
    }
}
