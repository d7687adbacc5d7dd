//! A model that is measured while its weights come from the hub: damage that shows at the end is told, and a hash that is
//! compared in the meantime makes no other model of it.

mod common;

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use futures::StreamExt;
use futures::executor::block_on;
use straightedge::error::Error;
use straightedge::event::{Event, Recorder};
use straightedge::hub::client::Hub;
use straightedge::hub::disk::DiskStore;
use straightedge::hub::files::HubFiles;
use straightedge::hub::id::{Endpoint, HubId};
use straightedge::hub::transport::Transport;
use straightedge::job::{BackendChoice, Job, Measure, Protocol};
use straightedge::report::Report;
use straightedge::run::{Inputs, Resume, ResumeFile, Text, measure_inputs};
use straightedge::trace::Lane;
use straightedge::weights::{Files, FolderFiles};
use straightedge_hub_mirror::{Mirror, Options};

const MODEL: &str = "tiny-gpt2";
const WEIGHTS: &str = "model.safetensors";

fn mirror() -> Mirror {
    Mirror::start(Options::new(common::fixture(""))).expect("a free port")
}

fn fresh(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("streamed").join(test);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn of_hub(mirror: &Mirror, cache: &Path) -> HubFiles {
    let endpoint: Endpoint = mirror.url().parse().expect("an address");
    let transport = Transport::new(endpoint.clone(), None, false);
    let hub = Hub::new(Rc::new(transport), Rc::new(DiskStore::new(cache.into())), endpoint);
    block_on(hub.open(&HubId::model(MODEL).expect("an id"))).expect("a listing")
}

/// Perplexity needs all tensors, so that the file is complete after the last of them.
fn job() -> Job {
    Job {
        measures: [Measure::Fit, Measure::Swap].into(),
        backend: BackendChoice::Cpu,
        protocol: Protocol { rows: 1280, seq_len: 64, ..Protocol::default() },
        ..Job::new(MODEL, "text")
    }
}

/// The report up to the first event for which `ends` is true, and the error at the end.
fn measured(
    files: Rc<dyn Files>,
    resume: Option<Rc<dyn Resume>>,
    ends: &dyn Fn(&Event) -> bool,
) -> (Report, Option<Error>) {
    let text = std::fs::read(common::encyclopedia()).expect("a text");
    let mut events = measure_inputs(job(), Inputs { resume, ..Inputs::new(files, Text::Plain(text)) });
    let (mut recorder, mut failure) = (Recorder::default(), None);
    block_on(async {
        while let Some(event) = events.next().await {
            recorder.record(&event);
            let is_last = ends(&event);
            if let Event::Failed(error) = event {
                failure = Some(error);
            }
            if is_last {
                break;
            }
        }
    });
    (recorder.into_report().expect("a report"), failure)
}

/// What a report says of the model, without times.
fn numbers(report: Report) -> (Option<f64>, Vec<straightedge::report::BlockReport>) {
    assert!(!report.partial && report.blocks.len() == 4, "{:?}", report.warnings);
    let without_times = |mut block: straightedge::report::BlockReport| {
        block.row_microseconds.clear();
        block
    };
    (report.ppl, report.blocks.into_iter().map(without_times).collect())
}

#[test]
fn damage_that_shows_at_the_end_takes_along_what_was_measured_of_it() {
    let (mirror, folder) = (mirror(), fresh("damage"));
    let (cache, state) = (folder.join("hub"), folder.join("state"));
    let resume = || Some(Rc::new(ResumeFile(state.clone())) as Rc<dyn Resume>);
    let expected = numbers(measured(Rc::new(FolderFiles::new(common::fixture(MODEL))), None, &|_| false).0);
    let (is_planted, was_saved) = (Cell::new(false), Cell::new(false));
    // The header has come; one answer with values is damaged once.
    let plant = |event: &Event| {
        if matches!(event, Event::Started(_)) && !is_planted.replace(true) {
            mirror.faults().add(format!("flipped:{WEIGHTS}:1").parse().expect("a fault"));
        }
        was_saved.set(was_saved.get() || state.exists());
        false
    };
    let (report, failure) = measured(Rc::new(of_hub(&mirror, &cache)), resume(), &plant);
    let hash = of_hub(&mirror, &cache).sha256(WEIGHTS).expect("a hash");
    let sentence = failure.as_ref().map(Error::to_string).unwrap_or_default();
    let Some(Error::DamagedWeights { file, found, expected: listed, .. }) = failure else { panic!("{failure:?}") };
    assert!((&*file, &*listed) == (WEIGHTS, &*hash) && found.len() == 64 && found != hash, "{sentence}");
    assert!(sentence.contains(&format!("(SHA-256 {found}, but the hub lists {hash})")), "{sentence}");
    assert!(report.partial && report.blocks.is_empty(), "what came from damaged weights is no result");
    assert!(was_saved.get() && !state.exists(), "nor is it a state to go on from");
    let (report, failure) = measured(Rc::new(of_hub(&mirror, &cache)), resume(), &|_| false);
    assert_eq!(failure, None, "the next start fetches it again");
    assert_eq!(numbers(report), expected);
}

#[test]
fn a_file_that_is_verified_in_the_meantime_is_the_same_model() {
    let (mirror, folder) = (mirror(), fresh("claim"));
    let (cache, state) = (folder.join("hub"), folder.join("state"));
    let resume = || Some(Rc::new(ResumeFile(state.clone())) as Rc<dyn Resume>);
    let undisturbed = measured(Rc::new(FolderFiles::new(common::fixture(MODEL))), None, &|_| false).0;
    let stop = |event: &Event| matches!(event, Event::Span(span) if span.lane == Lane::Forks && span.block == Some(2));
    let (begun, _) = measured(Rc::new(of_hub(&mirror, &cache)), resume(), &stop);
    assert!(state.is_file() && begun.model.sha256_claimed, "weights come in parts");
    let files = of_hub(&mirror, &cache);
    let size = files.repo().files[WEIGHTS].size;
    block_on(files.prepare(&[(WEIGHTS.into(), 0..size)])).expect("the rest");
    let header = Cell::new(None);
    let hear = |event: &Event| {
        if let Event::Started(started) = event {
            header.set(Some(started.clone()));
        }
        false
    };
    let (rest, failure) = measured(Rc::new(of_hub(&mirror, &cache)), resume(), &hear);
    assert_eq!(failure, None, "its state is of this measurement");
    assert!(rest.model.sha256_claimed, "its first blocks came before the whole file was compared");
    assert!(begun.is_continued_by(&header.take().expect("a header")), "an earlier report is continued");
    let anew = measured(Rc::new(of_hub(&mirror, &cache)), None, &|_| false).0;
    assert!(!anew.model.sha256_claimed, "now it was");
    assert_eq!(numbers(rest), numbers(undisturbed));
}

#[test]
fn a_state_of_weights_that_were_found_to_be_damaged_elsewhere_is_refused() {
    let (mirror, folder) = (mirror(), fresh("elsewhere"));
    let (cache, state) = (folder.join("hub"), folder.join("state"));
    let resume = || Some(Rc::new(ResumeFile(state.clone())) as Rc<dyn Resume>);
    let is_planted = Cell::new(false);
    let stop = |event: &Event| {
        if matches!(event, Event::Started(_)) && !is_planted.replace(true) {
            mirror.faults().add(format!("flipped:{WEIGHTS}:1").parse().expect("a fault"));
        }
        matches!(event, Event::Span(span) if span.lane == Lane::Forks && span.block == Some(1))
    };
    let (begun, failure) = measured(Rc::new(of_hub(&mirror, &cache)), resume(), &stop);
    assert!(state.is_file() && begun.model.sha256_claimed, "{failure:?}, {} blocks", begun.blocks.len());
    let (files, reported) = (of_hub(&mirror, &cache), Rc::new(Cell::new(0)));
    let heard = reported.clone();
    files.listen(Rc::new(move |event| {
        let is_reported = matches!(&event, Event::Warning(warning) if warning.code == "discarded" && warning.text.starts_with(WEIGHTS));
        heard.set(heard.get() + usize::from(is_reported));
    }));
    let size = files.repo().files[WEIGHTS].size;
    block_on(files.prepare(&[(WEIGHTS.into(), 0..size)])).expect("all of it, fetched again");
    assert_eq!(reported.get(), 1, "whoever finds the damage is told what it means");
    let (report, failure) = measured(Rc::new(of_hub(&mirror, &cache)), resume(), &|_| false);
    let is_reported =
        matches!(&failure, Some(Error::MalformedState { why, .. }) if why.contains("found to be damaged"));
    assert!(is_reported && report.blocks.is_empty(), "{failure:?}");
}
