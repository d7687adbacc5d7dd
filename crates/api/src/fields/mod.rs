//! Fields of the report: one table, from which comparisons, tables, exports, charts, hover texts and the list of
//! docs/measures.md follow. A new field is one line of `list.rs`.

mod line;
mod list;

use std::sync::LazyLock;

use crate::report::{BlockReport, Interval, LayerReport};

pub use line::{Chart, DIGITS, Get, Higher, Line, NumberFormat, Shown, Spread};
pub use list::Field;

impl Field {
    /// The field that a path of a report belongs to.
    pub fn of(path: &str) -> Option<Self> {
        static NAMES: LazyLock<Vec<Vec<&str>>> =
            LazyLock::new(|| Field::ALL.iter().map(|field| line::names(field.line().path)).collect());
        let given = line::names(path);
        NAMES.iter().position(|own| line::covers(own, &given)).map(|at| Self::ALL[at])
    }

    /// The one that links and summaries call `id`.
    pub fn charted(id: &str) -> Option<Self> {
        Self::charts().find(|field| field.id() == id)
    }

    /// All that comparisons offer.
    pub fn charts() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|field| field.line().chart.is_some())
    }

    /// Numbers of a block in the table of all blocks.
    pub fn table() -> impl Iterator<Item = Self> {
        Self::blocks(Shown::Table)
    }

    /// Numbers of a block in detail, those of the table first.
    pub fn detail() -> impl Iterator<Item = Self> {
        Self::table().chain(Self::blocks(Shown::Detail))
    }

    /// Numbers of a layer in the table of all layers.
    pub fn layers() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|field| field.is_by_layer() && field.line().shown == Shown::Table)
    }

    fn blocks(shown: Shown) -> impl Iterator<Item = Self> {
        let is_block = |field: &Self| matches!(field.line().get, Get::Block(_));
        Self::ALL.iter().copied().filter(is_block).filter(move |field| field.line().shown == shown)
    }

    /// Stable name, in links and of its curve in a summary; empty where it has none.
    pub fn id(self) -> &'static str {
        self.line().chart.map_or("", |chart| chart.id)
    }

    /// Name for people.
    pub fn label(self) -> &'static str {
        self.line().label
    }

    /// Name within a block or layer, without the names of a map.
    pub fn name(self) -> &'static str {
        let path = self.line().path;
        let within = path.split_once("[].").map_or(path, |(_, within)| within);
        within.split('.').next().unwrap_or(within)
    }

    /// Definition in sentences, for those who point at its name.
    pub fn hover(self) -> String {
        let direction = match self.line().higher {
            Higher::MoreLinear => " Higher is more linear.",
            Higher::LessLinear => " Lower is more linear.",
            Higher::Neither => "",
        };
        format!("{}.{direction}", self.line().meaning)
    }

    /// Its line in docs/measures.md; `None` where that has a line for all names of its map.
    pub fn documented(self) -> Option<String> {
        let line = self.line();
        let is_covered = |other: &Self| *other != self && other.line().covers(line.path);
        if Self::ALL.iter().any(is_covered) {
            return None;
        }
        let higher = match line.higher {
            Higher::MoreLinear => "higher is more linear",
            Higher::LessLinear => "lower is more linear",
            Higher::Neither => "",
        };
        let section = if line.section == 0 { String::new() } else { format!("section {}", line.section) };
        let notes: Vec<&str> = [&*section, line.unit, higher].into_iter().filter(|note| !note.is_empty()).collect();
        let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) };
        Some(format!("| `{}` | {}{notes} |", line.path, line.meaning))
    }

    /// Whether it is one of layers.
    pub fn is_by_layer(self) -> bool {
        matches!(self.line().get, Get::Layer(_))
    }

    /// Its value of a block.
    pub fn of_block(self, block: &BlockReport) -> Option<f64> {
        if let Get::Block(get) = self.line().get { get(block) } else { None }
    }

    /// The 95 % interval of its value of a block, if the report has one.
    pub fn interval(self, block: &BlockReport) -> Option<Interval> {
        block.intervals.get(self.line().interval).copied().filter(|_| !self.is_by_layer())
    }

    /// The 95 % interval of its value of a layer, if the report has one.
    pub fn interval_of_layer(self, layer: &LayerReport) -> Option<Interval> {
        layer.intervals.get(self.line().interval).copied().filter(|_| self.is_by_layer())
    }

    /// Its value of a layer.
    pub fn of_layer(self, layer: &LayerReport) -> Option<f64> {
        if let Get::Layer(get) = self.line().get { get(layer) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::difference::tests::{full, numbers};
    use crate::report::PropertyScore;

    const PROPERTIES: [&str; 6] = ["token", "position", "next_kind", "sentence_end", "person", "place"];

    fn score(value: f64) -> PropertyScore {
        PropertyScore { accuracy: Some(value / 20.0), most_frequent: Some(value / 30.0) }
    }

    fn full_layer() -> LayerReport {
        LayerReport {
            layer: 1,
            linearity: Some(0.9),
            linearity_heldout: Some(0.8),
            linearity_no_residual: Some(0.7),
            update_norm_ratio: Some(0.6),
            anisotropy: Some(0.3),
            intrinsic_dimension: Some(7.5),
            properties: PROPERTIES.map(|name| (name.into(), score(name.len() as f64))).into(),
            delta_ppl: [("removed".into(), Some(2.0)), ("linear".into(), Some(1.0))].into(),
            intervals: [("linearity_heldout".into(), Interval { low: 0.75, high: 0.85 })].into(),
            influence: [("linearity_heldout".into(), vec![0.5, -0.5])].into(),
        }
    }

    /// Every number of both by its path.
    fn both(block: &BlockReport, layer: &LayerReport) -> BTreeMap<String, Option<f64>> {
        numbers("blocks[].", block).into_iter().chain(numbers("layers[].", layer)).collect()
    }

    #[test]
    fn every_number_of_a_report_has_a_line_and_every_line_a_number() {
        let mut numbers = both(&full(), &full_layer());
        let of_step = ["block", "ppl", "delta_ppl", "compression", "interval.low", "interval.high"];
        let of_step = of_step.map(|field| format!("orders.by_cost[0].{field}"));
        let healed = [
            "blocks[0]",
            "steps",
            "delta_ppl_before",
            "delta_ppl.tokens",
            "stream_error_before",
            "stream_error.tokens",
            "intervals.tokens.low",
            "intervals.tokens.high",
        ];
        let of_healing = healed.map(|field| format!("healed_together.layers_linear.{field}"));
        numbers.extend(of_step.into_iter().chain(of_healing).chain(["ppl".into()]).map(|path| (path, None)));
        for path in numbers.keys() {
            assert!(Field::of(path).is_some(), "{path} has no line in the table of report fields");
        }
        for field in Field::ALL {
            assert!(numbers.keys().any(|path| field.line().covers(path)), "{field:?} is of no number");
        }
    }

    #[test]
    fn a_path_is_of_the_field_whose_names_it_has() {
        for field in Field::ALL {
            assert_eq!(Field::of(field.line().path), Some(*field), "another line covers its path");
        }
        assert_eq!(Field::of("blocks[].curves.sgd[3].value"), Some(Field::CurveValue));
        for other in ["blocks[].curves.sgd", "blocks[].curves.sgd[3].value.more", "blocks[].curves.sgd[3].values"] {
            assert_eq!(Field::of(other), None, "{other}");
        }
    }

    #[test]
    fn every_line_reads_the_number_that_it_names() {
        let (block, layer) = (full(), full_layer());
        let numbers = both(&block, &layer);
        let mut read = 0;
        for field in Field::ALL.iter().filter(|field| !matches!(field.line().get, Get::Listed)) {
            let expected = numbers.get(field.line().path).copied().flatten();
            assert!(expected.is_some(), "{field:?}: {} is nowhere", field.line().path);
            assert_eq!(field.of_block(&block).or(field.of_layer(&layer)), expected, "{field:?}");
            read += 1;
        }
        assert!(read > 20, "only {read}");
    }

    #[test]
    fn every_interval_is_that_of_its_own_field() {
        let interval = |low| Interval { low, high: low + 1.0 };
        let names = [
            ("r2_lin", "blocks[].r2_lin"),
            ("r2_lin_scalar", "blocks[].r2_lin_scalar"),
            ("cosine", "blocks[].cosine"),
            ("effective_rank", "blocks[].effective_rank"),
            ("delta_ppl_linear", "blocks[].delta_ppl.linear"),
            ("delta_ppl_poly", "blocks[].delta_ppl.poly"),
            ("gain_poly", "blocks[].probes.poly.gain"),
        ];
        let intervals =
            names.iter().enumerate().map(|(at, (name, _))| (name.to_string(), interval(at as f64))).collect();
        let block = BlockReport { intervals, ..full() };
        let own = |field: &Field| {
            let at = names.iter().position(|(_, path)| *path == field.line().path);
            at.map(|at| interval(at as f64))
        };
        assert_eq!(Field::ALL.iter().filter(|field| field.interval(&block).is_some()).count(), names.len());
        for field in Field::ALL {
            assert_eq!(field.interval(&block), own(field), "{field:?}");
        }
    }

    #[test]
    fn every_interval_of_a_layer_is_that_of_its_own_field() {
        let properties =
            PROPERTIES.map(|name| (format!("reads_{name}"), format!("layers[].properties.{name}.accuracy")));
        let others = [
            ("linearity_heldout", "layers[].linearity_heldout"),
            ("delta_ppl_removed", "layers[].delta_ppl.removed"),
            ("delta_ppl_linear", "layers[].delta_ppl.linear"),
        ];
        let others = others.map(|(name, path)| (name.to_owned(), path.to_owned()));
        let names: Vec<(String, String)> = properties.into_iter().chain(others).collect();
        let interval = |at: usize| Interval { low: at as f64, high: at as f64 + 0.5 };
        let intervals = names.iter().enumerate().map(|(at, (name, _))| (name.clone(), interval(at))).collect();
        let layer = LayerReport { intervals, ..full_layer() };
        let mut found = 0;
        for field in Field::ALL {
            let own = names.iter().position(|(_, path)| path == field.line().path).map(interval);
            assert_eq!(field.interval_of_layer(&layer), own, "{field:?}");
            found += usize::from(own.is_some());
        }
        assert_eq!(found, names.len());
    }

    #[test]
    fn no_two_fields_have_one_path_one_id_or_one_label_in_a_table() {
        let paths: BTreeSet<_> = Field::ALL.iter().map(|field| field.line().path).collect();
        assert_eq!(paths.len(), Field::ALL.len());
        let ids: BTreeSet<_> = Field::charts().map(Field::id).collect();
        assert_eq!(ids.len(), Field::charts().count());
        assert!(Field::charts().all(|field| Field::charted(field.id()) == Some(field) && !field.label().is_empty()));
        for shown in [Field::detail().collect::<Vec<_>>(), Field::layers().collect()] {
            let labels: BTreeSet<_> = shown.iter().map(|field| field.label()).collect();
            assert!(labels.len() == shown.len() && labels.len() >= 6 && !labels.contains(""), "{labels:?}");
        }
    }
}
