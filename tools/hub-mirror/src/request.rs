//! Reads a request: first line and headers. One request per connection, which closes with the response, so that a
//! connection can also break in the middle of one.

use std::io::{self, BufRead, BufReader, Read};
use std::net::TcpStream;
use std::time::Duration;

/// Most bytes of a request.
const MAX: u64 = 16 << 10;
/// Timeout for the client's request.
const PATIENCE: Duration = Duration::from_secs(30);

/// A request.
#[derive(Debug)]
pub struct Request {
    /// GET, HEAD or another.
    pub method: String,
    /// Path and query.
    pub url: String,
    headers: Vec<(String, String)>,
}

impl Request {
    /// Reads a request.
    pub(crate) fn read(stream: &TcpStream) -> io::Result<Self> {
        stream.set_read_timeout(Some(PATIENCE))?;
        Self::parse(BufReader::new(stream.take(MAX)))
    }

    fn parse(mut lines: impl BufRead) -> io::Result<Self> {
        let mut next = || {
            let mut line = String::new();
            lines.read_line(&mut line).map(|_| line.trim_end().to_owned())
        };
        let first = next()?;
        let mut words = first.split(' ');
        let (Some(method), Some(url), Some(_)) = (words.next(), words.next(), words.next()) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let mut headers = Vec::new();
        loop {
            let line = next()?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        Ok(Self { method: method.into(), url: url.into(), headers })
    }

    /// A header by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }

    /// Whether the client can unpack gzip.
    pub fn accepts_gzip(&self) -> bool {
        self.header("accept-encoding").is_some_and(|accepted| accepted.contains("gzip"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_line_and_headers_are_read() {
        let text = "GET /a?b=1 HTTP/1.1\r\nHost: x:1\r\nRANGE:  bytes=0-3\r\n\r\nrest";
        let request = Request::parse(text.as_bytes()).expect("a request");
        assert_eq!((&*request.method, &*request.url), ("GET", "/a?b=1"));
        assert_eq!(
            (request.header("host"), request.header("range"), request.header("x")),
            (Some("x:1"), Some("bytes=0-3"), None)
        );
        for wrong in ["", "GET\r\n\r\n", "GET /\r\n"] {
            assert!(Request::parse(wrong.as_bytes()).is_err(), "{wrong:?}");
        }
    }
}
