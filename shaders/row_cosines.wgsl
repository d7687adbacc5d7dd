// out[i] = cosine of row i of a with row i of b, 0 if either is 0; one thread per row, without barriers.
//
// Rows are first divided by their largest entry, so that no square overflows or underflows.

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
fn row_cosines(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let row = id.y * groups.x * WORKGROUP + id.x;
    if row >= params.rows {
        return;
    }
    let first = row * params.cols;

    var largest_a = 0.0;
    var largest_b = 0.0;
    for (var i = 0u; i < params.cols; i++) {
        largest_a = max(largest_a, abs(a[first + i]));
        largest_b = max(largest_b, abs(b[first + i]));
    }
    if largest_a == 0.0 || largest_b == 0.0 {
        out[row] = 0.0;
        return;
    }

    var ab = 0.0;
    var aa = 0.0;
    var bb = 0.0;
    for (var i = 0u; i < params.cols; i++) {
        let u = a[first + i] / largest_a;
        let v = b[first + i] / largest_b;
        ab += u * v;
        aa += u * u;
        bb += v * v;
    }
    out[row] = ab / sqrt(aa * bb);
}
