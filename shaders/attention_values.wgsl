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

fn store(row: u32, head: u32, feature: u32, value: vec4<f32>) {
    let at = (row * params.heads + head) * params.head_dim + feature;
    for (var c = 0u; c < min(4u, params.head_dim - feature); c++) {
        out[at + c] = value[c];
    }
}

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

    var sum0 = vec4<f32>();
    var sum1 = vec4<f32>();
    var sum2 = vec4<f32>();
    var sum3 = vec4<f32>();
    for (var j = 0u; j < seen; j++) {
        let v_at = (window * len + j) * params.kv_heads * params.head_dim + features;
        let values = vec4<f32>(v[v_at.x], v[v_at.y], v[v_at.z], v[v_at.w]);
        sum0 = fma(vec4<f32>(weights[weights_at.x + j]), values, sum0);
        sum1 = fma(vec4<f32>(weights[weights_at.y + j]), values, sum1);
        sum2 = fma(vec4<f32>(weights[weights_at.z + j]), values, sum2);
        sum3 = fma(vec4<f32>(weights[weights_at.w + j]), values, sum3);
    }

    let row = window * len + i;
    store(row, head, d, sum0);
    if i + 1u < len {
        store(row + 1u, head, d, sum1);
    }
    if i + 2u < len {
        store(row + 2u, head, d, sum2);
    }
    if i + 3u < len {
        store(row + 3u, head, d, sum3);
    }
}
