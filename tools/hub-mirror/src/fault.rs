//! What a mirror can do wrong on request, each as often as asked.

use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::answer::{Answer, Content};

/// Something that goes wrong with addresses that contain `path`, so many times. As text: `KIND`, `KIND:PATH` or
/// `KIND:PATH:TIMES`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What goes wrong.
    pub kind: Kind,
    /// Part of the address; empty is every one.
    pub path: String,
    /// How often.
    pub times: u32,
}

/// Ways to go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The connection breaks after half of the body.
    Cut,
    /// After half of the body nothing more comes, for as long as the visitor waits.
    Stalled,
    /// 429 with `Retry-After: 1`.
    Busy,
    /// 429 with `Retry-After: 3600`.
    BusyForLong,
    /// 503 without a word about when.
    Unavailable,
    /// 404.
    Missing,
    /// 401 for whoever shows no token, as of a model with restricted access.
    Gated,
    /// A web page with status 200.
    Html,
    /// A JSON text with status 200.
    Json,
    /// A `Content-Range` of other bytes.
    ContentRange,
    /// A file shorter than the listing says.
    Truncated,
    /// One bit of the body is another.
    Flipped,
    /// Redirects to itself.
    Redirects,
    /// Answers a range with the whole file.
    NoRanges,
    /// A listing that goes on for ever, nearly.
    HugeListing,
    /// A listing with names outside the repository.
    HostileListing,
}

const NAMES: [(&str, Kind); 16] = [
    ("cut", Kind::Cut),
    ("stalled", Kind::Stalled),
    ("busy", Kind::Busy),
    ("busy-for-long", Kind::BusyForLong),
    ("unavailable", Kind::Unavailable),
    ("missing", Kind::Missing),
    ("gated", Kind::Gated),
    ("html", Kind::Html),
    ("json", Kind::Json),
    ("content-range", Kind::ContentRange),
    ("truncated", Kind::Truncated),
    ("flipped", Kind::Flipped),
    ("redirects", Kind::Redirects),
    ("no-ranges", Kind::NoRanges),
    ("huge-listing", Kind::HugeListing),
    ("hostile-listing", Kind::HostileListing),
];

impl Kind {
    /// Whether the hub itself does it; the rest happens where the files are.
    pub(crate) fn of_answers(self) -> bool {
        matches!(self, Self::Missing | Self::Gated | Self::Redirects | Self::HugeListing | Self::HostileListing)
    }

    /// What is answered instead of the file.
    pub(crate) fn answer(self, path: &str) -> Option<Answer> {
        let busy = |seconds| Answer::error(429, "", "Too Many Requests").with("Retry-After", seconds);
        Some(match self {
            Self::Busy => busy("1"),
            Self::BusyForLong => busy("3600"),
            Self::Unavailable => Answer::new(503, "text/html", "<html><body>Service Unavailable</body></html>"),
            Self::Missing => Answer::error(404, "EntryNotFound", "Entry not found"),
            Self::Gated => Answer::error(401, "GatedRepo", "Access to this model is restricted"),
            Self::Html => Answer::new(200, "text/html; charset=utf-8", "<!doctype html><title>Log in</title>"),
            Self::Json => Answer::new(200, "application/json", r#"{"error": "internal error, try again later"}"#),
            Self::Redirects => Answer::redirect(path),
            Self::HugeListing => Answer::json(&json!([line(&"x".repeat(16 << 20))])),
            Self::HostileListing => {
                let names = ["../../evil", "/etc/passwd", "a/../../b", "..\\evil", "config.json/../../x"];
                Answer::json(&names.iter().map(|name| line(name)).collect())
            }
            Self::Cut | Self::Stalled | Self::ContentRange | Self::Truncated | Self::Flipped | Self::NoRanges => {
                return None;
            }
        })
    }

    /// The file's answer with what is wrong about it.
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

/// The faults still to come.
#[derive(Default)]
pub struct Faults(Mutex<Vec<Fault>>);

impl Faults {
    pub(crate) fn new(faults: Vec<Fault>) -> Self {
        Self(Mutex::new(faults))
    }

    /// Adds one.
    pub fn add(&self, fault: Fault) {
        self.lock().push(fault);
    }

    /// Goes wrong no more.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// The next fault of an address and a kind that `suits`, once less from now on.
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
