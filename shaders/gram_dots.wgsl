// Exact products A^T B of every block of rows from three 8-bit digits, with four rows packed in a word: every digit
// times every other, four rows at a time by `dot4I8Packed`. Products of the same weight are added here, which leaves
// five sums of nine: 3 * 256 * 2^14 is far below 2^31.
//
// A native instruction does the work of four multiply-adds; where it is emulated, another kernel wins.

@group(0) @binding(3) var<storage, read_write> products: array<vec4<i32>>;

// Products of a column of A with four columns of B, by the weight of their digits: weight i is 2^(8 i).
struct Weights {
    zero: vec4<i32>,
    one: vec4<i32>,
    two: vec4<i32>,
    three: vec4<i32>,
    four: vec4<i32>,
}

// Digits of four columns, lowest first.
struct Columns {
    zero: Vec4,
    one: Vec4,
    two: Vec4,
}

fn columns(b0: Vec4, b1: Vec4, b2: Vec4, b3: Vec4) -> Columns {
    return Columns(
        Vec4(b0.x, b1.x, b2.x, b3.x),
        Vec4(b0.y, b1.y, b2.y, b3.y),
        Vec4(b0.z, b1.z, b2.z, b3.z),
    );
}

fn dots(a: u32, b: Vec4) -> vec4<i32> {
    return vec4<i32>(dot4I8Packed(a, b.x), dot4I8Packed(a, b.y), dot4I8Packed(a, b.z), dot4I8Packed(a, b.w));
}

fn with_digits(sums: Weights, a: Vec4, b: Columns) -> Weights {
    return Weights(
        sums.zero + dots(a.x, b.zero),
        sums.one + dots(a.x, b.one) + dots(a.y, b.zero),
        sums.two + dots(a.x, b.two) + dots(a.y, b.one) + dots(a.z, b.zero),
        sums.three + dots(a.y, b.two) + dots(a.z, b.one),
        sums.four + dots(a.z, b.two),
    );
}

// A thread handles four columns of A, eight apart, and four of B in one half of the tile.
@compute @workgroup_size(8, 8, 1)
fn gram_dots(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let tile = params.first_tile + group.x;
    let at = place(tile);
    let first = params.first_group + group.y * params.block_groups;
    let end = min(first + params.block_groups, params.end_group);
    let half = local.x / 4u;
    let a_col = at.x * TILE + local.y;
    let b_col = at.y * TILE + half * (TILE / 2u) + local.x % 4u;
    var sums0 = Weights();
    var sums1 = Weights();
    var sums2 = Weights();
    var sums3 = Weights();
    for (var row = first; row < end; row++) {
        let a_at = row * params.a_cols + a_col;
        let b_at = row * params.b_cols + b_col;
        let four = columns(b[b_at], b[b_at + 4u], b[b_at + 8u], b[b_at + 12u]);
        sums0 = with_digits(sums0, a[a_at], four);
        sums1 = with_digits(sums1, a[a_at + 8u], four);
        sums2 = with_digits(sums2, a[a_at + 16u], four);
        sums3 = with_digits(sums3, a[a_at + 24u], four);
    }
    // Same layout as gram.wgsl: columns of A that are four apart belong to one of its threads.
    let tiles = params.end_tile - params.first_tile;
    let out = ((group.y * params.planes * tiles + tile - params.first_tile) * 16u
        + local.y % 4u * 4u + local.x % 4u) * 16u + local.y / 4u * 2u + half;
    leave(out, tiles, sums0);
    leave(out + 4u, tiles, sums1);
    leave(out + 8u, tiles, sums2);
    leave(out + 12u, tiles, sums3);
}

fn leave(first: u32, tiles: u32, sums: Weights) {
    let plane = tiles * 256u;
    products[first] = sums.zero;
    products[first + plane] = sums.one;
    products[first + 2u * plane] = sums.two;
    products[first + 3u * plane] = sums.three;
    products[first + 4u * plane] = sums.four;
}
