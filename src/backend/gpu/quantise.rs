//! The quantisation of `quantise.wgsl` on the CPU, bitwise equal.

/// The largest magnitude that three 8-bit digits from −128 to 127, each a signed byte, can hold. Two balanced 12-bit
/// digits reach further.
pub const LARGEST: i32 = 0x7f_7f7f;

/// q = round((x − shift)·2^(23 − exponent)), half away from zero; `None` if |q| exceeds [`LARGEST`] or x is not finite.
/// Denormals count as 0.
pub fn quantised(x: f32, shift: f32, exponent: i32) -> Option<i32> {
    if !x.is_finite() {
        return None;
    }
    let bits = (flushed(x) - shift).to_bits();
    let field = (bits >> 23) & 0xff;
    if field == 0 {
        return Some(0);
    }
    // |v| = mantissa · 2^(field − 150), so |q| = mantissa · 2^−drop.
    let drop = exponent + 127 - field as i32;
    if drop < 1 {
        return None;
    }
    if drop > 24 {
        return Some(0);
    }
    let mantissa = (bits & 0x007f_ffff) | 0x0080_0000;
    let size = ((mantissa + (1 << (drop - 1))) >> drop) as i32;
    let value = if bits >> 31 == 1 { -size } else { size };
    (size <= LARGEST).then_some(value)
}

/// x with denormals flushed to zero, because devices may or may not keep them.
pub fn flushed(x: f32) -> f32 {
    if x.is_subnormal() { 0.0f32.copysign(x) } else { x }
}
