//! Kernels are tuned once per device: the next program uses the saved results, and ignores invalid ones.
//!
//! Tuning results are per thread, so a separate thread simulates a program.

use std::thread;

use straightedge::backend::gpu::kernels::Kernel;
use straightedge::backend::gpu::{Exact, GpuBackend, LACKS_FEATURE, Options, Reduction, VARIANTS, autotune};
use straightedge::backend::{Backend, GramShape};
use straightedge::error::Error;
use straightedge::job::GramMode;
use straightedge::stats::moments::Scale;

use crate::device::{poisoned, with_device};
use crate::operations;
use crate::rewrite::unchanged;

/// Results of a program.
struct Found {
    product: &'static str,
    reduction: Reduction,
    exact: Exact,
    flops_per_ms: f64,
    /// Contests run while the device was opened, and in total.
    opening: usize,
    held: usize,
    kept: Option<String>,
}

/// Requests exact second moments.
async fn exact(backend: &GpuBackend) {
    let scale = Scale { shift: vec![0.0; 4], exponent: vec![1; 4] };
    let shape = GramShape { d_in: 4, d_out: 4, folds: 2, mode: GramMode::Exact };
    backend.gram(shape, &scale, &scale).await.expect("a Gram");
}

/// A program that starts with another one's cache; `None` without a device.
fn program(kept: String) -> Option<Found> {
    let body = move || {
        autotune::load(kept.as_bytes());
        let mut found = None;
        with_device(Options::default(), async |backend| {
            let opening = autotune::contests_run();
            exact(backend).await;
            let choice = backend.kernel_choice();
            found = Some(Found {
                product: choice.variant.kernel.name,
                reduction: choice.reduction,
                exact: choice.exact,
                flops_per_ms: choice.flops_per_ms,
                opening,
                held: autotune::contests_run(),
                kept: autotune::to_save(),
            });
            assert_eq!(autotune::to_save(), None, "what was told is not new again");
        });
        found
    };
    let test = thread::current().name().unwrap_or_default().to_owned();
    thread::Builder::new().name(test).spawn(body).expect("a thread").join().expect("a program")
}

/// The lines of a cache with every margin replaced.
fn with_margins(kept: &str, percent: u32) -> String {
    let line = |line: &str| match line.split('\t').collect::<Vec<_>>()[..] {
        [contest, kernel, _, held, device] => format!("{contest}\t{kernel}\t{percent}\t{held}\t{device}\n"),
        _ => format!("{line}\n"),
    };
    kept.lines().map(line).collect()
}

#[test]
fn the_second_program_goes_by_clear_winners_and_by_nothing_else() {
    let Some(first) = program(String::new()) else { return };
    assert_eq!(first.held, first.opening + 1, "exact second moments compete when they are asked for");
    let kept = first.kept.clone().expect("something new");
    assert_eq!(kept.lines().count(), 1 + first.held, "shaders, and a line for every contest: {kept}");
    let contests: Vec<_> = kept.lines().skip(1).filter_map(|line| line.split('\t').next()).collect();
    // Without subgroups one kernel reduces rows.
    let all = ["product", "rows", "exact second moments"];
    assert!(contests == all || contests == [all[0], all[2]] && !runs_subgroups(), "{contests:?}");

    let clear = with_margins(&kept, 50);
    let second = program(clear.clone()).expect("the same device");
    assert_eq!((second.held, &second.kept), (0, &None), "nothing is held, nothing is new");
    let choices = |found: &Found| (found.product, found.reduction, found.exact);
    assert_eq!(choices(&second), choices(&first));
    assert!(second.flops_per_ms > 0.0 && second.flops_per_ms.is_finite(), "the rate is measured anew");

    // A cached choice that differs from its own is used, so it is the cache that decides.
    let other = Exact::ALL.iter().find(|exact| **exact != first.exact).expect("another");
    let name = |exact: &Exact| format!("\t{exact:?}\t");
    let turned = clear.replace(&name(&first.exact), &name(other));
    let third = program(turned).expect("the same device");
    assert_eq!((third.held, third.exact), (0, *other));

    let close = program(with_margins(&kept, 1)).expect("the same device");
    assert_eq!(close.held, first.held, "what was won by little is held again");

    let unknown = clear.replace(first.product, "matmul_of_tomorrow");
    let (shaders, lines) = clear.split_once('\n').expect("shaders");
    let foreign: String = lines.lines().map(|line| format!("{line} of another make\n")).collect();
    for hostile in [format!("{shaders}\n{foreign}"), unknown, format!("0{clear}"), "\n".into(), "\u{0}\u{ffff}".into()]
    {
        let found = program(hostile.clone()).expect("the same device");
        assert!(found.held >= 1, "{hostile}");
        assert!(found.kept.expect("something new").contains(found.product));
    }
}

/// Whether the device has subgroups.
fn runs_subgroups() -> bool {
    pollster::block_on(GpuBackend::with(Options { reduction: Some(Reduction::Subgroup), ..poisoned() })).is_ok()
}

#[test]
fn a_device_with_the_required_features_alone_runs_every_operation() {
    let plain = |base: Options| Options { poison: true, without_optional_features: true, ..base };
    with_device(plain(Options::default()), async |backend| {
        exact(backend).await;
        let choice = backend.kernel_choice();
        assert!(choice.reduction == Reduction::Workgroup && choice.exact != Exact::DotPacked, "{choice:?}");
        operations::check(backend).await.unwrap_or_else(|why| panic!("{why}"));
        for forced in [
            Options { reduction: Some(Reduction::Subgroup), ..poisoned() },
            Options { exact: Some(Exact::DotPacked), ..poisoned() },
        ] {
            match GpuBackend::with(plain(forced)).await {
                Err(Error::NoAdapter { why }) => assert_eq!(why, LACKS_FEATURE),
                Err(error) => panic!("{error}"),
                Ok(_) => panic!("it runs what it lacks: {forced:?}"),
            }
        }
    });
}

#[test]
fn kernels_that_the_driver_refuses_are_left_out_and_all_else_runs() {
    fn refusing(kernel: &'static Kernel) -> String {
        let is_second_moments = std::ptr::eq(kernel, Exact::IntegerPlanes.kernel());
        let is_first = [VARIANTS[1].kernel.name, "layer_norm_workgroup"].contains(&kernel.name);
        if is_first || is_second_moments { "refused".into() } else { unchanged(kernel) }
    }
    if !runs_subgroups() {
        return with_device(Options { reduction: Some(Reduction::Subgroup), ..poisoned() }, async |_| ());
    }
    let options = Options { poison: true, rewrite: Some(refusing), ..Options::default() };
    with_device(options, async |backend| {
        exact(backend).await;
        let choice = backend.kernel_choice();
        assert_ne!(choice.variant.kernel.name, VARIANTS[1].kernel.name);
        assert_eq!(choice.reduction, Reduction::Subgroup);
        assert_ne!(choice.exact, Exact::IntegerPlanes);
        operations::check(backend).await.unwrap_or_else(|why| panic!("{why}"));
    });
}
