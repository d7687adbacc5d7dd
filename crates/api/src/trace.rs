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
}

impl Lane {
    const ALL: [Self; 9] = [
        Self::Tokenize,
        Self::Device,
        Self::Hash,
        Self::Weights,
        Self::Rows,
        Self::Solve,
        Self::Measures,
        Self::Forks,
        Self::Perplexity,
    ];

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

/// Most spans of one lane that can run at once; more would share rows.
const TRACKS: usize = 16;

/// The spans as a JSON text in the Chrome trace format, times in microseconds: one row per lane, and further ones where
/// spans of a lane overlap, because viewers draw only nested spans in one row.
pub fn to_json(spans: &[Span]) -> String {
    let tracks = tracks(spans);
    let row = |(lane, track): (Lane, usize)| TraceEvent {
        name: "thread_name".into(),
        ph: "M",
        pid: 1,
        tid: lane as usize * TRACKS + track + 1,
        ts: None,
        dur: None,
        args: TraceArgs { name: Some(lane.name()), ..TraceArgs::default() },
    };
    let span = |(span, track): (&Span, &usize)| TraceEvent {
        name: span.block.map_or_else(|| span.lane.name().into(), |block| format!("{} {block}", span.lane.name())),
        ph: "X",
        ts: Some(1e6 * span.start),
        dur: Some(1e6 * span.seconds),
        args: TraceArgs { name: None, block: span.block, busy_seconds: Some(span.busy) },
        ..row((span.lane, *track))
    };
    let used = |lane: Lane| {
        let tracks = spans.iter().zip(&tracks).filter(move |(span, _)| span.lane == lane);
        tracks.map(|(_, track)| track + 1).max().unwrap_or(1)
    };
    let rows = Lane::ALL.into_iter().flat_map(|lane| (0..used(lane)).map(move |track| (lane, track)));
    let trace_events = rows.map(row).chain(spans.iter().zip(&tracks).map(span)).collect();
    // Plain numbers and strings always serialise.
    serde_json::to_string(&TraceFile { trace_events, display_time_unit: "ms" }).unwrap_or_default()
}

/// For every span the first track of its lane that is free when it begins.
fn tracks(spans: &[Span]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.sort_by(|a, b| spans[*a].start.total_cmp(&spans[*b].start));
    let mut ends = [[f64::NEG_INFINITY; TRACKS]; Lane::ALL.len()];
    let mut tracks = vec![0; spans.len()];
    for index in order {
        let Span { lane, start, seconds, .. } = spans[index];
        let ends = &mut ends[lane as usize];
        let track = ends.iter().position(|end| *end <= start).unwrap_or_default();
        ends[track] = ends[track].max(start + seconds);
        tracks[index] = track;
    }
    tracks
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

    #[test]
    fn overlapping_spans_of_a_lane_have_rows_of_their_own() {
        let span = |lane, block, start, seconds| Span { lane, block: Some(block), start, seconds, busy: 0.0 };
        let spans = [
            span(Lane::Solve, 1, 2.0, 3.0),
            span(Lane::Solve, 0, 1.0, 3.0),
            span(Lane::Solve, 2, 4.0, 1.0),
            span(Lane::Rows, 3, 2.0, 9.0),
        ];
        let trace: Value = serde_json::from_str(&to_json(&spans)).expect("JSON");
        let events = trace["traceEvents"].as_array().expect("events");
        let row = |name: &str| events.iter().find(|event| event["name"] == name).map(|event| event["tid"].as_u64());
        assert_ne!(row("solve 0"), row("solve 1"));
        assert_eq!(row("solve 0"), row("solve 2"), "it begins when the first ends");
        let named: Vec<_> =
            events.iter().filter(|event| event["ph"] == "M").map(|event| event["tid"].as_u64()).collect();
        assert!(["solve 0", "solve 1", "rows 3"].iter().all(|name| named.contains(&row(name).expect("a row"))));
    }
}
