// Rotary position embedding: in every head, feature i < rotary_dim / 2 is rotated with feature i + rotary_dim / 2 by
// the angle of its position; features from rotary_dim on are copied.

struct Params {
    rows: u32,
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
    let col = id.x;
    if col >= params.cols {
        return;
    }
    let half = params.rotary_dim / 2u;
    let feature = col % params.head_dim;
    let angle = feature % max(half, 1u);
    for (var row = id.y; row < params.rows; row += groups.y) {
        let i = row * params.cols + col;
        if feature >= params.rotary_dim {
            out[i] = x[i];
            continue;
        }
        let at = row % params.seq_len * half + angle;
        if feature < half {
            out[i] = x[i] * cosines[at] - x[i + half] * sines[at];
        } else {
            out[i] = x[i] * cosines[at] + x[i - half] * sines[at];
        }
    }
}
