//! Results are never lost: full disks, links, pipes, signals, a kill, and files that are already there.
#![cfg(unix)]

mod common;

use std::fs;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use straightedge::report::Report;

/// A measurement of a second or two.
const SHORT: [&str; 8] = ["measure", "calibration", "--backend", "cpu", "--rows", "1280", "--folds", "2"];

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_straightedge"));
    command.env("HF_HUB_OFFLINE", "1").env("HF_HOME", env!("CARGO_TARGET_TMPDIR")).env_remove("HF_HUB_CACHE");
    command.args(args);
    command
}

fn run(args: &[&[&str]]) -> Output {
    command(&args.concat()).output().expect("the program runs")
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("results").join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a temporary folder");
    folder
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

fn report(path: &Path) -> Report {
    Report::from_json("report", &fs::read_to_string(path).expect("a file")).expect("a report")
}

/// Names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = entries.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// A measurement that takes far longer than any test waits for.
fn long(folder: &Path, out: &Path, rows: usize) -> Child {
    long_command(folder, out, rows).stderr(Stdio::null()).spawn().expect("the program runs")
}

fn long_command(folder: &Path, out: &Path, rows: usize) -> Command {
    let ids = folder.join("ids.json");
    let many: Vec<String> = (0..rows).map(|i| (i * i % 61 % 60).to_string()).collect();
    fs::write(&ids, format!("[{}]", many.join(","))).expect("ids");
    let rows = rows.to_string();
    let args = ["measure", "calibration", "--backend", "cpu", "--measures", "all", "--rows", &rows];
    let more = ["--tokens", text(&ids), "--out", text(out)];
    command(&[&args[..], &more].concat())
}

/// Waits until `is_so`, for at most two minutes.
fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(120), "{what} did not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status().expect("kill runs");
    assert!(sent.success());
}

#[test]
fn a_place_that_cannot_be_written_is_told_before_the_measurement() {
    let folder = folder("refused");
    fs::write(folder.join("file"), "x").expect("a file");
    let long = folder.join("x".repeat(254) + ".json");
    for out in [long, folder.join("file/report.json"), folder.join("absent/report.json"), folder.clone()] {
        let output = run(&[&SHORT, &["--out", text(&out)]]);
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(
            said(&output).contains("cannot be written") && !said(&output).contains("the result is in"),
            "{}",
            said(&output)
        );
    }
    // A name of 255 bytes is possible, and so is a report of that name.
    let longest = folder.join("x".repeat(250) + ".json");
    assert_eq!(run(&[&SHORT, &["--out", text(&longest)]]).status.code(), Some(0));
    assert!(!report(&longest).partial);
    assert_eq!(names(&folder).len(), 2, "nothing is left behind: {:?}", names(&folder));
}

#[test]
fn one_place_is_not_named_twice() {
    let folder = folder("twice");
    let (out, link) = (folder.join("x"), folder.join("link"));
    symlink("x", &link).expect("a link");
    for other in ["--dump-maps", "--trace", "--resume"] {
        let output = run(&[&SHORT, &["--out", text(&out), other, text(&link)]]);
        assert_eq!(output.status.code(), Some(2));
        assert!(said(&output).contains(other) && said(&output).contains("the same place"), "{}", said(&output));
    }
    let rows = folder.join("rows.safetensors");
    fs::write(&rows, "not rows").expect("a file");
    let output = run(&[&["fit", text(&rows), "--out", text(&rows)]]);
    assert!(said(&output).contains("the same place"), "{}", said(&output));
    assert_eq!(fs::read(&rows).expect("the file"), b"not rows");
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_full_disk_refuses_is_kept_elsewhere() {
    let folder = folder("full");
    let args = [&SHORT[..], &["--out", "/dev/full"]].concat();
    let output = command(&args).env("TMPDIR", &folder).output().expect("the program runs");
    assert_eq!(output.status.code(), Some(2));
    let [name] = &names(&folder)[..] else { panic!("{:?}", names(&folder)) };
    assert!(said(&output).contains(name) && said(&output).contains("the result is in"), "{}", said(&output));
    assert_eq!(report(&folder.join(name)).blocks.len(), 6);
    // Without a temporary folder either, it is printed.
    let output = command(&args).env("TMPDIR", folder.join("absent")).output().expect("the program runs");
    assert!(said(&output).contains("standard output"), "{}", said(&output));
    assert!(Report::from_json("printed", &String::from_utf8_lossy(&output.stdout)).is_ok());
}

/// A command that a shell starts after it has run `first`, in its place.
fn in_shell(first: &str, then: &Command) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{first} && exec \"$0\" \"$@\"")]).arg(then.get_program()).args(then.get_args());
    for (name, value) in then.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_fills_up_leaves_the_earlier_report_and_the_new_one_is_printed() {
    let folder = folder("fills-up");
    let (out, elsewhere) = (folder.join("report.json"), folder.join("elsewhere"));
    fs::create_dir_all(&elsewhere).expect("a folder");
    for is_there in [false, true] {
        if is_there {
            assert_eq!(run(&[&SHORT, &["--out", text(&out)]]).status.code(), Some(0));
        }
        let earlier = fs::read(&out).ok();
        // Files of at most one block, as on a disk where no more is left.
        let args = [&SHORT[..], &["--out", text(&out)]].concat();
        let mut limited = in_shell("trap '' XFSZ && ulimit -f 1", &command(&args));
        let output = limited.env("TMPDIR", &elsewhere).output().expect("the program runs");
        let said = said(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(
            said.contains("cannot be written") && said.contains("tried again until the measurement ends"),
            "{said}"
        );
        assert!(said.contains("the result is in standard output"), "{said}");
        let printed = Report::from_json("printed", &String::from_utf8_lossy(&output.stdout)).expect("a report");
        assert!(!printed.partial && printed.blocks.len() == 6);
        assert_eq!(fs::read(&out).ok(), earlier, "as it was");
        assert_eq!((names(&folder).len(), names(&elsewhere).len()), (1 + usize::from(is_there), 0), "no rests");
    }
}

#[test]
fn links_pipes_and_the_files_beside_are_left_as_they_are() {
    let folder = folder("links");
    let (target, link, part) = (folder.join("target.json"), folder.join("link.json"), folder.join("target.json.part"));
    fs::write(&part, "mine").expect("a file");
    symlink("target.json", &link).expect("a link");
    for _ in 0..2 {
        // The target is absent at first, and a report the second time.
        assert_eq!(run(&[&SHORT, &["--out", text(&link)]]).status.code(), Some(0));
        assert!(fs::symlink_metadata(&link).expect("the link").is_symlink());
        assert!(!report(&target).partial);
        assert_eq!(fs::read(&part).expect("the file"), b"mine");
    }
    assert_eq!(names(&folder), ["link.json", "target.json", "target.json.part"]);

    let pipe = folder.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || {
            let mut json = String::new();
            fs::File::open(pipe).and_then(|mut pipe| pipe.read_to_string(&mut json)).map(|_| json)
        }
    });
    assert_eq!(run(&[&SHORT, &["--out", text(&pipe)]]).status.code(), Some(0));
    assert!(fs::symlink_metadata(&pipe).expect("the pipe").file_type().is_fifo());
    let json = reader.join().expect("a reader").expect("what was written");
    assert!(!Report::from_json("piped", &json).expect("a report").partial);
}

#[test]
fn a_reader_that_is_gone_is_no_error() {
    let folder = folder("gone");
    let out = folder.join("report.json");
    for with_file in [false, true] {
        let mut command = command(&SHORT);
        if with_file {
            command.args(["--out", text(&out)]);
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program runs");
        // Both ends of the pipes are closed while it measures.
        drop((child.stdout.take(), child.stderr.take()));
        assert_eq!(child.wait().expect("the program ends").code(), Some(0), "with a file: {with_file}");
    }
    assert!(!report(&out).partial);
}

#[test]
fn every_signal_that_ends_the_program_keeps_what_is_known() {
    let folder = folder("signals");
    for name in ["-TERM", "-HUP"] {
        let out = folder.join(format!("report{name}.json"));
        let mut child = long(&folder, &out, 40_000);
        wait_until("a report", || out.exists());
        signal(&child, name);
        assert_eq!(child.wait().expect("the program ends").code(), Some(130), "{name}");
        let report = report(&out);
        assert!(report.partial && !report.blocks.is_empty());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_of_nohup_ignores_hangups_and_keeps_what_is_known_at_the_other_signals() {
    let folder = folder("nohup");
    for name in ["-TERM", "-INT"] {
        let out = folder.join(format!("report{name}.json"));
        let mut ignoring = in_shell("trap '' HUP", &long_command(&folder, &out, 40_000));
        let mut child = ignoring.stderr(Stdio::null()).spawn().expect("the program runs");
        wait_until("a report", || out.exists());
        let begun = report(&out).blocks.len();
        signal(&child, "-HUP");
        wait_until("another block", || {
            assert!(child.try_wait().expect("a process").is_none(), "the hangup ended it");
            report(&out).blocks.len() > begun
        });
        signal(&child, name);
        assert_eq!(child.wait().expect("the program ends").code(), Some(130), "{name}");
        assert!(report(&out).partial);
    }
}

#[test]
fn a_killed_measurement_leaves_its_finished_blocks() {
    let folder = folder("killed");
    let out = folder.join("report.json");
    let mut child = long(&folder, &out, 40_000);
    wait_until("a report", || out.exists());
    child.kill().and_then(|()| child.wait()).expect("it is killed");
    let report = report(&out);
    assert!(report.partial && !report.blocks.is_empty());
}

#[test]
fn a_good_report_is_only_replaced_by_more() {
    let folder = folder("kept");
    let (good, out) = (folder.join("good.json"), folder.join("report.json"));
    assert_eq!(run(&[&SHORT, &["--out", text(&good)]]).status.code(), Some(0));
    fs::copy(&good, &out).expect("a copy");

    // So many rows that no block can be finished.
    let mut child = long(&folder, &out, 2_000_000);
    std::thread::sleep(Duration::from_secs(3));
    signal(&child, "-INT");
    assert_eq!(child.wait().expect("the program ends").code(), Some(130));
    assert_eq!(fs::read(&out).expect("the file"), fs::read(&good).expect("the file"), "replaced by nothing");

    let beside = folder.join("report.json.part");
    let mut child = long(&folder, &out, 40_000);
    wait_until("a report beside", || beside.metadata().is_ok_and(|found| found.len() > 0));
    signal(&child, "-INT");
    child.wait().expect("the program ends");
    assert_eq!(fs::read(&out).expect("the file"), fs::read(&good).expect("the file"), "replaced by less");
    assert!(report(&beside).partial && !report(&beside).blocks.is_empty());

    assert_eq!(run(&[&SHORT, &["--blocks", "1", "--out", text(&out)]]).status.code(), Some(0));
    assert_eq!(report(&out).blocks.len(), 1, "a complete measurement replaces it");
}
