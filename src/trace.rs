//! What ran when: the spans of a measurement, in the format that trace viewers of browsers read.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Work on one block, or on the model as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// What is done.
    pub lane: Lane,
    /// Of which block, where it is of one.
    pub block: Option<usize>,
    /// Seconds from the start of the measurement.
    pub start: f64,
    /// Seconds that it took.
    pub seconds: f64,
    /// Seconds of these in which it kept its thread busy; the others it waited, or let others go first.
    pub busy: f64,
}

/// Kinds of work that run beside each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lane {
    /// Weights arrive.
    Weights,
    /// Rows go through a block.
    Rows,
    /// A block is solved and measured.
    Measures,
    /// What stands in for networks is timed, and goes on through a block.
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

/// The spans as a JSON text in the Chrome trace format: one row per lane, times in microseconds.
pub fn to_json(spans: &[Span]) -> String {
    let thread = |lane: Lane| lane as usize + 1;
    let names = Lane::ALL.map(
        |lane| json!({"name": "thread_name", "ph": "M", "pid": 1, "tid": thread(lane), "args": {"name": lane.name()}}),
    );
    let span = |span: &Span| {
        let name = span.block.map_or_else(|| span.lane.name().into(), |block| format!("block {block}"));
        let (ts, dur) = (1e6 * span.start, 1e6 * span.seconds);
        let args = json!({"block": span.block, "busy_seconds": span.busy});
        json!({"name": name, "cat": span.lane, "ph": "X", "pid": 1, "tid": thread(span.lane), "ts": ts, "dur": dur, "args": args})
    };
    let events: Vec<Value> = names.into_iter().chain(spans.iter().map(span)).collect();
    json!({"traceEvents": events, "displayTimeUnit": "ms"}).to_string()
}

#[cfg(test)]
mod tests {
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
        assert_eq!((found["name"].as_str(), found["args"]["busy_seconds"].as_f64()), (Some("block 3"), Some(0.125)));
        let lane = names.iter().find(|name| name["tid"] == found["tid"]).expect("a name");
        assert_eq!(lane["args"]["name"], "rows");
    }
}
