// LayerNorm: out = (x - mean) / sqrt(var + eps) * weight + bias, one thread per row, no barrier.
//
// Mean and variance are taken in two passes over the row: the one-pass formula loses digits where the mean is large.

struct Params {
    rows: u32,
    cols: u32,
    eps: f32,
}

override WORKGROUP: u32 = 32u;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> weight: array<f32>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(WORKGROUP)
fn layer_norm(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let row = id.y * groups.x * WORKGROUP + id.x;
    if row >= params.rows {
        return;
    }
    let first = row * params.cols;

    var sum = 0.0;
    for (var i = 0u; i < params.cols; i++) {
        sum += x[first + i];
    }
    let mean = sum / f32(params.cols);

    var squares = 0.0;
    for (var i = 0u; i < params.cols; i++) {
        let centred = x[first + i] - mean;
        squares += centred * centred;
    }
    let scale = 1.0 / sqrt(squares / f32(params.cols) + params.eps);

    for (var i = 0u; i < params.cols; i++) {
        out[first + i] = (x[first + i] - mean) * scale * weight[i] + bias[i];
    }
}
