//! The platform interface of downloads: GET requests, streamed bodies and waiting.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use futures::future::LocalBoxFuture;

/// Network and clock of a platform. Dropping a future or a [`Body`] cancels the request.
pub trait Http {
    /// Sends a GET and waits for status and headers; redirects are followed.
    fn get<'a>(&'a self, request: &'a HttpRequest) -> LocalBoxFuture<'a, Result<Response, Failure>>;

    /// Waits for some seconds.
    fn sleep(&self, seconds: f64) -> LocalBoxFuture<'static, ()>;

    /// Whether requests to the hub carry the user's token.
    fn has_token(&self) -> bool {
        false
    }
}

/// A GET.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// Absolute address.
    pub url: String,
    /// Bytes to request (`Range: bytes=start-(end − 1)`); `None` for the whole file. Never empty.
    pub range: Option<Range<u64>>,
}

impl HttpRequest {
    /// The value of the `Range` header.
    pub fn range_header(&self) -> Option<String> {
        self.range.as_ref().map(|range| format!("bytes={}-{}", range.start, range.end.saturating_sub(1)))
    }
}

/// A response with any status.
pub struct Response {
    /// HTTP status.
    pub status: u16,
    /// The headers the platform exposes, by lower-case name.
    pub headers: BTreeMap<String, String>,
    /// The body, still to be received.
    pub body: Box<dyn Body>,
}

impl Response {
    /// A header by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// A streamed body.
pub trait Body {
    /// The next bytes, at least one; `None` at the end.
    fn chunk(&mut self) -> LocalBoxFuture<'_, Result<Option<Vec<u8>>, Failure>>;
}

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// No connection, or a broken one: a retry may help.
    Network(String),
    /// More time than any usable connection takes.
    Slow(String),
    /// No connection is wanted, so that no retry helps; the text names the setting.
    Offline(&'static str),
    /// A redirect that leads nowhere; the text says why.
    Redirect(&'static str),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(why) | Self::Slow(why) => f.write_str(why),
            Self::Offline(why) | Self::Redirect(why) => f.write_str(why),
        }
    }
}
