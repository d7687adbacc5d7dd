// out[j, i] = x[i, j].

struct Params {
    rows: u32,
    cols: u32,
}

override WORKGROUP: u32 = 64u;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(WORKGROUP)
fn transpose_rows(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let col = id.x;
    if col >= params.cols {
        return;
    }
    for (var row = id.y; row < params.rows; row += groups.y) {
        out[col * params.rows + row] = x[row * params.cols + col];
    }
}
