//! The blocks in order of a number, with the differences that held-out windows do not explain.

use straightedge_api::paired::Ranking;
use straightedge_api::report::Report;

use crate::text::fill;
use crate::text::verdict::t;

/// The order of the blocks by a number with influences, in `sentence`; `None` for fewer than two of them.
pub fn ranking(report: &Report, name: &str, sentence: &str) -> Option<String> {
    let ranking = Ranking::new(&report.blocks, name);
    (ranking.0.len() > 1).then(|| fill(sentence, &[("order", &ranking.written())]) + t().alike)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::sample_report;

    #[test]
    fn blocks_are_ranked_where_their_influences_are_known() {
        let mut report = sample_report();
        assert_eq!(ranking(&report, "r2_lin", t().by_r2), None);
        let noise: Vec<f64> = (0..12).map(|at| [0.5, -0.5][at % 2]).collect();
        for (block, sign) in report.blocks.iter_mut().zip([1.0, 1.0, -1.0]) {
            block.r2_lin = Some(0.5 + block.block as f64 / 10.0);
            block.influence.insert("r2_lin".into(), noise.iter().map(|value| sign * value).collect());
        }
        let text = ranking(&report, "r2_lin", t().by_r2).expect("a ranking");
        assert!(text.starts_with("From least to most linear: 0 < 1 ≈ 2."), "{text}");
    }
}
