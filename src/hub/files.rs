//! A model on the hub as a source of files. A read first fetches what is not stored yet.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

use futures::future::LocalBoxFuture;

use super::client::{Hub, not_the_file, restricted};
use super::download::{self, DownloadMeter, GroupProgress};
use super::id::HubId;
use super::plan::{self, Ranges};
use super::repo::FileKey;
use super::repo::Repo;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::report::{Warning, WarningKind};
use crate::weights::{FilePart, Files, Listener, is_weight_file};

/// Most bytes of a file that is read whole: all but the weights.
const LARGEST_WHOLE: u64 = 100 << 20;

/// The files of a repository at a commit.
#[derive(Clone)]
pub struct HubFiles {
    hub: Hub,
    repo: Repo,
    announced: Rc<GroupProgress>,
    /// Weight files of which bytes were read before they could be verified.
    trusted: Rc<RefCell<BTreeSet<String>>>,
}

impl HubFiles {
    pub(super) fn new(hub: Hub, repo: Repo) -> Self {
        Self { hub, repo, announced: Rc::default(), trusted: Rc::default() }
    }

    /// The repository, pinned to the commit.
    pub fn id(&self) -> &HubId {
        &self.repo.id
    }

    /// The repository's listing.
    pub fn repo(&self) -> &Repo {
        &self.repo
    }

    fn key(&self, file: &str) -> Result<FileKey> {
        let hint = || format!("{} does not have it; choose another model or revision", self.repo.id.name());
        self.repo.key(file).ok_or_else(|| Error::MissingFile { file: file.into(), hint: hint() })
    }

    /// Plans the download for reading `parts`, with the bytes already held.
    pub(super) async fn plan(&self, parts: &[FilePart]) -> Result<Plan> {
        let mut plan = Plan::default();
        self.add(&mut plan, parts, plan::MAX_RANGES).await?;
        Ok(plan)
    }

    /// `plan` for parts fetched group by group.
    pub(super) async fn plan_groups(&self, groups: &[Vec<FilePart>]) -> Result<Plan> {
        let mut plan = Plan::default();
        for parts in groups {
            self.add(&mut plan, parts, plan::MAX_RANGES_OF_GROUP).await?;
        }
        Ok(plan)
    }

    /// Adds parts to a plan, in at most `most` ranges.
    async fn add(&self, plan: &mut Plan, parts: &[FilePart], most: usize) -> Result<()> {
        let mut needed: BTreeMap<String, Ranges> = BTreeMap::new();
        for (file, range) in parts {
            needed.entry(file.clone()).or_default().push(range.clone());
        }
        for (file, ranges) in plan::coalesce(needed, most) {
            let key = self.key(&file)?;
            let outside = ranges.iter().find(|range| range.end > key.size);
            if let Some(range) = outside {
                let why = format!("bytes {range:?} lie outside its {} bytes", key.size);
                return Err(Error::UnreadableFile { file, why });
            }
            let ranges = plan::missing(&ranges, &plan.planned(&key));
            if ranges.is_empty() {
                continue;
            }
            let missing = plan::missing(&ranges, &self.hub.store().held(&key).await?);
            plan.needed += plan::len(&ranges);
            plan.held += plan::len(&ranges) - plan::len(&missing);
            plan.ranges.push((key.clone(), ranges));
            plan.missing.push((key, missing));
        }
        Ok(())
    }

    /// Fetches the missing ranges of a plan. Files complete by then are verified by their hash.
    pub(super) async fn carry_out(&self, plan: Plan) -> Result<()> {
        let mut meter = DownloadMeter::of_announced(&self.hub, &self.announced, plan.bytes());
        for (key, ranges) in plan.ranges {
            let Ensured::Damaged(damaged) = self.ensure(&key, &ranges, &mut meter).await? else { continue };
            // The damaged copy is deleted, but results include values read from it.
            if self.trusted.borrow_mut().remove(&key.path) {
                return Err(damaged.of_used_weights());
            }
            if is_weight_file(&key.path) {
                let file = key.path.clone();
                self.hub.emit(Event::Warning(Warning::new(&WarningKind::Discarded { file })));
            }
            // All of it is fetched again, because only a whole file has a hash.
            if let Ensured::Damaged(again) = self.ensure(&key, &vec![0..key.size], &mut meter).await? {
                return Err(again);
            }
        }
        Ok(())
    }

    /// Fetches what is missing of `ranges`, and verifies the file if it is complete and was not verified before.
    async fn ensure(&self, key: &FileKey, ranges: &Ranges, meter: &mut DownloadMeter<'_>) -> Result<Ensured> {
        let store = self.hub.store();
        let held = store.held(key).await?;
        let is_unknown = |held: &Ranges| *held == [0..key.size] && !self.hub.is_verified(key);
        if plan::missing(ranges, &held).is_empty() && !is_unknown(&held) {
            return Ok(Ensured::Held);
        }
        let _lock = self.hub.lock(key).await?;
        // Another program may have fetched some of it in the meantime.
        let held = store.held(key).await?;
        let missing = plan::missing(ranges, &held);
        self.fetch(key, missing, meter).await?;
        if is_unknown(&store.held(key).await?) {
            match self.hub.verify(key).await {
                // Bytes stored before may have been damaged in the store, not in transit.
                Err(error @ Error::HashMismatch { .. }) if !held.is_empty() => return Ok(Ensured::Damaged(error)),
                verified => verified?,
            }
        }
        Ok(Ensured::Held)
    }

    /// Fetches ranges from the hub.
    async fn fetch(&self, key: &FileKey, missing: Ranges, meter: &mut DownloadMeter<'_>) -> Result<()> {
        let gated = || restricted(self.repo.id.name().into(), "its owner grants it".into());
        if !missing.is_empty() && self.repo.gated && !self.hub.has_token() {
            return Err(gated());
        }
        let url = self.hub.endpoint().file_url(&self.repo.id, &self.repo.commit, &key.path);
        match download::fetch(&self.hub, &url, key, missing, meter).await {
            // A browser shows a refusal as a broken connection if it may not read it.
            Err(Error::Network { .. }) if !self.hub.has_token() && self.hub.is_gated(&self.repo.id).await => {
                Err(gated())
            }
            fetched => fetched,
        }
    }
}

/// Whether the requested ranges of a file are in the store.
enum Ensured {
    Held,
    /// A partly stored file had another hash and was deleted.
    Damaged(Error),
}

/// A planned download.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Bytes of all ranges, held ones included.
    pub(super) needed: u64,
    /// Bytes already stored.
    pub(super) held: u64,
    /// All ranges by file, in reading order.
    ranges: Vec<(FileKey, Ranges)>,
    /// Ranges to request, by file.
    pub(super) missing: Vec<(FileKey, Ranges)>,
}

impl Plan {
    /// Ranges of a file already in the plan.
    fn planned(&self, key: &FileKey) -> Ranges {
        let of_file = self.ranges.iter().filter(|(planned, _)| planned.path == key.path);
        plan::normal(of_file.flat_map(|(_, ranges)| ranges.clone()).collect())
    }

    /// Bytes to fetch.
    pub(super) fn bytes(&self) -> u64 {
        self.missing.iter().map(|(_, missing)| plan::len(missing)).sum()
    }

    /// Number of requests.
    pub(super) fn requests(&self) -> usize {
        self.missing.iter().map(|(_, missing)| missing.len()).sum()
    }
}

impl Files for HubFiles {
    fn size<'a>(&'a self, file: &'a str) -> LocalBoxFuture<'a, Result<Option<u64>>> {
        Box::pin(async move { Ok(self.repo.files.get(file).map(|entry| entry.size)) })
    }

    fn read<'a>(&'a self, file: &'a str, range: Range<u64>) -> LocalBoxFuture<'a, Result<Vec<u8>>> {
        Box::pin(async move {
            let key = self.key(file)?;
            let is_whole = !is_weight_file(file);
            if is_whole && key.size > LARGEST_WHOLE {
                let why = format!("a size of {} bytes, where {LARGEST_WHOLE} are the most", key.size);
                return Err(not_the_file(file, why));
            }
            let requested = if is_whole { 0..key.size } else { range.clone() };
            self.carry_out(self.plan(&[(file.into(), requested)]).await?).await?;
            if !is_whole && !self.hub.is_verified(&key) {
                self.trusted.borrow_mut().insert(key.path.clone());
            }
            self.hub.store().read(&key, range).await
        })
    }

    fn announce<'a>(&'a self, groups: &'a [Vec<FilePart>]) -> LocalBoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.announced.begin(self.plan_groups(groups).await?.bytes());
            Ok(())
        })
    }

    fn prepare<'a>(&'a self, parts: &'a [FilePart]) -> LocalBoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let mut plan = Plan::default();
            let most = if self.announced.is_some() { plan::MAX_RANGES_OF_GROUP } else { plan::MAX_RANGES };
            self.add(&mut plan, parts, most).await?;
            self.carry_out(plan).await
        })
    }

    fn report_damaged<'a>(&'a self, file: &'a str) -> LocalBoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let key = self.key(file)?;
            let _lock = self.hub.lock(&key).await?;
            let is_whole = self.hub.store().held(&key).await? == [0..key.size];
            if !is_whole || key.digest().is_none() {
                return self.hub.forget(&key).await;
            }
            // A file with the hash that the hub lists is as the hub has it, and may serve other programs. It is compared
            // even if it was before: a file that was damaged since may have kept its size and time.
            match self.hub.verify(&key).await {
                Err(Error::HashMismatch { .. }) => Ok(()),
                verified => verified,
            }
        })
    }

    fn discarded<'a>(&'a self, file: &'a str) -> LocalBoxFuture<'a, u64> {
        Box::pin(async move {
            match self.repo.key(file) {
                Some(key) => self.hub.store().discarded(&key).await,
                None => 0,
            }
        })
    }

    fn listen(&self, listener: Listener) {
        self.hub.listen(listener);
    }

    fn warnings(&self) -> Vec<Warning> {
        let warning = |text: &String| Warning { code: "same_weights".into(), block: None, text: text.clone() };
        self.repo.remark.iter().map(warning).collect()
    }

    fn revision(&self) -> Option<String> {
        Some(self.repo.commit.clone())
    }

    fn sha256(&self, file: &str) -> Option<String> {
        self.repo.files.get(file)?.sha256.clone()
    }

    fn is_verified(&self, file: &str) -> bool {
        self.repo.key(file).is_some_and(|key| self.hub.is_verified(&key))
    }
}
