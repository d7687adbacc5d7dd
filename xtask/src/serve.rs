//! `cargo xtask serve`: a static server for dist/, and a rebuild after every change.

use std::cell::Cell;
use std::fs;
use std::io::{self, Cursor, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use anyhow::{Result, anyhow};
use tiny_http::{HTTPVersion, Header, Method, Request, Response, Server, StatusCode};

use crate::build::Build;
use crate::command::root;
use crate::watch::Snapshot;

/// Concurrent requests; one that waits for a file of a running build occupies a thread.
const THREADS: usize = 16;

/// Builds, serves as soon as the page exists, and rebuilds after every change, until interrupted. A failed build is
/// printed and leaves the server running.
pub(crate) fn serve(port: u16) -> Result<()> {
    let site = Site::new(root().join("dist"), "/");
    let building = Arc::clone(&site.building);
    let not_started = Cell::new(Some(site));
    let page_ready = || {
        if let Some(site) = not_started.take() {
            println!("\n    {}    (the engine follows as soon as it is built)\n", site.start(port)?);
        }
        Ok(())
    };
    loop {
        let seen = Snapshot::take();
        building.begin();
        let built = Build::quick().run_and_tell(&page_ready);
        building.end();
        match built {
            Err(error) => eprintln!("cargo xtask serve: {error:#}; waiting for a change"),
            Ok(_) => println!("built; waiting for a change"),
        }
        seen.wait_for_change();
    }
}

/// Whether a build is running, during which a missing file may appear.
#[derive(Default)]
struct Building(Mutex<bool>, Condvar);

impl Building {
    fn begin(&self) {
        *self.0.lock().expect("no thread panics while it holds this") = true;
    }

    fn end(&self) {
        *self.0.lock().expect("no thread panics while it holds this") = false;
        self.1.notify_all();
    }

    /// Waits until `file` exists or no build is running.
    fn wait_for(&self, file: &Path) {
        let mut is_building = self.0.lock().expect("no thread panics while it holds this");
        while *is_building && !file.is_file() {
            let often = Duration::from_millis(200);
            (is_building, _) = self.1.wait_timeout(is_building, often).expect("no thread panics while it holds this");
        }
    }
}

/// A folder under a path of the local server.
pub(crate) struct Site {
    folder: PathBuf,
    prefix: String,
    building: Arc<Building>,
}

impl Site {
    /// Serves `folder` under `prefix`, which begins and ends with a slash.
    pub(crate) fn new(folder: PathBuf, prefix: &str) -> Self {
        Self { folder, prefix: prefix.into(), building: Arc::default() }
    }

    /// Starts serving in the background, on `port` or a free one, and returns the URL.
    pub(crate) fn start(self, port: u16) -> Result<String> {
        let server = Server::http(("127.0.0.1", port))
            .or_else(|_| Server::http(("127.0.0.1", 0)))
            .map_err(|error| anyhow!("no local port can be opened: {error}"))?;
        let address = server.server_addr();
        let url = format!("http://{address}{}", self.prefix);
        let (server, site) = (Arc::new(server), Arc::new(self));
        for _ in 0..THREADS {
            let (server, site) = (Arc::clone(&server), Arc::clone(&site));
            thread::spawn(move || server.incoming_requests().for_each(|request| site.answer(request)));
        }
        Ok(url)
    }

    /// Answers one request; a closed connection is no reason to stop.
    fn answer(&self, request: Request) {
        let response = match request.method() {
            Method::Get | Method::Head => self.page(request.url(), range_header(&request)),
            _ => plain(405, "only GET and HEAD"),
        };
        let _ = send(request, response);
    }

    fn page(&self, url: &str, range: Option<String>) -> Response<Cursor<Vec<u8>>> {
        let Some(file) = self.file(url) else { return plain(404, "not found") };
        self.building.wait_for(&file);
        let Ok(bytes) = fs::read(&file) else { return plain(404, "not found") };
        let total = bytes.len();
        let response = match range.as_deref().map(|range| parse_range(range, total)) {
            None => Response::from_data(bytes),
            Some(None) => {
                return plain(416, "no such range").with_header(header("Content-Range", &format!("bytes */{total}")));
            }
            Some(Some((first, last))) => Response::from_data(bytes[first..=last].to_vec())
                .with_status_code(StatusCode(206))
                .with_header(header("Content-Range", &format!("bytes {first}-{last}/{total}"))),
        };
        response
            .with_header(header("Content-Type", content_type(&file)))
            .with_header(header("Accept-Ranges", "bytes"))
            .with_header(header("Cache-Control", "no-store"))
    }

    /// The file that a URL names; `None` outside the folder.
    fn file(&self, url: &str) -> Option<PathBuf> {
        let path = url.split(['?', '#']).next()?.strip_prefix(&self.prefix)?;
        let inside = path.split('/').all(|part| part != ".." && !part.contains(['\\', ':', '%']));
        let file = self.folder.join(if path.is_empty() { "index.html" } else { path });
        (inside && !path.starts_with('/')).then_some(file)
    }
}

/// Sends a response and closes the connection. tiny_http reads each open connection in its own thread and can leave a
/// new one waiting for the next free thread; kept-alive connections could delay that indefinitely.
fn send(request: Request, response: Response<Cursor<Vec<u8>>>) -> io::Result<()> {
    let head_only = *request.method() == Method::Head;
    let mut bytes = Vec::new();
    response.raw_print(&mut bytes, HTTPVersion(1, 1), request.headers(), head_only, None)?;
    let status_line = bytes.windows(2).position(|pair| pair == b"\r\n").map_or(0, |end| end + 2);
    let mut writer = request.into_writer();
    writer.write_all(&bytes[..status_line])?;
    writer.write_all(b"Connection: close\r\n")?;
    writer.write_all(&bytes[status_line..])?;
    writer.flush()
}

fn range_header(request: &Request) -> Option<String> {
    request.headers().iter().find(|header| header.field.equiv("Range")).map(|header| header.value.to_string())
}

/// First and last byte of `bytes=first-last`, clipped to the file.
fn parse_range(range: &str, total: usize) -> Option<(usize, usize)> {
    let (first, last) = range.strip_prefix("bytes=")?.split_once('-')?;
    let first: usize = first.parse().ok()?;
    let last = if last.is_empty() { usize::MAX } else { last.parse().ok()? };
    (first <= last && first < total).then(|| (first, last.min(total - 1)))
}

fn plain(status: u16, text: &str) -> Response<Cursor<Vec<u8>>> {
    Response::from_string(text).with_status_code(StatusCode(status))
}

fn header(name: &str, value: &str) -> Header {
    Header::from_bytes(name, value).expect("header names and values here are ASCII")
}

fn content_type(file: &Path) -> &'static str {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json" | "webmanifest") => "application/json",
        Some("wasm") => "application/wasm",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("woff2") => "font/woff2",
        Some("txt" | "md") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpStream;
    use std::sync::mpsc::{self, RecvTimeoutError};

    use super::*;

    #[test]
    fn only_files_of_the_folder_are_found_and_only_under_the_prefix() {
        let site = Site::new("/site".into(), "/a/b/");
        let file = |url: &str| site.file(url);
        assert_eq!(file("/a/b/"), Some("/site/index.html".into()));
        assert_eq!(file("/a/b/models/index.json?v=1"), Some("/site/models/index.json".into()));
        for outside in ["/", "/a/c", "/a/b/../../secret", "/a/b//etc/passwd", "/a/b/%2e%2e/secret"] {
            assert_eq!(file(outside), None, "{outside}");
        }
    }

    #[test]
    fn ranges_end_with_the_file() {
        assert_eq!(parse_range("bytes=0-3", 10), Some((0, 3)));
        assert_eq!(parse_range("bytes=4-", 10), Some((4, 9)));
        assert_eq!(parse_range("bytes=8-20", 10), Some((8, 9)));
        for wrong in ["bytes=10-12", "bytes=5-2", "bytes=-3", "lines=0-1", "bytes=a-b"] {
            assert_eq!(parse_range(wrong, 10), None, "{wrong}");
        }
    }

    #[test]
    fn a_missing_file_is_waited_for_while_a_build_is_under_way() {
        let building = Arc::new(Building::default());
        let absent = crate::command::root().join("absent");
        building.wait_for(&absent);
        building.begin();
        let (say, said) = mpsc::channel();
        let waiting = thread::spawn({
            let building = Arc::clone(&building);
            move || {
                say.send("waits").expect("somebody listens");
                building.wait_for(&absent);
                say.send("goes on").expect("somebody listens");
            }
        });
        assert_eq!(said.recv(), Ok("waits"));
        assert_eq!(said.recv_timeout(Duration::from_millis(300)), Err(RecvTimeoutError::Timeout));
        building.end();
        assert_eq!(said.recv(), Ok("goes on"));
        waiting.join().expect("the wait ends with the build");
    }

    #[test]
    fn a_started_site_sends_whole_files_and_parts() {
        let url = Site::new(crate::command::root().join("xtask"), "/sub/").start(0).expect("a free port");
        let address = url.trim_start_matches("http://").trim_end_matches("/sub/");
        let ask = |path: &str, extra: &str| {
            let mut stream = TcpStream::connect(address).expect("the server listens");
            let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{extra}\r\n");
            stream.write_all(request.as_bytes()).expect("the server reads");
            let mut answer = String::new();
            stream.read_to_string(&mut answer).expect("the server answers");
            answer
        };
        let whole = ask("/sub/Cargo.toml", "");
        assert!(whole.starts_with("HTTP/1.1 200") && whole.contains("[package]"), "{whole}");
        assert!(whole.contains("\r\nConnection: close\r\n"), "{whole}");
        let part = ask("/sub/Cargo.toml", "Range: bytes=1-7\r\n");
        assert!(part.starts_with("HTTP/1.1 206") && part.ends_with("\r\n\r\npackage"), "{part}");
        assert!(ask("/sub/absent", "").starts_with("HTTP/1.1 404"));
        assert!(ask("/Cargo.toml", "").starts_with("HTTP/1.1 404"));
    }
}
