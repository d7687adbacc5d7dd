// Rotary position embedding: in every head, feature i < rotary_dim / 2 turns with feature i + rotary_dim / 2 by the
// angle of its position; features from rotary_dim on pass through.

struct Params {
    len: u32,
    cols: u32,
    head_dim: u32,
    rotary_dim: u32,
    seq_len: u32,
}

override WORKGROUP: u32 = 64u;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> cosines: array<f32>;
@group(0) @binding(3) var<storage, read> sines: array<f32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(WORKGROUP)
fn rotate(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = id.y * groups.x * WORKGROUP + id.x;
    if i >= params.len {
        return;
    }
    let feature = (i % params.cols) % params.head_dim;
    if feature >= params.rotary_dim {
        out[i] = x[i];
        return;
    }
    let half = params.rotary_dim / 2u;
    let position = (i / params.cols) % params.seq_len;
    let angle = position * half + feature % half;
    if feature < half {
        out[i] = x[i] * cosines[angle] - x[i + half] * sines[angle];
    } else {
        out[i] = x[i] * cosines[angle] + x[i - half] * sines[angle];
    }
}
