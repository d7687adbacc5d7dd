// RMSNorm: out = x / sqrt(mean(x^2) + eps) * weight, one thread per row, no barrier.

struct Params {
    rows: u32,
    cols: u32,
    eps: f32,
}

override WORKGROUP: u32 = 32u;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> weight: array<f32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(WORKGROUP)
fn rms_norm(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let row = id.y * groups.x * WORKGROUP + id.x;
    if row >= params.rows {
        return;
    }
    let first = row * params.cols;

    var squares = 0.0;
    for (var i = 0u; i < params.cols; i++) {
        let value = x[first + i];
        squares += value * value;
    }
    let scale = 1.0 / sqrt(squares / f32(params.cols) + params.eps);

    for (var i = 0u; i < params.cols; i++) {
        out[first + i] = x[first + i] * scale * weight[i];
    }
}
