//! Races are held once per device: what one program keeps, the next one goes by, whatever else it is given.
//!
//! What is remembered belongs to a thread, so that a thread of its own stands for a program.

use std::thread;

use straightedge::gpu::products::{Exact, Fast};
use straightedge::gpu::race;
use straightedge::gpu::rows::Reduction;
use straightedge::gpu::{GpuBackend, Options};

use crate::device::with_device;

/// What a program found.
struct Found {
    product: &'static str,
    reduction: Reduction,
    exact: Exact,
    fast: Fast,
    flops_per_ms: f64,
    held: usize,
    kept: Option<String>,
}

/// A program that begins with `note`; `None` without a device.
fn program(note: String) -> Option<Found> {
    let body = move || {
        race::recall(note.as_bytes());
        let mut found = None;
        with_device(Options::default(), async |backend| {
            let again = GpuBackend::with(Options::default()).await.expect("a second time").pace();
            let pace = backend.pace();
            assert_eq!(again.flops_per_ms, pace.flops_per_ms, "within a program nothing is timed twice");
            found = Some(Found {
                product: pace.variant.kernel.name,
                reduction: pace.reduction,
                exact: pace.exact,
                fast: pace.fast,
                flops_per_ms: pace.flops_per_ms,
                held: race::held(),
                kept: race::remembered(),
            });
            assert_eq!(race::remembered(), None, "what was told is not new again");
        });
        found
    };
    let test = thread::current().name().unwrap_or_default().to_owned();
    thread::Builder::new().name(test).spawn(body).expect("a thread").join().expect("a program")
}

#[test]
fn the_second_program_does_not_race_and_no_note_is_believed_further_than_it_goes() {
    let Some(first) = program(String::new()) else { return };
    assert_eq!(first.held, 1);
    let note = first.kept.clone().expect("something new");
    assert_eq!(note.lines().count(), 2, "shaders and one device, no rate: {note}");

    let second = program(note.clone()).expect("the same device");
    assert_eq!((second.held, &second.kept), (0, &None), "nothing is held, nothing is new");
    let choices = |found: &Found| (found.product, found.reduction, found.exact, found.fast);
    assert_eq!(choices(&second), choices(&first));
    assert!(second.flops_per_ms > 0.0 && second.flops_per_ms.is_finite());

    // Another choice than the race's own is gone by, so that it is the note that decides.
    let other = match first.reduction {
        Reduction::Workgroup => Reduction::Subgroup,
        Reduction::Subgroup => Reduction::Workgroup,
    };
    let name = |reduction| format!("\t{reduction:?}\t");
    let turned = note.replace(&name(first.reduction), &name(other));
    let third = program(turned).expect("the same device");
    assert_eq!((third.held, third.reduction), (0, other));

    let beside = note.replacen('\n', "\n1\n\t\t\t\t\t\n", 1);
    assert_eq!(program(beside).expect("the same device").held, 0, "one line is not the other");

    let newer = note.replace(&name(first.reduction), "\tOfTomorrow\t");
    let (half, unknown) = (note.len() / 2, note.replace(first.product, "matmul_of_tomorrow"));
    let end = note.rfind('\t').expect("a device") + 1;
    let foreign = format!("{}another {}", &note[..end], &note[end..]);
    let changed = format!("0{note}");
    for hostile in [note[..half].to_owned(), unknown, newer, foreign, changed, "\n".into(), "\u{0}\u{ffff}".into()] {
        let found = program(hostile.clone()).expect("the same device");
        assert_eq!(found.held, 1, "{hostile}");
        let kept = found.kept.expect("something new");
        assert!(kept.contains(found.product), "{kept}");
    }
}
