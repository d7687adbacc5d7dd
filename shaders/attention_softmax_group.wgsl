// scores[b, i, :] = softmax over the positions that i sees, 0 elsewhere; in place, one workgroup per row. For real GPUs.

struct Params {
    rows: u32,
    seq_len: u32,
    causal: u32,
}

const LANES: u32 = 64u;
const LOWEST: f32 = -3.4028235e38;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> scores: array<f32>;

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
fn attention_softmax_group(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let row = group.y * groups.x + group.x;
    if row >= params.rows {
        return;
    }
    let first = row * params.seq_len;
    let seen = select(params.seq_len, row % params.seq_len + 1u, params.causal == 1u);

    var largest = LOWEST;
    for (var j = lane; j < seen; j += LANES) {
        largest = max(largest, scores[first + j]);
    }
    largest = largest_of(lane, largest);
    var sum = 0.0;
    for (var j = lane; j < seen; j += LANES) {
        let weight = exp(scores[first + j] - largest);
        scores[first + j] = weight;
        sum += weight;
    }
    let scale = 1.0 / total(lane, sum);
    for (var j = lane; j < params.seq_len; j += LANES) {
        if j < seen {
            scores[first + j] *= scale;
        } else {
            scores[first + j] = 0.0;
        }
    }
}
