// Products A^T B of every block of rows, 8 x 8 per thread, without barriers, blocks in parallel; gram_sums.wgsl adds
// them to 64-bit sums.
//
// Columns of a thread are four apart, so that neighbouring threads read adjacent values. The loop over rows is the only
// one, and another kernel adds to sums, so that a batch of small matrices still fills the device. Sums are separate
// variables: some compilers put an array indexed in a loop into memory, others add bounds checks.
//
// Integers are u32, which wrap around everywhere; signed overflow is undefined in the languages that some browsers
// translate WGSL to.

@group(0) @binding(3) var<storage, read_write> products: array<Vec4>;

@compute @workgroup_size(4, 4, 4)
fn gram(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let tile = params.first_tile + group.x * 4u + local.z;
    if tile >= params.end_tile {
        return;
    }
    let at = place(tile);
    let plane = group.y % params.planes * params.groups;
    let first = params.first_group + group.y / params.planes * params.block_groups;
    let end = min(first + params.block_groups, params.end_group);
    let a_col = at.x * TILE + local.y;
    let b_col = at.y * TILE + local.x;
    var left0 = Vec4();
    var right0 = Vec4();
    var left1 = Vec4();
    var right1 = Vec4();
    var left2 = Vec4();
    var right2 = Vec4();
    var left3 = Vec4();
    var right3 = Vec4();
    var left4 = Vec4();
    var right4 = Vec4();
    var left5 = Vec4();
    var right5 = Vec4();
    var left6 = Vec4();
    var right6 = Vec4();
    var left7 = Vec4();
    var right7 = Vec4();
    for (var row = plane + first; row < plane + end; row++) {
        let a_at = row * params.a_cols + a_col;
        let b_at = row * params.b_cols + b_col;
        let b0 = b[b_at];
        let b1 = b[b_at + 4u];
        let b2 = b[b_at + 8u];
        let b3 = b[b_at + 12u];
        let b4 = b[b_at + 16u];
        let b5 = b[b_at + 20u];
        let b6 = b[b_at + 24u];
        let b7 = b[b_at + 28u];
        let a0 = a[a_at];
        left0 = with_rows(left0, a0, b0, b1, b2, b3);
        right0 = with_rows(right0, a0, b4, b5, b6, b7);
        let a1 = a[a_at + 4u];
        left1 = with_rows(left1, a1, b0, b1, b2, b3);
        right1 = with_rows(right1, a1, b4, b5, b6, b7);
        let a2 = a[a_at + 8u];
        left2 = with_rows(left2, a2, b0, b1, b2, b3);
        right2 = with_rows(right2, a2, b4, b5, b6, b7);
        let a3 = a[a_at + 12u];
        left3 = with_rows(left3, a3, b0, b1, b2, b3);
        right3 = with_rows(right3, a3, b4, b5, b6, b7);
        let a4 = a[a_at + 16u];
        left4 = with_rows(left4, a4, b0, b1, b2, b3);
        right4 = with_rows(right4, a4, b4, b5, b6, b7);
        let a5 = a[a_at + 20u];
        left5 = with_rows(left5, a5, b0, b1, b2, b3);
        right5 = with_rows(right5, a5, b4, b5, b6, b7);
        let a6 = a[a_at + 24u];
        left6 = with_rows(left6, a6, b0, b1, b2, b3);
        right6 = with_rows(right6, a6, b4, b5, b6, b7);
        let a7 = a[a_at + 28u];
        left7 = with_rows(left7, a7, b0, b1, b2, b3);
        right7 = with_rows(right7, a7, b4, b5, b6, b7);
    }
    // A thread's products are contiguous.
    let out = ((group.y * (params.end_tile - params.first_tile) + tile - params.first_tile) * 16u
        + local.y * 4u + local.x) * 16u;
    products[out] = left0;
    products[out + 1u] = right0;
    products[out + 2u] = left1;
    products[out + 3u] = right1;
    products[out + 4u] = left2;
    products[out + 5u] = right2;
    products[out + 6u] = left3;
    products[out + 7u] = right3;
    products[out + 8u] = left4;
    products[out + 9u] = right4;
    products[out + 10u] = left5;
    products[out + 11u] = right5;
    products[out + 12u] = left6;
    products[out + 13u] = right6;
    products[out + 14u] = left7;
    products[out + 15u] = right7;
}
