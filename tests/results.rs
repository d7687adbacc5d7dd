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
use straightedge::weights::maps::MapsFile;

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

/// The blocks of a maps file.
fn mapped(path: &Path) -> Vec<usize> {
    let maps = MapsFile::read("maps".into(), fs::read(path).expect("a file")).expect("maps");
    maps.blocks(None).expect("blocks")
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
    // What is read is left as it is too, also behind a link.
    let (read, link) = (folder.join("read"), folder.join("link-to-read"));
    fs::write(&read, "[1, 2]").expect("a file");
    symlink("read", &link).expect("a link");
    for from in ["--text", "--tokens", "--eval-text", "--eval-tokens"] {
        for to in ["--out", "--dump-maps", "--trace", "--resume"] {
            let output = run(&[&SHORT, &[from, text(&read), to, text(&link)]]);
            let said = said(&output);
            assert_eq!(output.status.code(), Some(2), "{from} {to}: {said}");
            assert!(
                said.contains(&format!("{to}: ")) && said.contains(&format!("{from} names the same place")),
                "{said}"
            );
        }
    }
    for from in ["--text", "--maps"] {
        let output = run(&[&["continue", "calibration", "--prompt", "A", from, text(&read), "--out", text(&link)]]);
        let said = said(&output);
        assert!(output.status.code() == Some(2) && said.contains(&format!("{from} names the same place")), "{said}");
    }
    assert_eq!(fs::read(&read).expect("the file"), b"[1, 2]");
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

    let maps_too = [&args[..], &["--dump-maps", "/dev/full"]].concat();
    fs::remove_file(folder.join(name)).expect("the report");
    let output = command(&maps_too).env("TMPDIR", &folder).output().expect("the program runs");
    assert_eq!(output.status.code(), Some(2));
    let [report_name, maps] = &names(&folder)[..] else { panic!("{:?}", names(&folder)) };
    assert_eq!(report_name, name);
    assert_eq!((report(&folder.join(name)).blocks.len(), mapped(&folder.join(maps)).len()), (6, 6));
    assert!([name, maps].iter().all(|name| said(&output).contains(*name)), "{}", said(&output));
    let device = fs::symlink_metadata("/dev/full").expect("the device");
    assert!(device.file_type().is_char_device(), "written into, and not replaced");
}

/// A command that a shell starts after it has run `first`, in its place.
fn in_shell(first: &str, then: &Command) -> Command {
    through(&["sh", "-c", &format!("{first} && exec \"$0\" \"$@\"")], then)
}

/// A command that hears hangups also where the tests were started to ignore them, as by nohup, whose children do too.
fn hearing_hangups(then: Command) -> Command {
    if cfg!(target_os = "linux") { through(&["env", "--default-signal=HUP"], &then) } else { then }
}

/// A command that another program starts in its own place.
fn through(starter: &[&str], then: &Command) -> Command {
    let mut command = Command::new(starter[0]);
    command.args(&starter[1..]).arg(then.get_program()).args(then.get_args());
    for (name, value) in then.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command
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

#[cfg(target_os = "linux")]
#[test]
fn a_pipe_that_has_no_name_takes_a_report() {
    let check = |mut command: Command| {
        let output = command.output().expect("the program runs");
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        let piped = Report::from_json("piped", &String::from_utf8_lossy(&output.stdout)).expect("a report");
        assert!(!piped.partial);
    };
    let to = |place: &str| command(&[&SHORT[..], &["--out", place]].concat());
    check(to("/dev/stdout"));
    // Such as that of `>(COMMAND)` in a shell.
    check(in_shell("exec 7>&1 >/dev/null", &to("/dev/fd/7")));
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
    for name in ["-INT", "-TERM", "-HUP"] {
        let out = folder.join(format!("report{name}.json"));
        let mut hearing = hearing_hangups(long_command(&folder, &out, 40_000));
        let child = hearing.stderr(Stdio::piped()).spawn().expect("the program runs");
        wait_until("a report", || out.exists());
        signal(&child, name);
        let output = child.wait_with_output().expect("the program ends");
        assert_eq!(output.status.code(), Some(130), "{name}");
        assert!(
            said(&output).ends_with("straightedge: cancelled: stopped on request; finished blocks are kept\n"),
            "{name}"
        );
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

    let part = folder.join("report.json.part");
    let mut child = long(&folder, &out, 40_000);
    wait_until("a part of the report", || part.metadata().is_ok_and(|found| found.len() > 0));
    signal(&child, "-INT");
    child.wait().expect("the program ends");
    assert_eq!(fs::read(&out).expect("the file"), fs::read(&good).expect("the file"), "replaced by less");
    assert!(report(&part).partial && !report(&part).blocks.is_empty());

    assert_eq!(run(&[&SHORT, &["--blocks", "1", "--out", text(&out)]]).status.code(), Some(0));
    assert_eq!(report(&out).blocks.len(), 1, "a complete measurement replaces it");
}

/// `tiny-gpt2` with weights in block 2 whose products are no numbers.
fn overflowing(folder: &Path) -> PathBuf {
    let (model, original) = (folder.join("model"), common::fixture("tiny-gpt2"));
    fs::create_dir_all(&model).expect("a folder");
    for file in ["config.json", "tokenizer.json"] {
        fs::copy(original.join(file), model.join(file)).expect("a copy");
    }
    let mut bytes = fs::read(original.join("model.safetensors")).expect("weights");
    let start = 8 + u64::from_le_bytes(bytes[..8].try_into().expect("a length")) as usize;
    let header: serde_json::Value = serde_json::from_slice(&bytes[8..start]).expect("a header");
    let place = &header["transformer.h.2.mlp.c_proj.weight"]["data_offsets"];
    let [from, to] = [0, 1].map(|at| start + place[at].as_u64().expect("an offset") as usize);
    bytes[from..to].chunks_exact_mut(4).for_each(|value| value.copy_from_slice(&f32::MAX.to_le_bytes()));
    fs::write(model.join("model.safetensors"), bytes).expect("a file");
    model
}

#[test]
fn a_file_of_maps_is_only_replaced_by_more() {
    let folder = folder("maps-kept");
    let (maps, encyclopedia) = (folder.join("maps"), common::encyclopedia());
    let measure = |model: &Path, more: &[&str]| {
        let args = ["measure", text(model), "--text", text(&encyclopedia), "--backend", "cpu", "--rows", "1280"];
        run(&[&args, &["--seq-len", "64", "--dump-maps", text(&maps)], more])
    };
    let (good, ending) = (common::fixture("tiny-gpt2"), overflowing(&folder));
    // It ends before block 2.
    assert_eq!(measure(&ending, &[]).status.code(), Some(2));
    assert_eq!(mapped(&maps), [0, 1], "more than nothing");
    assert_eq!(measure(&good, &[]).status.code(), Some(0));
    assert_eq!(mapped(&maps), [0, 1, 2, 3]);
    let before = fs::read(&maps).expect("a file");
    let output = measure(&ending, &[]);
    let (said, part) = (said(&output), folder.join("maps.part"));
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("it holds more than this measurement") && said.contains(text(&part)), "{said}");
    assert!(fs::read(&maps).expect("the file") == before, "replaced by less");
    assert_eq!(mapped(&part), [0, 1]);
    assert_eq!(measure(&good, &["--blocks", "3"]).status.code(), Some(0));
    assert_eq!(mapped(&maps), [3], "a complete measurement replaces it");
}

#[test]
fn an_export_fills_an_empty_folder_behind_a_link_and_is_refused_before_anything_is_measured() {
    let folder = folder("exported");
    let (report, target, link) = (folder.join("report.json"), folder.join("target"), folder.join("link"));
    let (model, encyclopedia) = (common::fixture("tiny-gpt2"), common::encyclopedia());
    let args = ["measure", text(&model), "--text", text(&encyclopedia), "--backend", "cpu", "--rows", "1280"];
    assert_eq!(run(&[&args, &["--out", text(&report)]]).status.code(), Some(0));
    fs::create_dir(&target).expect("a folder");
    symlink("target", &link).expect("a link");
    let export = |more: &[&str]| {
        run(&[&["export", text(&model), "--report", text(&report), "--backend", "cpu", "--blocks", "0"], more])
    };
    let output = export(&["--text", text(&encyclopedia), "--out", text(&link)]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(fs::symlink_metadata(&link).expect("the link").is_symlink());
    assert!(names(&target).contains(&"model.safetensors".into()) && names(&target).contains(&"config.json".into()));
    assert_eq!(names(&folder), ["link", "report.json", "target"], "no rests");
    // No folder can be made there, which is told before the text, which is another, is even opened.
    #[cfg(target_os = "linux")]
    {
        let absent = folder.join("absent.txt");
        let output = export(&["--out", "/proc/exported", "--text", text(&absent)]);
        let told = said(&output);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(
            told.contains("/proc/exported") && told.contains("cannot be written") && !told.contains("absent"),
            "{told}"
        );
    }
}

#[test]
fn a_measure_is_added_to_a_report_of_the_same_measurement_alone() {
    let folder = folder("added");
    let [fitted, added, at_once] = ["fitted.json", "added.json", "at_once.json"].map(|name| folder.join(name));
    let measured = |args: &[&str], out: &Path| run(&[&SHORT, args, &["--out", text(out)]]);
    let measures = |path: &Path| report(path).ordered.expect("what was ordered").measures;
    assert!(measured(&["--measures", "fit"], &fitted).status.success());
    let to_fitted = ["--measures", "swap", "--add-to", text(&fitted)];
    assert!(measured(&to_fitted, &added).status.success());
    assert!(measured(&["--measures", "fit,swap"], &at_once).status.success());
    let [of_one, of_two] = [&added, &at_once].map(|path| report(path));
    assert!(!of_one.blocks.is_empty() && of_one.blocks.iter().all(|block| block.delta_ppl.contains_key("linear")));
    let without_times = |mut report: Report| {
        report.blocks.iter_mut().for_each(|block| block.row_microseconds.clear());
        (report.blocks, report.ppl, report.warnings)
    };
    assert_eq!(without_times(of_one), without_times(of_two));
    assert_eq!(measures(&added), measures(&at_once));

    let before = fs::read(&fitted).expect("the report");
    let onto_itself = measured(&to_fitted, &fitted);
    assert!(onto_itself.status.code() == Some(2) && said(&onto_itself).contains("--add-to"), "{}", said(&onto_itself));
    let other = folder.join("other.json");
    let of_others = run(&[&SHORT, &to_fitted, &["--seed", "1", "--out", text(&other)]]);
    assert!(of_others.status.code() == Some(2) && !other.exists(), "{}", said(&of_others));
    assert!(said(&of_others).contains("--add-to: the report of calibration"), "{}", said(&of_others));
    assert_eq!(fs::read(&fitted).expect("the report"), before, "what is added to stays as it is");
}
