// out[i, head] = sum over j of weights[b, i, j] * v_j, 4 positions x 4 features per thread, no barrier;
// heads whose width is a multiple of 4, so that v is loaded and the result stored four values at a time.

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
@group(0) @binding(2) var<storage, read> v: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> out: array<vec4<f32>>;

@compute @workgroup_size(WORKGROUP)
fn attention_values_four(@builtin(global_invocation_id) id: vec3<u32>) {
    let len = params.seq_len;
    let tiles = params.head_dim / 4u;
    let i = id.x / tiles * 4u;
    let d = id.x % tiles;
    if i >= len {
        return;
    }
    let entry = params.first + id.y;
    let window = entry / params.heads;
    let head = entry % params.heads;
    let kv_head = head / (params.heads / params.kv_heads);
    let step = vec4<u32>(0u, 1u, 2u, 3u);
    let weights_at = (id.y * len + min(i + step, vec4<u32>(len - 1u))) * len;
    let seen = select(len, min(i + 4u, len), params.causal == 1u);

    var sum0 = vec4<f32>();
    var sum1 = vec4<f32>();
    var sum2 = vec4<f32>();
    var sum3 = vec4<f32>();
    for (var j = 0u; j < seen; j++) {
        let values = v[((window * len + j) * params.kv_heads + kv_head) * tiles + d];
        sum0 = fma(vec4<f32>(weights[weights_at.x + j]), values, sum0);
        sum1 = fma(vec4<f32>(weights[weights_at.y + j]), values, sum1);
        sum2 = fma(vec4<f32>(weights[weights_at.z + j]), values, sum2);
        sum3 = fma(vec4<f32>(weights[weights_at.w + j]), values, sum3);
    }

    let at = ((window * len + i) * params.heads + head) * tiles + d;
    let stride = params.heads * tiles;
    out[at] = sum0;
    if i + 1u < len {
        out[at + stride] = sum1;
    }
    if i + 2u < len {
        out[at + 2u * stride] = sum2;
    }
    if i + 3u < len {
        out[at + 3u * stride] = sum3;
    }
}
