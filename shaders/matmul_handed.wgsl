// out = x * weight^T + bias where the inner width is a multiple of 4: 16 x 8 outputs per thread in registers, by eight
// threads for 32 x 32. A thread loads every eighth row of either matrix and hands it to whom it concerns: for devices
// whose subgroups are of eight threads, such as those of software adapters, which load value by value for every thread.

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

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> weight: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;

fn dots(x: vec4<f32>, w0: vec4<f32>, w1: vec4<f32>, w2: vec4<f32>, w3: vec4<f32>) -> vec4<f32> {
    return vec4<f32>(dot(x, w0), dot(x, w1), dot(x, w2), dot(x, w3));
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

@compute @workgroup_size(8)
fn matmul_handed(@builtin(workgroup_id) group: vec3<u32>, @builtin(subgroup_invocation_id) lane: u32) {
    let steps = params.inner / 4u;
    let first_row = params.first_row + group.y * 32u;
    let first_col = params.first_col + group.x * 32u;
    // Rows that are `down` of two, columns that are `across` of four.
    let down = lane / 4u;
    let across = lane % 4u;
    // Rows and columns beyond the edge repeat the last one and are not stored.
    let rows_at = min(first_row + lane + vec4<u32>(0u, 8u, 16u, 24u), vec4<u32>(params.rows - 1u)) * steps;
    let cols_at = min(first_col + lane + vec4<u32>(0u, 8u, 16u, 24u), vec4<u32>(params.cols - 1u)) * steps;

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
    var left8 = vec4<f32>();
    var right8 = vec4<f32>();
    var left9 = vec4<f32>();
    var right9 = vec4<f32>();
    var left10 = vec4<f32>();
    var right10 = vec4<f32>();
    var left11 = vec4<f32>();
    var right11 = vec4<f32>();
    var left12 = vec4<f32>();
    var right12 = vec4<f32>();
    var left13 = vec4<f32>();
    var right13 = vec4<f32>();
    var left14 = vec4<f32>();
    var right14 = vec4<f32>();
    var left15 = vec4<f32>();
    var right15 = vec4<f32>();
    for (var k = 0u; k < steps; k++) {
        let w_0 = weight[cols_at[0] + k];
        let w_1 = weight[cols_at[1] + k];
        let w_2 = weight[cols_at[2] + k];
        let w_3 = weight[cols_at[3] + k];
        let w0 = subgroupShuffle(w_0, across);
        let w1 = subgroupShuffle(w_0, 4u + across);
        let w2 = subgroupShuffle(w_1, across);
        let w3 = subgroupShuffle(w_1, 4u + across);
        let w4 = subgroupShuffle(w_2, across);
        let w5 = subgroupShuffle(w_2, 4u + across);
        let w6 = subgroupShuffle(w_3, across);
        let w7 = subgroupShuffle(w_3, 4u + across);
        let x_0 = x[rows_at[0] + k];
        let x0 = subgroupShuffle(x_0, down);
        left0 += dots(x0, w0, w1, w2, w3);
        right0 += dots(x0, w4, w5, w6, w7);
        let x1 = subgroupShuffle(x_0, 2u + down);
        left1 += dots(x1, w0, w1, w2, w3);
        right1 += dots(x1, w4, w5, w6, w7);
        let x2 = subgroupShuffle(x_0, 4u + down);
        left2 += dots(x2, w0, w1, w2, w3);
        right2 += dots(x2, w4, w5, w6, w7);
        let x3 = subgroupShuffle(x_0, 6u + down);
        left3 += dots(x3, w0, w1, w2, w3);
        right3 += dots(x3, w4, w5, w6, w7);
        let x_1 = x[rows_at[1] + k];
        let x4 = subgroupShuffle(x_1, down);
        left4 += dots(x4, w0, w1, w2, w3);
        right4 += dots(x4, w4, w5, w6, w7);
        let x5 = subgroupShuffle(x_1, 2u + down);
        left5 += dots(x5, w0, w1, w2, w3);
        right5 += dots(x5, w4, w5, w6, w7);
        let x6 = subgroupShuffle(x_1, 4u + down);
        left6 += dots(x6, w0, w1, w2, w3);
        right6 += dots(x6, w4, w5, w6, w7);
        let x7 = subgroupShuffle(x_1, 6u + down);
        left7 += dots(x7, w0, w1, w2, w3);
        right7 += dots(x7, w4, w5, w6, w7);
        let x_2 = x[rows_at[2] + k];
        let x8 = subgroupShuffle(x_2, down);
        left8 += dots(x8, w0, w1, w2, w3);
        right8 += dots(x8, w4, w5, w6, w7);
        let x9 = subgroupShuffle(x_2, 2u + down);
        left9 += dots(x9, w0, w1, w2, w3);
        right9 += dots(x9, w4, w5, w6, w7);
        let x10 = subgroupShuffle(x_2, 4u + down);
        left10 += dots(x10, w0, w1, w2, w3);
        right10 += dots(x10, w4, w5, w6, w7);
        let x11 = subgroupShuffle(x_2, 6u + down);
        left11 += dots(x11, w0, w1, w2, w3);
        right11 += dots(x11, w4, w5, w6, w7);
        let x_3 = x[rows_at[3] + k];
        let x12 = subgroupShuffle(x_3, down);
        left12 += dots(x12, w0, w1, w2, w3);
        right12 += dots(x12, w4, w5, w6, w7);
        let x13 = subgroupShuffle(x_3, 2u + down);
        left13 += dots(x13, w0, w1, w2, w3);
        right13 += dots(x13, w4, w5, w6, w7);
        let x14 = subgroupShuffle(x_3, 4u + down);
        left14 += dots(x14, w0, w1, w2, w3);
        right14 += dots(x14, w4, w5, w6, w7);
        let x15 = subgroupShuffle(x_3, 6u + down);
        left15 += dots(x15, w0, w1, w2, w3);
        right15 += dots(x15, w4, w5, w6, w7);
    }

    let row = first_row + down;
    let left = first_col + across + vec4<u32>(0u, 4u, 8u, 12u);
    let right = left + 16u;
    store(row + 0u, left, right, left0, right0);
    store(row + 2u, left, right, left1, right1);
    store(row + 4u, left, right, left2, right2);
    store(row + 6u, left, right, left3, right3);
    store(row + 8u, left, right, left4, right4);
    store(row + 10u, left, right, left5, right5);
    store(row + 12u, left, right, left6, right6);
    store(row + 14u, left, right, left7, right7);
    store(row + 16u, left, right, left8, right8);
    store(row + 18u, left, right, left9, right9);
    store(row + 20u, left, right, left10, right10);
    store(row + 22u, left, right, left11, right11);
    store(row + 24u, left, right, left12, right12);
    store(row + 26u, left, right, left13, right13);
    store(row + 28u, left, right, left14, right14);
    store(row + 30u, left, right, left15, right15);
}
