//! Compares found with expected values; NaN, a missing tail and a wrong value all fail.

/// Relative rounding of f32.
pub(crate) const EPS: f64 = f32::EPSILON as f64;

/// Panics unless both have the same length and every value lies within its tolerance.
pub(crate) fn assert_close(name: &str, found: &[f32], expected: &[f64], tolerance: impl Fn(usize) -> f64) {
    assert_eq!(found.len(), expected.len(), "{name}: length");
    for (i, (&found, &expected)) in found.iter().zip(expected).enumerate() {
        let (difference, allowed) = ((f64::from(found) - expected).abs(), tolerance(i));
        // Negated so that NaN fails.
        if !(difference <= allowed) {
            panic!("{name}: element {i} is {found}, expected {expected}, off by {difference:e}, allowed {allowed:e}");
        }
    }
}

#[test]
fn equal_values_pass() {
    assert_close("equal", &[1.0, -2.0], &[1.0, -2.0], |_| 0.0);
}

#[test]
#[should_panic(expected = "planted: element 1 is 2.001")]
fn a_planted_error_fails() {
    assert_close("planted", &[1.0, 2.001, 3.0], &[1.0, 2.0, 3.0], |_| 1e-4);
}

#[test]
#[should_panic(expected = "planted: element 2 is NaN")]
fn a_planted_nan_fails() {
    assert_close("planted", &[1.0, 2.0, f32::NAN], &[1.0, 2.0, 3.0], |_| 1e-4);
}

#[test]
#[should_panic(expected = "planted: length")]
fn a_missing_tail_fails() {
    assert_close("planted", &[1.0, 2.0], &[1.0, 2.0, 3.0], |_| 1e-4);
}
