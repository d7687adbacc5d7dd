// One step of Adam, element by element: updates the moments, then the parameter.
//
// Inputs are not overwritten, so that a step can be undone.

struct Params {
    len: u32,
    // Decay of the moments.
    beta1: f32,
    beta2: f32,
    // Learning rate divided by the bias correction of the first moment.
    rate: f32,
    // Reciprocal square root of the bias correction of the second moment.
    correction: f32,
    eps: f32,
    // Factor of weight decay: 1 - learning rate * weight decay.
    keep: f32,
}

override WORKGROUP: u32 = 64u;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> parameter: array<f32>;
@group(0) @binding(2) var<storage, read> first: array<f32>;
@group(0) @binding(3) var<storage, read> second: array<f32>;
@group(0) @binding(4) var<storage, read> gradient: array<f32>;
@group(0) @binding(5) var<storage, read_write> new_parameter: array<f32>;
@group(0) @binding(6) var<storage, read_write> new_first: array<f32>;
@group(0) @binding(7) var<storage, read_write> new_second: array<f32>;

@compute @workgroup_size(WORKGROUP)
fn adam(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = id.y * groups.x * WORKGROUP + id.x;
    if i < params.len {
        let g = gradient[i];
        let m = params.beta1 * first[i] + (1.0 - params.beta1) * g;
        let v = params.beta2 * second[i] + (1.0 - params.beta2) * g * g;
        new_first[i] = m;
        new_second[i] = v;
        new_parameter[i] = params.keep * parameter[i] - params.rate * m / (params.correction * sqrt(v) + params.eps);
    }
}
