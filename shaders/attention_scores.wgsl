// scores[b, i, j] = scale * q_i . k_j per window and head, for any head width, with tiles in workgroup memory.
//
// Consecutive rows of q and k are a whole model's width apart. 16 threads read 64 adjacent bytes of a row, and a tile
// of rows is loaded once for 64 rows of the other matrix. Batch entry b is window * heads + head; tiles entirely above
// the diagonal of a causal window are not written.

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

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> q: array<f32>;
@group(0) @binding(2) var<storage, read> k: array<f32>;
@group(0) @binding(3) var<storage, read_write> scores: array<f32>;

var<private> scores_at: u32;

fn store_one(row: u32, col: u32, value: f32) {
    if col < params.seq_len {
        scores[scores_at + row * params.seq_len + col] = params.scale * value;
    }
}

fn store(row: u32, cols: vec4<u32>, value: vec4<f32>) {
    if row < params.seq_len {
        store_one(row, cols.x, value.x);
        store_one(row, cols.y, value.y);
        store_one(row, cols.z, value.z);
        store_one(row, cols.w, value.w);
    }
}

// One feature of four queries; 0 beyond the head.
fn queries(at: vec4<u32>, feature: u32) -> vec4<f32> {
    if feature >= params.head_dim {
        return vec4<f32>();
    }
    return vec4<f32>(q[at.x + feature], q[at.y + feature], q[at.z + feature], q[at.w + feature]);
}

fn keys(at: vec4<u32>, feature: u32) -> vec4<f32> {
    if feature >= params.head_dim {
        return vec4<f32>();
    }
    return vec4<f32>(k[at.x + feature], k[at.y + feature], k[at.z + feature], k[at.w + feature]);
}

@compute @workgroup_size(128)
fn attention_scores(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) index: u32) {
    let tiles = (params.seq_len + SIDE - 1u) / SIDE;
    let first = vec2<u32>(group.x / tiles, group.x % tiles) * SIDE;
    if params.causal == 1u && first.y > first.x {
        return;
    }
    let entry = params.first + group.y;
    let window = entry / params.heads;
    let head = entry % params.heads;
    let kv_head = head / (params.heads / params.kv_heads);
    scores_at = group.y * params.seq_len * params.seq_len;

    // A thread loads one feature of eight queries and of eight keys; rows beyond the window repeat the last one.
    let feature = index % 16u;
    let line = index / 16u;
    let last = vec4<u32>(params.seq_len - 1u);
    let left = line + LINES;
    let right = left + 8u;
    let base = window * params.seq_len;
    let q_left = ((base + min(first.x + left, last)) * params.heads + head) * params.head_dim;
    let q_right = ((base + min(first.x + right, last)) * params.heads + head) * params.head_dim;
    let k_left = ((base + min(first.y + left, last)) * params.kv_heads + kv_head) * params.head_dim;
    let k_right = ((base + min(first.y + right, last)) * params.kv_heads + kv_head) * params.head_dim;

    let at = place(index);
    for (var done = 0u; done < params.head_dim; done += DEPTH) {
        row_tile[feature][line] = queries(q_left, done + feature);
        row_tile[feature][line + 8u] = queries(q_right, done + feature);
        col_tile[feature][line] = keys(k_left, done + feature);
        col_tile[feature][line + 8u] = keys(k_right, done + feature);
        workgroupBarrier();
        multiply(at);
        workgroupBarrier();
    }
    store_sums(first, at);
}
