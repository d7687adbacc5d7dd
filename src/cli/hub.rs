//! Models and texts from the hub, with the settings of Hugging Face's own tools, and the preview before a download.

use std::env;
use std::fs;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Once;

use futures::future::LocalBoxFuture;
use pollster::block_on;
use straightedge::error::Result;
use straightedge::hub::client::Hub;
use straightedge::hub::disk::DiskStore;
use straightedge::hub::fallback::Fallback;
use straightedge::hub::files::HubFiles;
use straightedge::hub::id::{Endpoint, HubId};
use straightedge::hub::preflight::{Capacity, Preflight};
use straightedge::hub::text::{Table, WikiText2};
use straightedge::hub::transport::Transport;
use straightedge::hub::visit::HubVisit;
use straightedge::job::Job;
use straightedge::run::Text;

use super::{progress, status};

/// Prints once per command that the token is withheld.
static TOKEN_WARNING: Once = Once::new();

thread_local! {
    /// What the hub answered to this command.
    static VISIT: Rc<HubVisit> = Rc::default();
}

/// The hub configured by `HF_ENDPOINT`, `HF_HUB_OFFLINE`, `HF_TOKEN`, `HF_HUB_CACHE` and `HF_HOME`.
pub(super) fn hub() -> Result<Hub> {
    let endpoint = endpoint()?;
    let offline = variable("HF_HUB_OFFLINE").is_some_and(|value| is_true(&value));
    let client = Transport::new(endpoint.clone(), token(), offline);
    if client.withholds_token() {
        TOKEN_WARNING.call_once(|| {
            let text =
                format!("the token is not sent to {endpoint}, where anybody on the way could read it; use https");
            progress::ProgressLine::new().interject(&format!("warning: {text}"));
        });
    }
    let visit = VISIT.with(Rc::clone);
    let hub = Hub::within(visit, Rc::new(client), Rc::new(Fallback::new(Rc::new(store()))), endpoint);
    hub.listen(progress::listener());
    Ok(hub)
}

/// The address of the hub or its mirror.
pub(super) fn endpoint() -> Result<Endpoint> {
    variable("HF_ENDPOINT").map_or_else(|| Ok(Endpoint::default()), |address| address.parse())
}

/// The cache of Hugging Face's own tools.
pub(super) fn store() -> DiskStore {
    let cache = variable("HF_HUB_CACHE").or_else(|| variable("HUGGINGFACE_HUB_CACHE"));
    DiskStore::new(cache.map_or_else(|| home().join("hub"), PathBuf::from))
}

/// Opens a model on the hub.
pub(super) fn open(id: &HubId) -> Result<HubFiles> {
    block_on(hub()?.open(id))
}

/// Prints on standard error what `job` needs of a model.
pub(super) fn print_preflight(files: &HubFiles, job: &Job) -> Result<()> {
    let found = block_on(files.preflight(job, &Capacity::default()))?;
    describe(&found).lines().for_each(status::print_line);
    Ok(())
}

/// A part of WikiText-2, with its name for reports.
pub(super) fn wikitext(part: WikiText2) -> Result<(String, Text)> {
    let (name, text) = block_on(hub()?.wikitext(part, &ParquetTables))?;
    Ok((name, Text::Plain(text)))
}

/// Parquet files read in this process.
struct ParquetTables;

impl Table for ParquetTables {
    fn texts(&self, file: Vec<u8>) -> LocalBoxFuture<'_, std::result::Result<String, String>> {
        Box::pin(async move { straightedge_parquet_text::texts(&file, "text") })
    }
}

/// The preview of a download as text.
fn describe(found: &Preflight) -> String {
    let mut text = found.id.to_string();
    if let Some(architecture) = &found.architecture {
        let dtype = found.dtype.as_deref().unwrap_or("no weights that can be read");
        text +=
            &format!(": {architecture}, {} blocks of width {}, {dtype}", found.num_hidden_layers, found.hidden_size);
    }
    if found.download_bytes > 0 {
        let (bytes, requests) = (progress::megabytes(found.download_bytes), found.requests);
        text += &format!("\nto download: {bytes} in {requests} request{}", if requests == 1 { "" } else { "s" });
        if found.held_bytes > 0 {
            text += &format!(", {} are here already", progress::megabytes(found.held_bytes));
        }
        let [fast, slow] = [10e6, 1e6].map(|rate| found.seconds_at(rate).map_or_else(String::new, progress::duration));
        text += &format!("; at 10 MB/s about {fast}, at 1 MB/s about {slow}");
    }
    if found.device_bytes > 0 {
        text += &format!("\nmemory of the model: {}", progress::megabytes(found.device_bytes));
    }
    for problem in &found.problems {
        text += &format!("\n{}", problem.text);
    }
    text + "\n"
}

/// The user's token, for models with restricted access.
fn token() -> Option<String> {
    let file = || {
        let path = variable("HF_TOKEN_PATH").map_or_else(|| home().join("token"), PathBuf::from);
        fs::read_to_string(path).ok()
    };
    let token = variable("HF_TOKEN").or_else(|| variable("HUGGING_FACE_HUB_TOKEN")).or_else(file)?;
    let token = token.trim();
    (!token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic())).then(|| token.to_owned())
}

/// The home folder of Hugging Face's own tools.
fn home() -> PathBuf {
    let cache = || {
        let cache = variable("XDG_CACHE_HOME").map(PathBuf::from);
        cache.unwrap_or_else(|| env::home_dir().unwrap_or_default().join(".cache")).join("huggingface")
    };
    variable("HF_HOME").map_or_else(cache, PathBuf::from)
}

/// An environment variable, if not blank.
fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.trim().is_empty())
}

fn is_true(value: &str) -> bool {
    matches!(value.trim().to_ascii_uppercase().as_str(), "1" | "ON" | "YES" | "TRUE")
}

/// One line per model that can be measured without a network.
pub(super) fn list() -> String {
    let line = |model: straightedge::hub::disk::Cached| {
        let id = if model.revision == "main" { model.name } else { format!("{}@{}", model.name, model.revision) };
        format!("{id:<40} {}\n", progress::megabytes(model.bytes))
    };
    store().list().into_iter().map(line).collect()
}
