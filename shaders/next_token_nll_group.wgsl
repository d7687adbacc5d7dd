// out[i] = log sum exp(logits_i) - logits_i[target_i], one workgroup per row. For real GPUs: a vocabulary is long.

struct Params {
    rows: u32,
    cols: u32,
}

const LANES: u32 = 64u;
const LOWEST: f32 = -3.4028235e38;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> logits: array<f32>;
@group(0) @binding(2) var<storage, read> targets: array<u32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

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
    return scratch[0];
}

// The largest of every lane's value.
fn largest_of(lane: u32, value: f32) -> f32 {
    scratch[lane] = value;
    workgroupBarrier();
    for (var half = LANES / 2u; half > 0u; half /= 2u) {
        if lane < half {
            scratch[lane] = max(scratch[lane], scratch[lane + half]);
        }
        workgroupBarrier();
    }
    let largest = scratch[0];
    workgroupBarrier();
    return largest;
}

@compute @workgroup_size(64)
fn next_token_nll_group(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row = group.y * groups.x + group.x;
    if row >= params.rows {
        return;
    }
    let first = row * params.cols;

    var largest = LOWEST;
    for (var i = lane; i < params.cols; i += LANES) {
        largest = max(largest, logits[first + i]);
    }
    largest = largest_of(lane, largest);
    var sum = 0.0;
    for (var i = lane; i < params.cols; i += LANES) {
        sum += exp(logits[first + i] - largest);
    }
    sum = total(lane, sum);
    if lane == 0u {
        out[row] = log(sum) + largest - logits[first + targets[row]];
    }
}
