// scores[b, i, :] = softmax over the positions that i sees, 0 elsewhere; in place, one thread per row, no barrier.

struct Params {
    rows: u32,
    seq_len: u32,
    causal: u32,
}

override WORKGROUP: u32 = 32u;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> scores: array<f32>;

@compute @workgroup_size(WORKGROUP)
fn attention_softmax(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let row = id.y * groups.x * WORKGROUP + id.x;
    if row >= params.rows {
        return;
    }
    let first = row * params.seq_len;
    let seen = select(params.seq_len, row % params.seq_len + 1u, params.causal == 1u);

    var largest = scores[first];
    for (var j = 1u; j < seen; j++) {
        largest = max(largest, scores[first + j]);
    }
    var sum = 0.0;
    for (var j = 0u; j < seen; j++) {
        let weight = exp(scores[first + j] - largest);
        scores[first + j] = weight;
        sum += weight;
    }
    let scale = 1.0 / sum;
    for (var j = 0u; j < seen; j++) {
        scores[first + j] *= scale;
    }
    for (var j = seen; j < params.seq_len; j++) {
        scores[first + j] = 0.0;
    }
}
