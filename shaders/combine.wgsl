// out = alpha * a + beta * b, element by element.

struct Params {
    len: u32,
    alpha: f32,
    beta: f32,
}

override WORKGROUP: u32 = 64u;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read> b: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(WORKGROUP)
fn combine(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = id.y * groups.x * WORKGROUP + id.x;
    if i < params.len {
        out[i] = params.alpha * a[i] + params.beta * b[i];
    }
}
