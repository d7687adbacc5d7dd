//! Every target on a few thousand mutated inputs, everything that ever failed, and planted faults that are noticed.

use std::fs;
use std::path::{Path, PathBuf};

use straightedge_fuzz::campaign::{keep, run};
use straightedge_fuzz::mutate::Format;
use straightedge_fuzz::own::in_thread;
use straightedge_fuzz::target::{Limits, Refusal, Target};
use straightedge_fuzz::targets::all;
use straightedge_fuzz::trial::{Failure, trial};

/// Executions of each target.
const RUNS: usize = 2000;

fn kept() -> PathBuf {
    let folder = std::env::var("CARGO_MANIFEST_DIR").expect("cargo says where the package is");
    Path::new(&folder).join("../../tests/fixtures/fuzz")
}

#[test]
fn the_inputs_that_all_begin_with_are_accepted() {
    for target in all() {
        let seeds = (target.seeds)();
        assert!(!seeds.is_empty(), "{}", target.name);
        let refused: Vec<_> = seeds.iter().filter_map(|seed| (target.run)(seed).err()).collect();
        let accepted = seeds.len() - refused.len();
        // Some answers of the hub are refusals.
        let expected = if target.name == "hub" { 1 } else { seeds.len() };
        assert!(accepted >= expected, "{}: {refused:?}", target.name);
    }
}

#[test]
fn no_mutated_input_breaks_a_parser() {
    let mut failures = Vec::new();
    for target in all() {
        let tally = run(target, 26, 0..RUNS, |_| {});
        let refused = tally.executions - tally.accepted;
        println!("{}: {} accepted, {refused} refused, {:?}", target.name, tally.accepted, tally.duration);
        let is_fair = tally.accepted >= RUNS / 100 && (refused >= RUNS / 100 || target.errors.is_empty());
        assert!(is_fair || !tally.found.is_empty(), "{}: {tally:?}", target.name);
        failures.extend(keep(target, &tally, Path::new(env!("CARGO_TARGET_TMPDIR"))).expect("a folder"));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn what_ever_failed_is_refused_or_read() {
    let mut count = 0;
    for folder in fs::read_dir(kept()).expect("the kept inputs").map(|entry| entry.expect("an entry").path()) {
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let target = all().iter().find(|target| target.name == name).unwrap_or_else(|| panic!("{name} is no target"));
        for file in fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            let outcome = trial(target, &fs::read(&file).expect("a file"));
            assert!(outcome.is_ok(), "{}: {}", file.display(), outcome.expect_err("a failure"));
            count += 1;
        }
    }
    assert!(count > 0, "nothing is kept");
}

/// A target that does `run` with an input that contains `!`.
fn planted(run: fn(&[u8]) -> Result<(), Refusal>) -> Target {
    Target {
        name: "planted",
        about: "a fault",
        format: Format::Lines,
        seeds: || vec![b"a line with a few words".to_vec()],
        run,
        errors: &["known"],
        limits: Limits { time: (20, 0), memory: (1 << 20, 10) },
    }
}

fn refused(kind: &str, sentence: &str) -> Result<(), Refusal> {
    Err(Refusal { kind: kind.into(), sentence: sentence.into() })
}

#[test]
fn planted_faults_are_noticed() {
    let found = |run| trial(&planted(run), b"!").expect_err("a fault");
    let panics = found(|_| panic!("planted"));
    assert!(
        matches!(&panics, Failure::Panic(what) if what.contains("short.rs") && what.contains("planted")),
        "{panics}"
    );
    // A panic that the parser itself catches would still end a worker in a browser.
    let caught = found(|_| {
        let _ = std::panic::catch_unwind(|| panic!("caught"));
        Ok(())
    });
    assert!(matches!(caught, Failure::Panic(_)), "{caught}");
    let inner = found(|_| in_thread(|| panic!("in a thread of its own")));
    assert!(
        matches!(&inner, Failure::Panic(what) if what.contains("short.rs") && what.contains("thread of its own")),
        "{inner}"
    );
    // More than the limit of 20 ms on any processor.
    let slow = found(|_| {
        (0..400_000_000u64).for_each(|n| {
            std::hint::black_box(n);
        });
        Ok(())
    });
    assert!(matches!(slow, Failure::Slow(..)), "{slow}");
    let large = found(|_| {
        std::hint::black_box(vec![1u8; 3 << 20]);
        Ok(())
    });
    assert!(matches!(large, Failure::Memory(..)), "{large}");
    for sentence in ["", "two\nlines", "\u{1b}[31mred", "turned \u{202e} round", &*"x".repeat(3000)] {
        let target = planted(|input| refused("known", &String::from_utf8_lossy(input)));
        assert!(matches!(trial(&target, sentence.as_bytes()), Err(Failure::Sentence(_))), "{sentence:?}");
    }
    assert!(matches!(found(|_| refused("other", "a sentence")), Failure::Kind(_)));
    assert_eq!(trial(&planted(|_| refused("known", "a sentence")), b""), Ok(false));
    assert_eq!(trial(&planted(|_| Ok(())), b""), Ok(true));
}

#[test]
fn a_fault_that_few_inputs_reach_is_found_shortened_and_kept() {
    let target = planted(|input| {
        assert!(!input.contains(&b'9'), "a nine");
        Ok(())
    });
    let tally = run(&target, 1, 0..500, |_| {});
    let found: Vec<_> = tally.found.values().collect();
    assert!(found.len() == 1 && found[0].input == b"9" && found[0].count > 3, "{tally:?}");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kept");
    let lines = keep(&target, &tally, &folder).expect("a folder");
    assert!(lines.len() == 1 && lines[0].contains("planted") && lines[0].contains("panics"), "{lines:?}");
    let file = folder.join(format!("planted/execution-{}", found[0].execution));
    assert_eq!(fs::read(file).expect("the input"), b"9");
}

#[test]
fn a_panic_of_another_thread_is_not_that_of_the_execution() {
    let target = planted(|_| {
        let beside = std::thread::spawn(|| panic!("beside"));
        assert!(beside.join().is_err(), "it panics");
        Ok(())
    });
    assert_eq!(trial(&target, b"!"), Ok(true));
}
