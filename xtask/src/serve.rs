//! `cargo xtask serve`: a static server for dist/, and a rebuild after every change.

use std::cell::Cell;
use std::net::{IpAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use anyhow::{Context, Result};
use straightedge_hub_mirror as hub;
use straightedge_hub_mirror::answer::Answer;
use straightedge_hub_mirror::request::Request;

use crate::build::Build;
use crate::command::root;
use crate::watch::Snapshot;

/// Builds, serves as soon as there is a page, and builds again after every change, until it is interrupted. A failed build
/// is printed and leaves the server running.
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
        let built = Build::quick().run_with(&page_ready);
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
    host: IpAddr,
    /// Whether text and modules are sent compressed: over a network they are the larger part of a first visit.
    compresses: bool,
    building: Arc<Building>,
}

impl Site {
    /// Serves `folder` under `prefix`, which begins and ends with a slash.
    pub(crate) fn new(folder: PathBuf, prefix: &str) -> Self {
        let host = IpAddr::from([127, 0, 0, 1]);
        Self { folder, prefix: prefix.into(), host, compresses: false, building: Arc::default() }
    }

    /// Serves other machines too, compressed, at an address of this machine.
    pub(crate) fn at(self, host: IpAddr) -> Self {
        Self { host, compresses: true, ..self }
    }

    /// Starts serving in the background, on `port` or a free one, and returns the URL.
    pub(crate) fn start(self, port: u16) -> Result<String> {
        let open = |port| TcpListener::bind((self.host, port));
        let server = open(port).or_else(|_| open(0)).context("no local port can be opened")?;
        let url = format!("http://{}{}", server.local_addr()?, self.prefix);
        hub::serve(server, move |request, stream| {
            self.answer(request).send(stream, request.method == "HEAD", None, &|_| ())
        });
        Ok(url)
    }

    fn answer(&self, request: &Request) -> Answer {
        if !["GET", "HEAD"].contains(&&*request.method) {
            return Answer::new(405, "text/plain", "only GET and HEAD");
        }
        let Some(file) = self.file(&request.url) else { return Answer::new(404, "text/plain", "not found") };
        self.building.wait_for(&file);
        let (kind, range) = (content_type(&file), request.header("range"));
        let answer = Answer::file(&file, range).with("Content-Type", kind).with("Cache-Control", "no-store");
        let shrinks = !kind.starts_with("image/png") && !["font/woff2", "application/octet-stream"].contains(&kind);
        if self.compresses && shrinks && range.is_none() && request.accepts_gzip() {
            return answer.clone().compressed().unwrap_or(answer);
        }
        answer
    }

    /// The file that a URL names; `None` outside the folder.
    fn file(&self, url: &str) -> Option<PathBuf> {
        let path = url.split(['?', '#']).next()?.strip_prefix(&self.prefix)?;
        let inside = path.split('/').all(|part| part != ".." && !part.contains(['\\', ':', '%']));
        let file = self.folder.join(if path.is_empty() { "index.html" } else { path });
        (inside && !path.starts_with('/')).then_some(file)
    }
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
    use std::io::{Read, Write};
    use std::net::TcpStream;
    use std::sync::mpsc::{self, RecvTimeoutError};
    use std::thread;

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
    fn a_missing_file_is_waited_for_while_a_build_is_under_way() {
        let building = Arc::new(Building::default());
        let absent = crate::command::root().join("absent");
        building.wait_for(&absent);
        building.begin();
        let (sender, receiver) = mpsc::channel();
        let waiting = thread::spawn({
            let building = Arc::clone(&building);
            move || {
                sender.send("waits").expect("somebody listens");
                building.wait_for(&absent);
                sender.send("goes on").expect("somebody listens");
            }
        });
        assert_eq!(receiver.recv(), Ok("waits"));
        assert_eq!(receiver.recv_timeout(Duration::from_millis(300)), Err(RecvTimeoutError::Timeout));
        building.end();
        assert_eq!(receiver.recv(), Ok("goes on"));
        waiting.join().expect("the wait ends with the build");
    }

    /// The answer of a server, as text.
    fn request(address: &str, path: &str, extra: &str) -> String {
        let mut stream = TcpStream::connect(address).expect("the server listens");
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{extra}\r\n");
        stream.write_all(request.as_bytes()).expect("the server reads");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("the server answers");
        String::from_utf8_lossy(&answer).into_owned()
    }

    #[test]
    fn a_started_site_sends_whole_files_and_parts() {
        let url = Site::new(crate::command::root().join("xtask"), "/sub/").start(0).expect("a free port");
        let address = url.trim_start_matches("http://").trim_end_matches("/sub/");
        let request = |path: &str, extra: &str| request(address, path, extra);
        let whole = request("/sub/Cargo.toml", "");
        assert!(whole.starts_with("HTTP/1.1 200") && whole.contains("[package]"), "{whole}");
        assert!(whole.contains("\r\nConnection: close\r\n"), "{whole}");
        let part = request("/sub/Cargo.toml", "Range: bytes=1-7\r\n");
        assert!(part.starts_with("HTTP/1.1 206") && part.ends_with("\r\n\r\npackage"), "{part}");
        assert!(request("/sub/absent", "").starts_with("HTTP/1.1 404"));
        assert!(request("/Cargo.toml", "").starts_with("HTTP/1.1 404"));
    }

    #[test]
    fn other_machines_get_text_and_modules_compressed_and_pictures_and_parts_as_they_are() {
        let docs = || Site::new(crate::command::root().join("docs"), "/");
        let is_packed = |site: Site, path: &str, extra: &str| {
            let url = site.start(0).expect("a free port");
            let answer = request(url.trim_start_matches("http://").trim_end_matches('/'), path, extra);
            assert!(answer.starts_with("HTTP/1.1 20"), "{answer}");
            answer.contains("\r\nContent-Encoding: gzip\r\n")
        };
        let others = || docs().at(IpAddr::from([127, 0, 0, 1]));
        let gzip = "Accept-Encoding: gzip, br\r\n";
        assert!(is_packed(others(), "/cli.md", gzip));
        assert!(!is_packed(others(), "/cli.md", ""), "a client that cannot unpack it");
        assert!(!is_packed(others(), "/cli.md", &format!("{gzip}Range: bytes=0-9\r\n")));
        assert!(!is_packed(others(), "/page.png", gzip));
        assert!(!is_packed(docs(), "/cli.md", gzip), "nothing is to be gained on one machine");
    }
}
