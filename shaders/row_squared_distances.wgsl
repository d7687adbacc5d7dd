// out[i] = |a_i - b_i|^2 of row i; one thread per row, without barriers. b has as many rows as a, or one for all.

struct Params {
    rows: u32,
    cols: u32,
    step: u32, // from one row of b to the next: cols, or 0 if b has one row
}

override WORKGROUP: u32 = 32u;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(WORKGROUP)
fn row_squared_distances(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let row = id.y * groups.x * WORKGROUP + id.x;
    if row >= params.rows {
        return;
    }
    var squares = 0.0;
    for (var i = 0u; i < params.cols; i++) {
        let rest = a[row * params.cols + i] - b[row * params.step + i];
        squares += rest * rest;
    }
    out[row] = squares;
}
