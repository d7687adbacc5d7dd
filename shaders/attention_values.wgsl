// out[i, head] = sum over j of weights[b, i, j] * v_j, 4 positions x 4 features per thread, no barrier.

struct Params {
    seq_len: u32,
    heads: u32,
    kv_heads: u32,
    head_dim: u32,
    // First batch entry (window * heads + head) of this dispatch.
    first: u32,
    causal: u32,
}

override WORKGROUP: u32 = 32u;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> weights: array<f32>;
@group(0) @binding(2) var<storage, read> v: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(WORKGROUP)
fn attention_values(@builtin(global_invocation_id) id: vec3<u32>) {
    let len = params.seq_len;
    let tiles = (params.head_dim + 3u) / 4u;
    let i = id.x / tiles * 4u;
    let d = id.x % tiles * 4u;
    if i >= len {
        return;
    }
    let entry = params.first + id.y;
    let window = entry / params.heads;
    let head = entry % params.heads;
    let kv_head = head / (params.heads / params.kv_heads);
    let step = vec4<u32>(0u, 1u, 2u, 3u);
    let weights_at = (id.y * len + min(i + step, vec4<u32>(len - 1u))) * len;
    let features = min(d + step, vec4<u32>(params.head_dim - 1u)) + kv_head * params.head_dim;
    let seen = select(len, min(i + 4u, len), params.causal == 1u);

    var sums = array<vec4<f32>, 4>();
    for (var j = 0u; j < seen; j++) {
        let v_at = (window * len + j) * params.kv_heads * params.head_dim + features;
        let values = vec4<f32>(v[v_at.x], v[v_at.y], v[v_at.z], v[v_at.w]);
        sums[0] += weights[weights_at.x + j] * values;
        sums[1] += weights[weights_at.y + j] * values;
        sums[2] += weights[weights_at.z + j] * values;
        sums[3] += weights[weights_at.w + j] * values;
    }

    for (var r = 0u; r < 4u; r++) {
        for (var c = 0u; c < 4u; c++) {
            if i + r < len && d + c < params.head_dim {
                out[((window * len + i + r) * params.heads + head) * params.head_dim + d + c] = sums[r][c];
            }
        }
    }
}
