// out = x * weight^T + bias for any inner width: 4 x 4 outputs per thread in registers, no barrier.
//
// Rows depend on the workgroup alone, so that a device with wide vectors loads x once for all lanes.

struct Params {
    // Outputs computed here: rows [first_row, rows) of x against `cols` rows of this part of the weight.
    rows: u32,
    cols: u32,
    inner: u32,
    first_row: u32,
    first_col: u32,
    // Where this part's columns lie in a row of the output.
    out_stride: u32,
    out_offset: u32,
    has_bias: u32,
}

override LANES: u32 = 16u;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> weight: array<f32>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;

fn store(row: u32, cols: vec4<u32>, value: vec4<f32>) {
    if row >= params.rows {
        return;
    }
    for (var c = 0u; c < 4u; c++) {
        if cols[c] < params.cols {
            let col = params.out_offset + cols[c];
            out[row * params.out_stride + col] = value[c] + select(0.0, bias[col * params.has_bias], params.has_bias == 1u);
        }
    }
}

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
