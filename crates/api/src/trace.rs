//! The timeline of a measurement: spans in the format of browsers' trace viewers.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// Work on one block, or on the model as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TraceSpan {
    /// The kind of work.
    pub lane: Lane,
    /// Who did it: 0 is the engine, the others are its helper workers.
    pub worker: usize,
    /// The block, if it concerns one.
    pub block: Option<usize>,
    /// Seconds from the start of the measurement.
    pub start: f64,
    /// Duration in seconds.
    pub seconds: f64,
    /// Seconds of these in which it kept its thread busy; the rest it waited or yielded.
    pub busy: f64,
}

/// Kinds of work that run concurrently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lane {
    /// Tokenising the text.
    Tokenize,
    /// Opening the GPU and choosing its kernels.
    Device,
    /// Hashing the weights.
    Hash,
    /// Loading weights.
    Weights,
    /// Taking rows through a block.
    Rows,
    /// Solving a block's least squares.
    Solve,
    /// Measuring a solved block.
    Measures,
    /// Taking forks through a block: streams with replaced networks.
    Forks,
    /// Perplexity, and orders of replacement.
    Perplexity,
    /// Training replacements inside the model.
    Heal,
    /// Saving the state from which an interrupted measurement is resumed.
    Save,
}

impl Lane {
    fn name(self) -> &'static str {
        match self {
            Self::Tokenize => "tokenize",
            Self::Device => "device",
            Self::Hash => "hash",
            Self::Weights => "weights",
            Self::Rows => "rows",
            Self::Solve => "solve",
            Self::Measures => "measures",
            Self::Forks => "forks",
            Self::Perplexity => "perplexity",
            Self::Heal => "heal",
            Self::Save => "save",
        }
    }
}

/// An event of the Chrome trace format: a span, or the name of a row or of a group of rows.
#[derive(Serialize)]
struct TraceEvent {
    name: String,
    ph: &'static str,
    pid: usize,
    tid: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<f64>,
    args: TraceArgs,
}

#[derive(Default, Serialize)]
struct TraceArgs {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    block: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    busy_seconds: Option<f64>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TraceFile {
    trace_events: Vec<TraceEvent>,
    display_time_unit: &'static str,
}

/// Most spans of one lane that can run at once; more would share rows.
const TRACKS: usize = 16;

/// The spans as a JSON text in the Chrome trace format, times in microseconds: one group of rows per worker, in it one
/// row per lane, and further ones where spans of a lane overlap, because viewers draw only nested spans in one row.
pub fn to_json(spans: &[TraceSpan]) -> String {
    let rows = rows(spans);
    let workers: BTreeSet<usize> = rows.iter().map(|row| row.worker).collect();
    let used: BTreeSet<Row> = rows.iter().copied().collect();
    let groups = workers.into_iter().map(|worker| TraceEvent {
        name: "process_name".into(),
        tid: 0,
        args: TraceArgs { name: Some(worker_name(worker)), ..TraceArgs::default() },
        ..Row { worker, lane: Lane::Tokenize, track: 0 }.event()
    });
    let names = used.into_iter().map(|row| TraceEvent {
        name: "thread_name".into(),
        args: TraceArgs { name: Some(row.lane.name().into()), ..TraceArgs::default() },
        ..row.event()
    });
    let events = spans.iter().zip(&rows).map(|(span, row)| TraceEvent {
        name: span.block.map_or_else(|| span.lane.name().into(), |block| format!("{} {block}", span.lane.name())),
        ph: "X",
        ts: Some(1e6 * span.start),
        dur: Some(1e6 * span.seconds),
        args: TraceArgs { name: None, block: span.block, busy_seconds: Some(span.busy) },
        ..row.event()
    });
    let trace_events = groups.chain(names).chain(events).collect();
    // Plain numbers and strings always serialise.
    serde_json::to_string(&TraceFile { trace_events, display_time_unit: "ms" }).unwrap_or_default()
}

fn worker_name(worker: usize) -> String {
    if worker == 0 { "engine".into() } else { format!("helper worker {worker}") }
}

/// Where a viewer draws a span.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    worker: usize,
    lane: Lane,
    track: usize,
}

impl Row {
    /// An event of this row without content.
    fn event(self) -> TraceEvent {
        let Self { worker, lane, track } = self;
        let tid = lane as usize * TRACKS + track + 1;
        let args = TraceArgs::default();
        TraceEvent { name: String::new(), ph: "M", pid: worker + 1, tid, ts: None, dur: None, args }
    }
}

/// For every span the first row of its worker and lane that is free when it begins.
fn rows(spans: &[TraceSpan]) -> Vec<Row> {
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.sort_by(|a, b| spans[*a].start.total_cmp(&spans[*b].start));
    let mut ends: BTreeMap<(usize, Lane), [f64; TRACKS]> = BTreeMap::new();
    let mut rows = vec![Row { worker: 0, lane: Lane::Tokenize, track: 0 }; spans.len()];
    for index in order {
        let TraceSpan { worker, lane, start, seconds, .. } = spans[index];
        let ends = ends.entry((worker, lane)).or_insert([f64::NEG_INFINITY; TRACKS]);
        let track = ends.iter().position(|end| *end <= start).unwrap_or_default();
        ends[track] = ends[track].max(start + seconds);
        rows[index] = Row { worker, lane, track };
    }
    rows
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn span(lane: Lane, worker: usize, block: usize, start: f64, seconds: f64) -> TraceSpan {
        TraceSpan { lane, worker, block: Some(block), start, seconds, busy: seconds / 2.0 }
    }

    /// The names of rows and groups, and the spans.
    fn events(spans: &[TraceSpan]) -> (Vec<Value>, Vec<Value>) {
        let mut trace: Value = serde_json::from_str(&to_json(spans)).expect("JSON");
        let Value::Array(events) = trace["traceEvents"].take() else { panic!("no events") };
        events.into_iter().partition(|event| event["ph"] == "M")
    }

    #[test]
    fn spans_are_in_microseconds_in_the_row_of_their_lane_and_worker() {
        let (names, spans) = events(&[span(Lane::Rows, 2, 3, 0.5, 0.25)]);
        let [found] = &spans[..] else { panic!("{spans:?}") };
        assert_eq!((found["ts"].as_f64(), found["dur"].as_f64()), (Some(500_000.0), Some(250_000.0)));
        assert_eq!((found["name"].as_str(), found["args"]["busy_seconds"].as_f64()), (Some("rows 3"), Some(0.125)));
        let named = |kind: &str| names.iter().find(|name| name["name"] == kind).expect("a name");
        let [group, row] = ["process_name", "thread_name"].map(named);
        assert_eq!((&group["pid"], &row["pid"], &row["tid"]), (&found["pid"], &found["pid"], &found["tid"]));
        assert_eq!((&group["args"]["name"], &row["args"]["name"]), (&"helper worker 2".into(), &"rows".into()));
    }

    #[test]
    fn overlapping_spans_of_a_lane_have_rows_of_their_own() {
        let (names, events) = events(&[
            span(Lane::Solve, 0, 1, 2.0, 3.0),
            span(Lane::Solve, 0, 0, 1.0, 3.0),
            span(Lane::Solve, 0, 2, 4.0, 1.0),
            span(Lane::Solve, 1, 4, 2.0, 3.0),
            span(Lane::Rows, 0, 3, 2.0, 9.0),
        ]);
        let row = |event: &Value| (event["pid"].as_u64(), event["tid"].as_u64());
        let of = |name: &str| row(events.iter().find(|event| event["name"] == name).expect("a span"));
        assert_ne!(of("solve 0"), of("solve 1"));
        assert_eq!(of("solve 0"), of("solve 2"), "it begins when the first ends");
        assert_eq!(of("solve 4").1, of("solve 0").1, "another worker has rows of its own");
        assert_ne!(of("solve 4").0, of("solve 0").0);
        let named: Vec<_> = names.iter().filter(|name| name["name"] == "thread_name").map(row).collect();
        assert_eq!(named.len(), 4, "{names:?}");
        assert!(events.iter().all(|event| named.contains(&row(event))), "{names:?}");
    }
}
