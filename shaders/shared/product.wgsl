// Shared by the matrix products: out = x * weight^T + bias. The kernel table puts this file before them, preceded by
// the type `Inner`: one value along the inner dimension, or four.

struct Params {
    // Outputs of this dispatch: rows [first_row, rows) of x times `cols` rows of this part of the weight.
    rows: u32,
    cols: u32,
    inner: u32,
    first_row: u32,
    first_col: u32,
    // Row stride of the output, and the offset of this part's columns.
    out_stride: u32,
    out_offset: u32,
    has_bias: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<Inner>;
@group(0) @binding(2) var<storage, read> weight: array<Inner>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;

fn store_one(row: u32, part_col: u32, value: f32) {
    if part_col < params.cols {
        let col = params.out_offset + part_col;
        out[row * params.out_stride + col] = value + select(0.0, bias[col * params.has_bias], params.has_bias == 1u);
    }
}

// Stores four columns of a row. Neighbouring threads have adjacent columns, so that stores fill whole cache lines;
// adjacent columns within a thread would be unaligned for some `out_stride`.
fn store(row: u32, cols: vec4<u32>, value: vec4<f32>) {
    if row < params.rows {
        store_one(row, cols.x, value.x);
        store_one(row, cols.y, value.y);
        store_one(row, cols.z, value.z);
        store_one(row, cols.w, value.w);
    }
}
