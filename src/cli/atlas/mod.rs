//! `atlas`: measures a list of models one after another, and keeps finished results between runs.

mod list;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use straightedge::atlas::{AtlasEntry, AtlasState, INDEX, Index, Measured};
use straightedge::error::{Error, Result};
use straightedge::event::Event;
use straightedge::report::Report;
use straightedge::run;

use super::args::AtlasArgs;
use super::drive::{self, DriveOutcome, drive_with_listener};
use super::report_file::ReportFile;
use super::status::{Status, print_error, print_line};
use super::{inputs, measure, results};
use list::ListedModel;

/// Length of a shortened commit.
const SHORT: usize = 10;

/// `atlas LIST`.
pub(super) fn atlas(args: &AtlasArgs) -> Result<Status> {
    let orders = list::read(&args.list)?;
    fs::create_dir_all(&args.out)
        .map_err(|error| Error::UnwritableFile { file: args.out.display().to_string(), why: error.to_string() })?;
    let mut atlas = Atlas::begin(&args.out, &orders)?;
    // Kept alive so that a Ctrl-C between two models is caught too.
    let _woken = drive::catch_interrupts();
    for (at, order) in orders.iter().enumerate() {
        let what = format!("model {} of {}: {}", at + 1, orders.len(), named(&order.entry));
        if atlas.is_kept(at) {
            print_line(&format!("{what}: kept, it was measured with the same settings"));
            continue;
        }
        print_line(&what);
        let found = measured(order, &atlas.folder.join(report_name(&order.entry)));
        if drive::is_interrupted() || matches!(found, Err(Error::Cancelled)) {
            print_error(&Error::Cancelled);
            return Ok(Status::Interrupted);
        }
        atlas.record(at, order, found)?;
    }
    results::print(&atlas.summary())?;
    Ok(Status::Done)
}

/// Measures one model. Its report is written to `path` from the first finished block on.
fn measured(order: &ListedModel, path: &Path) -> Result<Report> {
    let (job, inputs) = measure::prepare(order.job.clone(), &order.model, &order.text)?;
    let (training, mut file) = (job.training, ReportFile::of(path)?);
    let mut receive = |event: &Event, report: Option<&Report>| file.receive(event, report);
    let DriveOutcome { report, failure, .. } =
        drive_with_listener(run::measure_inputs(job, inputs), &training, &mut receive);
    let has_results = |report: &&Report| !report.partial || !report.blocks.is_empty();
    let written = match report.as_ref().filter(has_results) {
        Some(report) => file.finish(report),
        None => {
            file.withdraw();
            Ok(())
        }
    };
    if let Some(failure) = failure {
        written.unwrap_or_else(|error| print_error(&error));
        return Err(failure);
    }
    written?;
    let nothing = || Error::Engine { why: "the measurement ended without a report".into() };
    report.filter(|report| !report.partial).ok_or_else(nothing)
}

/// The name of a model's report in the folder.
fn report_name(entry: &AtlasEntry) -> String {
    format!("{}.json", entry.slug)
}

/// The output folder.
struct Atlas {
    folder: PathBuf,
    index: Index,
    kept: usize,
}

impl Atlas {
    /// Keeps finished results of an earlier run with the same settings, and lists all others as pending.
    fn begin(folder: &Path, orders: &[ListedModel]) -> Result<Self> {
        let mut earlier: BTreeMap<String, AtlasEntry> =
            earlier(folder).models.into_iter().map(|entry| (entry.slug.clone(), entry)).collect();
        let mut kept = 0;
        let entry = |order: &ListedModel| {
            let known = earlier.remove(&order.entry.slug).filter(|known| known.settings == order.entry.settings);
            match known.and_then(|known| still_there(folder, known)) {
                Some(mut measured) => {
                    kept += 1;
                    // The published values in the list may have changed.
                    measured.published = order.replication(&measured.summary);
                    AtlasEntry { state: AtlasState::Measured, measured: Some(measured), ..order.entry.clone() }
                }
                None => order.entry.clone(),
            }
        };
        let models = orders.iter().map(entry).collect();
        let atlas = Self { folder: folder.into(), index: Index { models }, kept };
        atlas.write()?;
        Ok(atlas)
    }

    fn is_kept(&self, at: usize) -> bool {
        self.index.models[at].state == AtlasState::Measured
    }

    /// Notes the result of a model, whose report is written, in the index.
    fn record(&mut self, at: usize, order: &ListedModel, found: Result<Report>) -> Result<()> {
        let entry = &mut self.index.models[at];
        match found {
            Ok(report) => {
                let mut measured = Measured::new(report_name(entry), &report, now());
                measured.published = order.replication(&measured.summary);
                (entry.state, entry.measured) = (AtlasState::Measured, Some(measured));
            }
            Err(error) => {
                print_error(&error);
                (entry.state, entry.error) = (AtlasState::Failed, Some(error.sentence()));
            }
        }
        self.write()
    }

    fn write(&self) -> Result<()> {
        let json = serde_json::to_string_pretty(&self.index).expect("an index is plain data");
        results::write(&self.folder.join(INDEX), (json + "\n").as_bytes())
    }

    /// One line per model, and a summary.
    fn summary(&self) -> String {
        let mut text = self.index.models.iter().map(|entry| line(entry) + "\n").collect::<String>();
        let count = |state| self.index.models.iter().filter(|entry| entry.state == state).count();
        let (measured, failed) = (count(AtlasState::Measured) - self.kept, count(AtlasState::Failed));
        let _ = writeln!(
            text,
            "{} models: {measured} measured, {} kept, {failed} failed; {}",
            self.index.models.len(),
            self.kept,
            self.folder.join(INDEX).display()
        );
        text
    }
}

/// The index of an earlier run; empty if unreadable.
fn earlier(folder: &Path) -> Index {
    let json = fs::read(folder.join(INDEX)).unwrap_or_default();
    serde_json::from_slice(&json).unwrap_or_default()
}

/// The finished measurement of an entry, if its report exists and is complete.
fn still_there(folder: &Path, entry: AtlasEntry) -> Option<Measured> {
    let name = report_name(&entry);
    let measured = entry.measured.filter(|measured| measured.report == name)?;
    let report = inputs::report(&folder.join(&measured.report)).ok()?;
    (!report.partial).then(|| Measured::new(measured.report, &report, measured.ended))
}

fn line(entry: &AtlasEntry) -> String {
    let name = named(entry);
    let Some(measured) = &entry.measured else {
        return format!("failed    {name}: {}", entry.error.as_deref().unwrap_or("it was not measured"));
    };
    let commit = measured.commit.as_deref().map(|commit| format!(", {}", commit.get(..SHORT).unwrap_or(commit)));
    let published = measured.published.as_ref().map(|published| {
        let of = format!("{} on {}", published.model, published.corpus);
        match published.most {
            Some(most) => {
                format!(
                    "; R² scalar differs from the published {of} by {:.4} at most, in block {}",
                    most.value, most.block
                )
            }
            None => format!("; the published {of} has a different number of blocks"),
        }
    });
    format!("measured  {name}{}{}", commit.unwrap_or_default(), published.unwrap_or_default())
}

fn named(entry: &AtlasEntry) -> String {
    let revision = entry.revision.as_deref().map(|revision| format!("@{revision}")).unwrap_or_default();
    let text = entry.text.as_deref().unwrap_or("its own text");
    format!("{}{revision} on {text}", entry.id)
}

/// The Unix time in seconds.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
