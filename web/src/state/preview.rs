//! Previews before anything is measured: a model on the hub, the size of a text, the use of storage.

use straightedge_api::corpus_size::CorpusSize;
use straightedge_api::hub::preflight::Preflight;

use crate::state::words::on_page;
use crate::text::format::{bytes, count, duration};
use crate::text::sentences::translated;
use crate::text::{fill, t};
use straightedge_api::message::StorageReport;

/// Assumed download rate in bytes per second before one was measured: a good home connection.
pub const USUAL_RATE: f64 = 5e6;
/// Digits shown of a commit hash.
const SHORT: usize = 10;

/// A sentence, and whether it reports an obstacle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// The sentence.
    pub text: String,
    /// Whether measuring would fail.
    pub is_fatal: bool,
}

/// A model on the hub: description, cost and remarks; `rate` is that of the latest download.
pub fn preflight(found: &Preflight, rate: Option<f64>) -> Vec<Sentence> {
    let plain = |text: String| Sentence { text, is_fatal: false };
    let mut lines = Vec::new();
    if let Some(architecture) = &found.architecture {
        let (blocks, width) = (found.num_hidden_layers.to_string(), count(found.hidden_size as u64));
        let dtype = found.dtype.as_deref().unwrap_or("?");
        let gaps = [("architecture", architecture.as_str()), ("blocks", &blocks), ("width", &width), ("dtype", dtype)];
        lines.push(plain(fill(t().preview_model, &gaps)));
        lines.push(plain(download(found, rate)));
        lines.push(plain(fill(t().preview_device, &[("size", &bytes(found.device_bytes))])));
    }
    let problems =
        found.problems.iter().map(|problem| Sentence { text: on_page(&problem.text), is_fatal: problem.fatal });
    lines.extend(problems);
    lines
}

/// The shortened commit of a revision.
pub fn pinned(found: &Preflight) -> Option<String> {
    let commit = found.id.revision()?;
    Some(fill(t().preview_pinned, &[("commit", commit.get(..SHORT).unwrap_or(commit))]))
}

fn download(found: &Preflight, rate: Option<f64>) -> String {
    let (needed, held) = (bytes(found.needed_bytes), bytes(found.held_bytes));
    if found.download_bytes == 0 {
        return fill(t().preview_here, &[("size", &needed)]);
    }
    let rate = rate.unwrap_or(USUAL_RATE);
    let (size, time) = (bytes(found.download_bytes), duration(found.seconds_at(rate).unwrap_or_default()));
    let text = if found.held_bytes == 0 { t().preview_download } else { t().preview_rest };
    let rate = format!("{}/s", bytes(rate as u64));
    fill(text, &[("size", &size), ("held", &held), ("time", &time), ("rate", &rate)])
}

/// The rows that a text or a file of rows yields, compared with those requested.
pub fn extent(found: &CorpusSize, requested: u64, is_text: bool) -> Sentence {
    if let Some(refusal) = &found.refusal {
        return Sentence { text: on_page(&refusal.sentence()), is_fatal: true };
    }
    let text = match is_text {
        true if found.tokens < requested => t().extent_less,
        true => t().extent_enough,
        false if found.rows < found.tokens => t().extent_rows_part,
        false => t().extent_rows_all,
    };
    let (tokens, rows, requested) = (count(found.tokens), count(found.rows), count(requested));
    let mut text = fill(text, &[("tokens", &tokens), ("rows", &rows), ("asked", &requested)]);
    if found.is_short() {
        let (rows, inputs) = (count(found.train_rows), count(found.d_in));
        text = format!("{text} {}", fill(t().extent_short, &[("rows", &rows), ("inputs", &inputs)]));
    }
    Sentence { text, is_fatal: false }
}

/// Total use of the browser's storage, in one line.
pub fn storage(report: &StorageReport) -> String {
    let stored: u64 = report.stored.iter().map(|stored| stored.bytes).sum();
    match (&report.why_not, report.quota.zip(report.usage)) {
        (Some(why), _) => fill(t().storage_none, &[("why", &translated(why))]),
        (None, None) => fill(t().storage_sum, &[("size", &bytes(stored))]),
        (None, Some((quota, usage))) => {
            let room = bytes(quota.saturating_sub(usage));
            if stored == 0 {
                return fill(t().storage_empty, &[("room", &room)]);
            }
            let kept = if report.is_persistent { t().storage_persistent } else { t().storage_evictable };
            format!("{} {kept}", fill(t().storage_sum_room, &[("size", &bytes(stored)), ("room", &room)]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use straightedge_api::error::Error;
    use straightedge_api::hub::id::HubId;
    use straightedge_api::hub::preflight::Problem;
    use straightedge_api::message::StoredItem;

    fn found() -> Preflight {
        Preflight {
            id: HubId::model("a/b@607a30d783dfa663caf39e06633721c8d4cfcd7e").unwrap(),
            architecture: Some("gpt2".into()),
            num_hidden_layers: 12,
            hidden_size: 768,
            dtype: Some("F32".into()),
            needed_bytes: 498_000_000,
            held_bytes: 0,
            download_bytes: 498_000_000,
            requests: 14,
            device_bytes: 700_000_000,
            problems: Vec::new(),
        }
    }

    fn all(found: &Preflight, rate: Option<f64>) -> String {
        preflight(found, rate).into_iter().map(|line| line.text).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_model_is_told_with_its_bytes_and_its_time() {
        let fresh = all(&found(), None);
        assert!(fresh.contains("12 blocks") && fresh.contains("498 MB") && fresh.contains("1 min 40 s"), "{fresh}");
        assert!(all(&found(), Some(50e6)).contains("about 10 s"));
        let half = Preflight { held_bytes: 98_000_000, download_bytes: 400_000_000, ..found() };
        assert!(all(&half, None).contains("400 MB") && all(&half, None).contains("98.0 MB"), "{}", all(&half, None));
        let whole = Preflight { held_bytes: 498_000_000, download_bytes: 0, ..found() };
        assert!(!all(&whole, None).contains("5.0 MB/s"), "nothing to wait for");
        assert!(pinned(&found()).unwrap().contains("607a30d783"));
    }

    #[test]
    fn what_stands_in_the_way_is_told_even_where_nothing_else_is_known() {
        let problem = Problem { fatal: true, text: "config.json: architecture t5 is not supported".into() };
        let unknown = Preflight { architecture: None, problems: vec![problem], ..found() };
        let lines = preflight(&unknown, None);
        assert_eq!((lines.len(), lines[0].is_fatal), (1, true));
    }

    #[test]
    fn the_extent_is_told_against_what_was_asked_for() {
        let enough = CorpusSize { tokens: 20_000, rows: 14_976, d_in: 768, train_rows: 12_000, refusal: None };
        assert!(!extent(&enough, 15_000, true).text.contains("14\u{202f}976"));
        let less = CorpusSize { tokens: 2000, rows: 1920, d_in: 768, train_rows: 1536, ..enough.clone() };
        assert!(extent(&less, 15_000, true).text.contains("1920"));
        let short = CorpusSize { train_rows: 1535, ..less };
        assert!(extent(&short, 15_000, true).text.contains("twice"), "{:?}", extent(&short, 15_000, true));
        let refusal = Some(Error::TooFewRows { corpus: "t".into(), train_rows: 1, needed: 769 });
        let refused = extent(&CorpusSize { refusal, ..enough }, 15_000, true);
        assert!(refused.is_fatal && refused.text.contains("769"));
    }

    #[test]
    fn rows_say_how_many_of_them_are_used() {
        let all = CorpusSize { tokens: 4096, rows: 4096, d_in: 96, train_rows: 3264, refusal: None };
        assert_eq!(extent(&all, 15_000, false).text, "All 4096 rows will be used.");
        let part = CorpusSize { rows: 4000, ..all };
        assert_eq!(extent(&part, 4010, false).text, "4000 of 4096 rows will be used.");
    }

    #[test]
    fn storage_says_what_it_holds_and_whether_it_lasts() {
        let mut report =
            StorageReport { usage: Some(1_000_000), quota: Some(3_000_000_000), ..StorageReport::default() };
        assert!(super::storage(&report).contains("Nothing") && super::storage(&report).contains("3.0 GB"));
        report.stored.push(StoredItem { name: "a/b@c".into(), bytes: 500_000_000 });
        assert!(super::storage(&report).contains("500 MB") && super::storage(&report).contains("may delete"));
        report.why_not = Some("private window".into());
        assert!(super::storage(&report).contains("private window"));
    }
}
