//! Downloads parts of files into the store, across network failures, and verifies all that can be verified.

use std::cell::Cell;
use std::ops::Range;

use web_time::Instant;

use super::client::{Hub, not_the_file};
use super::http::{Failure, HttpRequest, Response};
use super::plan::{self, Ranges};
use super::repo::FileKey;
use super::retry::RetryPolicy;
use crate::error::{Error, Result};
use crate::event::{Event, Progress, Stage};
use crate::platform::digest::BlobDigest;
use crate::platform::yielding::yield_now;

/// Bytes between two flushes: the most a closed tab can lose.
const FLUSH: u64 = 16 << 20;
/// Bytes read back at once for hashing.
const PIECE: u64 = 8 << 20;
/// Seconds between two progress events.
const REPORT: f64 = 0.1;

/// Progress of a download that is fetched in groups.
#[derive(Default)]
pub(super) struct GroupProgress(Cell<Option<Bytes>>);

#[derive(Clone, Copy)]
struct Bytes {
    done: u64,
    total: u64,
    started: Instant,
}

impl GroupProgress {
    /// Announces a download of `total` bytes.
    pub(super) fn begin(&self, total: u64) {
        self.0.set(Some(Bytes { done: 0, total, started: Instant::now() }));
    }

    /// Whether a download has been announced.
    pub(super) fn is_some(&self) -> bool {
        self.0.get().is_some()
    }
}

/// Reports the progress of one download over all its files.
pub(super) struct DownloadMeter<'a> {
    hub: &'a Hub,
    stage: Stage,
    done: u64,
    total: u64,
    started: Instant,
    /// Seconds at which the last event was sent.
    reported: f64,
    /// The announced download it is a part of.
    announced: Option<&'a GroupProgress>,
}

impl<'a> DownloadMeter<'a> {
    /// The meter of a group, counted within the announced download if there is one.
    pub(super) fn of_announced(hub: &'a Hub, announced: &'a GroupProgress, bytes: u64) -> Self {
        let whole = Self::new(hub, Stage::Download, bytes);
        match announced.0.get() {
            Some(Bytes { done, total, started }) => {
                Self { done, total: total.max(done + bytes), started, announced: Some(announced), ..whole }
            }
            None => whole,
        }
    }

    pub(super) fn new(hub: &'a Hub, stage: Stage, total: u64) -> Self {
        Self { hub, stage, done: 0, total, started: Instant::now(), reported: f64::NEG_INFINITY, announced: None }
    }

    /// Adds bytes, reports at intervals, and yields so that the owner can cancel.
    async fn add(&mut self, bytes: u64) {
        self.done += bytes;
        if let Some(announced) = self.announced {
            announced.0.set(Some(Bytes { done: self.done, total: self.total, started: self.started }));
        }
        let seconds = self.started.elapsed().as_secs_f64();
        if seconds - self.reported >= REPORT || self.done >= self.total {
            self.reported = seconds;
            self.hub.emit(Event::Progress(Progress { stage: self.stage, done: self.done, total: self.total, seconds }));
        }
        yield_now().await;
    }
}

/// Fetches the ranges `missing` of one file, which are normal and not yet held.
///
/// # Errors
/// No connection after several tries, refusals, and responses that cannot be the file.
pub(super) async fn fetch(
    hub: &Hub,
    id_url: &str,
    key: &FileKey,
    missing: Ranges,
    meter: &mut DownloadMeter<'_>,
) -> Result<()> {
    let mut part = FileDownload { hub, key, missing, unflushed: 0 };
    let mut patience = RetryPolicy::for_downloads();
    while let Some(next) = part.missing.first().cloned() {
        let range = (next != (0..key.size)).then(|| next.clone());
        let request = HttpRequest { url: id_url.into(), range };
        let response = hub.send(&key.path, &request, next.end - next.start, &mut patience).await?;
        let (start, end) = extent(key, &request, &response)?;
        let left = plan::len(&part.missing);
        let outcome = part.stream(response, start..end, meter).await?;
        hub.store().flush(key).await?;
        // A slow connection does not restore the patience, whatever it brought.
        if plan::len(&part.missing) < left && !matches!(outcome, Some(Failure::Slow(_))) {
            patience.restore();
        }
        if let Some(failure) = outcome {
            hub.wait(patience.broken(&key.path, failure.to_string())?).await;
        }
    }
    Ok(())
}

/// The byte range of a response, from its status and headers.
fn extent(key: &FileKey, request: &HttpRequest, response: &Response) -> Result<(u64, u64)> {
    let refused = |why: String| Err(not_the_file(&key.path, why));
    let kind = response.header("content-type").unwrap_or_default();
    if kind.starts_with("text/html") {
        return refused("a web page came".into());
    }
    if kind.starts_with("application/json") && !key.path.ends_with(".json") {
        return refused("a JSON text came".into());
    }
    if response.status == 206 && request.range.is_none() {
        return refused("a part came instead of the whole file".into());
    }
    let (Some(requested), 206) = (&request.range, response.status) else {
        // A length in a header may be that of a compressed body; the bytes are counted as they come.
        return Ok((0, key.size));
    };
    let expected = format!("bytes {}-{}/{}", requested.start, requested.end - 1, key.size);
    match response.header("content-range") {
        Some(found) if found.trim() != expected => refused(format!("{found} instead of {expected}")),
        _ => Ok((requested.start, requested.end)),
    }
}

fn ended(position: u64, end: u64) -> Failure {
    Failure::Network(format!("it ended after {position} of {end} bytes"))
}

/// A file being fetched.
struct FileDownload<'a> {
    hub: &'a Hub,
    key: &'a FileKey,
    missing: Ranges,
    unflushed: u64,
}

impl FileDownload<'_> {
    /// Receives the bytes `extent` of the file; returns the failure if the connection broke.
    async fn stream(
        &mut self,
        response: Response,
        extent: Range<u64>,
        meter: &mut DownloadMeter<'_>,
    ) -> Result<Option<Failure>> {
        let mut body = response.body;
        let mut position = extent.start;
        let mut digest = (extent == (0..self.key.size)).then(|| self.key.digest()).flatten();
        while position < extent.end {
            let chunk = match body.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) if extent == (0..self.key.size) => {
                    let why = format!("{position} bytes, but the hub lists {}", self.key.size);
                    return Err(not_the_file(&self.key.path, why));
                }
                Ok(None) => return Ok(Some(ended(position, extent.end))),
                Err(failure @ (Failure::Network(_) | Failure::Slow(_))) => return Ok(Some(failure)),
                Err(failure) => return Err(not_the_file(&self.key.path, failure.to_string())),
            };
            if position + chunk.len() as u64 > extent.end {
                return Err(not_the_file(&self.key.path, "more bytes came than requested".into()));
            }
            if position == 0 {
                check_beginning(&self.key.path, &chunk)?;
            }
            digest.iter_mut().for_each(|digest| digest.update(&chunk));
            self.keep(position, &chunk, meter).await?;
            position += chunk.len() as u64;
        }
        match digest {
            Some(digest) => self.hub.check_hash(self.key, digest).await.map(|()| None),
            None => Ok(None),
        }
    }

    /// Stores the missing bytes of a chunk.
    async fn keep(&mut self, position: u64, chunk: &[u8], meter: &mut DownloadMeter<'_>) -> Result<()> {
        let whole = position..position + chunk.len() as u64;
        let requested: Ranges =
            self.missing.iter().map(|range| range.start.max(whole.start)..range.end.min(whole.end)).collect();
        for range in plan::normal(requested.into_iter().filter(|range| range.start < range.end).collect()) {
            let bytes = &chunk[(range.start - position) as usize..(range.end - position) as usize];
            self.hub.store().write(self.key, range.start, bytes).await?;
            self.unflushed += bytes.len() as u64;
            self.missing = plan::missing(&self.missing, std::slice::from_ref(&range));
            meter.add(bytes.len() as u64).await;
        }
        if self.unflushed >= FLUSH {
            self.unflushed = 0;
            self.hub.store().flush(self.key).await?;
        }
        Ok(())
    }
}

/// Refuses content whose first bytes show another format than the file name.
fn check_beginning(path: &str, bytes: &[u8]) -> Result<()> {
    let text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    let first = bytes.trim_ascii_start().first();
    let why = match path.rsplit('.').next() {
        // The 8-byte length of a header ends in zero bytes, and a zip archive begins with PK and two control codes.
        Some("safetensors" | "bin") if bytes.len() >= 8 && bytes[..8].iter().all(text) => "a text came",
        Some("parquet") if bytes.len() >= 4 && !bytes.starts_with(b"PAR1") => "no Parquet file came",
        _ if first == Some(&b'<') => "a web page came",
        _ => return Ok(()),
    };
    Err(not_the_file(path, why.into()))
}

impl Hub {
    /// Compares a complete file with the hash in the listing.
    pub(super) async fn verify(&self, key: &FileKey) -> Result<()> {
        if let Some(mut digest) = key.digest() {
            let mut meter = DownloadMeter::new(self, Stage::Hash, key.size);
            for start in (0..key.size).step_by(PIECE as usize) {
                let bytes = self.store().read(key, start..key.size.min(start + PIECE)).await?;
                digest.update(&bytes);
                meter.add(bytes.len() as u64).await;
            }
            self.check_hash(key, digest).await?;
        }
        self.store().complete(key).await?;
        self.set_verified(key);
        Ok(())
    }

    async fn check_hash(&self, key: &FileKey, digest: BlobDigest) -> Result<()> {
        let kind = digest.kind().into();
        let (Some(expected), found) = (&key.blob, digest.hex()) else { return Ok(()) };
        if *expected == found {
            return Ok(());
        }
        self.forget(key).await?;
        Err(Error::HashMismatch { file: key.path.clone(), kind, found, expected: expected.clone() })
    }
}
