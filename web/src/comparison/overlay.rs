//! Overlays of the profile: published values and other measurements, and their agreement.

use straightedge_api::agreement::Agreement;
use straightedge_api::fields::Field;
use straightedge_api::job::GramMode;
use straightedge_api::report::{BlockReport, ProtocolInfo, Report};

use crate::text::format::{duration, fixed, magnitude, pearson as shown_pearson};
use crate::text::{fill, t};

/// Which R² the profile shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Metric {
    /// One mean per feature.
    #[default]
    Lin,
    /// One mean for all.
    Scalar,
}

impl Metric {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Lin, Self::Scalar];

    /// Stable short name, for addresses.
    pub fn id(self) -> &'static str {
        match self {
            Self::Lin => "lin",
            Self::Scalar => "scalar",
        }
    }

    /// Its field of the report.
    pub fn field(self) -> Field {
        match self {
            Self::Lin => Field::R2Lin,
            Self::Scalar => Field::R2LinScalar,
        }
    }

    /// This R² of a block.
    pub fn of(self, block: &BlockReport) -> Option<f64> {
        self.field().of_block(block)
    }

    /// This R² of every block up to the last, by its index.
    pub fn by_block(self, report: &Report) -> Vec<Option<f64>> {
        let mut values = vec![None; report.blocks.last().map_or(0, |block| block.block + 1)];
        for block in &report.blocks {
            values[block.block] = self.of(block);
        }
        values
    }
}

/// The chosen overlay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Published values on this corpus.
    Published(String),
    /// A kept measurement, by its position.
    Kept(usize),
}

impl Choice {
    /// The same choice after the first kept measurement made room; `None` if that one was chosen.
    pub fn after_first_removed(self) -> Option<Self> {
        match self {
            Self::Published(corpus) => Some(Self::Published(corpus)),
            Self::Kept(at) => at.checked_sub(1).map(Self::Kept),
        }
    }
}

/// An overlay of the profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Overlay {
    /// Its short name.
    pub name: String,
    /// Its values by block.
    pub values: Vec<Option<f64>>,
    /// Its description, in a sentence.
    pub note: String,
}

/// A measurement kept for comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptMeasurement {
    /// Number of its first order; recordings have none.
    pub origin: Option<u32>,
    /// Whether it comes from a file.
    pub is_opened: bool,
    /// Model and text.
    pub name: String,
    /// Its report.
    pub report: Report,
}

impl KeptMeasurement {
    /// A report under the name of its model and text, and of its moments where they are not exact.
    pub fn new(origin: u32, is_opened: bool, report: Report) -> Self {
        Self { origin: Some(origin), is_opened, name: Self::name_of(&report), report }
    }

    /// The name of a report.
    pub fn name_of(report: &Report) -> String {
        let name = name_of(report);
        let is_fast = report.protocol.gram == GramMode::Fast;
        if is_fast { fill(t().overlay_fast, &[("name", &name)]) } else { name }
    }

    /// The same with a number after its name where another one has that name already.
    pub fn with_distinct_name(mut self, others: &[Self]) -> Self {
        self.name = distinct_name(self.name, others);
        self
    }

    /// A report that was recorded with the page.
    pub fn recorded(report: Report) -> Self {
        let name = fill(t().overlay_recorded, &[("name", &name_of(&report))]);
        Self { origin: None, is_opened: false, name, report }
    }
}

/// A name that no measurement has: the name itself, or with the first free number after it.
pub fn distinct_name(name: String, measurements: &[KeptMeasurement]) -> String {
    let is_free = |name: &String| measurements.iter().all(|known| known.origin.is_none() || known.name != *name);
    if is_free(&name) {
        return name;
    }
    (2..).map(|number| format!("{name} ({number})")).find(is_free).unwrap_or(name)
}

fn name_of(report: &Report) -> String {
    format!("{} · {}", report.model.id, report.corpus.id)
}

/// Differences between exact and fast moments of the same rows; `None` unless two reports differ in exactly this.
pub fn sums(ours: &Report, theirs: &Report) -> Option<String> {
    let same_but_gram = ProtocolInfo { gram: theirs.protocol.gram, ..ours.protocol.clone() } == theirs.protocol;
    let same_rows = ours.model.sha256 == theirs.model.sha256 && ours.corpus.sha256 == theirs.corpus.sha256;
    if ours.protocol.gram == theirs.protocol.gram || !same_but_gram || !same_rows {
        return None;
    }
    let difference = |block: &BlockReport| {
        let other = theirs.blocks.iter().find(|other| other.block == block.block)?;
        Some((block.block, (block.r2_lin? - other.r2_lin?).abs()))
    };
    let (block, most) = ours.blocks.iter().filter_map(difference).max_by(|a, b| a.1.total_cmp(&b.1))?;
    let gaps = [
        ("ours", ours.protocol.gram.to_string()),
        ("theirs", theirs.protocol.gram.to_string()),
        ("most", magnitude(Some(most))),
        ("block", block.to_string()),
        ("seconds", duration(ours.seconds.forward)),
        ("their_seconds", duration(theirs.seconds.forward)),
    ];
    Some(fill(t().overlay_sums, &gaps.each_ref().map(|(name, value)| (*name, value.as_str()))))
}

/// Agreement of two profiles over the blocks that both have; `None` if these are fewer than two.
pub fn agreement(ours: &[Option<f64>], theirs: &[Option<f64>]) -> Option<String> {
    let Agreement { pairs, pearson, spearman, mean_shift } = Agreement::new(ours, theirs);
    let gaps = [
        ("n", &pairs.to_string()),
        ("pearson", &shown_pearson(pearson, pairs)),
        ("spearman", &fixed(spearman, 3)),
        ("shift", &fixed(mean_shift, 4)),
    ];
    (pairs >= 2).then(|| fill(t().overlay_agreement, &gaps.map(|(name, value)| (name, value.as_str()))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::sample_report;

    #[test]
    fn agreement_counts_only_blocks_that_both_have() {
        let sentence = agreement(&[Some(0.1), None, Some(0.3), Some(0.2)], &[Some(0.2), Some(9.0), Some(0.4)]);
        let expected = "Over 2 blocks: Pearson 1.000, Spearman 1.000, mean absolute shift 0.1000.";
        assert_eq!(sentence.as_deref(), Some(expected));
        assert_eq!(agreement(&[Some(0.1)], &[Some(0.1)]), None);
    }

    #[test]
    fn exact_and_fast_moments_are_told_apart_on_the_same_rows_alone() {
        let exact = sample_report();
        let mut fast = exact.clone();
        fast.protocol.gram = GramMode::Fast;
        fast.blocks[0].r2_lin = Some(0.9 - 1e-6);
        fast.blocks[1].r2_lin = Some(-0.25 + 2.5e-5);
        fast.seconds.forward = 2.0;
        let sentence = sums(&exact, &fast).expect("a difference");
        assert!(
            sentence.contains("exact here and fast there") && sentence.contains("2.50e−5 at most, in block 1"),
            "{sentence}"
        );
        assert!(sentence.ends_with("2.0 s there."), "{sentence}");
        assert_eq!(KeptMeasurement::name_of(&fast), "m · t · fast");
        assert_eq!(sums(&exact, &exact), None);
        fast.protocol.rows += 1;
        assert_eq!(sums(&exact, &fast), None, "other rows");
    }

    #[test]
    fn measurements_of_one_name_are_told_apart_and_what_is_chosen_stays_chosen() {
        let mut kept = vec![KeptMeasurement::recorded(sample_report())];
        for origin in 0..3 {
            let new = KeptMeasurement::new(origin, false, sample_report()).with_distinct_name(&kept);
            kept.push(new);
        }
        let names: Vec<_> = kept.iter().skip(1).map(|kept| kept.name.as_str()).collect();
        assert_eq!(names, ["m · t", "m · t (2)", "m · t (3)"]);
        kept.remove(2);
        assert_eq!(distinct_name("m · t".into(), &kept), "m · t (2)");
        assert_eq!(distinct_name(kept[0].name.clone(), &kept), kept[0].name, "recordings have their own word");
        let published = Choice::Published("t".into());
        assert_eq!(published.clone().after_first_removed(), Some(published));
        assert_eq!(Choice::Kept(2).after_first_removed(), Some(Choice::Kept(1)));
        assert_eq!(Choice::Kept(0).after_first_removed(), None);
    }

    #[test]
    fn both_metrics_are_read_by_block() {
        let report = sample_report();
        assert_eq!(Metric::Lin.by_block(&report), [Some(0.9), Some(-0.25), None]);
        assert_eq!(Metric::Scalar.by_block(&report), [Some(0.95), Some(0.1), None]);
        assert_eq!(KeptMeasurement::name_of(&report), "m · t");
    }
}
