// out = x * weight^T + bias where the inner width is a multiple of 4: 8 x 8 outputs per thread in registers, vec4
// loads along the inner dimension, no barrier. For software adapters, where a barrier costs more than it saves.
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

override LANES: u32 = 8u;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> weight: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;

// Four inner values of four rows of the weight: x * block are four products.
fn block(at: vec4<u32>, k: u32) -> mat4x4<f32> {
    return mat4x4<f32>(weight[at.x + k], weight[at.y + k], weight[at.z + k], weight[at.w + k]);
}

fn store_four(row: u32, cols: vec4<u32>, value: vec4<f32>) {
    for (var c = 0u; c < 4u; c++) {
        if cols[c] < params.cols {
            let col = params.out_offset + cols[c];
            out[row * params.out_stride + col] = value[c] + select(0.0, bias[col * params.has_bias], params.has_bias == 1u);
        }
    }
}

fn store(row: u32, left: vec4<u32>, right: vec4<u32>, left_value: vec4<f32>, right_value: vec4<f32>) {
    if row < params.rows {
        store_four(row, left, left_value);
        store_four(row, right, right_value);
    }
}

@compute @workgroup_size(LANES)
fn matmul_tile(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) lane: vec3<u32>) {
    let steps = params.inner / 4u;
    let row = params.first_row + group.y * 8u;
    let left = params.first_col + group.x * LANES * 8u + lane.x + LANES * vec4<u32>(0u, 1u, 2u, 3u);
    let right = left + 4u * LANES;
    // Rows and columns beyond the edge repeat the last one and are not stored.
    let last_row = params.rows - 1u;
    let last_col = vec4<u32>(params.cols - 1u);
    let left_at = min(left, last_col) * steps;
    let right_at = min(right, last_col) * steps;
    let x0_at = min(row + 0u, last_row) * steps;
    let x1_at = min(row + 1u, last_row) * steps;
    let x2_at = min(row + 2u, last_row) * steps;
    let x3_at = min(row + 3u, last_row) * steps;
    let x4_at = min(row + 4u, last_row) * steps;
    let x5_at = min(row + 5u, last_row) * steps;
    let x6_at = min(row + 6u, last_row) * steps;
    let x7_at = min(row + 7u, last_row) * steps;

    var left0 = vec4<f32>();
    var right0 = vec4<f32>();
    var left1 = vec4<f32>();
    var right1 = vec4<f32>();
    var left2 = vec4<f32>();
    var right2 = vec4<f32>();
    var left3 = vec4<f32>();
    var right3 = vec4<f32>();
    var left4 = vec4<f32>();
    var right4 = vec4<f32>();
    var left5 = vec4<f32>();
    var right5 = vec4<f32>();
    var left6 = vec4<f32>();
    var right6 = vec4<f32>();
    var left7 = vec4<f32>();
    var right7 = vec4<f32>();
    for (var k = 0u; k < steps; k++) {
        let left_block = block(left_at, k);
        let right_block = block(right_at, k);
        let x0 = x[x0_at + k];
        left0 += x0 * left_block;
        right0 += x0 * right_block;
        let x1 = x[x1_at + k];
        left1 += x1 * left_block;
        right1 += x1 * right_block;
        let x2 = x[x2_at + k];
        left2 += x2 * left_block;
        right2 += x2 * right_block;
        let x3 = x[x3_at + k];
        left3 += x3 * left_block;
        right3 += x3 * right_block;
        let x4 = x[x4_at + k];
        left4 += x4 * left_block;
        right4 += x4 * right_block;
        let x5 = x[x5_at + k];
        left5 += x5 * left_block;
        right5 += x5 * right_block;
        let x6 = x[x6_at + k];
        left6 += x6 * left_block;
        right6 += x6 * right_block;
        let x7 = x[x7_at + k];
        left7 += x7 * left_block;
        right7 += x7 * right_block;
    }

    store(row + 0u, left, right, left0, right0);
    store(row + 1u, left, right, left1, right1);
    store(row + 2u, left, right, left2, right2);
    store(row + 3u, left, right, left3, right3);
    store(row + 4u, left, right, left4, right4);
    store(row + 5u, left, right, left5, right5);
    store(row + 6u, left, right, left6, right6);
    store(row + 7u, left, right, left7, right7);
}
