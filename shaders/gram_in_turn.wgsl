// 64-bit sums += products A^T B, 8 x 8 per thread as in gram.wgsl, but one block of rows after the other: products stay
// with their thread, and sums are fetched once. For devices that a few threads fill, such as software adapters.

@compute @workgroup_size(4, 4, 4)
fn gram_in_turn(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let tile = params.first_tile + group.x * 4u + local.z;
    if tile >= params.end_tile {
        return;
    }
    let at = place(tile);
    let a_col = at.x * TILE + local.y;
    let b_col = at.y * TILE + local.x;
    let out = (tile * 16u + local.y * 4u + local.x) * 16u;
    var left0_parts = Parts();
    var right0_parts = Parts();
    var left1_parts = Parts();
    var right1_parts = Parts();
    var left2_parts = Parts();
    var right2_parts = Parts();
    var left3_parts = Parts();
    var right3_parts = Parts();
    var left4_parts = Parts();
    var right4_parts = Parts();
    var left5_parts = Parts();
    var right5_parts = Parts();
    var left6_parts = Parts();
    var right6_parts = Parts();
    var left7_parts = Parts();
    var right7_parts = Parts();
    for (var first = params.first_group; first < params.end_group; first += params.block_groups) {
        let end = min(first + params.block_groups, params.end_group);
        var left0 = Four();
        var right0 = Four();
        var left1 = Four();
        var right1 = Four();
        var left2 = Four();
        var right2 = Four();
        var left3 = Four();
        var right3 = Four();
        var left4 = Four();
        var right4 = Four();
        var left5 = Four();
        var right5 = Four();
        var left6 = Four();
        var right6 = Four();
        var left7 = Four();
        var right7 = Four();
        for (var row = first; row < end; row++) {
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
            left0 += dots(a0, b0, b1, b2, b3);
            right0 += dots(a0, b4, b5, b6, b7);
            let a1 = a[a_at + 4u];
            left1 += dots(a1, b0, b1, b2, b3);
            right1 += dots(a1, b4, b5, b6, b7);
            let a2 = a[a_at + 8u];
            left2 += dots(a2, b0, b1, b2, b3);
            right2 += dots(a2, b4, b5, b6, b7);
            let a3 = a[a_at + 12u];
            left3 += dots(a3, b0, b1, b2, b3);
            right3 += dots(a3, b4, b5, b6, b7);
            let a4 = a[a_at + 16u];
            left4 += dots(a4, b0, b1, b2, b3);
            right4 += dots(a4, b4, b5, b6, b7);
            let a5 = a[a_at + 20u];
            left5 += dots(a5, b0, b1, b2, b3);
            right5 += dots(a5, b4, b5, b6, b7);
            let a6 = a[a_at + 24u];
            left6 += dots(a6, b0, b1, b2, b3);
            right6 += dots(a6, b4, b5, b6, b7);
            let a7 = a[a_at + 28u];
            left7 += dots(a7, b0, b1, b2, b3);
            right7 += dots(a7, b4, b5, b6, b7);
        }
        left0_parts = with_block(left0_parts, left0);
        right0_parts = with_block(right0_parts, right0);
        left1_parts = with_block(left1_parts, left1);
        right1_parts = with_block(right1_parts, right1);
        left2_parts = with_block(left2_parts, left2);
        right2_parts = with_block(right2_parts, right2);
        left3_parts = with_block(left3_parts, left3);
        right3_parts = with_block(right3_parts, right3);
        left4_parts = with_block(left4_parts, left4);
        right4_parts = with_block(right4_parts, right4);
        left5_parts = with_block(left5_parts, left5);
        right5_parts = with_block(right5_parts, right5);
        left6_parts = with_block(left6_parts, left6);
        right6_parts = with_block(right6_parts, right6);
        left7_parts = with_block(left7_parts, left7);
        right7_parts = with_block(right7_parts, right7);
    }
    add_parts(out, left0_parts);
    add_parts(out + 1u, right0_parts);
    add_parts(out + 2u, left1_parts);
    add_parts(out + 3u, right1_parts);
    add_parts(out + 4u, left2_parts);
    add_parts(out + 5u, right2_parts);
    add_parts(out + 6u, left3_parts);
    add_parts(out + 7u, right3_parts);
    add_parts(out + 8u, left4_parts);
    add_parts(out + 9u, right4_parts);
    add_parts(out + 10u, left5_parts);
    add_parts(out + 11u, right5_parts);
    add_parts(out + 12u, left6_parts);
    add_parts(out + 13u, right6_parts);
    add_parts(out + 14u, left7_parts);
    add_parts(out + 15u, right7_parts);
}
