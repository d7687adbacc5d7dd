// scores[b, i, j] = scale * q_i . k_j within one window and head b, 4 x 4 per thread, no barrier; heads whose width is a
// multiple of 4, so that q and k are loaded four values at a time.
//
// A batch entry b is window * heads + head; tiles wholly above the diagonal of a causal window are left unwritten.

struct Params {
    seq_len: u32,
    heads: u32,
    kv_heads: u32,
    head_dim: u32,
    // First batch entry of this dispatch.
    first: u32,
    causal: u32,
    scale: f32,
}

override WORKGROUP: u32 = 32u;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> q: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> k: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> scores: array<f32>;

fn store(at: u32, col: u32, value: vec4<f32>) {
    for (var c = 0u; c < min(4u, params.seq_len - col); c++) {
        scores[at + c] = params.scale * value[c];
    }
}

@compute @workgroup_size(WORKGROUP)
fn attention_scores_four(@builtin(global_invocation_id) id: vec3<u32>) {
    let len = params.seq_len;
    let tiles = (len + 3u) / 4u;
    let i = id.x / tiles * 4u;
    let j = id.x % tiles * 4u;
    if i >= len || (params.causal == 1u && j > i) {
        return;
    }
    let entry = params.first + id.y;
    let window = entry / params.heads;
    let head = entry % params.heads;
    let kv_head = head / (params.heads / params.kv_heads);
    let step = vec4<u32>(0u, 1u, 2u, 3u);
    let last = vec4<u32>(len - 1u);
    let steps = params.head_dim / 4u;
    let q_at = (window * len + min(i + step, last)) * params.heads * steps + head * steps;
    let k_at = (window * len + min(j + step, last)) * params.kv_heads * steps + kv_head * steps;

    var sum0 = vec4<f32>();
    var sum1 = vec4<f32>();
    var sum2 = vec4<f32>();
    var sum3 = vec4<f32>();
    for (var d = 0u; d < steps; d++) {
        let keys = mat4x4<f32>(k[k_at.x + d], k[k_at.y + d], k[k_at.z + d], k[k_at.w + d]);
        sum0 += q[q_at.x + d] * keys;
        sum1 += q[q_at.y + d] * keys;
        sum2 += q[q_at.z + d] * keys;
        sum3 += q[q_at.w + d] * keys;
    }

    let at = (id.y * len + i) * len + j;
    store(at, j, sum0);
    if i + 1u < len {
        store(at + len, j, sum1);
    }
    if i + 2u < len {
        store(at + 2u * len, j, sum2);
    }
    if i + 3u < len {
        store(at + 3u * len, j, sum3);
    }
}
