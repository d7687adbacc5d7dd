//! The timeline of a measurement: spans in the format of browsers' trace viewers.

use serde::{Deserialize, Serialize};

/// Work on one block, or on the model as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// The kind of work.
    pub lane: Lane,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lane {
    /// Loading weights.
    Weights,
    /// Taking rows through a block.
    Rows,
    /// Solving and measuring a block.
    Measures,
    /// Taking forks through a block: streams with replaced networks.
    Forks,
    /// Perplexity, and the greedy order.
    Perplexity,
}

impl Lane {
    const ALL: [Self; 5] = [Self::Weights, Self::Rows, Self::Measures, Self::Forks, Self::Perplexity];

    fn name(self) -> &'static str {
        match self {
            Self::Weights => "weights",
            Self::Rows => "rows",
            Self::Measures => "solve and measures",
            Self::Forks => "forks",
            Self::Perplexity => "perplexity",
        }
    }
}

/// An event of the Chrome trace format: a span, or the name of a row.
#[derive(Serialize)]
struct TraceEvent {
    name: String,
    ph: &'static str,
    pid: u32,
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
    name: Option<&'static str>,
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

/// The spans as a JSON text in the Chrome trace format: one row per lane, times in microseconds.
pub fn to_json(spans: &[Span]) -> String {
    let row = |lane: Lane| TraceEvent {
        name: "thread_name".into(),
        ph: "M",
        pid: 1,
        tid: lane as usize + 1,
        ts: None,
        dur: None,
        args: TraceArgs { name: Some(lane.name()), ..TraceArgs::default() },
    };
    let span = |span: &Span| TraceEvent {
        name: span.block.map_or_else(|| span.lane.name().into(), |block| format!("{} {block}", span.lane.name())),
        ph: "X",
        ts: Some(1e6 * span.start),
        dur: Some(1e6 * span.seconds),
        args: TraceArgs { name: None, block: span.block, busy_seconds: Some(span.busy) },
        ..row(span.lane)
    };
    let trace_events = Lane::ALL.into_iter().map(row).chain(spans.iter().map(span)).collect();
    // Plain numbers and strings always serialise.
    serde_json::to_string(&TraceFile { trace_events, display_time_unit: "ms" }).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn spans_are_in_microseconds_in_the_row_of_their_lane() {
        let span = Span { lane: Lane::Rows, block: Some(3), start: 0.5, seconds: 0.25, busy: 0.125 };
        let trace: Value = serde_json::from_str(&to_json(&[span])).expect("JSON");
        let events = trace["traceEvents"].as_array().expect("events");
        let (names, spans) = events.split_at(Lane::ALL.len());
        assert_eq!(spans.len(), 1);
        let found = &spans[0];
        assert_eq!((found["ts"].as_f64(), found["dur"].as_f64()), (Some(500_000.0), Some(250_000.0)));
        assert_eq!((found["name"].as_str(), found["args"]["busy_seconds"].as_f64()), (Some("rows 3"), Some(0.125)));
        let lane = names.iter().find(|name| name["tid"] == found["tid"]).expect("a name");
        assert_eq!(lane["args"]["name"], "rows");
    }
}
