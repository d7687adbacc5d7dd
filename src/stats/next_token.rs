//! Distributions over the next token: their divergence, and sampling.
//!
//! The device returns logits in f32; everything after that is computed here in f64.

use crate::platform::random::Random;

/// A distribution over a vocabulary.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    /// ln p of every token.
    log_probabilities: Vec<f64>,
}

impl Distribution {
    /// softmax(logits); `None` if a logit is NaN or infinite, or if there are none.
    pub fn of(logits: &[f32]) -> Option<Self> {
        if logits.is_empty() || !logits.iter().all(|logit| logit.is_finite()) {
            return None;
        }
        let largest = f64::from(logits.iter().copied().fold(f32::NEG_INFINITY, f32::max));
        let total: f64 = logits.iter().map(|&logit| (f64::from(logit) - largest).exp()).sum();
        let normaliser = largest + total.ln();
        Some(Self { log_probabilities: logits.iter().map(|&logit| f64::from(logit) - normaliser).collect() })
    }

    /// Probability of a token.
    pub fn probability(&self, id: u32) -> f64 {
        self.log_probabilities[id as usize].exp()
    }

    /// −Σ p·ln p in nats.
    pub fn entropy(&self) -> f64 {
        -self.log_probabilities.iter().map(|log| log.exp() * log).sum::<f64>()
    }

    /// KL(self ‖ other) = Σ p·ln(p/q) in nats, over the same vocabulary. Rounding below 0 is clamped to 0.
    pub fn divergence(&self, other: &Self) -> f64 {
        assert_eq!(self.log_probabilities.len(), other.log_probabilities.len(), "one vocabulary");
        let pairs = self.log_probabilities.iter().zip(&other.log_probabilities);
        pairs.map(|(p, q)| p.exp() * (p - q)).sum::<f64>().max(0.0)
    }

    /// The `k` most probable tokens, in order; ties go to the lower id.
    pub fn top(&self, k: usize) -> Vec<u32> {
        let logs = &self.log_probabilities;
        let mut ids: Vec<u32> = (0..logs.len() as u32).collect();
        let order = |a: &u32, b: &u32| logs[*b as usize].total_cmp(&logs[*a as usize]).then(a.cmp(b));
        let k = k.min(ids.len());
        if k < ids.len() {
            ids.select_nth_unstable_by(k, order);
            ids.truncate(k);
        }
        ids.sort_unstable_by(order);
        ids
    }

    /// The most probable token at temperature 0; else sample `draw` under `seed` of softmax(ln p / temperature).
    ///
    /// Samples are the argmax of ln p / temperature + g with Gumbel noise g per token (Gumbel 1954), so that nearly
    /// equal distributions nearly always give the same token for the same draw.
    pub fn choose(&self, temperature: f64, seed: u64, draw: u64) -> u32 {
        let mut random = Random::stream(seed, &[draw]);
        let score = |log: f64, random: &mut Random| {
            if temperature == 0.0 { log } else { log / temperature - (-random.uniform().ln()).ln() }
        };
        let mut best = (0, f64::NEG_INFINITY);
        for (id, &log) in self.log_probabilities.iter().enumerate() {
            let score = score(log, &mut random);
            if score > best.1 {
                best = (id as u32, score);
            }
        }
        best.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(probabilities: &[f64]) -> Distribution {
        // An additive constant does not change the softmax.
        let logits: Vec<f32> = probabilities.iter().map(|p| (p.ln() + 3.0) as f32).collect();
        Distribution::of(&logits).expect("finite")
    }

    #[track_caller]
    fn assert_close(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 1e-6, "{found} where {expected} is expected");
    }

    #[test]
    fn divergence_and_entropy_are_those_computed_by_hand() {
        let (p, q) = (of(&[0.5, 0.25, 0.25]), of(&[0.25, 0.25, 0.5]));
        // 0.5·ln 2 + 0 − 0.25·ln 2.
        assert_close(p.divergence(&q), 0.25 * 2f64.ln());
        assert_close(p.entropy(), 1.5 * 2f64.ln());
        let r = of(&[0.9, 0.05, 0.05]);
        assert_close(p.divergence(&r), 0.5 * (0.5f64 / 0.9).ln() + 0.5 * 5f64.ln());
        assert_close(r.divergence(&p), 0.9 * 1.8f64.ln() + 0.1 * 0.2f64.ln());
        assert_close(r.probability(0), 0.9);
    }

    #[test]
    fn equal_distributions_do_not_diverge_and_large_logits_do_not_overflow() {
        let logits = [1e4, -3e4, 9_999.0, 0.0];
        let (p, shifted) = (Distribution::of(&logits).expect("finite"), logits.map(|logit| logit + 512.0));
        assert_eq!(p.divergence(&p), 0.0);
        assert!(p.divergence(&Distribution::of(&shifted).expect("finite")) <= 1e-12);
        assert_close(p.probability(0), 1.0 / (1.0 + (-1f64).exp()));
        let far = Distribution::of(&[-3e4, 1e4, 0.0, 0.0]).expect("finite");
        assert!(p.divergence(&far) > 1e4 && p.divergence(&far).is_finite());
    }

    #[test]
    fn what_is_not_finite_is_no_distribution() {
        for logits in [&[0.0, f32::NAN][..], &[f32::INFINITY, 0.0], &[f32::NEG_INFINITY], &[]] {
            assert_eq!(Distribution::of(logits), None, "{logits:?}");
        }
    }

    #[test]
    fn the_likeliest_come_first_and_ties_go_to_the_lower_id() {
        let p = Distribution::of(&[1.0, 3.0, 2.0, 3.0, -1.0]).expect("finite");
        assert_eq!((p.top(3), p.top(9).len(), p.choose(0.0, 7, 7)), (vec![1, 3, 2], 5, 1));
    }

    #[test]
    fn draws_follow_the_temperature_and_repeat_under_their_seed() {
        let p = of(&[0.7, 0.2, 0.1]);
        let shares = |temperature: f64| -> [f64; 3] {
            let mut counts = [0.0; 3];
            (0..20_000).for_each(|draw| counts[p.choose(temperature, 1, draw) as usize] += 1.0 / 20_000.0);
            counts
        };
        // Squares, and square roots, of the probabilities, over their sums.
        for (temperature, expected) in
            [(1.0, [0.7_f64, 0.2, 0.1]), (0.5, [0.907, 0.074, 0.019]), (2.0, [0.523, 0.279, 0.198])]
        {
            let found = shares(temperature);
            // Four standard errors of a share of one half.
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= 0.0145), "{temperature}: {found:?}");
        }
        let draws = |seed| (0..50).map(|draw| p.choose(1.0, seed, draw)).collect::<Vec<_>>();
        assert_eq!(draws(3), draws(3));
        assert_ne!(draws(3), draws(4));
    }
}
