// tanh written out: that of WGSL may overflow to NaN and has device-dependent precision. The polynomial is a Chebyshev
// fit with an absolute error below 2e-7.
fn tanh_bounded(x: f32) -> f32 {
    let size = abs(x);
    if size < 0.6 {
        let u = x * x;
        return x * (1.0 + u * (-0.33332324 + u * (0.13310358 + u * (-0.052109625 + u * 0.01548669))));
    }
    // e^-2|x| cannot overflow.
    let t = exp(-2.0 * size);
    return sign(x) * (1.0 - t) / (1.0 + t);
}

