// losses[i] = log(sum_j exp(logits[i, j])) - logits[i, targets[i]]; one thread per row, no barrier.

struct Params {
    rows: u32,
    cols: u32,
}

override WORKGROUP: u32 = 32u;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> logits: array<f32>;
@group(0) @binding(2) var<storage, read> targets: array<u32>;
@group(0) @binding(3) var<storage, read_write> losses: array<f32>;

@compute @workgroup_size(WORKGROUP)
fn next_token_nll(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let row = id.y * groups.x * WORKGROUP + id.x;
    if row >= params.rows {
        return;
    }
    let first = row * params.cols;

    var largest = logits[first];
    for (var j = 1u; j < params.cols; j++) {
        largest = max(largest, logits[first + j]);
    }
    // Partial sums of 64 terms each: a single f32 sum over a vocabulary would lose digits.
    var total = 0.0;
    for (var block = 0u; block < params.cols; block += 64u) {
        var part = 0.0;
        for (var j = block; j < min(block + 64u, params.cols); j++) {
            part += exp(logits[first + j] - largest);
        }
        total += part;
    }
    losses[row] = log(total) + largest - logits[first + targets[row]];
}
