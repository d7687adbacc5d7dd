// Matrix product through workgroup memory; the inner width is a multiple of 4.
//
// A thread loads four rows of four inner values for one of the tiles and transposes them in registers, so that loads
// and stores are whole vec4. The next tiles are loaded while the current ones are multiplied, so that only the first
// load is waited for.

// Four inner values of four rows; 0 beyond the inner width.
fn bring(of_x: bool, at: vec4<u32>, step: u32) -> mat4x4<f32> {
    if step >= params.inner / 4u {
        return mat4x4<f32>();
    }
    if of_x {
        return mat4x4<f32>(x[at.x + step], x[at.y + step], x[at.z + step], x[at.w + step]);
    }
    return mat4x4<f32>(weight[at.x + step], weight[at.y + step], weight[at.z + step], weight[at.w + step]);
}

@compute @workgroup_size(128)
fn matmul_shared(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) index: u32) {
    let steps = params.inner / 4u;
    let first = vec2<u32>(params.first_row, params.first_col) + group.yx * SIDE;
    let at = place(index);

    // The first 64 threads load x, the others the weight. Two neighbours read 32 bytes of a row, the smallest memory
    // transaction, and eight threads write to eight different banks.
    let of_x = index < 64u;
    let line = index / 2u % 16u;
    let step = index % 2u + index / 32u % 2u * 2u;
    // Rows and columns beyond the edge repeat the last one and are not stored.
    let last = select(params.cols, params.rows, of_x) - 1u;
    let brought_at = min(select(first.y, first.x, of_x) + line + LINES, vec4<u32>(last)) * steps;

    var brought = bring(of_x, brought_at, step);
    for (var done = 0u; done < steps; done += DEPTH / 4u) {
        let turned = transpose(brought);
        if of_x {
            row_tile[4u * step][line] = turned[0];
            row_tile[4u * step + 1u][line] = turned[1];
            row_tile[4u * step + 2u][line] = turned[2];
            row_tile[4u * step + 3u][line] = turned[3];
        } else {
            col_tile[4u * step][line] = turned[0];
            col_tile[4u * step + 1u][line] = turned[1];
            col_tile[4u * step + 2u][line] = turned[2];
            col_tile[4u * step + 3u][line] = turned[3];
        }
        workgroupBarrier();
        brought = bring(of_x, brought_at, done + DEPTH / 4u + step);
        multiply(at);
        workgroupBarrier();
    }
    store_sums(first, at);
}
