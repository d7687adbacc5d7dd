// out = f(gate), or f(gate) * up for a gated network, element by element; and the gradient through GELU.
//
// WGSL has no erf. The polynomials are Chebyshev fits with absolute errors below 2e-7.

struct Params {
    len: u32,
    gated: u32,
}

const GELU: u32 = 0u;
const GELU_TANH: u32 = 1u;
const QUICK_GELU: u32 = 2u;
const RELU: u32 = 3u;
const RELU_SQUARED: u32 = 4u;
const SILU: u32 = 5u;
const TANH: u32 = 6u;
const SIGMOID: u32 = 7u;
const IDENTITY: u32 = 8u;

override WORKGROUP: u32 = 64u;
// One of the constants above. An override, so that devices that execute both sides of a branch run one activation only.
override KIND: u32 = 8u;

@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> gate: array<f32>;
@group(0) @binding(2) var<storage, read> up: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

fn erf(x: f32) -> f32 {
    let size = min(abs(x), 4.0);
    if size < 1.0 {
        let u = x * x;
        return x * (1.1283791 + u * (-0.37612626 + u * (0.11283597 + u * (-0.026854329 + u * (0.005189312
            + u * (-0.0008018855 + u * 0.000078824974))))));
    }
    let t = 1.0 / (1.0 + 0.5 * size);
    let tail = 0.00060640875 + t * (0.27361816 + t * (0.33084068 + t * (0.10126825 + t * (0.40383837
        + t * (-0.057338737 + t * -0.053540617)))));
    return sign(x) * (1.0 - exp(-size * size) * tail);
}

fn sigmoid(x: f32) -> f32 {
    let t = exp(-abs(x));
    return select(t, 1.0, x >= 0.0) / (1.0 + t);
}

fn activate(x: f32) -> f32 {
    switch KIND {
        case GELU: {
            return 0.5 * x * (1.0 + erf(x * 0.70710678));
        }
        case GELU_TANH: {
            // Beyond 20 the result is x or 0; clamping keeps the cube finite.
            let bounded = clamp(x, -20.0, 20.0);
            return 0.5 * x * (1.0 + tanh_bounded(0.79788456 * (bounded + 0.044715 * bounded * bounded * bounded)));
        }
        case QUICK_GELU: {
            return x * sigmoid(1.702 * x);
        }
        case RELU: {
            return max(x, 0.0);
        }
        case RELU_SQUARED: {
            let positive = max(x, 0.0);
            return positive * positive;
        }
        case SILU: {
            return x * sigmoid(x);
        }
        case TANH: {
            return tanh_bounded(x);
        }
        case SIGMOID: {
            return sigmoid(x);
        }
        default: {
            return x;
        }
    }
}

@compute @workgroup_size(WORKGROUP)
fn activation(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = id.y * groups.x * WORKGROUP + id.x;
    if i < params.len {
        let value = activate(gate[i]);
        out[i] = select(value, value * up[i], params.gated == 1u);
    }
}

// out = up * (cdf(gate) + gate * density(gate)) of the standard normal distribution: d/dx of x * cdf(x).
@compute @workgroup_size(WORKGROUP)
fn gelu_gradient(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = id.y * groups.x * WORKGROUP + id.x;
    if i < params.len {
        let x = gate[i];
        // Beyond 20 the density is 0; clamping keeps the square finite.
        let bounded = clamp(x, -20.0, 20.0);
        let density = 0.39894228 * exp(-0.5 * bounded * bounded);
        out[i] = up[i] * (0.5 * (1.0 + erf(x * 0.70710678)) + bounded * density);
    }
}
