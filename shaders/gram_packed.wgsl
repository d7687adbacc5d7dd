// Exact products A^T B of every block of rows of packed digits, as gram.wgsl makes them of digits in planes: each of a
// thread's 8 x 4 products becomes three, of the low digits, of both digits' sums and of the high ones. A third of the
// loads, thrice the sums; which is faster depends on the device.

@group(0) @binding(3) var<storage, read_write> products: array<Four>;

// High digits, low ones, and their sums, of four rows of a column.
struct Digits {
    low: Four,
    both: Four,
    high: Four,
}

fn unpacked(packed: Four) -> Digits {
    let high = packed >> vec4<u32>(16u);
    let low = (packed << vec4<u32>(16u)) >> vec4<u32>(16u);
    return Digits(low, low + high, high);
}

// Threads in x take four columns each, the second four those of the right half of the tile.
@compute @workgroup_size(8, 4, 2)
fn gram_packed(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let tile = params.first_tile + group.x * 2u + local.z;
    if tile >= params.end_tile {
        return;
    }
    let at = place(tile);
    let first = params.first_group + group.y * params.block_groups;
    let end = min(first + params.block_groups, params.end_group);
    let half = local.x / 4u;
    let a_col = at.x * TILE + local.y;
    let b_col = at.y * TILE + half * (TILE / 2u) + local.x % 4u;
    var low0 = Four();
    var both0 = Four();
    var high0 = Four();
    var low1 = Four();
    var both1 = Four();
    var high1 = Four();
    var low2 = Four();
    var both2 = Four();
    var high2 = Four();
    var low3 = Four();
    var both3 = Four();
    var high3 = Four();
    var low4 = Four();
    var both4 = Four();
    var high4 = Four();
    var low5 = Four();
    var both5 = Four();
    var high5 = Four();
    var low6 = Four();
    var both6 = Four();
    var high6 = Four();
    var low7 = Four();
    var both7 = Four();
    var high7 = Four();
    for (var row = first; row < end; row++) {
        let a_at = row * params.a_cols + a_col;
        let b_at = row * params.b_cols + b_col;
        let b0 = unpacked(b[b_at]);
        let b1 = unpacked(b[b_at + 4u]);
        let b2 = unpacked(b[b_at + 8u]);
        let b3 = unpacked(b[b_at + 12u]);
        let a0 = unpacked(a[a_at]);
        low0 += dots(a0.low, b0.low, b1.low, b2.low, b3.low);
        both0 += dots(a0.both, b0.both, b1.both, b2.both, b3.both);
        high0 += dots(a0.high, b0.high, b1.high, b2.high, b3.high);
        let a1 = unpacked(a[a_at + 4u]);
        low1 += dots(a1.low, b0.low, b1.low, b2.low, b3.low);
        both1 += dots(a1.both, b0.both, b1.both, b2.both, b3.both);
        high1 += dots(a1.high, b0.high, b1.high, b2.high, b3.high);
        let a2 = unpacked(a[a_at + 8u]);
        low2 += dots(a2.low, b0.low, b1.low, b2.low, b3.low);
        both2 += dots(a2.both, b0.both, b1.both, b2.both, b3.both);
        high2 += dots(a2.high, b0.high, b1.high, b2.high, b3.high);
        let a3 = unpacked(a[a_at + 12u]);
        low3 += dots(a3.low, b0.low, b1.low, b2.low, b3.low);
        both3 += dots(a3.both, b0.both, b1.both, b2.both, b3.both);
        high3 += dots(a3.high, b0.high, b1.high, b2.high, b3.high);
        let a4 = unpacked(a[a_at + 16u]);
        low4 += dots(a4.low, b0.low, b1.low, b2.low, b3.low);
        both4 += dots(a4.both, b0.both, b1.both, b2.both, b3.both);
        high4 += dots(a4.high, b0.high, b1.high, b2.high, b3.high);
        let a5 = unpacked(a[a_at + 20u]);
        low5 += dots(a5.low, b0.low, b1.low, b2.low, b3.low);
        both5 += dots(a5.both, b0.both, b1.both, b2.both, b3.both);
        high5 += dots(a5.high, b0.high, b1.high, b2.high, b3.high);
        let a6 = unpacked(a[a_at + 24u]);
        low6 += dots(a6.low, b0.low, b1.low, b2.low, b3.low);
        both6 += dots(a6.both, b0.both, b1.both, b2.both, b3.both);
        high6 += dots(a6.high, b0.high, b1.high, b2.high, b3.high);
        let a7 = unpacked(a[a_at + 28u]);
        low7 += dots(a7.low, b0.low, b1.low, b2.low, b3.low);
        both7 += dots(a7.both, b0.both, b1.both, b2.both, b3.both);
        high7 += dots(a7.high, b0.high, b1.high, b2.high, b3.high);
    }
    // The same places as gram.wgsl's.
    let tiles = params.end_tile - params.first_tile;
    let low = ((group.y * params.planes * tiles + tile - params.first_tile) * 16u + local.y * 4u + local.x % 4u) * 16u + half;
    let both = low + tiles * 256u;
    let high = both + tiles * 256u;
    products[low] = low0;
    products[both] = both0;
    products[high] = high0;
    products[low + 2u] = low1;
    products[both + 2u] = both1;
    products[high + 2u] = high1;
    products[low + 4u] = low2;
    products[both + 4u] = both2;
    products[high + 4u] = high2;
    products[low + 6u] = low3;
    products[both + 6u] = both3;
    products[high + 6u] = high3;
    products[low + 8u] = low4;
    products[both + 8u] = both4;
    products[high + 8u] = high4;
    products[low + 10u] = low5;
    products[both + 10u] = both5;
    products[high + 10u] = high5;
    products[low + 12u] = low6;
    products[both + 12u] = both6;
    products[high + 12u] = high6;
    products[low + 14u] = low7;
    products[both + 14u] = both7;
    products[high + 14u] = high7;
}
