//! A response with ranges, compression and CORS headers, written at a limited rate.

use std::fs::{File, Metadata};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::net::TcpStream;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

/// Bytes written at once.
const CHUNK: usize = 64 << 10;

/// The headers that the hub exposes to other origins: neither `Retry-After` nor `RateLimit` is among them.
const EXPOSED: &str = "X-Repo-Commit,X-Request-Id,X-Error-Code,X-Error-Message,X-Total-Count,ETag,Link,Accept-Ranges,\
                       Content-Range,X-Linked-Size,X-Linked-ETag,X-Xet-Hash";

/// A response: status, headers and body.
#[derive(Clone, Debug)]
pub struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Content,
    /// Whether the body is sent in chunks, without a length.
    pub(crate) chunked: bool,
    /// Bytes of the body after which the connection breaks.
    pub(crate) cut: Option<u64>,
    /// Whether the connection stays open until the client closes it.
    pub(crate) stays_open: bool,
    /// Position of a corrupted byte in the body.
    pub(crate) flipped: Option<u64>,
}

/// The body of a response.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    Bytes(Vec<u8>),
    Part(PathBuf, Range<u64>),
}

impl Content {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Part(_, range) => range.end - range.start,
        }
    }

    fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        Ok(match self {
            Self::Bytes(bytes) => Box::new(&bytes[..]),
            Self::Part(path, range) => {
                let mut file = File::open(path)?;
                file.seek(SeekFrom::Start(range.start))?;
                Box::new(file.take(range.end - range.start))
            }
        })
    }
}

impl Answer {
    /// A body of a content type.
    pub fn new(status: u16, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers = vec![("Content-Type".to_owned(), kind.to_owned())];
        let body = Content::Bytes(body.into());
        Self { status, headers, body, chunked: false, cut: None, stays_open: false, flipped: None }
    }

    fn empty(status: u16) -> Self {
        Self { headers: Vec::new(), ..Self::new(status, "", "") }
    }

    pub(crate) fn json(value: &Value) -> Self {
        Self::new(200, "application/json; charset=utf-8", value.to_string())
    }

    /// An error response in the hub's format.
    pub(crate) fn error(status: u16, code: &str, message: &str) -> Self {
        let body = json!({"error": message}).to_string();
        Self::new(status, "application/json; charset=utf-8", body)
            .with("X-Error-Code", code)
            .with("X-Error-Message", message)
    }

    /// A redirect to another address, or with 307 to a path of the same origin.
    pub(crate) fn redirect(status: u16, to: &str) -> Self {
        Self::new(status, "text/plain; charset=utf-8", reason(status)).with("Location", to)
    }

    /// A file, or the part of it that a `Range` header requests.
    pub fn file(path: &Path, range: Option<&str>) -> Self {
        let Some(found) = path.metadata().ok().filter(Metadata::is_file) else {
            return Self::error(404, "EntryNotFound", "Entry not found");
        };
        let kind = match path.extension().and_then(|ending| ending.to_str()) {
            Some("json" | "txt" | "md") => "text/plain; charset=utf-8",
            _ => "binary/octet-stream",
        };
        let (size, base) = (found.len(), Self::new(200, kind, "").with("Accept-Ranges", "bytes"));
        match range.map(|range| parse_range(range, size)) {
            None => Self { body: Content::Part(path.into(), 0..size), ..base },
            Some(None) => Self::empty(416).with("Content-Range", &format!("bytes */{size}")),
            Some(Some(part)) => {
                let described = format!("bytes {}-{}/{size}", part.start, part.end - 1);
                let answer = Self { status: 206, body: Content::Part(path.into(), part), ..base };
                answer.with("Content-Range", &described)
            }
        }
    }

    /// With a header, which replaces an earlier value.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Compressed as it is sent, so without a length.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn compressed(self) -> io::Result<Self> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        io::copy(&mut self.body.open()?, &mut encoder)?;
        let body = Content::Bytes(encoder.finish()?);
        Ok(Self { body, chunked: true, ..self }.with("Content-Encoding", "gzip").with("Vary", "Accept-Encoding"))
    }

    /// With CORS headers. As on the hub, they allow no header of a request, so that a browser sends nothing but `Range`.
    pub(crate) fn open_to_others(self) -> Self {
        self.with("Access-Control-Allow-Origin", "*").with("Access-Control-Expose-Headers", EXPOSED)
    }

    /// Writes it to a client, at most `throttle` bytes per second, and closes the connection; `sent` counts the bytes.
    ///
    /// # Errors
    /// The client has disconnected, or a file cannot be read.
    pub fn send(
        self,
        mut stream: TcpStream,
        head_only: bool,
        throttle: Option<u64>,
        sent: &dyn Fn(u64),
    ) -> io::Result<()> {
        let mut head = format!("HTTP/1.1 {} {}\r\nConnection: close\r\n", self.status, reason(self.status));
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += &match self.chunked {
            true => "Transfer-Encoding: chunked\r\n\r\n".to_owned(),
            false => format!("Content-Length: {}\r\n\r\n", self.body.len()),
        };
        stream.write_all(head.as_bytes())?;
        if !head_only {
            self.send_body(&mut stream, throttle, sent)?;
        }
        stream.flush()?;
        if self.stays_open {
            // The client sends nothing more, so the read ends when the connection closes.
            stream.set_read_timeout(None)?;
            stream.read_exact(&mut [0])?;
        }
        Ok(())
    }

    fn send_body(&self, writer: &mut dyn Write, throttle: Option<u64>, sent: &dyn Fn(u64)) -> io::Result<()> {
        let mut body = self.body.open()?;
        let (started, limit) = (Instant::now(), self.cut.unwrap_or(u64::MAX));
        let (mut buffer, mut done) = (vec![0; CHUNK], 0);
        while done < limit {
            let most = usize::try_from(limit - done).unwrap_or(CHUNK).min(CHUNK);
            let read = body.read(&mut buffer[..most])?;
            if read == 0 {
                break;
            }
            if let Some(at) = self.flipped.and_then(|at| at.checked_sub(done)).filter(|at| *at < read as u64) {
                buffer[at as usize] ^= 1;
            }
            // Counted before they are sent: the client may query the count as soon as they arrive.
            sent(read as u64);
            if self.chunked {
                write!(writer, "{read:x}\r\n")?;
            }
            writer.write_all(&buffer[..read])?;
            if self.chunked {
                writer.write_all(b"\r\n")?;
            }
            done += read as u64;
            if let Some(rate) = throttle {
                let due = Duration::from_secs_f64(done as f64 / rate.max(1) as f64);
                thread::sleep(due.saturating_sub(started.elapsed()));
            }
        }
        if self.chunked && self.cut.is_none() {
            writer.write_all(b"0\r\n\r\n")?;
        }
        Ok(())
    }
}

/// Parses `bytes=first-last`, clipped to `size`.
fn parse_range(range: &str, size: u64) -> Option<Range<u64>> {
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    let first: u64 = first.parse().ok()?;
    let last = if last.is_empty() { u64::MAX - 1 } else { last.parse().ok()? };
    (first <= last && first < size).then(|| first..(last.min(size - 1) + 1))
}

/// A path with reserved characters as `%XX`.
pub(crate) fn encoded(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./@".contains(&byte);
    path.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        206 => "Partial Content",
        302 => "Found",
        307 => "Temporary Redirect",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        416 => "Range Not Satisfiable",
        429 => "Too Many Requests",
        503 => "Service Unavailable",
        _ => "Other",
    }
}

#[cfg(test)]
mod tests {
    use super::parse_range;

    #[test]
    fn ranges_end_with_the_file() {
        assert_eq!(parse_range("bytes=0-3", 10), Some(0..4));
        assert_eq!(parse_range("bytes=4-", 10), Some(4..10));
        assert_eq!(parse_range("bytes=8-20", 10), Some(8..10));
        for wrong in ["bytes=10-12", "bytes=5-2", "bytes=-3", "lines=0-1", "bytes=a-b"] {
            assert_eq!(parse_range(wrong, 10), None, "{wrong}");
        }
    }
}
