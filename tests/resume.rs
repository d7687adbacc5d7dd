//! An interrupted sweep resumes where it stopped, with the same report.

mod common;

use std::cell::Cell;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::executor::block_on;
use serde_json::Value;
use straightedge::error::Error;
use straightedge::event::{Event, MapDump, Recorder};
use straightedge::job::{BackendChoice, Job, Measure, Protocol, Training};
use straightedge::run::{Inputs, Resume, ResumeFile, Save, Text, measure_inputs};
use straightedge::trace::Lane;
use straightedge::weights::FolderFiles;

fn file(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_file(&path);
    path
}

fn job(backend: BackendChoice, measures: &[Measure]) -> Job {
    Job {
        backend,
        measures: measures.iter().copied().collect(),
        // Eleven held-out windows, enough for intervals.
        protocol: Protocol { rows: 1280, seq_len: 24, ..Protocol::default() },
        training: Training { probe_steps: 40, baseline_steps: 20, heal_steps: 2, ..Training::default() },
        ..Job::new("tiny-gpt2", "encyclopedia")
    }
}

/// The events of a measurement up to the first for which `ends` is true.
fn events(job: Job, resume: Option<&Path>, ends: impl Fn(&Event) -> bool) -> Vec<Event> {
    events_of(job, resume.map(|path| Rc::new(ResumeFile(path.into())) as Rc<dyn Resume>), ends)
}

fn events_of(job: Job, resume: Option<Rc<dyn Resume>>, ends: impl Fn(&Event) -> bool) -> Vec<Event> {
    let text = std::fs::read(common::encyclopedia()).expect("a text");
    let inputs = Inputs::new(Rc::new(FolderFiles::new(common::fixture("tiny-gpt2"))), Text::Plain(text));
    let mut stream = measure_inputs(job, Inputs { resume, ..inputs });
    let mut events = Vec::new();
    block_on(async {
        while let Some(event) = stream.next().await {
            let is_last = ends(&event);
            events.push(event);
            if is_last {
                break;
            }
        }
    });
    events
}

/// The report as written, without times and system.
fn written(events: &[Event]) -> Value {
    let mut recorder = Recorder::default();
    events.iter().for_each(|event| recorder.record(event));
    let report = recorder.into_report().expect("a report");
    assert!(!report.partial, "{:?}", events.last());
    numbers(&report.to_json())
}

fn numbers(report: &str) -> Value {
    let mut report: Value = serde_json::from_str(report).expect("JSON");
    let fields = report.as_object_mut().expect("a report");
    for name in ["date", "seconds", "peak_memory", "measured"] {
        fields.remove(name);
    }
    for block in fields["blocks"].as_array_mut().expect("blocks") {
        block.as_object_mut().expect("a block").remove("row_microseconds");
    }
    report
}

/// Blocks run on the rows.
fn run_through(events: &[Event]) -> Vec<usize> {
    spans(events, Lane::Rows).into_iter().flatten().collect()
}

/// The blocks of a lane's spans.
fn spans(events: &[Event], of: Lane) -> Vec<Option<usize>> {
    let block = |event: &Event| match event {
        Event::Span(span) if span.lane == of => Some(span.block),
        _ => None,
    };
    events.iter().filter_map(block).collect()
}

#[test]
fn a_cancelled_measurement_goes_on_with_the_same_digits() {
    for backend in common::backends() {
        let measures: &[Measure] = match backend {
            BackendChoice::Cpu => &Measure::ALL,
            _ => &[Measure::Fit, Measure::Swap, Measure::Layers],
        };
        let state = file(&format!("cancelled-{backend}"));
        let undisturbed = events(job(backend, measures), None, |_| false);
        // Block 1 is solved while block 2 runs.
        let stop =
            |event: &Event| matches!(event, Event::Span(span) if span.lane == Lane::Forks && span.block == Some(2));
        let begun = events(job(backend, measures), Some(&state), stop);
        assert_eq!(run_through(&begun), [0, 1, 2], "{backend}");
        assert!(state.is_file(), "{backend}: something was saved");
        assert_eq!(spans(&begun, Lane::Save), [Some(1), Some(2)], "{backend}: before each block");
        let rest = events(job(backend, measures), Some(&state), |_| false);
        assert_eq!(run_through(&rest), [2, 3], "{backend}: blocks 0 and 1 are not run again");
        let report = written(&undisturbed);
        assert_eq!(written(&rest), report, "{backend}");
        let intervals = report["layers"][0]["intervals"].as_object().expect("intervals of a layer saved halfway");
        let names = ["delta_ppl_linear", "delta_ppl_removed", "linearity_heldout", "reads_position", "reads_token"];
        assert!(names.iter().all(|name| intervals.contains_key(*name)), "{backend}: {intervals:?}");
        let healed = if measures.contains(&Measure::Heal) { vec![None] } else { vec![] };
        assert_eq!((spans(&undisturbed, Lane::Save), spans(&undisturbed, Lane::Heal)), (vec![], healed), "{backend}");
        assert!(!state.exists(), "{backend}: what is complete is not kept");
    }
}

#[test]
fn a_resumed_measurement_gives_the_maps_of_all_blocks() {
    let state = file("maps-state");
    let job = || Job { dump_maps: true, ..job(BackendChoice::Cpu, &[Measure::Fit]) };
    let maps = |events: &[Event]| -> Vec<MapDump> {
        let map = |event: &Event| if let Event::Map(map) = event { Some((**map).clone()) } else { None };
        events.iter().filter_map(map).collect()
    };
    let undisturbed = maps(&events(job(), None, |_| false));
    assert_eq!(undisturbed.iter().map(|map| map.block).collect::<Vec<_>>(), [0, 1, 2, 3]);
    let stop = |event: &Event| matches!(event, Event::Span(span) if span.lane == Lane::Forks && span.block == Some(2));
    events(job(), Some(&state), stop);
    let rest = events(job(), Some(&state), |_| false);
    assert_eq!(run_through(&rest), [2, 3], "blocks 0 and 1 are not run again");
    assert!(maps(&rest) == undisturbed, "and their maps are sent again");
}

/// A place that takes one state, and has room for half of another.
struct NearlyFull {
    file: ResumeFile,
    saved: Cell<usize>,
}

struct HalfWritten<'a>(Box<dyn Save + 'a>);

impl Write for HalfWritten<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > 1000 { Err(io::ErrorKind::StorageFull.into()) } else { self.0.write(bytes) }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Save for HalfWritten<'_> {
    fn commit(self: Box<Self>) -> io::Result<()> {
        self.0.commit()
    }
}

impl Resume for NearlyFull {
    fn name(&self) -> String {
        self.file.name()
    }

    fn open(&self) -> io::Result<Option<Box<dyn Read>>> {
        self.file.open()
    }

    fn save(&self) -> io::Result<Box<dyn Save + '_>> {
        let state = self.file.save()?;
        let before = self.saved.replace(self.saved.get() + 1);
        Ok(if before == 0 { state } else { Box::new(HalfWritten(state)) })
    }

    fn clear(&self) {
        self.file.clear();
    }
}

#[test]
fn a_state_without_room_is_warned_of_and_the_measurement_goes_on() {
    let (place, measures) = (file("full"), [Measure::Fit, Measure::Swap]);
    let cpu = || job(BackendChoice::Cpu, &measures);
    let full = || Rc::new(NearlyFull { file: ResumeFile(place.clone()), saved: Cell::new(0) });
    let (undisturbed, resume) = (events(cpu(), None, |_| false), full());
    let all = events_of(cpu(), Some(resume.clone()), |_| false);
    assert_eq!(resume.saved.get(), 2, "it is not tried again");
    let mut found = written(&all);
    let warnings = std::mem::replace(&mut found["warnings"], written(&undisturbed)["warnings"].clone());
    let is_reported = |warning: &&Value| warning["code"] == "not_resumable";
    assert_eq!(warnings.as_array().expect("warnings").iter().filter(is_reported).count(), 1, "{warnings}");
    assert_eq!(found, written(&undisturbed));
    // What was saved before stays, and an interrupted measurement goes on from there.
    let stop = |event: &Event| matches!(event, Event::Span(span) if span.lane == Lane::Forks && span.block == Some(3));
    events_of(cpu(), Some(full()), stop);
    let rest = events(cpu(), Some(&place), |_| false);
    assert_eq!(run_through(&rest), [1, 2, 3]);
    assert_eq!(written(&rest), written(&undisturbed));
}

#[test]
fn the_state_of_another_measurement_is_refused_by_name() {
    let state = file("foreign-state");
    let stop = |event: &Event| matches!(event, Event::Span(span) if span.lane == Lane::Forks && span.block == Some(1));
    events(job(BackendChoice::Cpu, &[Measure::Fit]), Some(&state), stop);
    let refused = |job: Job| match events(job, Some(&state), |_| false).pop() {
        Some(Event::Failed(error)) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let other = refused(job(BackendChoice::Cpu, &[Measure::Fit, Measure::Swap]));
    assert!(
        other.contains("--resume: ") && other.contains("it holds another measurement, give another file or delete it"),
        "{other}"
    );
    let saved = std::fs::read(&state).expect("the state");
    // Block 0 becomes another block 1: a state that lacks a block would give a report that lacks it.
    let at = saved.windows(10).position(|bytes| bytes == b"\"block\":0,").expect("the first block");
    let mut without = saved.clone();
    without[at + 8] = b'1';
    std::fs::write(&state, without).expect("a file");
    let error = refused(job(BackendChoice::Cpu, &[Measure::Fit]));
    assert!(error.contains("not an intact saved measurement (its blocks"), "{error}");
    let damages: [(&str, Vec<u8>); 3] = [
        ("cut", saved[..saved.len() / 2].to_vec()),
        ("no state", b"something else altogether, and long enough".to_vec()),
        ("empty", Vec::new()),
    ];
    for (what, damaged) in damages {
        std::fs::write(&state, damaged).expect("a file");
        let error = refused(job(BackendChoice::Cpu, &[Measure::Fit]));
        assert!(error.contains("foreign-state: not an intact saved measurement ("), "{what}: {error}");
        assert_eq!(error.contains("(it is cut off)"), what != "no state", "{what}: {error}");
        assert!(error.ends_with("; delete it to begin again"), "{what}: {error}");
    }
}

#[test]
fn a_state_of_layers_that_were_not_measured_is_refused() {
    let (state, measures) = (file("layers-state"), [Measure::Fit, Measure::Swap, Measure::Layers]);
    let stop = |event: &Event| matches!(event, Event::Span(span) if span.lane == Lane::Forks && span.block == Some(2));
    events(job(BackendChoice::Cpu, &measures), Some(&state), stop);
    let saved = std::fs::read(&state).expect("the state");
    for (of, other) in
        [("{\"Layer\":0}", "{\"Layer\":9}"), ("{\"Block\":0}", "{\"Block\":9}"), ("\"layer\":0", "\"layer\":9")]
    {
        let at = saved.windows(of.len()).position(|bytes| bytes == of.as_bytes()).expect(of);
        let mut damaged = saved.clone();
        damaged[at..at + other.len()].copy_from_slice(other.as_bytes());
        std::fs::write(&state, damaged).expect("a file");
        let found = events(job(BackendChoice::Cpu, &measures), Some(&state), |_| false).pop();
        let is_refused =
            matches!(&found, Some(Event::Failed(Error::MalformedState { why, .. })) if why.contains("layers"));
        assert!(is_refused, "{other}: {found:?}");
    }
}

#[test]
fn the_files_beside_a_state_are_left_as_they_are_and_a_killed_programs_rest_is_replaced() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("beside-state");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    let [state, part, second] = ["state", "state.part", "state.2.part"].map(|name| folder.join(name));
    let names = || {
        let entries = std::fs::read_dir(&folder).expect("the folder");
        let mut names: Vec<_> = entries.map(|entry| entry.expect("an entry").file_name()).collect();
        names.sort();
        names
    };
    std::fs::write(&part, "mine").expect("a file");
    std::fs::write(&second, b"sweep\0\0\x02 and no more").expect("a file");
    let place = ResumeFile(state.clone());
    let mut saved = place.save().expect("a place");
    saved.write_all(b"sweep\0\0\x02 and all").expect("written");
    saved.commit().expect("saved");
    assert_eq!(std::fs::read(&part).expect("the file"), b"mine");
    assert!(std::fs::read(&state).expect("the state").ends_with(b"all"));
    assert_eq!(names(), ["state", "state.part"], "the rest of a killed program is gone");
    // What is not finished leaves the state as it was, and nothing beside it.
    place.save().expect("a place").write_all(b"sweep").expect("written");
    assert_eq!((std::fs::read(&state).expect("the state").len(), names().len()), (16, 2));
}

fn measure(state: &Path, out: &Path) -> Child {
    let path = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    Command::new(env!("CARGO_BIN_EXE_straightedge"))
        .args(["measure", &path(&common::fixture("tiny-gpt2")), "--text", &path(&common::encyclopedia())])
        .args(["--backend", "cpu", "--rows", "2560", "--measures", "fit,swap,probes", "--probe-steps", "200"])
        .args(["--resume", &path(state), "--out", &path(out)])
        .stderr(Stdio::null())
        .spawn()
        .expect("the program runs")
}

#[test]
fn a_killed_process_goes_on_with_the_same_digits() {
    let (state, whole, rest) = (file("killed"), file("whole.json"), file("rest.json"));
    assert!(measure(&state, &whole).wait().expect("an end").success());
    let mut killed = measure(&state, &rest);
    let started = Instant::now();
    // The state before block 2 includes block 0.
    while !std::fs::read(&state).is_ok_and(|saved| String::from_utf8_lossy(&saved).contains("\"next\":2")) {
        assert!(started.elapsed() < Duration::from_secs(120), "nothing was saved");
        assert!(killed.try_wait().expect("a process").is_none(), "it was over before it was killed");
        std::thread::sleep(Duration::from_millis(1));
    }
    killed.kill().expect("killed");
    killed.wait().expect("an end");
    let begun: Value = serde_json::from_slice(&std::fs::read(&rest).expect("a report of what was done")).expect("JSON");
    assert_eq!(begun["partial"], true, "it did not come to its end");
    assert!(measure(&state, &rest).wait().expect("an end").success());
    let read = |path: &Path| numbers(&std::fs::read_to_string(path).expect("a report"));
    assert_eq!(read(&rest), read(&whole));
}
