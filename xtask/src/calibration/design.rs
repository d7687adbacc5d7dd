//! The computation of each block, and the results it implies.
//!
//! A token is six bits, and a [`Mask`] names the product of the signs of some of them: 63 functions that are ±1,
//! mutually uncorrelated over all tokens, and uncorrelated with anything affine in the others. The residual stream
//! holds 47 of them: all except products with both of the last two signs, which are invisible to every affine map.

/// Signs per token.
const BITS: usize = 6;
/// One token for every pattern of signs.
pub(super) const TOKENS: usize = 1 << BITS;
/// The last two signs.
const LAST: Mask = 0b10_0000;
const LAST_BUT_ONE: Mask = 0b01_0000;
/// Width of the residual stream: one more than the number of held products, because LayerNorm removes the mean.
pub(super) const HIDDEN: usize = 48;

/// The product of some signs of a token, by their bits; never empty.
pub(super) type Mask = usize;

/// Value of a mask's product at a token.
pub(super) fn sign(mask: Mask, token: usize) -> f64 {
    if (mask & token).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 }
}

/// Whether the residual stream holds a product.
fn is_held(mask: Mask) -> bool {
    mask & (LAST | LAST_BUT_ONE) != LAST | LAST_BUT_ONE
}

/// The products that the residual stream holds, in the order of its directions.
pub(super) fn held() -> Vec<Mask> {
    (1..TOKENS).filter(|mask| is_held(*mask)).collect()
}

/// The output of a pair of hidden units, as a function of the residual stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Term {
    /// A held product: an affine function of the input.
    Read(Mask),
    /// One held product times another.
    Product(Mask, Mask),
}

impl Term {
    /// The mask of the output.
    pub(super) fn mask(self) -> Mask {
        match self {
            Self::Read(mask) => mask,
            Self::Product(a, b) => a ^ b,
        }
    }
}

/// Destination of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The direction of a held product: spread over all features.
    Direction(Mask),
    /// One feature by itself.
    Feature(usize),
}

/// One output that a block writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write {
    pub(super) amplitude: f64,
    pub(super) part: Term,
    pub(super) place: Place,
}

/// One block of the model.
pub(super) struct Block {
    /// Purpose of the block, for display.
    pub(super) title: &'static str,
    /// All its outputs.
    pub(super) writes: Vec<Write>,
    /// Smallest rank that reaches 0.9 of its R²; `None` where R² is not positive.
    pub(super) effective_rank: Option<usize>,
}

/// The blocks. No block reads a direction that an earlier one wrote, and no product from outside the stream is written
/// twice, so that each block's linearity depends only on its own parts.
pub(super) fn blocks() -> [Block; 6] {
    let block = |title, writes, effective_rank| Block { title, writes, effective_rank };
    [
        block("exactly affine: turns 26 directions", affine(), Some(24)),
        block("three quarters linear, one quarter interaction", mixed(), Some(4)),
        block("interactions only: nothing for an affine map", interactions(), None),
        block("zero: nothing to explain", Vec::new(), None),
        block("rank 1: one direction through all features", rank_one(), Some(1)),
        block("outlier: one huge linear feature hides 47 interactions", outlier(), Some(1)),
    ]
}

/// Writes each of two directions into the other, with opposite signs, times `amplitude` and a sign that may depend on
/// the token. The existing values and the added ones are then orthogonal, and their joint norm is constant.
fn turn(a: Mask, b: Mask, amplitude: f64, part: impl Fn(Mask) -> Term) -> [Write; 2] {
    [
        Write { amplitude, part: part(b), place: Place::Direction(a) },
        Write { amplitude: -amplitude, part: part(a), place: Place::Direction(b) },
    ]
}

/// Product `k` of the first four signs, times the last but one; multiplied by the last sign too, it is not held.
fn edge(k: usize) -> Mask {
    LAST_BUT_ONE | k
}

fn over_the_edge(mask: Mask) -> Term {
    Term::Product(mask, LAST)
}

/// Every direction that no other block needs.
fn affine() -> Vec<Write> {
    let is_free = |mask: &Mask| mask.count_ones() > 1 && mask & LAST_BUT_ONE == 0;
    let free: Vec<Mask> = held().into_iter().filter(is_free).collect();
    free.chunks(2).flat_map(|pair| turn(pair[0], pair[1], 1.0, Term::Read)).collect()
}

/// (√¾ ± ½·last sign) times a turn, the two signs in two planes: their norms vary by opposite amounts.
fn mixed() -> Vec<Write> {
    let plane = |a, b, half| [turn(a, b, 0.75_f64.sqrt(), Term::Read), turn(a, b, half, over_the_edge)].concat();
    [plane(edge(1), edge(2), 0.5), plane(edge(3), edge(4), -0.5)].concat()
}

fn interactions() -> Vec<Write> {
    [turn(edge(5), edge(6), 1.0, over_the_edge), turn(edge(7), edge(8), 1.0, over_the_edge)].concat()
}

/// A multiple of a direction that the stream holds: the first sign.
fn rank_one() -> Vec<Write> {
    vec![Write { amplitude: 2.0, part: Term::Read(0b1), place: Place::Direction(0b1) }]
}

/// Nothing reads the stream after the last block, so that it need not keep its norm.
fn outlier() -> Vec<Write> {
    const HUGE: usize = 7;
    let write = |feature| match feature {
        HUGE => Write { amplitude: 64.0, part: Term::Read(0b10), place: Place::Feature(feature) },
        _ => {
            let part = over_the_edge(edge((9 + feature % 8) % 16));
            Write { amplitude: 1.0, part, place: Place::Feature(feature) }
        }
    };
    (0..HIDDEN).map(write).collect()
}

/// Expected results of one block.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Expected {
    /// Variance-weighted R² of the affine map; `None` without variance.
    pub(super) r2_lin: Option<f64>,
    /// Median of the R² of the features.
    pub(super) r2_feature_median: Option<f64>,
    /// Smallest rank that reaches 0.9 of r2_lin.
    pub(super) effective_rank: Option<usize>,
    /// Independent directions of the input: all but the mean.
    pub(super) rank: usize,
}

/// Expected results of a block, given the directions of the stream as columns (HIDDEN rows).
pub(super) fn expected(block: &Block, directions: &Directions) -> Expected {
    let powers: Vec<Power> = (0..HIDDEN).map(|feature| Power::of(block, feature, directions)).collect();
    let varying = powers.iter().filter(|power| power.whole > 0.0);
    let whole: f64 = powers.iter().map(|power| power.whole).sum();
    let held: f64 = powers.iter().map(|power| power.held).sum();
    Expected {
        r2_lin: (whole > 0.0).then(|| held / whole),
        r2_feature_median: median(varying.map(|power| power.held / power.whole).collect()),
        effective_rank: block.effective_rank,
        rank: HIDDEN - 1,
    }
}

/// For each held product, its unit vector in the stream.
pub(super) struct Directions(pub(super) Vec<Vec<f64>>);

impl Directions {
    /// The direction of a product.
    pub(super) fn of(&self, mask: Mask) -> &[f64] {
        let place = (1..mask).filter(|mask| is_held(*mask)).count();
        &self.0[place]
    }

    /// Component of a place along one feature.
    pub(super) fn place(&self, place: Place, feature: usize) -> f64 {
        match place {
            Place::Direction(mask) => self.of(mask)[feature],
            Place::Feature(own) if own == feature => 1.0,
            Place::Feature(_) => 0.0,
        }
    }
}

/// Variance of one output feature, and its part on products that the stream holds.
struct Power {
    held: f64,
    whole: f64,
}

impl Power {
    fn of(block: &Block, feature: usize, directions: &Directions) -> Self {
        let mut amplitudes = [0.0; TOKENS];
        for write in &block.writes {
            amplitudes[write.part.mask()] += write.amplitude * directions.place(write.place, feature);
        }
        let power =
            |includes: fn(Mask) -> bool| (1..TOKENS).filter(|m| includes(*m)).map(|m| amplitudes[m].powi(2)).sum();
        Self { held: power(is_held), whole: power(|_| true) }
    }
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
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_stream_holds_what_fits_beside_the_mean() {
        assert_eq!(held().len(), HIDDEN - 1);
    }

    #[test]
    fn products_are_uncorrelated_over_the_tokens() {
        for a in 1..TOKENS {
            for b in 0..TOKENS {
                let sum: f64 = (0..TOKENS).map(|token| sign(a, token) * sign(b, token)).sum();
                assert_eq!(sum, if a == b { TOKENS as f64 } else { 0.0 }, "{a:b} {b:b}");
            }
        }
    }

    #[test]
    fn nothing_is_read_from_a_direction_once_it_was_written() {
        let mut written = BTreeSet::new();
        for block in blocks() {
            for write in &block.writes {
                let read = match write.part {
                    Term::Read(mask) => vec![mask],
                    Term::Product(a, b) => vec![a, b],
                };
                for mask in read {
                    assert!(is_held(mask) && !written.contains(&mask), "{}: {mask:b}", block.title);
                }
            }
            written.extend(block.writes.iter().filter_map(|write| match write.place {
                Place::Direction(mask) => Some(mask),
                Place::Feature(_) => None,
            }));
        }
    }

    #[test]
    fn every_interaction_belongs_to_one_block() {
        let mut seen = BTreeSet::new();
        for block in blocks() {
            let parts = block.writes.iter().map(|write| write.part);
            let outside: BTreeSet<_> = parts.map(Term::mask).filter(|mask| !is_held(*mask)).collect();
            assert!(seen.is_disjoint(&outside), "{}", block.title);
            seen.extend(outside);
        }
    }
}
