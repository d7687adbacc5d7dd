// LayerNorm and RMSNorm, one workgroup per row: for real GPUs, where neighbouring threads must read neighbouring values.
//
// LayerNorm takes mean and variance in two passes over the row: the one-pass formula loses digits where the mean is
// large.

struct Params {
    rows: u32,
    cols: u32,
    eps: f32,
}

const LANES: u32 = 64u;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> weight: array<f32>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;

var<workgroup> scratch: array<f32, 64>;

// The sum of every lane's value.
fn total(lane: u32, value: f32) -> f32 {
    scratch[lane] = value;
    workgroupBarrier();
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        if lane < half {
            scratch[lane] += scratch[lane + half];
        }
        workgroupBarrier();
    }
    let sum = scratch[0];
    workgroupBarrier();
    return sum;
}

@compute @workgroup_size(64)
fn layer_norm_group(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row = group.y * groups.x + group.x;
    if row >= params.rows {
        return;
    }
    let first = row * params.cols;

    var sum = 0.0;
    for (var i = lane; i < params.cols; i += LANES) {
        sum += x[first + i];
    }
    let mean = total(lane, sum) / f32(params.cols);

    var squares = 0.0;
    for (var i = lane; i < params.cols; i += LANES) {
        let centred = x[first + i] - mean;
        squares += centred * centred;
    }
    let scale = 1.0 / sqrt(total(lane, squares) / f32(params.cols) + params.eps);

    for (var i = lane; i < params.cols; i += LANES) {
        out[first + i] = (x[first + i] - mean) * scale * weight[i] + bias[i];
    }
}

@compute @workgroup_size(64)
fn rms_norm_group(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row = group.y * groups.x + group.x;
    if row >= params.rows {
        return;
    }
    let first = row * params.cols;

    var squares = 0.0;
    for (var i = lane; i < params.cols; i += LANES) {
        let value = x[first + i];
        squares += value * value;
    }
    let scale = 1.0 / sqrt(total(lane, squares) / f32(params.cols) + params.eps);

    for (var i = lane; i < params.cols; i += LANES) {
        out[first + i] = x[first + i] * scale * weight[i];
    }
}
