//! At which steps of a training its curve has points.

/// Approximate number of points per curve.
const POINTS: usize = 30;

/// 0 and about [`POINTS`] steps up to `last`, evenly spaced on a logarithmic scale.
pub(super) fn stops(last: usize) -> Vec<usize> {
    let power = |i: usize| (last as f64).powf(i as f64 / (POINTS - 1) as f64).round() as usize;
    let mut stops: Vec<usize> = std::iter::once(0).chain((0..POINTS).map(power)).collect();
    stops.retain(|stop| *stop <= last);
    stops.dedup();
    stops
}

#[cfg(test)]
mod tests {
    use super::stops;

    #[test]
    fn stops_go_from_zero_to_the_last_step() {
        let found = stops(3000);
        assert_eq!((found[..3].to_vec(), found.last()), (vec![0, 1, 2], Some(&3000)));
        assert!((20..=31).contains(&found.len()) && found.is_sorted_by(|a, b| a < b), "{found:?}");
        assert_eq!((stops(0), stops(1)), (vec![0], vec![0, 1]));
    }
}
