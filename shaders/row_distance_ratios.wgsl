// out[i] = |b_i - a_i| / |a_i| of row i, 0 if both are 0; one thread per row, without barriers.
//
// Rows are first divided by the largest entry of a, so that no square overflows or underflows.

struct Params {
    rows: u32,
    cols: u32,
}

override WORKGROUP: u32 = 32u;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(WORKGROUP)
fn row_distance_ratios(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let row = id.y * groups.x * WORKGROUP + id.x;
    if row >= params.rows {
        return;
    }
    let first = row * params.cols;

    var largest = 1.1754944e-38;
    for (var i = 0u; i < params.cols; i++) {
        largest = max(largest, abs(a[first + i]));
    }
    var norm = 0.0;
    var distance = 0.0;
    for (var i = 0u; i < params.cols; i++) {
        let u = a[first + i] / largest;
        let v = (b[first + i] - a[first + i]) / largest;
        norm += u * u;
        distance += v * v;
    }
    out[row] = sqrt(distance) / max(sqrt(norm), 1.1754944e-38);
}
