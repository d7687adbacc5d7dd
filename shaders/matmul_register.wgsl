// Matrix product in registers only; the inner width is a multiple of 4. 64 threads compute 64 x 32 outputs, 8 rows x 4
// columns each, as outer products. For devices whose caches are as fast as workgroup memory: no barrier, and 12 loads
// of vec4 serve 128 multiply-adds.
//
// A wave of 32 is 8 x 4 threads, so a load touches 4 rows of x or 8 of the weight, shared by the other threads. A row
// of 32 threads would read 32 rows of the weight, each from a cache line of its own.

// sum + a * (inner values of four columns): column i of `turned` has inner value i of the four columns.
fn added(sum: vec4<f32>, a: vec4<f32>, turned: mat4x4<f32>) -> vec4<f32> {
    return sum + a.x * turned[0] + a.y * turned[1] + a.z * turned[2] + a.w * turned[3];
}

@compute @workgroup_size(8, 8)
fn matmul_register(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let steps = params.inner / 4u;
    let row = params.first_row + group.y * 64u + local.y;
    let cols = params.first_col + group.x * 32u + local.x + vec4<u32>(0u, 8u, 16u, 24u);
    // Rows and columns beyond the edge repeat the last one and are not stored.
    let last_row = params.rows - 1u;
    let cols_at = min(cols, vec4<u32>(params.cols - 1u)) * steps;
    let row0_at = min(row + 0u, last_row) * steps;
    let row1_at = min(row + 8u, last_row) * steps;
    let row2_at = min(row + 16u, last_row) * steps;
    let row3_at = min(row + 24u, last_row) * steps;
    let row4_at = min(row + 32u, last_row) * steps;
    let row5_at = min(row + 40u, last_row) * steps;
    let row6_at = min(row + 48u, last_row) * steps;
    let row7_at = min(row + 56u, last_row) * steps;

    var sum0 = vec4<f32>();
    var sum1 = vec4<f32>();
    var sum2 = vec4<f32>();
    var sum3 = vec4<f32>();
    var sum4 = vec4<f32>();
    var sum5 = vec4<f32>();
    var sum6 = vec4<f32>();
    var sum7 = vec4<f32>();
    for (var k = 0u; k < steps; k++) {
        let turned = transpose(
            mat4x4<f32>(weight[cols_at.x + k], weight[cols_at.y + k], weight[cols_at.z + k], weight[cols_at.w + k]),
        );
        sum0 = added(sum0, x[row0_at + k], turned);
        sum1 = added(sum1, x[row1_at + k], turned);
        sum2 = added(sum2, x[row2_at + k], turned);
        sum3 = added(sum3, x[row3_at + k], turned);
        sum4 = added(sum4, x[row4_at + k], turned);
        sum5 = added(sum5, x[row5_at + k], turned);
        sum6 = added(sum6, x[row6_at + k], turned);
        sum7 = added(sum7, x[row7_at + k], turned);
    }

    store(row + 0u, cols, sum0);
    store(row + 8u, cols, sum1);
    store(row + 16u, cols, sum2);
    store(row + 24u, cols, sum3);
    store(row + 32u, cols, sum4);
    store(row + 40u, cols, sum5);
    store(row + 48u, cols, sum6);
    store(row + 56u, cols, sum7);
}
