// out[w] = sum of a * b over the rows of window w but its first `skip`, by column.

struct Params {
    windows: u32,
    cols: u32,
    seq_len: u32,
    skip: u32,
}

override WORKGROUP: u32 = 64u;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(WORKGROUP)
fn window_products(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let col = id.x;
    if col >= params.cols {
        return;
    }
    for (var window = id.y; window < params.windows; window += groups.y) {
        var sum = 0.0;
        for (var row = params.skip; row < params.seq_len; row++) {
            let i = (window * params.seq_len + row) * params.cols + col;
            sum += a[i] * b[i];
        }
        out[window * params.cols + col] = sum;
    }
}
