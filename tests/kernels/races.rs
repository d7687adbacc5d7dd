//! Races are held once per device: what one program keeps, the next one goes by, whatever else it is given.
//!
//! What is remembered belongs to a thread, so that a thread of its own stands for a program.

use std::thread;

use straightedge::gpu::race::{self, Loads, Reduction};
use straightedge::gpu::{GpuBackend, Options};

use crate::device::with_device;

/// What a program found.
struct Found {
    product: &'static str,
    reduction: Reduction,
    loads: Loads,
    flops_per_ms: f64,
    held: usize,
    kept: Option<Vec<u8>>,
}

/// A program that begins with `note`; `None` without a device.
fn program(note: Vec<u8>) -> Option<Found> {
    let body = move || {
        race::recall(&note);
        let mut found = None;
        with_device(Options::default(), async |backend| {
            let again = GpuBackend::with(Options::default()).await.expect("a second time").pace();
            let pace = backend.pace();
            assert_eq!(again.flops_per_ms, pace.flops_per_ms, "within a program nothing is timed twice");
            found = Some(Found {
                product: pace.variant.kernel.name,
                reduction: pace.reduction,
                loads: pace.loads,
                flops_per_ms: pace.flops_per_ms,
                held: race::held(),
                kept: race::remembered(),
            });
            assert_eq!(race::remembered(), None, "what was told is not new again");
        });
        found
    };
    thread::spawn(body).join().expect("a program")
}

#[test]
fn the_second_program_does_not_race_and_no_note_is_believed_further_than_it_goes() {
    let Some(first) = program(Vec::new()) else { return };
    assert_eq!(first.held, 1);
    let note = String::from_utf8(first.kept.expect("something new")).expect("JSON");
    assert!(!note.contains("flops"), "a rate is measured, not believed: {note}");

    let second = program(note.clone().into_bytes()).expect("the same device");
    assert_eq!((second.held, second.kept), (0, None), "nothing is held, nothing is new");
    assert_eq!((second.product, second.reduction, second.loads), (first.product, first.reduction, first.loads));
    assert!(second.flops_per_ms > 0.0 && second.flops_per_ms.is_finite());

    // Another choice than the race's own is gone by, so that it is the note that decides.
    let other = if first.reduction == Reduction::Thread { Reduction::Group } else { Reduction::Thread };
    let name = |reduction| serde_json::to_string(&reduction).expect("a name");
    let turned = note.replace(&name(first.reduction), &name(other));
    let third = program(turned.into_bytes()).expect("the same device");
    assert_eq!((third.held, third.reduction), (0, other));

    let beside = format!("[1, {{}}, {}", &note[1..]);
    assert_eq!(program(beside.into_bytes()).expect("the same device").held, 0, "one entry is not the other");

    let newer = note.replace(&name(first.reduction), "\"of_tomorrow\"");
    let (half, unknown) = (note.len() / 2, note.replace(first.product, "matmul_of_tomorrow"));
    let foreign = note.replace("\"device\": \"", "\"device\": \"another ");
    for hostile in [note[..half].to_owned(), unknown, newer, foreign, "[1, {}]".into(), "\u{0}\u{ffff}".into()] {
        let found = program(hostile.clone().into_bytes()).expect("the same device");
        assert_eq!(found.held, 1, "{hostile}");
        let kept = String::from_utf8(found.kept.expect("something new")).expect("JSON");
        assert!(kept.contains(found.product), "{kept}");
    }
}
