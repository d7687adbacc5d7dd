// out = (x - mean) * scale, with one mean and one scale per column.

struct Params {
    rows: u32,
    cols: u32,
}

override WORKGROUP: u32 = 64u;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> mean: array<f32>;
@group(0) @binding(3) var<storage, read> scale: array<f32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(WORKGROUP)
fn standardise(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let col = id.x;
    if col >= params.cols {
        return;
    }
    let column_mean = mean[col];
    let column_scale = scale[col];
    for (var row = id.y; row < params.rows; row += groups.y) {
        let i = row * params.cols + col;
        out[i] = (x[i] - column_mean) * column_scale;
    }
}
