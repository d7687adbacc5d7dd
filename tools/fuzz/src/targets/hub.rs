//! The hub's answers: a made hub gives what the input says, with status, headers and body of every request.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::future::ready;
use std::rc::Rc;

use futures::executor::block_on;
use futures::future::LocalBoxFuture;
use serde_json::{Value, json};
use straightedge::hub::client::Hub;
use straightedge::hub::http::{Body, Failure, Http, HttpRequest, Response};
use straightedge::hub::id::{Endpoint, HubId};
use straightedge::hub::preflight::Capacity;
use straightedge::hub::store::MemoryStore;
use straightedge::job::{Job, Measure};
use straightedge::weights::read_whole;

use super::synthetic::{f32s, safetensors};
use crate::target::{Refusal, is_sentence};

/// Requests after which a client has no end.
const MOST_REQUESTS: usize = 3000;
const CONFIG: &str = include_str!("../../../../tests/fixtures/tiny-gpt2/config.json");

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let weights = safetensors(&[f32s("wte.weight", &[4, 2])], Value::Null);
    let text = String::from_utf8_lossy(&weights).into_owned();
    let commit = "607a30d783dfa663caf39e06633721c8d4cfcd7e";
    // With a hash, only the one file that it belongs to would be read.
    let file = |path: &str, size: usize| json!({"type": "file", "path": path, "size": size});
    let large = json!({"type": "file", "path": "model.safetensors", "size": text.len(), "oid": "b".repeat(40)});
    let pointed = json!({"type": "file", "path": "model-2.safetensors", "size": 134, "oid": "b".repeat(40),
        "lfs": {"oid": "c".repeat(64), "size": 548_105_171, "pointerSize": 134}});
    let config = json!({"body": CONFIG});
    let plain = json!({
        "/revision/": {"status": 200, "headers": {}, "body": {"sha": commit, "gated": false}},
        "/tree/": {"body": [file("config.json", CONFIG.len()), file("tokenizer.json", 20), large, pointed]},
        "/config.json": config,
        "/model.safetensors": {"body": text},
    });
    let paged = json!({
        "/revision/": {"body": {"sha": commit, "gated": "auto"}},
        "/tree/": {"headers": {"link": "<https://hub.test/api/x?cursor=a%3D>; rel=\"next\""},
            "body": [file("config.json", CONFIG.len()), file("pytorch_model.bin", 500)]},
        "/discussions": {"body": {"discussions": [{"num": 7, "title": "Adding `safetensors` variant of this model",
            "status": "open", "isPullRequest": true, "author": {"name": "SFconvertbot"}}]}},
        "/config.json": config,
    });
    let refused = json!({
        "/revision/": {"status": 401, "headers": {"x-error-code": "GatedRepo", "x-error-message": "ask"},
            "body": {"error": "Access to model a/b is restricted"}},
    });
    let busy = json!({"/revision/": {"status": 429, "headers": {"retry-after": "1", "ratelimit": "\"api\";r=0;t=12"}}});
    [plain, paged, refused, busy].map(|answers| answers.to_string().into_bytes()).to_vec()
}

/// A hub that answers as the input says.
struct SimulatedHub {
    answers: Value,
    requests: Cell<usize>,
}

impl SimulatedHub {
    fn answer(&self, request: &HttpRequest) -> Result<Response, Failure> {
        self.requests.set(self.requests.get() + 1);
        assert!(self.requests.get() <= MOST_REQUESTS, "requests without an end");
        let answers = self.answers.as_object().into_iter().flatten();
        let answer = answers.filter(|(part, _)| request.url.contains(&***part)).map(|(_, answer)| answer).next();
        let nothing = json!({"status": 404});
        let answer = answer.unwrap_or(&nothing);
        if answer.is_null() {
            return Err(Failure::Network("the connection is closed".into()));
        }
        let mut body = match &answer["body"] {
            Value::Null => Vec::new(),
            Value::String(text) => text.clone().into_bytes(),
            tree => tree.to_string().into_bytes(),
        };
        let mut status = answer["status"].as_u64().and_then(|status| u16::try_from(status).ok()).unwrap_or(200);
        let mut headers = BTreeMap::new();
        for (name, value) in answer["headers"].as_object().into_iter().flatten() {
            headers.insert(name.to_ascii_lowercase(), value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        }
        if let Some(range) = request.range.clone().filter(|_| status == 200) {
            let total = body.len();
            let [start, end] = [range.start, range.end].map(|at| usize::try_from(at).unwrap_or(total).min(total));
            body = body[start.min(end)..end].to_vec();
            status = 206;
            let last = range.start + (body.len() as u64).saturating_sub(1);
            headers.entry("content-range".into()).or_insert(format!("bytes {}-{last}/{total}", range.start));
        }
        Ok(Response { status, headers, body: Box::new(SimulatedBody(body)) })
    }
}

impl Http for SimulatedHub {
    fn get<'a>(&'a self, request: &'a HttpRequest) -> LocalBoxFuture<'a, Result<Response, Failure>> {
        Box::pin(ready(self.answer(request)))
    }

    /// Waits take no time here.
    fn sleep(&self, _seconds: f64) -> LocalBoxFuture<'static, ()> {
        Box::pin(ready(()))
    }
}

/// A body that comes at once.
struct SimulatedBody(Vec<u8>);

impl Body for SimulatedBody {
    fn chunk(&mut self) -> LocalBoxFuture<'_, Result<Option<Vec<u8>>, Failure>> {
        let all = std::mem::take(&mut self.0);
        Box::pin(ready(Ok(Some(all).filter(|all| !all.is_empty()))))
    }
}

/// Opens a model, looks at it before a download, and reads a file of it.
pub(super) fn hub(input: &[u8]) -> Result<(), Refusal> {
    let tree = serde_json::from_slice(input);
    let answers = tree.unwrap_or_else(|_| json!({"/revision/": {"body": String::from_utf8_lossy(input)}}));
    let endpoint: Endpoint = "https://hub.test".parse()?;
    let http = Rc::new(SimulatedHub { answers, requests: Cell::new(0) });
    let hub = Hub::new(http, Rc::new(MemoryStore::default()), endpoint);
    let files = block_on(hub.open(&HubId::model("a/b")?))?;
    for path in files.repo().files.keys() {
        assert!(!path.contains("..") || !path.contains('/'), "{path}");
    }
    let capacity = Capacity { storage: Some(1 << 30), buffer: Some(1 << 28), binding: None, memory: Some(1 << 32) };
    let job = Job { measures: [Measure::Fit, Measure::Swap].into(), ..Job::new("model", "text") };
    let seen = block_on(files.preflight(&job, &capacity))?;
    for problem in &seen.problems {
        assert!(is_sentence(&problem.text), "a problem that is no sentence: {:?}", problem.text);
    }
    block_on(read_whole(&files, "config.json", "choose another model"))?;
    Ok(())
}
