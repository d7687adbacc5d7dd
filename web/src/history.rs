//! Results kept in the browser: what a list shows of each, which ones make room for a new one, and the file that holds
//! them all.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use straightedge_api::date::day;
use straightedge_api::message::{Order, Unfinished};
use straightedge_api::report::Report;

use crate::comparison::overlay::KeptMeasurement;
use crate::state::headline::finding;
use crate::state::words::computed_on;
use crate::text::fill;
use crate::text::history::t;

/// Most bytes of all kept results.
pub const MOST_BYTES: u64 = 64_000_000;
/// Most characters of a name.
const LONGEST_NAME: usize = 80;

/// What is known of a kept result without its report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KeptResult {
    /// Key in the store.
    pub id: String,
    /// The name that its owner gave it.
    #[serde(default)]
    pub name: Option<String>,
    /// When it was last written, as a [`straightedge_api::date`]: the order of the list.
    pub saved: String,
    /// Whether it stays when room is needed.
    #[serde(default)]
    pub is_pinned: bool,
    /// Bytes of its report.
    pub bytes: u64,
    /// Whether its measurement stopped before its end.
    pub is_partial: bool,
    /// Model.
    pub model: String,
    /// Text.
    pub text: String,
    /// Model and text, and the moments where they are not exact.
    pub title: String,
    /// Day of the measurement, device, and finding.
    pub about: String,
}

/// A kept result as it is stored, without its report. The list holds no orders, which may hold a pasted text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StoredResult {
    /// What the list holds of it.
    #[serde(flatten)]
    pub entry: KeptResult,
    /// Its order, unless that needs files of the visitor's own: with it, measures can be added.
    #[serde(default)]
    pub order: Option<Order>,
}

impl StoredResult {
    /// An entry with the order of its measurement.
    pub fn new(entry: KeptResult, order: Option<Order>) -> Self {
        Self { entry, order: order.filter(|order| order.handles() == 0) }
    }
}

impl KeptResult {
    /// The entry of a report, written at `saved` with `bytes` bytes; what the owner of `earlier` chose stays.
    pub fn new(id: &str, report: &Report, saved: String, bytes: u64, earlier: Option<&Self>) -> Self {
        let day = report.date.as_deref().and_then(day).or(day(&saved)).unwrap_or_default();
        let finding = finding(report).unwrap_or_default();
        let about = [day, computed_on(&report.device), &finding];
        let about: Vec<_> = about.into_iter().filter(|part| !part.is_empty()).collect();
        Self {
            id: id.into(),
            name: earlier.and_then(|earlier| earlier.name.clone()),
            is_pinned: earlier.is_some_and(|earlier| earlier.is_pinned),
            is_partial: report.partial,
            model: report.model.id.clone(),
            text: report.corpus.id.clone(),
            title: KeptMeasurement::name_of(report),
            about: about.join(" · "),
            saved,
            bytes,
        }
    }

    /// The name shown.
    pub fn shown(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.title)
    }

    /// Day, device and finding, and whether it is a part.
    pub fn described(&self) -> String {
        if self.is_partial { fill(t().partial, &[("about", &self.about)]) } else { self.about.clone() }
    }

    /// Sets the name; an empty one removes it.
    pub fn rename(&mut self, name: &str) {
        let name: String = name.chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect();
        self.name = Some(name.trim().to_string()).filter(|name| !name.is_empty());
    }

    /// Whether it is what an unfinished measurement had reached.
    pub fn is_of(&self, unfinished: &Unfinished) -> bool {
        self.id == unfinished.result
    }
}

/// The list in its order: the latest first.
pub fn sorted(mut entries: Vec<KeptResult>) -> Vec<KeptResult> {
    entries.sort_by(latest_first);
    entries
}

fn latest_first(a: &KeptResult, b: &KeptResult) -> Ordering {
    b.saved.cmp(&a.saved).then_with(|| a.id.cmp(&b.id))
}

/// The entries to delete, the oldest first, so that `new` fits in; pinned ones stay. `None` if it does not fit at all.
pub fn surplus(entries: &[KeptResult], new: &KeptResult, most: u64) -> Option<Vec<String>> {
    let mut others: Vec<&KeptResult> = entries.iter().filter(|entry| entry.id != new.id).collect();
    others.sort_by(|a, b| latest_first(a, b));
    let mut held: u64 = new.bytes + others.iter().map(|entry| entry.bytes).sum::<u64>();
    let mut ids = Vec::new();
    for entry in others.iter().rev().filter(|entry| !entry.is_pinned) {
        if held <= most {
            break;
        }
        held -= entry.bytes;
        ids.push(entry.id.clone());
    }
    (held <= most).then_some(ids)
}

/// One file with all results; reports that cannot be read are left out.
pub fn exported(results: &[(KeptResult, String)]) -> String {
    let result = |(entry, report): &(KeptResult, String)| {
        let report: Value = serde_json::from_str(report).ok()?;
        Some(json!({"name": entry.shown(), "saved": entry.saved, "report": report}))
    };
    let results: Vec<Value> = results.iter().filter_map(result).collect();
    format!("{:#}\n", json!({"straightedge": "results", "version": 1, "results": results}))
}

#[cfg(test)]
mod tests {
    use straightedge_api::job::{Job, Measure};
    use straightedge_api::message::{ModelSource, OrderInputs, TextSource};

    use super::*;
    use crate::figures::sample_report;

    fn entry(id: &str, saved: &str, bytes: u64, is_pinned: bool) -> KeptResult {
        KeptResult { id: id.into(), saved: saved.into(), bytes, is_pinned, ..KeptResult::default() }
    }

    #[test]
    fn the_oldest_that_are_not_pinned_make_room() {
        let all = [entry("new", "3", 40, false), entry("old", "1", 40, true), entry("middle", "2", 15, false)];
        let surplus = |bytes| surplus(&all, &entry("x", "4", bytes, false), 100);
        assert_eq!(surplus(5), Some(vec![]));
        assert_eq!(surplus(10), Some(vec!["middle".into()]));
        assert_eq!(surplus(50), Some(vec!["middle".into(), "new".into()]));
        assert_eq!(surplus(61), None, "the pinned one stays");
        assert_eq!(super::surplus(&all, &entry("new", "4", 45, false), 100), Some(vec![]), "it replaces itself");
        assert_eq!(sorted(all.to_vec()).iter().map(|e| e.id.as_str()).collect::<Vec<_>>(), ["new", "middle", "old"]);
    }

    #[test]
    fn an_entry_names_model_text_day_and_finding_and_keeps_its_name() {
        let mut report = sample_report();
        report.date = Some("2026-11-25T02:34:05Z".into());
        let mut first = KeptResult::new("1", &report, "2026-11-26T00:00:00Z".into(), 9, None);
        assert_eq!(
            (first.shown(), first.about.as_str()),
            ("m · t", "2026-11-25 · the CPU · 1 of 2 blocks more than half linear")
        );
        first.rename("  mine\u{7} ");
        first.is_pinned = true;
        let again = KeptResult::new("1", &report, "2026-11-27T00:00:00Z".into(), 10, Some(&first));
        assert_eq!((again.shown(), again.is_pinned), ("mine", true));
        first.rename(" ");
        assert_eq!(first.shown(), "m · t");
        report.partial = true;
        let part = KeptResult::new("2", &report, String::new(), 1, None);
        let (result, model, text) = ("2".into(), "m".into(), "t".into());
        let unfinished = Unfinished { result, model, text, next: 1, of: 3, handles: 0 };
        assert!(part.is_of(&unfinished) && !again.is_of(&unfinished) && part.described().contains("not finished"));
    }

    #[test]
    fn an_entry_is_read_as_it_was_written() {
        let mut job = Job::new("m", "t");
        job.measures.insert(Measure::Swap);
        let files = [("config.json".to_string(), 7)].into();
        let work = OrderInputs::Model {
            model: ModelSource::Bundled { folder: "m".into(), files },
            tokenizer: None,
            text: TextSource::Pasted { content: "t".into() },
            eval: None,
            feed: None,
        };
        let order = Some(Order { run: 1, result: "1".into(), job, work });
        let entry = KeptResult::new("1", &sample_report(), "2026-11-26T00:00:00Z".into(), 9, None);
        let written = StoredResult::new(entry.clone(), order);
        let json = serde_json::to_string(&written).unwrap();
        assert!(written.order.is_some());
        assert_eq!(serde_json::from_str::<StoredResult>(&json).unwrap(), written);
        assert_eq!(serde_json::from_str::<KeptResult>(&json).unwrap(), entry, "the list reads it without its order");
    }

    #[test]
    fn all_results_are_exported_with_their_names_and_every_digit() {
        let report = sample_report();
        let file = exported(&[(entry("1", "3", 1, false), report.to_json()), (entry("2", "3", 1, false), "{".into())]);
        let file: Value = serde_json::from_str(&file).unwrap();
        assert_eq!(file["results"].as_array().map(Vec::len), Some(1));
        let found = Report::from_json("r", &file["results"][0]["report"].to_string()).unwrap();
        assert_eq!(found.blocks, report.blocks);
    }
}
