//! What each block computes, and what must therefore be measured.

/// Signs that a token carries.
pub(super) const BITS: usize = 6;
/// One token for every pattern of signs.
pub(super) const TOKENS: usize = 1 << BITS;

/// Sign `bit` of a token.
pub(super) fn sign(token: usize, bit: usize) -> f64 {
    if token >> bit & 1 == 0 { 1.0 } else { -1.0 }
}

/// A function of the signs that a pair of hidden units computes. Any two that differ are uncorrelated over the tokens,
/// unless both are linear.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Part {
    /// Σ cᵢ·signᵢ: no affine map does better than this one, which is affine.
    Linear([f64; BITS]),
    /// signᵢ·signⱼ: uncorrelated with every affine function of the signs.
    Product(usize, usize),
}

impl Part {
    /// One sign by itself.
    const fn bit(bit: usize) -> Self {
        let mut coefficients = [0.0; BITS];
        coefficients[bit] = 1.0;
        Self::Linear(coefficients)
    }

    /// Sign `bit` mirrored at the diagonal of all signs: the rows of an orthogonal matrix.
    const fn reflected(bit: usize) -> Self {
        let mut coefficients = [-2.0 / BITS as f64; BITS];
        coefficients[bit] += 1.0;
        Self::Linear(coefficients)
    }

    /// Mean square over the tokens.
    fn power(&self) -> f64 {
        match self {
            Self::Linear(coefficients) => coefficients.iter().map(|c| c * c).sum(),
            Self::Product(..) => 1.0,
        }
    }
}

/// What one block writes into one feature of the residual stream: amplitudes and parts.
pub(super) type Feature = &'static [(f64, Part)];

/// One block of the model.
pub(super) struct Block {
    /// What it shows, for people.
    pub(super) title: &'static str,
    /// What it writes, each into a feature of its own and, with the sign turned, into that feature's mirror image.
    pub(super) features: &'static [Feature],
    /// Smallest rank that reaches 0.9 of its R²; `None` where R² is not positive.
    pub(super) effective_rank: Option<usize>,
}

/// √(3/4).
const LINEAR_SHARE: f64 = 0.866_025_403_784_438_6;

/// The blocks. The sum of the squares of what a block writes is the same for every token; a product appears once in
/// the whole model, since what was written is an input of the next blocks and linear there.
pub(super) const BLOCKS: [Block; 6] = [
    Block {
        title: "exactly affine: an orthogonal map of all signs",
        features: &[
            &[(1.0, Part::reflected(0))],
            &[(1.0, Part::reflected(1))],
            &[(1.0, Part::reflected(2))],
            &[(1.0, Part::reflected(3))],
            &[(1.0, Part::reflected(4))],
            &[(1.0, Part::reflected(5))],
        ],
        effective_rank: Some(6),
    },
    Block {
        title: "three quarters linear, one quarter interaction",
        // The squares hold s₀·s₁s₂ once with either sign: the norm stays constant.
        features: &[
            &[(LINEAR_SHARE, Part::bit(0)), (0.5, Part::Product(1, 2))],
            &[(LINEAR_SHARE, Part::bit(1)), (-0.5, Part::Product(0, 2))],
        ],
        effective_rank: Some(2),
    },
    Block {
        title: "interactions only: nothing for an affine map",
        features: &[&[(1.0, Part::Product(3, 4))], &[(1.0, Part::Product(4, 5))], &[(1.0, Part::Product(3, 5))]],
        effective_rank: None,
    },
    Block { title: "zero: nothing to explain", features: &[], effective_rank: None },
    Block {
        title: "rank 1: one sign in four features",
        features: &[&[(1.0, Part::bit(2))], &[(-0.75, Part::bit(2))], &[(0.5, Part::bit(2))], &[(0.25, Part::bit(2))]],
        effective_rank: Some(1),
    },
    Block {
        title: "outlier: one huge linear feature hides two interactions",
        features: &[&[(16.0, Part::bit(5))], &[(1.0, Part::Product(0, 3))], &[(1.0, Part::Product(1, 4))]],
        effective_rank: Some(1),
    },
];

/// What must be measured at one block.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Expected {
    /// Variance-weighted R² of the affine map; `None` without variance.
    pub(super) r2_lin: Option<f64>,
    /// Median of the R² of the features that vary.
    pub(super) r2_feature_median: Option<f64>,
    /// Smallest rank that reaches 0.9 of r2_lin.
    pub(super) effective_rank: Option<usize>,
    /// Independent directions of the input: the signs, and every product written before.
    pub(super) rank: usize,
}

/// What must be measured, block by block.
pub(super) fn expected() -> Vec<Expected> {
    let mut rank = BITS;
    let mut expected = Vec::new();
    for block in &BLOCKS {
        let shares: Vec<(f64, f64)> = block.features.iter().map(|feature| linear_and_whole(feature)).collect();
        let sum = |part: fn(&(f64, f64)) -> f64| shares.iter().map(part).sum::<f64>();
        expected.push(Expected {
            r2_lin: (!shares.is_empty()).then(|| sum(|share| share.0) / sum(|share| share.1)),
            r2_feature_median: median(shares.iter().map(|(linear, whole)| linear / whole).collect()),
            effective_rank: block.effective_rank,
            rank,
        });
        rank += block.features.iter().copied().flatten().filter(|(_, part)| matches!(part, Part::Product(..))).count();
    }
    expected
}

/// Variance of the linear parts of a feature, and of all its parts.
fn linear_and_whole(feature: Feature) -> (f64, f64) {
    let power = |(amplitude, part): &(f64, Part)| amplitude * amplitude * part.power();
    let linear = feature.iter().filter(|(_, part)| matches!(part, Part::Linear(_))).map(power).sum();
    (linear, feature.iter().map(power).sum())
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        len if len % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_construction_gives_the_round_values_it_was_made_for() {
        let expected = expected();
        let r2_lin: Vec<_> = expected.iter().map(|block| block.r2_lin).collect();
        let median: Vec<_> = expected.iter().map(|block| block.r2_feature_median).collect();
        let rank: Vec<_> = expected.iter().map(|block| block.rank).collect();
        assert_close(&r2_lin, &[Some(1.0), Some(0.75), Some(0.0), None, Some(1.0), Some(256.0 / 258.0)]);
        assert_close(&median, &[Some(1.0), Some(0.75), Some(0.0), None, Some(1.0), Some(0.0)]);
        assert_eq!(rank, [6, 6, 8, 11, 11, 11]);
    }

    #[test]
    fn no_product_is_written_twice() {
        let parts = BLOCKS.iter().flat_map(|block| block.features.iter().copied().flatten());
        let mut products: Vec<_> = parts
            .filter_map(|(_, part)| match part {
                Part::Product(i, j) => Some((i.min(j), i.max(j))),
                Part::Linear(_) => None,
            })
            .collect();
        let count = products.len();
        products.sort();
        products.dedup();
        assert_eq!(products.len(), count);
        assert!(products.iter().all(|(i, j)| i < j));
    }

    fn assert_close(found: &[Option<f64>], expected: &[Option<f64>]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            match (found, expected) {
                (None, None) => {}
                (Some(found), Some(expected)) if (found - expected).abs() <= 1e-15 => {}
                _ => panic!("{found:?} where {expected:?} was to be"),
            }
        }
    }
}
