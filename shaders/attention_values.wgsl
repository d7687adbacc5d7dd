// out[i, head] = sum over j of weights[b, i, j] * v_j, for any head width, through tiles in workgroup memory.
//
// 16 threads read 64 adjacent bytes of a row of weights or of v. A causal window is read up to the end of the diagonal
// tile, because the weights beyond it are 0.

struct Params {
    seq_len: u32,
    heads: u32,
    kv_heads: u32,
    head_dim: u32,
    // First batch entry (window * heads + head) of this dispatch.
    first: u32,
    causal: u32,
}

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> weights: array<f32>;
@group(0) @binding(2) var<storage, read> v: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

// Offset of the window's first row in the output, for this head.
var<private> out_at: u32;

fn store_one(row: u32, feature: u32, value: f32) {
    if feature < params.head_dim {
        out[out_at + row * params.heads * params.head_dim + feature] = value;
    }
}

fn store(row: u32, features: vec4<u32>, value: vec4<f32>) {
    if row < params.seq_len {
        store_one(row, features.x, value.x);
        store_one(row, features.y, value.y);
        store_one(row, features.z, value.z);
        store_one(row, features.w, value.w);
    }
}

// The weights of a position in four rows; 0 beyond the last position.
fn weights_of(at: vec4<u32>, position: u32, end: u32) -> vec4<f32> {
    if position >= end {
        return vec4<f32>();
    }
    return vec4<f32>(
        weights[at.x + position],
        weights[at.y + position],
        weights[at.z + position],
        weights[at.w + position],
    );
}

// Four features of a position.
fn values_of(at: vec4<u32>, position: u32, end: u32) -> vec4<f32> {
    if position >= end {
        return vec4<f32>();
    }
    let row = at + position * params.kv_heads * params.head_dim;
    return vec4<f32>(v[row.x], v[row.y], v[row.z], v[row.w]);
}

@compute @workgroup_size(128)
fn attention_values(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) index: u32) {
    let len = params.seq_len;
    let tiles = (params.head_dim + SIDE - 1u) / SIDE;
    let first = vec2<u32>(group.x / tiles, group.x % tiles) * SIDE;
    let end = select(len, min(first.x + SIDE, len), params.causal == 1u);
    let entry = params.first + group.y;
    let window = entry / params.heads;
    let head = entry % params.heads;
    let kv_head = head / (params.heads / params.kv_heads);
    out_at = (window * len * params.heads + head) * params.head_dim;

    // Rows and features beyond the edge repeat the last one and are not stored.
    let low = index % 16u;
    let line = index / 16u;
    let last = vec4<u32>(len - 1u);
    let weights_left = (group.y * len + min(first.x + line + LINES, last)) * len;
    let weights_right = (group.y * len + min(first.x + line + 8u + LINES, last)) * len;
    let values = (window * len * params.kv_heads + kv_head) * params.head_dim
        + min(first.y + low + LINES, vec4<u32>(params.head_dim - 1u));

    let at = place(index);
    for (var done = 0u; done < end; done += DEPTH) {
        row_tile[low][line] = weights_of(weights_left, done + low, end);
        row_tile[low][line + 8u] = weights_of(weights_right, done + low, end);
        col_tile[line][low] = values_of(values, done + line, end);
        col_tile[line + 8u][low] = values_of(values, done + line + 8u, end);
        workgroupBarrier();
        multiply(at);
        workgroupBarrier();
    }
    store_sums(first, at);
}
