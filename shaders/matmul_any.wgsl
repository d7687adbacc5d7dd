// Matrix product for any inner width: 4 x 4 outputs per thread in registers, without barriers.

override LANES: u32 = 32u;

@compute @workgroup_size(LANES)
fn matmul_any(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) lane: vec3<u32>) {
    let row = params.first_row + group.y * 4u;
    let cols = params.first_col + group.x * LANES * 4u + lane.x + vec4<u32>(0u, LANES, 2u * LANES, 3u * LANES);
    // Rows and columns beyond the edge repeat the last one and are not stored.
    let x_at = min(vec4<u32>(row, row + 1u, row + 2u, row + 3u), vec4<u32>(params.rows - 1u)) * params.inner;
    let weight_at = min(cols, vec4<u32>(params.cols - 1u)) * params.inner;

    var sum0 = vec4<f32>();
    var sum1 = vec4<f32>();
    var sum2 = vec4<f32>();
    var sum3 = vec4<f32>();
    for (var k = 0u; k < params.inner; k++) {
        let w = vec4<f32>(
            weight[weight_at.x + k],
            weight[weight_at.y + k],
            weight[weight_at.z + k],
            weight[weight_at.w + k],
        );
        sum0 += x[x_at.x + k] * w;
        sum1 += x[x_at.y + k] * w;
        sum2 += x[x_at.z + k] * w;
        sum3 += x[x_at.w + k] * w;
    }

    store(row, cols, sum0);
    store(row + 1u, cols, sum1);
    store(row + 2u, cols, sum2);
    store(row + 3u, cols, sum3);
}
