//! The rows of the result table, and a block in a sentence.

use straightedge_api::fields::Field;
use straightedge_api::report::BlockReport;

use crate::comparison::overlay::{Metric, Overlay};
use crate::state::run::Run;
use crate::text::cell::{Cell, over_folds, rounded_with_exact};
use crate::text::format::{fixed, share};
use crate::text::{fill, t};

/// The cells of a block, one per column of [`Field::table`].
pub fn cells(block: &BlockReport) -> Vec<Cell> {
    Field::table().map(|field| Cell::of_block(field, block)).collect()
}

/// A block in one sentence, for the line under the chart and for screen readers.
pub fn sentence(run: &Run, number: usize, metric: Metric) -> String {
    let block = run.blocks().iter().find(|block| block.block == number);
    let scalar = block.filter(|block| metric == Metric::Scalar && block.r2_lin_scalar.is_some());
    if let Some(block) = scalar {
        let value = both(Field::R2LinScalar, block);
        return fill(t().block_scalar, &[("block", &number.to_string()), ("value", &value)]);
    }
    let title = run.expected().and_then(|expected| expected.title.get(number));
    let title = title.map(|title| fill(t().block_title, &[("title", title)]));
    let values = values(number, block);
    [Some(values), title].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The overlay's value at a block, as a sentence; empty if there is none.
pub fn overlay_sentence(number: usize, overlay: Option<&Overlay>) -> String {
    let found = overlay.and_then(|overlay| Some((overlay, overlay.values.get(number).copied()??)));
    found.map_or(String::new(), |(overlay, value)| {
        let value = share(Some(value));
        format!(" {}", fill(t().overlay_value, &[("name", &overlay.name), ("value", &value)]))
    })
}

/// `None` is a block not measured yet.
fn values(number: usize, block: Option<&BlockReport>) -> String {
    let number = number.to_string();
    let Some(block) = block else { return fill(t().block_missing, &[("block", &number)]) };
    if block.r2_lin.is_none() {
        return fill(t().block_undefined, &[("block", &number)]);
    }
    let value = fill(t().block_value, &[("block", &number), ("value", &both(Field::R2Lin, block))]);
    let spread = over_folds(block, |value| fixed(Some(value), 4));
    let spread = spread.map(|spread| fill(t().block_spread, &[("spread", &spread)]));
    [Some(value), spread].into_iter().flatten().collect::<Vec<_>>().join(", ") + "."
}

/// An R² rounded as far as its interval allows, and with six digits.
fn both(field: Field, block: &BlockReport) -> String {
    rounded_with_exact(field.of_block(block), field.interval(block), share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::bundled::Expected;
    use crate::state::run::tests::recording;
    use straightedge_api::message::Reply;
    use straightedge_api::report::Interval;

    #[test]
    fn a_recording_gives_the_expected_rows() {
        let mut run = Run::start(1, None);
        for event in recording() {
            run.receive(&Reply::Event { run: 1, event });
        }
        let rows: Vec<_> = run.blocks().iter().map(cells).collect();
        assert_eq!(rows.len(), 3);
        assert_eq!(rows[0][..7], ["1.0000", "mean 0.9900 (sd 0.0000)", "–", "–", "–", "–", "8"]);
        assert_eq!(rows[1][..7], ["−0.2500", "mean −0.2600 (sd 0.0100)", "–", "–", "–", "–", "8"]);
        assert_eq!(rows[2][..7], ["–", "–", "–", "–", "–", "–", "8"]);
        assert!(rows.iter().all(|row| row.len() == Field::table().count() && row[7..].iter().all(|cell| *cell == "–")));
    }

    #[test]
    fn sentences_tell_values_from_their_absence() {
        let mut block = BlockReport { block: 3, r2_lin: Some(0.5), ..Default::default() };
        (block.r2_cv_mean, block.r2_cv_std) = (Some(0.4157), Some(0.02));
        assert_eq!(values(3, Some(&block)), "Block 3: R² 0.500000, over the folds mean 0.4157 (sd 0.0200).");
        let interval = Interval { low: 0.4616, high: 0.54 };
        let known = BlockReport { intervals: [("r2_lin".into(), interval)].into(), ..block.clone() };
        assert_eq!(
            values(3, Some(&known)),
            "Block 3: R² 0.50 ± 0.04 (0.500000), over the folds mean 0.4157 (sd 0.0200)."
        );
        let undefined = BlockReport { r2_lin: None, ..block };
        assert!(values(3, Some(&undefined)).contains("undefined"));
        assert!(values(4, None).contains("not measured"));
    }

    #[test]
    fn what_is_laid_over_speaks_where_it_has_a_value() {
        let overlay = Overlay { name: "other".into(), values: vec![Some(0.5), None], note: String::new() };
        assert_eq!(overlay_sentence(0, Some(&overlay)), " other: 0.500000.");
        assert_eq!(
            [overlay_sentence(1, Some(&overlay)), overlay_sentence(7, Some(&overlay)), overlay_sentence(0, None)],
            ["", "", ""]
        );
    }

    #[test]
    fn sentences_of_a_model_made_to_measure_say_what_the_block_is() {
        let title = vec!["exactly affine".to_string()];
        let run = Run::start(1, Some(Expected { r2_lin: vec![Some(1.0), None], title }));
        assert_eq!(sentence(&run, 0, Metric::Lin), "Block 0: not measured. Constructed to be: exactly affine.");
        assert_eq!(sentence(&run, 1, Metric::Lin), "Block 1: not measured.");
    }
}
