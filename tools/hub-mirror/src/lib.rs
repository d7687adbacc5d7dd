//! A local stand-in for the Hugging Face hub: serves folders under the hub's addresses, for classes that share one
//! connection, and for tests, which can make it fail.
//!
//! In reading order: `repos` finds folders and lists them like the hub; `answer` writes a response with its ranges;
//! `fault` corrupts it; `stats` counts bytes sent. It answers as the hub does, by the table in docs/hub.md.

pub mod answer;
pub mod fault;
mod repos;
pub mod request;
pub mod stats;
pub mod synthetic;
pub mod synthetic_llama;

use std::io;
use std::net::{IpAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use serde_json::json;

use answer::Answer;
use fault::{Fault, Faults, Kind};
use repos::{Repo, Repos};
use request::Request;
use stats::Stats;

/// Settings of a mirror.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folder with `OWNER/NAME` or `NAME` for models and `datasets/OWNER/NAME` for texts; `NAME@REVISION` for other
    /// than the main branch.
    pub folder: PathBuf,
    /// Address to listen on.
    pub host: IpAddr,
    /// Port of the hub origin; 0 picks a free one.
    pub port: u16,
    /// Port of the files' origin; 0 picks a free one.
    pub cdn_port: u16,
    /// Most bytes per second per response.
    pub throttle: Option<u64>,
    /// Initial faults.
    pub faults: Vec<Fault>,
}

impl Options {
    /// A mirror of `folder` on localhost and free ports.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let (host, faults) = (IpAddr::from([127, 0, 0, 1]), Vec::new());
        Self { folder: folder.into(), host, port: 0, cdn_port: 0, throttle: None, faults }
    }
}

/// A mirror that runs until the program ends.
pub struct Mirror {
    url: String,
    shared: Arc<Shared>,
}

struct Shared {
    repos: Repos,
    throttle: Option<u64>,
    faults: Faults,
    stats: Stats,
    cdn_port: u16,
}

/// The two origins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    Hub,
    Files,
}

impl Mirror {
    /// Starts serving in the background.
    ///
    /// # Errors
    /// A missing folder, and ports that cannot be opened, as sentences.
    pub fn start(options: Options) -> Result<Self, String> {
        if !options.folder.is_dir() {
            return Err(format!("{}: not a folder; give one that holds models", options.folder.display()));
        }
        let open = |port| {
            let failed = |error| format!("port {port} cannot be opened ({error}); give another one");
            TcpListener::bind((options.host, port)).map_err(failed)
        };
        let (hub, files) = (open(options.port)?, open(options.cdn_port)?);
        let port_of = |server: &TcpListener| server.local_addr().map_or(0, |address| address.port());
        let shared = Arc::new(Shared {
            repos: Repos::new(options.folder),
            throttle: options.throttle,
            faults: Faults::new(options.faults),
            stats: Stats::default(),
            cdn_port: port_of(&files),
        });
        let url = format!("http://{}:{}", options.host, port_of(&hub));
        for (server, origin) in [(hub, Origin::Hub), (files, Origin::Files)] {
            let shared = shared.clone();
            serve(server, move |request, stream| shared.serve(request, stream, origin));
        }
        Ok(Self { url, shared })
    }

    /// Its base address, for use as a hub.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its statistics.
    pub fn stats(&self) -> &Stats {
        &self.shared.stats
    }

    /// Its pending faults.
    pub fn faults(&self) -> &Faults {
        &self.shared.faults
    }
}

impl Shared {
    fn serve(&self, request: &Request, stream: TcpStream, origin: Origin) -> io::Result<()> {
        let (path, query) = request.url.split_once('?').unwrap_or((&request.url, ""));
        let path = decoded(path);
        let answer = match (&*request.method, &path) {
            (_, None) => Answer::error(400, "BadRequest", "the address is not UTF-8"),
            ("GET" | "HEAD" | "POST", Some(path)) if path.starts_with("/__") => self.control(path, query),
            ("GET" | "HEAD", Some(path)) => match origin {
                Origin::Hub => self.hub(request, path),
                Origin::Files => self.file(request, path),
            },
            // A browser that asks beforehand wants to send more than the hub allows.
            _ => Answer::error(405, "BadMethod", "only GET and HEAD"),
        };
        let counter = self.stats.request(path.as_deref().unwrap_or_default(), request);
        // A page cannot read a refusal of access, or a gateway's answer in place of the hub's.
        let is_open = !matches!(answer.status, 401 | 403 | 405 | 408 | 500..);
        let answer = if is_open { answer.open_to_others() } else { answer };
        answer.send(stream, request.method == "HEAD", self.throttle, &|bytes| counter.add(bytes))
    }

    /// Statistics and faults, for tests.
    fn control(&self, path: &str, query: &str) -> Answer {
        let value = |name: &str| query.split('&').find_map(|pair| decoded(pair.strip_prefix(name)?.strip_prefix('=')?));
        match path {
            "/__stats" => Answer::json(&self.stats.json()),
            "/__reset" => {
                self.stats.reset();
                self.faults.clear();
                Answer::json(&json!({}))
            }
            "/__fault" => {
                let spec = [value("kind"), value("path"), value("times")];
                let spec = spec.map(|part| part.unwrap_or_default()).join(":");
                match spec.parse() {
                    Ok(fault) => {
                        self.faults.add(fault);
                        Answer::json(&json!({}))
                    }
                    Err(why) => Answer::error(400, "BadRequest", &why),
                }
            }
            _ => Answer::error(404, "NotFound", "no such address"),
        }
    }

    fn hub(&self, request: &Request, path: &str) -> Answer {
        let route = path.trim_start_matches('/');
        if route.starts_with(repos::CACHE) {
            return self.file(request, path);
        }
        // The hub tells that a model is gated, and refuses its files.
        let is_refused =
            |kind| kind != Kind::Gated || !path.starts_with("/api/") && request.header("authorization").is_none();
        let happens = |kind: Kind| (kind.of_answers() || path.starts_with("/api/")) && is_refused(kind);
        if let Some(answer) = self.faults.take(path, happens).and_then(|kind| kind.answer(path)) {
            return answer;
        }
        if let Some(rest) = route.strip_prefix("api/") {
            return self.api(request, rest);
        }
        let Some((name, rest)) = route.split_once("/resolve/") else {
            return Answer::error(404, "NotFound", "no such address");
        };
        if let Some(new) = self.repos.renamed(name) {
            return Answer::redirect(307, &answer::encoded(&format!("/{new}/resolve/{rest}")));
        }
        let Some((revision, file)) = rest.split_once('/') else {
            return Answer::error(404, "EntryNotFound", "no file is named");
        };
        self.repos.find(name, revision).map_or_else(|answer| answer, |found| self.resolved(request, &found, file))
    }

    /// The redirect to a file: a small one lies in a cache of the same origin, a large one on another origin.
    fn resolved(&self, request: &Request, found: &Repo, file: &str) -> Answer {
        let Some(entry) = found.file(file) else {
            return Answer::error(404, "EntryNotFound", "Entry not found");
        };
        if !entry.is_large() {
            let to = format!("/{}", found.cache_address(file));
            return Answer::redirect(307, &answer::encoded(&to)).with("X-Repo-Commit", found.commit());
        }
        let host = request.header("host").unwrap_or_default();
        let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
        // A proxy in front of the mirror may speak https for it, on the same ports.
        let scheme = if request.header("x-forwarded-proto") == Some("https") { "https" } else { "http" };
        let to = format!("{scheme}://{host}:{}/{}", self.cdn_port, answer::encoded(&found.address(file)));
        Answer::redirect(302, &to)
            .with("X-Repo-Commit", found.commit())
            .with("X-Linked-Size", &entry.size.to_string())
            .with("X-Linked-ETag", &format!("\"{}\"", entry.etag()))
            .with("X-Xet-Hash", &entry.xet_hash())
    }

    /// `models/ID/revision/REV`, `models/ID/tree/REV[/FOLDER]` and `models/ID/discussions`, the same for data sets.
    fn api(&self, request: &Request, route: &str) -> Answer {
        let (kind, rest) = route.split_once('/').unwrap_or((route, ""));
        let prefix = match kind {
            "models" => "",
            "datasets" => "datasets/",
            _ => return Answer::error(404, "NotFound", "no such address"),
        };
        if let Some(id) = rest.strip_suffix("/discussions") {
            return self
                .repos
                .discussions(&format!("{prefix}{id}"))
                .map_or_else(|answer| answer, |list| Answer::json(&list));
        }
        let api_route = ["/revision/", "/tree/"].into_iter().find_map(|what| Some((what, rest.split_once(what)?)));
        let Some((what, (id, rest))) = api_route else {
            return Answer::error(404, "NotFound", "no such address");
        };
        if let Some(new) = self.repos.renamed(&format!("{prefix}{id}")) {
            let new = new.strip_prefix(prefix).unwrap_or(&new);
            return Answer::redirect(307, &answer::encoded(&format!("/api/{kind}/{new}{what}{rest}")));
        }
        let (revision, folder) = match what {
            "/tree/" => rest.split_once('/').unwrap_or((rest, "")),
            _ => (rest, ""),
        };
        let found = match self.repos.find(&format!("{prefix}{id}"), revision) {
            Ok(found) => found,
            Err(answer) => return answer,
        };
        if what == "/revision/" {
            let is_gated = self.faults.take(&format!("/api/{route}"), |kind| kind == Kind::Gated).is_some();
            return Answer::json(&found.revision(id, is_gated));
        }
        let page = request.url.split_once("cursor=").and_then(|(_, page)| page.parse().ok()).unwrap_or(0);
        let (listing, next) = found.tree(folder, page);
        let answer = Answer::json(&listing).with("X-Repo-Commit", found.commit());
        match next {
            // Mirrors pass on the address that the hub gives.
            Some(next) => {
                let path = request.url.split('?').next().unwrap_or_default();
                answer.with("Link", &format!("<https://huggingface.co{path}?cursor={next}>; rel=\"next\""))
            }
            None => answer,
        }
    }

    /// The bytes of a file, on the other origin or in the cache of small files.
    fn file(&self, request: &Request, path: &str) -> Answer {
        // No access check here: the files' addresses come only from the hub origin.
        let fault = self.faults.take(path, |kind| kind != Kind::Gated);
        if let Some(answer) = fault.and_then(|kind| kind.answer(path)) {
            return answer;
        }
        let Some((found, file)) = self.repos.addressed(path.trim_start_matches('/')) else {
            return Answer::error(404, "EntryNotFound", "Entry not found");
        };
        let range = request.header("range").filter(|_| fault != Some(Kind::NoRanges));
        let etag = found.file(&file).map(|entry| format!("\"{}\"", entry.etag())).unwrap_or_default();
        let answer = Answer::file(&found.path(&file), range).with("ETag", &etag);
        let accepts = request.accepts_gzip();
        let is_small = path.trim_start_matches('/').starts_with(repos::CACHE);
        let answer = match fault {
            Some(kind) => kind.spoil(answer),
            None => answer,
        };
        if accepts && is_small && answer.status == 200 && fault.is_none() {
            return answer.clone().compressed().unwrap_or(answer);
        }
        answer
    }
}

/// Answers every request to `server` in the background, until the program ends.
pub fn serve<F>(server: TcpListener, answer: F)
where
    F: Fn(&Request, TcpStream) -> io::Result<()> + Send + Sync + 'static,
{
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for stream in server.incoming().flatten() {
            let answer = answer.clone();
            // A slow client must not block others, and a disconnected one must not end the server.
            thread::spawn(move || Request::read(&stream).and_then(|request| answer(&request, stream)));
        }
    });
}

/// Decodes `%XX`; `None` if the result is not UTF-8.
fn decoded(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), text.bytes());
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}
