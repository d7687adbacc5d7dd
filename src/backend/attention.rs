//! The layout of attention inputs, and which positions attend to which.

use std::ops::Range;

/// `q` is `(rows, heads·head_dim)`, `k` and `v` are `(rows, kv_heads·head_dim)`; rows are whole windows of `seq_len`
/// positions. With s = scale·q·k, a query at position i gives a key at position j the weight softmax(f(s) + b), where f
/// caps the score and b is the bias of ALiBi, where there are any.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttentionShape {
    /// Query heads.
    pub heads: usize,
    /// Key and value heads; divides `heads`.
    pub kv_heads: usize,
    /// Width of a head.
    pub head_dim: usize,
    /// Positions per window; attention never crosses windows.
    pub seq_len: usize,
    /// Whether a position attends only to itself and earlier positions.
    pub causal: bool,
    /// Largest distance to a position that is attended to; `None` if there is no limit.
    pub reach: Option<usize>,
    /// Factor of q·k.
    pub scale: f64,
    /// c, if f(s) = c·tanh(s/c).
    pub softcap: Option<f32>,
    /// Whether b = slope·(j − i), with a slope per head (ALiBi, arXiv 2108.12409).
    pub alibi: bool,
}

impl AttentionShape {
    /// Every position attends to all of its window, with as many key heads as query heads and a scale of 1/√head_dim.
    pub fn full(heads: usize, head_dim: usize, seq_len: usize) -> Self {
        Self {
            heads,
            kv_heads: heads,
            head_dim,
            seq_len,
            causal: false,
            reach: None,
            scale: (head_dim as f64).sqrt().recip(),
            softcap: None,
            alibi: false,
        }
    }

    /// The positions that `position` attends to.
    pub fn attended(&self, position: usize) -> Range<usize> {
        let reach = self.reach.unwrap_or(self.seq_len);
        let end = if self.causal { position + 1 } else { self.seq_len.min(position.saturating_add(reach) + 1) };
        position.saturating_sub(reach)..end
    }

    /// Whether scores are neither capped nor biased.
    pub fn is_plain(&self) -> bool {
        self.softcap.is_none() && !self.alibi
    }

    /// The slope of every head, 0 without ALiBi: 2^(−8·k/n) for the largest power of two n ≤ heads and k = 1 … n, then
    /// every second slope of twice as many heads.
    pub fn slopes(&self) -> Vec<f32> {
        if !self.alibi {
            return vec![0.0; self.heads];
        }
        let n = 1 << self.heads.max(1).ilog2();
        let slope = |k: usize, n: usize| 2.0_f64.powf(-8.0 * k as f64 / n as f64) as f32;
        let more = (1..).step_by(2).map(|k| slope(k, 2 * n));
        (1..=n).map(|k| slope(k, n)).chain(more).take(self.heads).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_attend_within_reach() {
        let full = AttentionShape::full(2, 4, 6);
        let causal = AttentionShape { causal: true, ..full };
        assert_eq!((full.attended(2), causal.attended(2)), (0..6, 0..3));
        let near = |shape| AttentionShape { reach: Some(1), ..shape };
        assert_eq!((near(full).attended(2), near(causal).attended(2)), (1..4, 1..3));
        assert_eq!((near(full).attended(0), near(full).attended(5)), (0..2, 4..6));
    }

    #[test]
    fn slopes_are_those_of_the_paper() {
        let slopes = |heads| AttentionShape { alibi: true, ..AttentionShape::full(heads, 4, 6) }.slopes();
        assert_eq!(slopes(8), [1, 2, 3, 4, 5, 6, 7, 8].map(|k| 0.5_f32.powi(k)));
        assert_eq!(slopes(3), [0.0625, 0.003_906_25, 0.25]);
        assert_eq!(AttentionShape::full(3, 4, 6).slopes(), [0.0; 3]);
    }
}
