// Exact products A^T B of every block of rows from packed digits; gram.wgsl computes them from digits in planes. Each
// of a thread's 8 x 4 products becomes three: of the low digits, of the digit sums and of the high digits. A third of
// the loads and three times the sums; which kernel is faster depends on the device.

@group(0) @binding(3) var<storage, read_write> products: array<Vec4>;

// Low digits of four rows of a column, sums of low and high digits, and high digits.
struct Digits {
    low: Vec4,
    both: Vec4,
    high: Vec4,
}

fn unpacked(packed: Vec4) -> Digits {
    let signed = bitcast<vec4<i32>>(packed);
    let high = bitcast<Vec4>(signed >> vec4<u32>(16u));
    let low = bitcast<Vec4>((signed << vec4<u32>(16u)) >> vec4<u32>(16u));
    return Digits(low, low + high, high);
}

fn with_digits(sums: Digits, a: Digits, b0: Digits, b1: Digits, b2: Digits, b3: Digits) -> Digits {
    return Digits(
        with_rows(sums.low, a.low, b0.low, b1.low, b2.low, b3.low),
        with_rows(sums.both, a.both, b0.both, b1.both, b2.both, b3.both),
        with_rows(sums.high, a.high, b0.high, b1.high, b2.high, b3.high),
    );
}

// Each thread in x handles four columns; the second four threads handle the right half of the tile.
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
    var sums0 = Digits();
    var sums1 = Digits();
    var sums2 = Digits();
    var sums3 = Digits();
    var sums4 = Digits();
    var sums5 = Digits();
    var sums6 = Digits();
    var sums7 = Digits();
    for (var row = first; row < end; row++) {
        let a_at = row * params.a_cols + a_col;
        let b_at = row * params.b_cols + b_col;
        let b0 = unpacked(b[b_at]);
        let b1 = unpacked(b[b_at + 4u]);
        let b2 = unpacked(b[b_at + 8u]);
        let b3 = unpacked(b[b_at + 12u]);
        sums0 = with_digits(sums0, unpacked(a[a_at]), b0, b1, b2, b3);
        sums1 = with_digits(sums1, unpacked(a[a_at + 4u]), b0, b1, b2, b3);
        sums2 = with_digits(sums2, unpacked(a[a_at + 8u]), b0, b1, b2, b3);
        sums3 = with_digits(sums3, unpacked(a[a_at + 12u]), b0, b1, b2, b3);
        sums4 = with_digits(sums4, unpacked(a[a_at + 16u]), b0, b1, b2, b3);
        sums5 = with_digits(sums5, unpacked(a[a_at + 20u]), b0, b1, b2, b3);
        sums6 = with_digits(sums6, unpacked(a[a_at + 24u]), b0, b1, b2, b3);
        sums7 = with_digits(sums7, unpacked(a[a_at + 28u]), b0, b1, b2, b3);
    }
    // Same layout as gram.wgsl.
    let tiles = params.end_tile - params.first_tile;
    let out = ((group.y * params.planes * tiles + tile - params.first_tile) * 16u
        + local.y * 4u + local.x % 4u) * 16u + half;
    leave(out, tiles, sums0);
    leave(out + 2u, tiles, sums1);
    leave(out + 4u, tiles, sums2);
    leave(out + 6u, tiles, sums3);
    leave(out + 8u, tiles, sums4);
    leave(out + 10u, tiles, sums5);
    leave(out + 12u, tiles, sums6);
    leave(out + 14u, tiles, sums7);
}

fn leave(low: u32, tiles: u32, sums: Digits) {
    let plane = tiles * 256u;
    products[low] = sums.low;
    products[low + plane] = sums.both;
    products[low + 2u * plane] = sums.high;
}
