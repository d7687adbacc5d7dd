//! The hub as it is: steps that are none, few calls of its API, gated and renamed models, pages of a listing, and what a
//! browser may not read.

mod common;

use std::cell::{Cell, RefCell};
use std::fs;
use std::future::poll_fn;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::task::Poll;

use common::fixture;
use futures::executor::block_on;
use futures::future::{LocalBoxFuture, ready};
use straightedge::error::{Error, Result};
use straightedge::event::Event;
use straightedge::hub::client::Hub;
use straightedge::hub::files::HubFiles;
use straightedge::hub::http::{Body, Failure, Http, HttpRequest, Response};
use straightedge::hub::id::{Endpoint, HubId};
use straightedge::hub::preflight::Capacity;
use straightedge::hub::store::{MemoryStore, Store};
use straightedge::hub::transport::Transport;
use straightedge::hub::visit::HubVisit;
use straightedge::report::Report;
use straightedge::weights::Files;
use straightedge_hub_mirror::{Mirror, Options};

const WEIGHTS: &str = "model.safetensors";
const CONFIG: &str = "config.json";
/// A text that a server compresses to far fewer bytes.
const LONG: usize = 5000;

/// An empty folder for one test.
fn fresh(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("visit").join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a temporary folder");
    folder
}

/// A mirror of the model `a/b`: arbitrary bytes as its weights, and a text.
fn mirror(test: &str) -> (Mirror, PathBuf) {
    let folder = fresh(test);
    fs::create_dir_all(folder.join("a/b")).expect("a folder");
    fs::write(folder.join("a/b").join(WEIGHTS), [[9, 0, 0, 0, 0, 0, 0, 0].as_slice(), &[1; 92]].concat())
        .expect("a file");
    fs::write(folder.join("a/b").join(CONFIG), " ".repeat(LONG)).expect("a file");
    (Mirror::start(Options::new(&folder)).expect("a free port"), folder)
}

fn endpoint(mirror: &Mirror) -> Endpoint {
    mirror.url().parse().expect("an address")
}

fn id(text: &str) -> HubId {
    HubId::model(text).expect("an id")
}

/// What a browser shows a page of a response: no refusal without CORS headers, few headers, and a length that may be that
/// of the compressed body.
fn shown_to_a_page(mut response: Response) -> Result<Response, Failure> {
    if !response.headers.contains_key("access-control-allow-origin") {
        return Err(Failure::Network("Failed to fetch".into()));
    }
    let exposed = response.headers.get("access-control-expose-headers").cloned().unwrap_or_default();
    let exposed = exposed.to_ascii_lowercase() + ",content-type,content-length";
    response.headers.retain(|name, _| exposed.split(',').any(|exposed| exposed == name));
    response.headers.insert("content-length".into(), "17".into());
    Ok(response)
}

/// A network, and what its user sees of a response.
struct Network {
    transport: Transport,
    shown: fn(Response) -> Result<Response, Failure>,
}

impl Http for Network {
    fn get<'a>(&'a self, request: &'a HttpRequest) -> LocalBoxFuture<'a, Result<Response, Failure>> {
        Box::pin(async move { self.transport.get(request).await.and_then(self.shown) })
    }

    /// Waits take no time here, only the limits of requests do.
    fn sleep(&self, seconds: f64) -> LocalBoxFuture<'static, ()> {
        if seconds <= 30.0 { Box::pin(ready(())) } else { self.transport.sleep(seconds) }
    }
}

/// A hub as a page has it.
fn page(mirror: &Mirror, visit: &Rc<HubVisit>, store: Rc<dyn Store>) -> Hub {
    let http = Network { transport: Transport::new(endpoint(mirror), None, false), shown: shown_to_a_page };
    Hub::within(visit.clone(), Rc::new(http), store, endpoint(mirror))
}

/// The files of a model as a new command line opens them.
fn opened_natively(mirror: &Mirror, name: &str) -> HubFiles {
    let http = Network { transport: Transport::new(endpoint(mirror), None, false), shown: Ok };
    let hub = Hub::within(Rc::default(), Rc::new(http), Rc::<MemoryStore>::default(), endpoint(mirror));
    block_on(hub.open(&id(name))).expect(name)
}

/// The files of a model as a new page opens them.
fn opened(mirror: &Mirror, name: &str) -> HubFiles {
    block_on(page(mirror, &Rc::default(), Rc::<MemoryStore>::default()).open(&id(name))).expect(name)
}

fn read(files: &HubFiles, file: &str) -> Result<Vec<u8>> {
    block_on(files.read(file, 0..files.repo().files[file].size))
}

/// A model with its revisions: `step7` has the weights of main, `step8` and `step9` have others.
fn with_steps(folder: &Path) {
    for revision in ["", "@step7", "@step8", "@step9"] {
        let model = folder.join(format!("made/tiny{revision}"));
        fs::create_dir_all(&model).expect("a folder");
        for file in [CONFIG, "tokenizer.json", WEIGHTS] {
            fs::copy(fixture("tiny-gpt2").join(file), model.join(file)).expect("a file");
        }
        if ["@step8", "@step9"].contains(&revision) {
            let mut bytes = fs::read(model.join(WEIGHTS)).expect("weights");
            let last = bytes.len() - 3;
            bytes[last] ^= 1;
            fs::write(model.join(WEIGHTS), bytes).expect("a file");
        }
    }
}

#[test]
fn a_step_with_the_final_weights_is_told_before_the_download_and_in_the_report() {
    let folder = fresh("steps");
    with_steps(&folder.join("models"));
    let mirror = Mirror::start(Options::new(folder.join("models"))).expect("a free port");
    let measured = |model: &str, home: &str| {
        let text = common::encyclopedia();
        let output = Command::new(env!("CARGO_BIN_EXE_straightedge"))
            .args(["measure", model, "--backend", "cpu", "--rows", "1280", "--seq-len", "64", "--out", "-", "--text"])
            .arg(text)
            .env("HF_ENDPOINT", mirror.url())
            .env("HF_HOME", folder.join(home))
            .env_remove("HF_HUB_CACHE")
            .env_remove("HF_HUB_OFFLINE")
            .output()
            .expect("the program runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{model}: {said}");
        let report = Report::from_json("standard output", &String::from_utf8_lossy(&output.stdout)).expect("a report");
        let warnings = report.warnings.into_iter().filter(|warning| warning.code == "same_weights");
        (said, report.model.checkpoint, warnings.map(|warning| warning.text).collect::<Vec<_>>())
    };
    let sentence = "step7 has the same weights as main; it is not an intermediate step";
    let (said, checkpoint, warnings) = measured("made/tiny@step7", "one");
    let preview = said.split("straightedge: warning").next().expect("what is said first");
    assert!(preview.contains("to download") && preview.contains(sentence), "{said}");
    assert_eq!((checkpoint.as_deref(), warnings), (Some("step7"), vec![sentence.to_owned()]));
    assert_eq!(mirror.stats().calls(), 3, "the revision, its files, and those of main");

    // The address of its page is a name too.
    let (said, checkpoint, warnings) = measured(&format!("{}/made/tiny/tree/step9/", mirror.url()), "two");
    assert_eq!((checkpoint.as_deref(), warnings), (Some("step9"), Vec::new()), "{said}");
    let (_, _, warnings) = measured("made/tiny@step8", "two");
    let sentence = "step8 has the same weights as step9; one of them is not the step it is named after";
    assert_eq!(warnings, [sentence]);
}

#[test]
fn a_class_behind_one_address_asks_little() {
    let folder = fresh("class");
    with_steps(&folder);
    let mirror = Mirror::start(Options::new(&folder)).expect("a free port");
    let commit = opened(&mirror, "made/tiny").id().clone();
    mirror.stats().reset();
    for _ in 0..30 {
        let (visit, store) = (Rc::<HubVisit>::default(), Rc::<MemoryStore>::default());
        for _ in 0..4 {
            let files = block_on(page(&mirror, &visit, store.clone()).open(&commit)).expect("a listing");
            block_on(files.preflight(&common::small_job(), &Capacity::default())).expect("a preview");
        }
    }
    assert_eq!(mirror.stats().calls(), 30, "a link holds the commit: every pupil asks for the files alone");
    mirror.stats().reset();
    let (visit, store) = (Rc::<HubVisit>::default(), Rc::<MemoryStore>::default());
    // Every change of the form opens the model four times.
    for _ in 0..12 {
        for revision in ["made/tiny", "made/tiny@main", "made/tiny@step7", "made/tiny@step9"] {
            block_on(page(&mirror, &visit, store.clone()).open(&id(revision))).expect(revision);
        }
    }
    assert_eq!(mirror.stats().calls(), 6, "two for each of three names, and nothing more for main");
}

#[test]
fn a_gated_model_is_told_before_anything_is_downloaded() {
    let (mirror, _) = mirror("gated");
    let pinned = opened(&mirror, "a/b").id().to_string();
    mirror.faults().add("gated:a/b:1000".parse().expect("a fault"));
    mirror.stats().reset();
    let error =
        block_on(opened(&mirror, "a/b").preflight(&common::small_job(), &Capacity::default())).expect_err("gated");
    assert!(matches!(&error, Error::HubGated { what, .. } if what == "a/b"), "{error}");
    assert_eq!(mirror.stats().requests("/resolve/"), 0);
    // Of a commit it is not known beforehand, and a page cannot read why its files are refused.
    let error = read(&opened(&mirror, &pinned), CONFIG).expect_err("gated");
    assert!(matches!(error, Error::HubGated { .. }), "{error}");
}

#[test]
fn a_length_that_is_not_the_files_is_no_reason_to_refuse_it() {
    let (mirror, _) = mirror("length");
    let files = opened(&mirror, "a/b");
    assert_eq!(read(&files, CONFIG).expect("the text").len(), LONG);
    assert_eq!(read(&files, WEIGHTS).expect("the weights").len(), 100);
    mirror.faults().add("truncated:config.json".parse().expect("a fault"));
    let error = read(&opened(&mirror, "a/b"), CONFIG).expect_err("half of it");
    assert!(error.to_string().contains("2500 bytes, but the hub lists 5000"), "{error}");
}

#[test]
fn a_page_waits_out_the_window_in_visible_steps() {
    let (mirror, _) = mirror("busy");
    let files = opened(&mirror, "a/b");
    let waits = Rc::new(RefCell::new(Vec::new()));
    let heard = waits.clone();
    files.listen(Rc::new(move |event| {
        if let Event::Waiting(wait) = event {
            heard.borrow_mut().push(wait.seconds);
        }
    }));
    mirror.faults().add("busy-for-long:config.json:1000".parse().expect("a fault"));
    let error = read(&files, CONFIG).expect_err("busy for an hour");
    assert!(matches!(error, Error::HubBusy { minutes: 5, .. }), "{error}");
    let steps = [2.0, 4.0, 8.0, 16.0, 32.0, 2.0, 60.0, 30.0, 60.0, 30.0, 60.0, 30.0, 58.0, 28.0];
    assert_eq!(waits.take(), steps, "each wait, and what is left of it after 30 seconds");
    mirror.faults().clear();
    for kind in ["timeout", "unavailable"] {
        mirror.faults().add(format!("{kind}:config.json:3").parse().expect("a fault"));
        read(&opened_natively(&mirror, "a/b"), CONFIG).expect(kind);
        // A gateway's answer has no CORS headers, so a page sees a broken connection, which it tries once more.
        mirror.faults().add(format!("{kind}:config.json:1").parse().expect("a fault"));
        read(&opened(&mirror, "a/b"), CONFIG).expect(kind);
    }
}

#[test]
fn a_connection_that_breaks_without_end_is_given_up_and_what_came_is_kept() {
    let (mirror, _) = mirror("breaks");
    let (http, store) = (
        Network { transport: Transport::new(endpoint(&mirror), None, false), shown: Ok },
        Rc::<MemoryStore>::default(),
    );
    let hub = Hub::within(Rc::default(), Rc::new(http), store.clone(), endpoint(&mirror));
    let files = block_on(hub.open(&id("a/b"))).expect("a listing");
    let fetch = || block_on(files.prepare(&[(WEIGHTS.into(), 0..100)]));
    mirror.faults().add("cut:model.safetensors:1000".parse().expect("a fault"));
    let error = fetch().expect_err("every answer brings half of the rest, and no half of one byte");
    assert!(matches!(&error, Error::Network { what, .. } if what == WEIGHTS), "{error}");
    assert!(error.to_string().starts_with("model.safetensors: the connection failed ("), "{error}");
    let key = files.repo().key(WEIGHTS).expect("a file");
    assert_eq!(block_on(store.held(&key)).expect("parts"), [0..99]);
    mirror.faults().clear();
    mirror.stats().reset();
    fetch().expect("the last byte");
    let sent = mirror.stats().file(WEIGHTS);
    assert_eq!((sent.requests, sent.bytes), (1, 1));
}

#[test]
fn a_listing_of_many_pages_is_read_from_the_mirror_itself() {
    let (mirror, folder) = mirror("pages");
    for at in 0..1200 {
        fs::write(folder.join(format!("a/b/f{at:04}")), "x").expect("a file");
    }
    let files = opened(&mirror, "a/b");
    assert_eq!((files.repo().files.len(), mirror.stats().requests("/tree/")), (1202, 2));
}

#[test]
fn a_renamed_model_is_found_under_its_old_name() {
    let (mirror, folder) = mirror("renamed");
    fs::write(folder.join("a/old"), "a/b").expect("a file");
    let files = opened(&mirror, "a/old");
    assert_eq!(read(&files, CONFIG).expect("the text").len(), LONG);
    assert_eq!(read(&files, WEIGHTS).expect("the weights").len(), 100);
}

#[test]
fn redirects_off_the_web_and_files_beyond_reason_are_refused_at_once() {
    let (mirror, folder) = mirror("refused");
    mirror.faults().add("astray:config.json".parse().expect("a fault"));
    let error = read(&opened(&mirror, "a/b"), CONFIG).expect_err("a file of this machine");
    assert!(matches!(&error, Error::NotTheFile { why, .. } if why.contains("not of the web")), "{error}");
    let huge = fs::File::create(folder.join("a/b/tokenizer.json")).expect("a file");
    huge.set_len((100 << 20) + 1).expect("a sparse file");
    mirror.stats().reset();
    let error = read(&opened(&mirror, "a/b"), "tokenizer.json").expect_err("a large one");
    assert!(error.to_string().contains("104857601 bytes"), "{error}");
    assert_eq!(mirror.stats().requests("/resolve/"), 0);
}

/// A server with one answer.
struct Canned(&'static str);

struct Once(Option<Vec<u8>>);

impl Body for Once {
    fn chunk(&mut self) -> LocalBoxFuture<'_, Result<Option<Vec<u8>>, Failure>> {
        Box::pin(ready(Ok(self.0.take())))
    }
}

impl Http for Canned {
    fn get<'a>(&'a self, _request: &'a HttpRequest) -> LocalBoxFuture<'a, Result<Response, Failure>> {
        let body = Box::new(Once(Some(self.0.as_bytes().to_vec())));
        Box::pin(ready(Ok(Response { status: 200, headers: Default::default(), body })))
    }

    fn sleep(&self, _seconds: f64) -> LocalBoxFuture<'static, ()> {
        Box::pin(futures::future::pending())
    }
}

/// A server whose answers come in pieces, each after 50 seconds of a clock of its own.
#[derive(Clone)]
struct Dripping {
    status: u16,
    clock: Rc<Cell<f64>>,
}

impl Body for Dripping {
    fn chunk(&mut self) -> LocalBoxFuture<'_, Result<Option<Vec<u8>>, Failure>> {
        let until = self.clock.get() + 50.0;
        Box::pin(poll_fn(move |context| {
            self.clock.set(self.clock.get() + 10.0);
            context.waker().wake_by_ref();
            if self.clock.get() >= until { Poll::Ready(Ok(Some(vec![b' '; 100]))) } else { Poll::Pending }
        }))
    }
}

impl Http for Dripping {
    fn get<'a>(&'a self, _request: &'a HttpRequest) -> LocalBoxFuture<'a, Result<Response, Failure>> {
        Box::pin(ready(Ok(Response { status: self.status, headers: Default::default(), body: Box::new(self.clone()) })))
    }

    /// What waits lets time pass.
    fn sleep(&self, seconds: f64) -> LocalBoxFuture<'static, ()> {
        let (clock, until) = (self.clock.clone(), self.clock.get() + seconds);
        Box::pin(poll_fn(move |context| {
            clock.set(clock.get() + 0.1);
            context.waker().wake_by_ref();
            if clock.get() >= until { Poll::Ready(()) } else { Poll::Pending }
        }))
    }
}

/// The error of a listing from a server that drips, and the seconds until then.
fn dripped(status: u16) -> (Error, f64) {
    let server = Dripping { status, clock: Rc::default() };
    let hub = Hub::new(Rc::new(server.clone()), Rc::<MemoryStore>::default(), Endpoint::default());
    let error = block_on(hub.open(&id("a/b"))).map(|_| ()).expect_err("it never ends");
    (error, server.clock.get())
}

#[test]
fn a_listing_and_a_refusal_that_drip_end() {
    let (error, seconds) = dripped(200);
    let is_timeout = matches!(&error, Error::Network { why, .. } if why == "it was not complete after 120 seconds");
    assert!(is_timeout && seconds < 400.0, "two tries: {error} after {seconds} seconds");
    let (error, seconds) = dripped(404);
    assert!(matches!(&error, Error::HubMissing { .. }) && seconds < 200.0, "{error} after {seconds} seconds");
}

#[test]
fn only_40_digits_are_a_commit() {
    for json in [r#"{"sha":"b/c/d"}"#, r#"{"sha":"main"}"#, r#"{"sha":"607a30d783dfa663caf39e06633721c8d4cfcd7"}"#] {
        let hub = Hub::new(Rc::new(Canned(json)), Rc::<MemoryStore>::default(), Endpoint::default());
        let error = block_on(hub.open(&id("a/b"))).map(|_| ()).expect_err(json);
        assert!(error.to_string().contains("40 digits"), "{json}: {error}");
    }
}
