//! The columns of the result table: which numbers of a block are shown, under which name, and what they mean.

use straightedge_api::report::BlockReport;

use crate::comparison::overlay::{Metric, Overlay};
use crate::state::run::Run;
use crate::text::format::{NOTHING, fixed, magnitude, share};
use crate::text::{Texts, fill, t};

/// One column.
pub struct Column {
    /// Name of the field in the report.
    pub field: &'static str,
    /// Heading.
    pub heading: fn(&Texts) -> &'static str,
    /// Definition, for those who point at the heading.
    pub meaning: fn(&Texts) -> &'static str,
    /// The cell of a block.
    pub cell: fn(&BlockReport) -> String,
}

/// Every column after the block's number, left to right.
pub const COLUMNS: [Column; 9] = [
    Column { field: "r2_lin", heading: |t| t.r2_lin, meaning: |t| t.r2_lin_meaning, cell: |b| share(b.r2_lin) },
    Column {
        field: "r2_cv_std",
        heading: |t| t.spread,
        meaning: |t| t.spread_meaning,
        cell: |b| fixed(b.r2_cv_std, 4),
    },
    Column {
        field: "r2_lin_scalar",
        heading: |t| t.scalar,
        meaning: |t| t.scalar_meaning,
        cell: |b| share(b.r2_lin_scalar),
    },
    Column {
        field: "r2_feature_median",
        heading: |t| t.median,
        meaning: |t| t.median_meaning,
        cell: |b| share(b.r2_feature_median),
    },
    Column { field: "rank", heading: |t| t.rank, meaning: |t| t.rank_meaning, cell: |b| b.rank.to_string() },
    Column {
        field: "effective_rank",
        heading: |t| t.effective_rank,
        meaning: |t| t.effective_rank_meaning,
        cell: |b| b.effective_rank.map_or(NOTHING.into(), |rank| rank.to_string()),
    },
    Column {
        field: "scaled_condition",
        heading: |t| t.condition,
        meaning: |t| t.condition_meaning,
        cell: |b| magnitude(b.scaled_condition),
    },
    Column { field: "cosine", heading: |t| t.cosine, meaning: |t| t.cosine_meaning, cell: |b| fixed(b.cosine, 4) },
    Column { field: "rmse", heading: |t| t.rmse, meaning: |t| t.rmse_meaning, cell: |b| magnitude(b.rmse) },
];

/// The cells of a block, one per column.
pub fn cells(block: &BlockReport) -> Vec<String> {
    COLUMNS.iter().map(|column| (column.cell)(block)).collect()
}

/// A block in one sentence, for the line under the chart and for screen readers.
pub fn sentence(run: &Run, number: usize, metric: Metric) -> String {
    let block = run.blocks().iter().find(|block| block.block == number);
    if let Some(scalar) = block.and_then(|block| block.r2_lin_scalar).filter(|_| metric == Metric::Scalar) {
        return fill(t().block_scalar, &[("block", &number.to_string()), ("value", &share(Some(scalar)))]);
    }
    let title = run.expected().and_then(|expected| expected.title.get(number));
    let title = title.map(|title| fill(t().block_title, &[("title", title)]));
    let values = values(number, block);
    [Some(values), title].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// What is laid over the chart has to say of a block, if anything.
pub fn beside(number: usize, overlay: Option<&Overlay>) -> String {
    let found = overlay.and_then(|overlay| Some((overlay, overlay.values.get(number).copied()??)));
    found.map_or(String::new(), |(overlay, value)| {
        let value = share(Some(value));
        format!(" {}", fill(t().overlay_value, &[("name", &overlay.name), ("value", &value)]))
    })
}

/// `None` is a block still to come.
fn values(number: usize, block: Option<&BlockReport>) -> String {
    let number = number.to_string();
    let Some(block) = block else { return fill(t().block_missing, &[("block", &number)]) };
    if block.r2_lin.is_none() {
        return fill(t().block_undefined, &[("block", &number)]);
    }
    let value = fill(t().block_value, &[("block", &number), ("value", &share(block.r2_lin))]);
    let spread = block.r2_cv_std.map(|std| fill(t().block_spread, &[("spread", &fixed(Some(std), 4))]));
    [Some(value), spread].into_iter().flatten().collect::<Vec<_>>().join(" ") + "."
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::bundled::Expected;
    use crate::state::run::tests::recording;
    use straightedge_api::message::Reply;

    #[test]
    fn a_recording_gives_the_expected_rows() {
        let mut run = Run::start(1, None);
        for event in recording() {
            run.receive(&Reply::Event { run: 1, event });
        }
        let rows: Vec<_> = run.blocks().iter().map(cells).collect();
        let nothing = ["–"; 4];
        assert_eq!(rows.len(), 3);
        assert_eq!(rows[0][..5], ["1.000000", "0.0000", "–", "–", "8"]);
        assert_eq!(rows[1][..5], ["−0.250000", "0.0100", "–", "–", "8"]);
        assert_eq!(rows[2][..5], ["–", "–", "–", "–", "8"]);
        assert!(rows.iter().all(|row| row.len() == COLUMNS.len() && row[5..] == nothing));
    }

    #[test]
    fn sentences_tell_values_from_their_absence() {
        let block = BlockReport { block: 3, r2_lin: Some(0.5), r2_cv_std: Some(0.02), ..Default::default() };
        assert_eq!(values(3, Some(&block)), "Block 3: R² 0.500000 ± 0.0200 over the folds.");
        let undefined = BlockReport { r2_lin: None, ..block };
        assert!(values(3, Some(&undefined)).contains("undefined"));
        assert!(values(4, None).contains("not measured"));
    }

    #[test]
    fn what_is_laid_over_speaks_where_it_has_a_value() {
        let overlay = Overlay { name: "other".into(), values: vec![Some(0.5), None], note: String::new() };
        assert_eq!(beside(0, Some(&overlay)), " other: 0.500000.");
        assert_eq!([beside(1, Some(&overlay)), beside(7, Some(&overlay)), beside(0, None)], ["", "", ""]);
    }

    #[test]
    fn sentences_of_a_model_made_to_measure_say_what_the_block_is() {
        let title = vec!["exactly affine".to_string()];
        let run = Run::start(1, Some(Expected { r2_lin: vec![Some(1.0), None], title }));
        assert_eq!(sentence(&run, 0, Metric::Lin), "Block 0: not measured. Constructed to be: exactly affine.");
        assert_eq!(sentence(&run, 1, Metric::Lin), "Block 1: not measured.");
    }
}
