//! Faults that a mirror simulates on request, each a given number of times.

use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::answer::{Answer, Content};

/// A fault for addresses that contain `path`, n times. As text: `KIND`, `KIND:PATH` or `KIND:PATH:TIMES`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Kind of fault.
    pub kind: Kind,
    /// Part of the address; empty matches all.
    pub path: String,
    /// Remaining number of times.
    pub times: u32,
}

/// Kinds of faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The connection breaks after half of the body.
    Cut,
    /// After half of the body the connection stalls until the client gives up.
    Stalled,
    /// 429 with `Retry-After: 1`, which only the command line can read.
    Busy,
    /// 429 with `Retry-After: 3600`.
    BusyForLong,
    /// 503 without `Retry-After`.
    Unavailable,
    /// 408.
    Timeout,
    /// 404.
    Missing,
    /// A gated model: the hub says so, lists its files, and answers 401 for them without a token.
    Gated,
    /// A web page with status 200.
    Html,
    /// A JSON text with status 200.
    Json,
    /// A `Content-Range` of other bytes.
    ContentRange,
    /// A file shorter than in the listing.
    Truncated,
    /// One bit of the body is flipped.
    Flipped,
    /// Redirects to itself.
    Redirects,
    /// Redirects to a file of the client.
    Astray,
    /// Answers a range with the whole file.
    NoRanges,
    /// A nearly endless listing.
    HugeListing,
    /// A listing with names outside the repository.
    HostileListing,
    /// 403 with a long text that clears a terminal, turns the direction of writing and begins new lines.
    HostileRefusal,
}

const NAMES: [(&str, Kind); 19] = [
    ("cut", Kind::Cut),
    ("stalled", Kind::Stalled),
    ("busy", Kind::Busy),
    ("busy-for-long", Kind::BusyForLong),
    ("unavailable", Kind::Unavailable),
    ("timeout", Kind::Timeout),
    ("missing", Kind::Missing),
    ("gated", Kind::Gated),
    ("html", Kind::Html),
    ("json", Kind::Json),
    ("content-range", Kind::ContentRange),
    ("truncated", Kind::Truncated),
    ("flipped", Kind::Flipped),
    ("redirects", Kind::Redirects),
    ("astray", Kind::Astray),
    ("no-ranges", Kind::NoRanges),
    ("huge-listing", Kind::HugeListing),
    ("hostile-listing", Kind::HostileListing),
    ("hostile-refusal", Kind::HostileRefusal),
];

impl Kind {
    /// Whether the fault occurs on the hub's origin; the others occur on the files' origin.
    pub(crate) fn of_answers(self) -> bool {
        use Kind::{Astray, Gated, HostileListing, HostileRefusal, HugeListing, Missing, Redirects};
        matches!(self, Missing | Gated | Redirects | Astray | HugeListing | HostileListing | HostileRefusal)
    }

    /// The response sent instead of the file.
    pub(crate) fn answer(self, path: &str) -> Option<Answer> {
        let busy = |seconds| Answer::error(429, "", "Too Many Requests").with("Retry-After", seconds);
        Some(match self {
            Self::Busy => busy("1"),
            Self::BusyForLong => busy("3600"),
            Self::Unavailable => Answer::new(503, "text/html", "<html><body>Service Unavailable</body></html>"),
            Self::Timeout => Answer::new(408, "text/plain", ""),
            Self::Missing => Answer::error(404, "EntryNotFound", "Entry not found"),
            Self::Gated => Answer::error(401, "GatedRepo", "Access to this model is restricted"),
            Self::Html => Answer::new(200, "text/html; charset=utf-8", "<!doctype html><title>Log in</title>"),
            Self::Json => Answer::new(200, "application/json", r#"{"error": "internal error, try again later"}"#),
            Self::Redirects => Answer::redirect(302, path),
            Self::Astray => Answer::redirect(302, "file:///etc/hostname"),
            Self::HugeListing => Answer::json(&json!([line(&"x".repeat(16 << 20))])),
            Self::HostileListing => {
                let names = ["../../evil", "/etc/passwd", "a/../../b", "..\\evil", "config.json/../../x"];
                Answer::json(&names.iter().map(|name| line(name)).collect())
            }
            Self::HostileRefusal => {
                let text = format!("\u{1b}[2J\u{202e}first\r\nsecond \u{9b}31m {}", "long ".repeat(50));
                Answer::new(403, "application/json; charset=utf-8", json!({"error": text}).to_string())
            }
            Self::Cut | Self::Stalled | Self::ContentRange | Self::Truncated | Self::Flipped | Self::NoRanges => {
                return None;
            }
        })
    }

    /// Applies the fault to a file's response.
    pub(crate) fn spoil(self, mut answer: Answer) -> Answer {
        let len = answer.body.len();
        match (self, &answer.body) {
            (Self::Cut | Self::Stalled, _) => {
                answer.cut = Some(len / 2);
                answer.stays_open = self == Self::Stalled;
            }
            (Self::Flipped, _) => answer.flipped = Some(len / 2),
            (Self::ContentRange, _) => {
                answer = answer.with("Content-Range", &format!("bytes 1-{len}/{}", len + 1));
                answer.status = 206;
            }
            (Self::Truncated, Content::Part(path, range)) => {
                let (path, half) = (path.clone(), range.start..range.start + len.div_ceil(2));
                if answer.status == 206 {
                    let described = format!("bytes {}-{}/{}", half.start, half.end - 1, half.end);
                    answer = answer.with("Content-Range", &described);
                }
                answer.body = Content::Part(path, half);
            }
            _ => {}
        }
        answer
    }
}

fn line(name: &str) -> Value {
    json!({"type": "file", "oid": "0".repeat(40), "size": 4, "path": name})
}

impl FromStr for Fault {
    type Err = String;

    fn from_str(spec: &str) -> Result<Self, String> {
        let mut parts = spec.splitn(3, ':');
        let (name, path, times) = (parts.next(), parts.next(), parts.next());
        let name = name.unwrap_or_default();
        let known = NAMES.iter().find(|(known, _)| *known == name);
        let names = || NAMES.map(|(name, _)| name).join(", ");
        let &(_, kind) = known.ok_or_else(|| format!("{name}: no such fault; choose from {}", names()))?;
        let times = times.filter(|times| !times.is_empty());
        let times =
            times.map_or(Ok(1), |times| times.parse().map_err(|_| format!("{times}: not a number of times")))?;
        Ok(Self { kind, path: path.unwrap_or_default().into(), times })
    }
}

/// The pending faults.
#[derive(Default)]
pub struct Faults(Mutex<Vec<Fault>>);

impl Faults {
    pub(crate) fn new(faults: Vec<Fault>) -> Self {
        Self(Mutex::new(faults))
    }

    /// Adds a fault.
    pub fn add(&self, fault: Fault) {
        self.lock().push(fault);
    }

    /// Removes all faults.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// Takes the next fault for an address and a kind that `suits`, and decrements its count.
    pub(crate) fn take(&self, path: &str, suits: impl Fn(Kind) -> bool) -> Option<Kind> {
        let mut faults = self.lock();
        let at = faults.iter().position(|fault| fault.times > 0 && path.contains(&fault.path) && suits(fault.kind))?;
        faults[at].times -= 1;
        Some(faults[at].kind)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Fault>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
