//! Compares two reports number by number: all results of blocks, layers and the whole measurement, by the table of
//! [`crate::fields`]. Also lists the conditions in which the measurements differ.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::fields::{DIGITS, Field, Line};
use crate::report::{BlockReport, Report};

/// The part of a report that numbers belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// The measurement as a whole.
    Model,
    /// A block, by its index.
    Block(usize),
    /// A layer, by its index.
    Layer(usize),
}

impl Place {
    /// Prefix of the paths of its fields.
    fn start(self) -> &'static str {
        match self {
            Self::Model => "",
            Self::Block(_) => "blocks[].",
            Self::Layer(_) => "layers[].",
        }
    }
}

/// A difference in the conditions of two measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Other weights.
    Weights,
    /// Another text.
    Text,
    /// Perplexity on another text.
    EvalText,
    /// Controls fed with the rows of another model.
    Feed,
    /// Other rows, folds or second moments.
    Protocol,
    /// Another backend or adapter, which should give the same results.
    Device,
}

/// All differences in conditions; weights and texts are compared only if both are known.
pub fn conditions(a: &Report, b: &Report) -> Vec<Condition> {
    let known = |a: &Option<String>, b: &Option<String>| a.is_some() && b.is_some() && a != b;
    let device = (&a.device.backend, &a.device.adapter) != (&b.device.backend, &b.device.adapter);
    let eval = |report: &Report| report.ordered.as_ref().and_then(|ordered| ordered.eval.clone());
    let feed = |report: &Report| report.ordered.as_ref()?.feed.as_ref()?.sha256.clone();
    let have_perplexity = a.ppl.is_some() && b.ppl.is_some();
    let found = [
        (Condition::Weights, known(&a.model.sha256, &b.model.sha256)),
        (Condition::Text, known(&a.corpus.sha256, &b.corpus.sha256)),
        (Condition::EvalText, have_perplexity && eval(a) != eval(b)),
        (Condition::Feed, known(&feed(a), &feed(b))),
        (Condition::Protocol, a.protocol != b.protocol),
        (Condition::Device, device),
    ];
    found.into_iter().filter_map(|(condition, differs)| differs.then_some(condition)).collect()
}

/// One number in two reports.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Field of the report.
    pub field: String,
    /// Path in the block, layer or report, such as `r2_folds[3]` or `delta_ppl.linear`.
    pub path: String,
    /// In the first report.
    pub a: Option<f64>,
    /// In the second one.
    pub b: Option<f64>,
    /// |a − b|, divided by |a| if that is above 1. It is 0 if a and b differ only in the last digit of the report, and
    /// infinite if one of them is undefined.
    pub amount: f64,
    /// Factor on the tolerance of a comparison for this field.
    pub allowed: f64,
}

impl Difference {
    /// Whether it is more than a comparison allows; what is undefined on one side alone always is.
    pub fn exceeds(&self, tolerance: f64) -> bool {
        !(self.amount <= tolerance * self.allowed) || self.amount == f64::INFINITY
    }
}

/// All numbers of one place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compared {
    /// Every number that both have, equal ones included.
    pub numbers: Vec<Difference>,
    /// Fields that only the first one has: of measures that the second one did not take.
    pub only_a: Vec<String>,
    /// Fields that only the second one has.
    pub only_b: Vec<String>,
}

impl Compared {
    /// Compares two blocks.
    pub fn blocks(a: &BlockReport, b: &BlockReport) -> Self {
        Self::new(Place::Block(a.block), a, b)
    }

    fn new(place: Place, a: &impl Serialize, b: &impl Serialize) -> Self {
        let (a, b) = (fields(place, a), fields(place, b));
        let mut found = Self::default();
        for (field, a) in &a {
            match b.get(field) {
                Some(b) => found.add(place, field, a, b),
                None => found.only_a.push(field.clone()),
            }
        }
        found.only_b = b.into_keys().filter(|field| !a.contains_key(field)).collect();
        found
    }

    /// The number that differs most; `None` where there is none.
    pub fn largest(&self) -> Option<&Difference> {
        self.numbers.iter().max_by(|a, b| a.amount.total_cmp(&b.amount))
    }

    fn add(&mut self, place: Place, field: &str, a: &Numbers, b: &Numbers) {
        // An element missing from a list is undefined; a name missing from a map was not measured.
        for (path, &a) in a {
            let Some(b) = b.get(path).copied().or_else(|| has_list_of(b, path).then_some(None)) else { continue };
            self.numbers.push(difference(place, field, path, a, b));
        }
        for (path, &b) in b.iter().filter(|(path, _)| !a.contains_key(*path) && has_list_of(a, path)) {
            self.numbers.push(difference(place, field, path, None, b));
        }
    }
}

/// Compares every place; `Err` names the only report that has it, `a` or `b`.
pub fn compare(a: &Report, b: &Report) -> BTreeMap<Place, Result<Compared, &'static str>> {
    let mut found = BTreeMap::new();
    found.insert(Place::Model, Ok(Compared::new(Place::Model, &results(a), &results(b))));
    pairs(&mut found, &a.blocks, &b.blocks, |block| Place::Block(block.block));
    pairs(&mut found, &a.layers, &b.layers, |layer| Place::Layer(layer.layer));
    found
}

/// Fields of a report that are no results of the whole: its conditions and costs, and what has a place of its own.
const OTHER_FIELDS: [&str; 14] = [
    "schema",
    "partial",
    "date",
    "app",
    "model",
    "corpus",
    "protocol",
    "device",
    "ordered",
    "blocks",
    "layers",
    "seconds",
    "peak_memory",
    "warnings",
];

/// All fields of a report but [`OTHER_FIELDS`], also those that this code does not name.
fn results(report: &impl Serialize) -> Value {
    let mut report = serde_json::to_value(report).unwrap_or_default();
    if let Value::Object(fields) = &mut report {
        fields.retain(|name, _| !OTHER_FIELDS.contains(&name.as_str()));
    }
    report
}

fn pairs<T: Serialize>(
    found: &mut BTreeMap<Place, Result<Compared, &'static str>>,
    a: &[T],
    b: &[T],
    place: impl Fn(&T) -> Place,
) {
    for a in a {
        let other = b.iter().find(|b| place(b) == place(a));
        found.insert(place(a), other.map(|b| Compared::new(place(a), a, b)).ok_or("a"));
    }
    for b in b {
        found.entry(place(b)).or_insert(Err("b"));
    }
}

/// Numbers of a field by their path; `None` where undefined.
type Numbers = BTreeMap<String, Option<f64>>;

/// Whether `numbers` hold an element of the list that `path` is an element of.
fn has_list_of(numbers: &Numbers, path: &str) -> bool {
    let Some((list, _)) = path.strip_suffix(']').and_then(|path| path.rsplit_once('[')) else { return false };
    let first = format!("{list}[");
    numbers.range(first.clone()..).next().is_some_and(|(path, _)| path.starts_with(&first))
}

/// The table's line for a number; `None` if it has none, and then the number is compared like any other.
fn line(place: Place, path: &str) -> Option<&'static Line> {
    Field::of(&format!("{}{path}", place.start())).map(Field::line)
}

/// Fields with a number, by name. A field without any was not measured, except `r2_lin`, which is always included.
fn fields(place: Place, of: &impl Serialize) -> BTreeMap<String, Numbers> {
    let Ok(Value::Object(fields)) = serde_json::to_value(of) else { return BTreeMap::new() };
    let numbers = fields.into_iter().map(|(name, value)| {
        let mut numbers = Numbers::new();
        flatten(&name, &value, &mut numbers);
        numbers.retain(|path, _| line(place, path).is_none_or(|line| line.tolerance.is_finite()));
        (name, numbers)
    });
    numbers.filter(|(name, numbers)| name == "r2_lin" || numbers.values().any(Option::is_some)).collect()
}

fn flatten(path: &str, value: &Value, numbers: &mut Numbers) {
    match value {
        Value::Null => drop(numbers.insert(path.into(), None)),
        Value::Number(number) => drop(numbers.insert(path.into(), number.as_f64())),
        Value::Array(values) => {
            values.iter().enumerate().for_each(|(at, value)| flatten(&format!("{path}[{at}]"), value, numbers));
        }
        Value::Object(values) => {
            values.iter().for_each(|(name, value)| flatten(&format!("{path}.{name}"), value, numbers));
        }
        Value::Bool(_) | Value::String(_) => {}
    }
}

fn difference(place: Place, field: &str, path: &str, a: Option<f64>, b: Option<f64>) -> Difference {
    let (kept, allowed) = line(place, path).map_or((DIGITS, 1.0), |line| (line.kept, line.tolerance));
    let amount = match (a, b) {
        (Some(a), Some(b)) => gap(a, b, kept) / a.abs().max(1.0),
        (None, None) => 0.0,
        _ => f64::INFINITY,
    };
    Difference { field: field.into(), path: path.into(), a, b, amount, allowed }
}

/// |a − b|; a step of the last digit does not count.
fn gap(a: f64, b: f64, digits: usize) -> f64 {
    let step = 10f64.powf(a.abs().max(f64::MIN_POSITIVE).log10().floor() + 1.0 - digits as f64);
    let gap = (b - a).abs();
    if gap <= 1.5 * step { 0.0 } else { gap }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::learning::LearningPoint;
    use crate::report::{
        AppInfo, ControlReport, CurvePoint, DegreePoint, Header, HealReport, Interval, ProbeReport, ProtocolInfo,
        Scatter, Spectrum,
    };

    fn largest(a: &BlockReport, b: &BlockReport) -> (f64, String) {
        let found = Compared::blocks(a, b);
        found.largest().map(|found| (found.amount, found.path.clone())).unwrap_or_default()
    }

    const NAMES: [&str; 4] = ["r2_lin", "r2_lin_scalar", "cosine", "delta_ppl_linear"];

    /// A block with a number in every field, no two of its single ones the same.
    pub(crate) fn full() -> BlockReport {
        let values = |first: f64| vec![Some(first), Some(first / 2.0)];
        let named = |value: f64| -> BTreeMap<_, _> {
            [("linear".to_string(), Some(value)), ("poly".into(), Some(value + 0.25))].into()
        };
        let probe = ProbeReport {
            r2: Some(0.5),
            gain: Some(0.1),
            gain_scalar: Some(0.05),
            cosine: Some(0.75),
            rmse: Some(2.0),
            steps: 3,
            parameters: 8,
            conjunction: Some(0.25),
        };
        let control = ControlReport {
            r2_lin: Some(0.3),
            r2_lin_scalar: Some(0.4),
            r2_feature_median: Some(0.2),
            effective_rank: Some(2),
        };
        let between = |low: f64| Interval { low: low + 0.125, high: low + 0.375 };
        let heal =
            HealReport { delta_ppl: Some(0.5), delta_ppl_before: Some(1.5), steps: 200, interval: Some(between(0.25)) };
        let numbers = BlockReport {
            r2_features: values(0.5),
            r2_folds: values(0.6),
            r2_rank: values(0.7),
            intervals: (0..).zip(NAMES).map(|(at, name)| (name.into(), between(f64::from(at)))).collect(),
            influence: [("r2_lin".into(), vec![0.5, -0.5])].into(),
            rows_per_input: Some(15.5),
            learning_curve: vec![LearningPoint { rows: 500.0, r2: values(0.4) }],
            r2_limit: Some(0.65),
            r2_limit_error: Some(0.01),
            rows_needed: Some(90_000.0),
            rank: 7,
            effective_rank: Some(3),
            effective_rank_95: Some(4),
            effective_rank_whitened: Some(6),
            canonical_r2_mean: Some(0.75),
            input_entropy_rank: Some(5.5),
            input_stable_rank: Some(2.5),
            prediction_entropy_rank: Some(4.5),
            prediction_stable_rank: Some(1.5),
            heldout_distance: Some(1.25),
            heldout_outside: Some(0.125),
            spectrum: Some(Spectrum { k: vec![1, 2], covariance: values(2.0), correlation: values(3.0) }),
            scatter: Some(Scatter { actual: vec![0.5], predicted: vec![0.25] }),
            delta_ppl: named(1.5),
            compression: named(8.0),
            row_microseconds: named(4.0),
            probes: [("poly".into(), probe)].into(),
            ridge_curve: vec![LearningPoint { rows: 500.0, r2: values(0.5) }],
            degrees: [("2".into(), vec![DegreePoint { features: 9, r2: Some(0.6) }])].into(),
            curves: [("sgd".into(), vec![CurvePoint { step: 7, value: Some(0.5) }])].into(),
            controls: [("gaussian".into(), control)].into(),
            heal: [("linear".into(), heal)].into(),
            seeds: [("gain_poly".into(), values(0.1))].into(),
            ..BlockReport::default()
        };
        let mut json = serde_json::to_value(numbers).expect("a report");
        let values = json.as_object_mut().expect("fields").values_mut().filter(|value| value.is_null());
        values.enumerate().for_each(|(at, value)| *value = (0.5 + at as f64 / 64.0).into());
        serde_json::from_value(json).expect("a report")
    }

    /// Every number of a block or layer by its path in the report.
    pub(crate) fn numbers(start: &str, of: &impl Serialize) -> BTreeMap<String, Option<f64>> {
        let mut numbers = Numbers::new();
        for (name, value) in serde_json::to_value(of).expect("a report").as_object().expect("fields") {
            let before = numbers.len();
            flatten(&format!("{start}{name}"), value, &mut numbers);
            assert!(numbers.len() > before, "{name} has no number in this report");
        }
        numbers
    }

    /// Another value in every place that holds a number.
    fn nudge(value: &mut Value) {
        match value {
            Value::Number(number) => {
                let whole = number.as_u64().map(|number| serde_json::json!(number + 1));
                *value = whole.unwrap_or_else(|| serde_json::json!(number.as_f64().expect("a number") + 1.0));
            }
            Value::Array(values) => values.iter_mut().for_each(nudge),
            Value::Object(values) => values.values_mut().for_each(nudge),
            _ => {}
        }
    }

    #[test]
    fn every_number_is_compared_under_its_own_name() {
        let then = full();
        let json = serde_json::to_value(&then).expect("a report");
        let names: Vec<&String> = json.as_object().expect("fields").keys().collect();
        assert!(names.len() > 25, "{names:?}");
        for name in names {
            let mut now = json.clone();
            nudge(&mut now[name]);
            let found = Compared::blocks(&then, &serde_json::from_value::<BlockReport>(now).expect("a report"));
            let found = found.largest().expect("numbers");
            match ["block", "rows_needed", "row_microseconds"].contains(&name.as_str()) {
                true => assert_eq!(found.amount, 0.0, "{name}"),
                false => assert!(found.amount > 0.01 && found.field == *name, "{name}: {found:?}"),
            }
        }
    }

    #[test]
    fn a_number_that_reports_get_later_is_compared_and_what_is_no_result_is_not() {
        let protocol = ProtocolInfo::new(&Default::default(), 10, 2, 0.0);
        let (model, corpus, device, ordered) = Default::default();
        let header = Header { app: AppInfo::this(), model, corpus, protocol, device, ordered };
        let json = serde_json::to_value(Report::from(header)).expect("a report");
        let names: Vec<String> = json.as_object().expect("fields").keys().cloned().collect();
        let unknown: Vec<_> = OTHER_FIELDS.iter().filter(|name| !names.iter().any(|field| field == *name)).collect();
        assert!(unknown.is_empty(), "no fields of a report: {unknown:?}");
        let with = |name: &str, value: f64| {
            let mut json = json.clone();
            json[name] = value.into();
            results(&json)
        };
        let differs = |name: &str| {
            let found = Compared::new(Place::Model, &with(name, 1.0), &with(name, 2.0));
            found.largest().is_some_and(|found| found.field == name && found.amount == 1.0)
        };
        assert!(differs("ppl") && differs("a_later_number"));
        assert!(!OTHER_FIELDS.iter().any(|name| differs(name)));
    }

    #[test]
    fn a_value_that_became_undefined_is_a_difference_and_a_measure_not_taken_is_none() {
        let a = full();
        assert_eq!(largest(&a, &a).0, 0.0);
        let b = BlockReport { r2_lin: None, ..a.clone() };
        assert_eq!(largest(&a, &b), (f64::INFINITY, "r2_lin".into()));
        assert_eq!(largest(&b, &a), (f64::INFINITY, "r2_lin".into()));
        let mut b = a.clone();
        b.r2_folds[1] = None;
        assert_eq!(largest(&a, &b), (f64::INFINITY, "r2_folds[1]".into()));
        b.r2_folds.pop();
        assert_eq!(largest(&a, &b), (f64::INFINITY, "r2_folds[1]".into()), "a list of another length");
        assert_eq!(largest(&b, &a).0, f64::INFINITY);
        let b = BlockReport { delta_ppl: BTreeMap::new(), ..a.clone() };
        assert_eq!((largest(&a, &b).0, Compared::blocks(&a, &b).only_a), (0.0, vec!["delta_ppl".into()]));
        assert_eq!(Compared::blocks(&b, &a).only_b, ["delta_ppl"]);
        let mut b = a.clone();
        b.delta_ppl = [("zero".into(), Some(3.0))].into();
        assert_eq!(largest(&a, &b).0, 0.0, "other replacements of the same measure");
        let mut b = a.clone();
        b.influence.insert("cosine".into(), vec![0.5]);
        assert_eq!([largest(&a, &b).0, largest(&b, &a).0], [0.0; 2], "a list of a number that one does not have");
        let mut b = a.clone();
        b.curves.insert("adamw_constant".into(), vec![CurvePoint { step: 0, value: Some(-9.0) }]);
        assert_eq!([largest(&a, &b).0, largest(&b, &a).0], [0.0; 2], "a training that one version knows");
    }

    #[test]
    fn a_field_may_differ_as_far_as_its_line_allows_and_an_order_not_at_all() {
        let a = full();
        let exceeding = |b: &BlockReport| {
            let found = Compared::blocks(&a, b);
            let numbers = found.numbers.iter().filter(|number| number.exceeds(1e-5));
            numbers.map(|number| number.path.clone()).collect::<Vec<_>>()
        };
        let times = |value: Option<f64>, factor: f64| value.map(|value| value * factor);
        let close =
            BlockReport { condition: times(a.condition, 1.001), r2_lin: times(a.r2_lin, 1.000_001), ..a.clone() };
        assert!(exceeding(&close).is_empty());
        let far = BlockReport { condition: times(a.condition, 1.1), r2_lin: times(a.r2_lin, 1.001), ..a.clone() };
        assert_eq!(exceeding(&far), ["condition", "r2_lin"]);
        assert_eq!(exceeding(&BlockReport { cosine: None, r2_lin: None, ..a.clone() }), ["r2_lin"]);
        let order = |block: usize| serde_json::json!({"orders": {"by_cost": [{"block": block, "ppl": 3.0}]}});
        let found = Compared::new(Place::Model, &order(0), &order(1));
        let expected = Some(("orders.by_cost[0].block", 1.0));
        assert_eq!(found.largest().map(|found| (found.path.as_str(), found.amount)), expected);
    }

    #[test]
    fn numbers_above_one_are_compared_by_their_share() {
        let a = BlockReport { scaled_condition: Some(1e9), ..full() };
        let (amount, path) = largest(&a, &BlockReport { scaled_condition: Some(1.001e9), ..a.clone() });
        assert!((amount - 1e-3).abs() < 1e-9 && path == "scaled_condition", "{amount} of {path}");
    }

    #[test]
    fn a_step_of_the_last_digit_is_no_difference_and_two_are() {
        assert_eq!(gap(0.3959, 0.396, 4), 0.0);
        assert_eq!(gap(-0.9999, -1.0, 4), 0.0);
        assert!(gap(0.3959, 0.3961, 4) > 1e-4);
        assert!(gap(0.3959, 0.396, DIGITS) > 9e-5);
        assert_eq!(gap(0.0, 0.0, DIGITS), 0.0);
        assert!(gap(0.0, 1e-300, DIGITS) > 0.0);
    }
}
