// scores[b, i, j] = f(scores[b, i, j]) + slope * (j - i), in place, for models with capped scores or ALiBi.
//
// Batch entry b is window * heads + head. Scores that a position does not attend to may be undefined here.

struct Params {
    len: u32,
    seq_len: u32,
    heads: u32,
    // First batch entry of this dispatch.
    first: u32,
    // c of f(s) = c * tanh(s / c); 0 if scores are not capped.
    softcap: f32,
}

override WORKGROUP: u32 = 64u;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> slopes: array<f32>;
@group(0) @binding(2) var<storage, read_write> scores: array<f32>;

@compute @workgroup_size(WORKGROUP)
fn attention_terms(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = id.y * groups.x * WORKGROUP + id.x;
    if i < params.len {
        let row = i / params.seq_len;
        let head = (params.first + row / params.seq_len) % params.heads;
        let distance = f32(i % params.seq_len) - f32(row % params.seq_len);
        var score = scores[i];
        if params.softcap > 0.0 {
            score = params.softcap * tanh_bounded(score / params.softcap);
        }
        scores[i] = score + slopes[head] * distance;
    }
}
