//! How well two series of numbers agree.

/// Pearson's correlation; `None` for fewer than two pairs or a series that does not vary.
pub fn pearson(xs: &[f64], ys: &[f64]) -> Option<f64> {
    let n = xs.len().min(ys.len());
    if n < 2 {
        return None;
    }
    let mean = |values: &[f64]| values[..n].iter().sum::<f64>() / n as f64;
    let (mx, my) = (mean(xs), mean(ys));
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for (x, y) in xs.iter().zip(ys) {
        xx += (x - mx).powi(2);
        yy += (y - my).powi(2);
        xy += (x - mx) * (y - my);
    }
    let r = xy / (xx * yy).sqrt();
    r.is_finite().then(|| r.clamp(-1.0, 1.0))
}

/// Spearman's correlation: Pearson's of the ranks, equal values sharing their mean rank.
pub fn spearman(xs: &[f64], ys: &[f64]) -> Option<f64> {
    pearson(&ranks(xs), &ranks(ys))
}

/// Mean of |x − y|.
pub fn mean_shift(xs: &[f64], ys: &[f64]) -> Option<f64> {
    let n = xs.len().min(ys.len());
    (n > 0).then(|| xs.iter().zip(ys).map(|(x, y)| (x - y).abs()).sum::<f64>() / n as f64)
}

/// The median.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = *sorted.get(sorted.len() / 2)?;
    Some(if sorted.len().is_multiple_of(2) { (sorted[sorted.len() / 2 - 1] + upper) / 2.0 } else { upper })
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count() as f64;
        let equal = values.iter().filter(|other| *other == value).count() as f64;
        below + (equal + 1.0) / 2.0
    };
    values.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn correlations_tell_lines_from_orders_and_from_nothing() {
        let xs = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(pearson(&xs, &[2.0, 4.0, 6.0, 8.0]), Some(1.0));
        assert_eq!(spearman(&xs, &[-1.0, -10.0, -100.0, -1000.0]), Some(-1.0));
        assert!((pearson(&xs, &[1.0, 3.0, 2.0, 4.0]).unwrap() - 0.8).abs() < 1e-12);
        assert!((spearman(&xs, &[1.0, 1.0, 2.0, 3.0]).unwrap() - 0.948_683_298).abs() < 1e-9, "ties share a rank");
        assert_eq!(pearson(&xs, &[5.0; 4]), None);
        assert_eq!(pearson(&[1.0], &[1.0]), None);
    }

    #[test]
    fn shifts_and_medians() {
        assert_eq!(mean_shift(&[1.0, 2.0], &[2.0, 0.0]), Some(1.5));
        assert_eq!(mean_shift(&[], &[]), None);
        assert_eq!(
            [median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0, 2.0, 3.0]), median(&[])],
            [Some(2.0), Some(2.5), None]
        );
    }
}
