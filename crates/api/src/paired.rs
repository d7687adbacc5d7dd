//! Whether two numbers differ that were measured on the same held-out windows (docs/measures.md, section 2).

use serde::{Deserialize, Serialize};

use crate::report::{BlockReport, Report};

/// Fewest values that an interval of a difference is computed from.
const FEWEST: usize = 10;
/// Least half width, relative above 1: devices differ by less.
const AGREEMENT: f64 = 1e-6;
/// Largest correlation of neighbouring windows that is believed.
const MOST_CORRELATION: f64 = 0.8;
/// 97.5 % quantile of the normal distribution.
const NORMAL_QUANTILE: f64 = 1.959_963_984_540_054;

/// The text and the windows that numbers were measured on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldOutWindows {
    corpus: String,
    tokens: usize,
    seq_len: usize,
    windows: usize,
    folds: usize,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    interleaved_folds: bool,
    skip_positions: usize,
    bos: bool,
    piece_chars: usize,
    /// Text for perplexity; `None` where it is the held-out windows.
    eval: Option<String>,
}

impl HeldOutWindows {
    /// The held-out windows of a report; `None` where its text has no hash.
    pub fn of(report: &Report) -> Option<Self> {
        let protocol = &report.protocol;
        let eval = report.ordered.as_ref().and_then(|ordered| ordered.eval.as_ref());
        Some(Self {
            corpus: report.corpus.sha256.clone()?,
            tokens: report.corpus.tokens,
            seq_len: protocol.seq_len,
            windows: protocol.windows,
            folds: protocol.folds,
            interleaved_folds: protocol.interleaved_folds,
            skip_positions: protocol.skip_positions,
            bos: protocol.bos,
            piece_chars: protocol.piece_chars,
            eval: match eval {
                Some(eval) => Some(eval.sha256.clone()?),
                None => None,
            },
        })
    }
}

/// A number and how much each held-out window moves it.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredValue<'a> {
    /// The number.
    pub value: f64,
    /// Influence of each window: (W − 1) times the number minus the number without that window.
    pub influence: &'a [f64],
}

impl<'a> MeasuredValue<'a> {
    /// A number of a block by its name in `intervals` and `influence`; `None` where either is unknown.
    pub fn of_block(block: &'a BlockReport, name: &str) -> Option<Self> {
        let value = match name {
            "r2_lin" => block.r2_lin,
            "r2_lin_scalar" => block.r2_lin_scalar,
            "cosine" => block.cosine,
            _ => match name.split_once('_') {
                Some(("gain", probe)) => block.probes.get(probe).and_then(|probe| probe.gain),
                _ => name.strip_prefix("delta_ppl_").and_then(|name| block.delta_ppl.get(name).copied().flatten()),
            },
        };
        Some(Self { value: value?, influence: block.influence.get(name)? })
    }
}

/// Difference of two numbers on the same windows, with a 95 % interval about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairedDifference {
    /// The second number minus the first.
    pub amount: f64,
    /// Half the width of the interval.
    pub half: f64,
}

impl PairedDifference {
    /// b − a. The interval is that of a paired t-test over windows, in which the effect of a window on both numbers
    /// cancels, widened where neighbouring differences are alike. `None` if windows are too few or not the same number of them.
    pub fn new(a: MeasuredValue<'_>, b: MeasuredValue<'_>) -> Option<Self> {
        let count = a.influence.len();
        if count < FEWEST || b.influence.len() != count {
            return None;
        }
        let pairs: Vec<f64> = a.influence.iter().zip(b.influence).map(|(a, b)| b - a).collect();
        let n = count as f64;
        let mean = pairs.iter().sum::<f64>() / n;
        let variance = pairs.iter().map(|pair| (pair - mean).powi(2)).sum::<f64>() / (n - 1.0);
        let agreement = AGREEMENT * a.value.abs().max(b.value.abs()).max(1.0);
        let error = autocorrelation_factor(&pairs) * (variance / n).sqrt();
        let (amount, half) = (b.value - a.value, t_quantile(n - 1.0) * error);
        (amount.is_finite() && half.is_finite()).then_some(Self { amount, half: half.max(agreement) })
    }

    /// Whether the interval leaves out 0.
    pub fn differs(&self) -> bool {
        self.amount.abs() > self.half
    }
}

/// Blocks, or the replacements of one block, by one number, ascending.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranking(
    /// Names with their difference from the previous one; `None` for the first or if unknown.
    pub Vec<(String, Option<PairedDifference>)>,
);

impl Ranking {
    /// Ranks blocks by a number with influences; blocks without it are left out.
    pub fn new(blocks: &[BlockReport], name: &str) -> Self {
        let known =
            blocks.iter().filter_map(|block| Some((block.block.to_string(), MeasuredValue::of_block(block, name)?)));
        Self::of(known.collect())
    }

    /// Ranks the replacements of a block by their losses; those without influences are left out.
    pub fn of_replacements(block: &BlockReport) -> Self {
        let known = block
            .delta_ppl
            .keys()
            .filter_map(|name| Some((name.clone(), MeasuredValue::of_block(block, &format!("delta_ppl_{name}"))?)));
        Self::of(known.collect())
    }

    fn of(mut known: Vec<(String, MeasuredValue<'_>)>) -> Self {
        known.sort_by(|(_, a), (_, b)| a.value.total_cmp(&b.value));
        let before = std::iter::once(None).chain(known.iter().map(|(_, estimate)| Some(*estimate)));
        let pairs = known.iter().zip(before);
        let differences = pairs.map(|((_, own), before)| before.and_then(|a| PairedDifference::new(a, *own)));
        let differences: Vec<_> = differences.collect();
        Self(known.into_iter().map(|(name, _)| name).zip(differences).collect())
    }

    /// The names in order, with `<` before one that differs from the one before and `≈` before one that does not.
    pub fn written(&self) -> String {
        let mut text = String::new();
        for (at, (name, difference)) in self.0.iter().enumerate() {
            let sign = if difference.is_some_and(|difference| difference.differs()) { " < " } else { " ≈ " };
            text += if at == 0 { "" } else { sign };
            text += name;
        }
        text
    }
}

/// How many times larger the standard error of a mean of `values` is than if they were independent: √((1 + ρ)/(1 − ρ)),
/// as for a first-order autoregression. ρ is the correlation of neighbours, corrected for its bias (M. Kendall, 1954),
/// from 0 to 0.8: neighbours that differ more than others narrow nothing.
pub fn autocorrelation_factor(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let products: f64 = values.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    if squares <= 0.0 || n <= 3.0 {
        return 1.0;
    }
    let correlation = ((n * products / squares + 1.0) / (n - 3.0)).clamp(0.0, MOST_CORRELATION);
    ((1.0 + correlation) / (1.0 - correlation)).sqrt()
}

/// 97.5 % quantile of Student's t for 9 and more degrees of freedom, within 10⁻³: the expansion about the normal
/// quantile by Cornish and Fisher.
pub fn t_quantile(freedom: f64) -> f64 {
    let z = NORMAL_QUANTILE;
    let [z3, z5, z7] = [3, 5, 7].map(|power| z.powi(power));
    let terms = [
        (z3 + z) / 4.0,
        (5.0 * z5 + 16.0 * z3 + 3.0 * z) / 96.0,
        (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / 384.0,
    ];
    terms.iter().rev().fold(0.0, |sum, term| (sum + term) / freedom) + z
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(value: f64, influence: &[f64]) -> MeasuredValue<'_> {
        MeasuredValue { value, influence }
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (freedom, expected) in [(9.0, 2.2622), (15.0, 2.1314), (23.0, 2.0687), (63.0, 1.9983)] {
            assert!((t_quantile(freedom) - expected).abs() < 1e-3, "{freedom}: {}", t_quantile(freedom));
        }
    }

    #[test]
    fn a_mean_of_values_that_are_like_their_neighbours_is_less_certain() {
        let alternating: Vec<f64> = (0..16).map(|at| [1.0, -1.0][at % 2]).collect();
        assert_eq!(autocorrelation_factor(&alternating), 1.0);
        assert_eq!(autocorrelation_factor(&[0.5; 16]), 1.0, "nothing varies");
        assert_eq!(autocorrelation_factor(&[1.0, 2.0, 3.0]), 1.0, "too few");
        let rising: Vec<f64> = (0..64).map(f64::from).collect();
        assert!((autocorrelation_factor(&rising) - 3.0).abs() < 1e-12, "{}", autocorrelation_factor(&rising));
        // Four runs of four: of the 15 products of neighbours 12 are 1 and 3 are −1, so ρ = (9 + 1)/13.
        let runs: Vec<f64> = (0..16).map(|at| [1.0, -1.0][at / 4 % 2]).collect();
        let expected = (23f64 / 3.0).sqrt();
        assert!((autocorrelation_factor(&runs) - expected).abs() < 1e-12, "{}", autocorrelation_factor(&runs));
    }

    #[test]
    fn what_both_owe_to_a_window_cancels() {
        let hard: Vec<f64> = (0..16).map(|at| f64::from(at) - 7.5).collect();
        let also: Vec<f64> = hard.iter().enumerate().map(|(at, value)| value + [0.1, -0.1][at % 2]).collect();
        let found = PairedDifference::new(estimate(0.5, &hard), estimate(0.6, &also)).expect("a difference");
        // Sample deviation of ±0.1 over 16 values, divided by √16, times 2.1314.
        let half = 2.1314 * (0.16f64 / 15.0).sqrt() / 4.0;
        assert!((found.amount - 0.1).abs() < 1e-12 && (found.half - half).abs() < 1e-4, "{found:?}");
        assert!(found.differs());
        let reversed: Vec<f64> = hard.iter().rev().copied().collect();
        let alone = PairedDifference::new(estimate(0.5, &hard), estimate(0.6, &reversed)).expect("a difference");
        assert!(!alone.differs() && alone.half > 4.0, "{alone:?}");
    }

    #[test]
    fn few_windows_and_other_windows_give_none() {
        let windows = [0.5; 16];
        let of = |a: &[f64], b: &[f64]| PairedDifference::new(estimate(0.1, a), estimate(0.2, b));
        assert_eq!(of(&windows[..FEWEST - 1], &windows[..FEWEST - 1]), None);
        assert_eq!(of(&windows, &windows[..15]), None);
        assert_eq!(of(&[f64::NAN; 16], &windows), None);
        let none = of(&windows, &windows).expect("a difference");
        assert!((none.amount, none.half) == (0.1, AGREEMENT) && none.differs());
        let a = MeasuredValue { value: 0.1, influence: &windows };
        let same = PairedDifference::new(a, MeasuredValue { value: 0.1 + 1e-8, ..a }).expect("a difference");
        assert!(!same.differs(), "another device: {same:?}");
    }

    #[test]
    fn a_ranking_separates_blocks_that_differ() {
        let noise = |scale: f64| (0..16).map(|at| scale * [1.0, -1.0][at % 2]).collect::<Vec<f64>>();
        let block = |(block, (r2, noise)): (usize, (f64, Vec<f64>))| BlockReport {
            block,
            r2_lin: Some(r2),
            influence: [("r2_lin".into(), noise)].into(),
            ..BlockReport::default()
        };
        let blocks: Vec<_> =
            [(0.9, noise(0.01)), (0.5, noise(0.02)), (0.505, noise(0.0))].into_iter().enumerate().map(block).collect();
        assert_eq!(Ranking::new(&blocks, "r2_lin").written(), "1 ≈ 2 < 0");
        assert_eq!(Ranking::new(&blocks, "cosine"), Ranking::default());
        let losses = [("linear", 0.5), ("mean", 0.505), ("zero", 3.0), ("rank_4", 1.0)];
        let block = BlockReport {
            delta_ppl: losses.map(|(name, loss)| (name.to_owned(), Some(loss))).into(),
            influence: losses.map(|(name, loss)| (format!("delta_ppl_{name}"), noise(0.02 * loss))).into(),
            ..BlockReport::default()
        };
        let mut block = block;
        block.influence.remove("delta_ppl_rank_4");
        block.influence.insert("delta_ppl_mean".into(), noise(0.05));
        assert_eq!(Ranking::of_replacements(&block).written(), "linear ≈ mean < zero");
    }
}
