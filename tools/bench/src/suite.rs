//! Runs all requested benchmarks, backend after backend; a failure is recorded and the rest continues.

use straightedge::backend::Backend;
use straightedge::backend::cpu::CpuBackend;
use straightedge::backend::gpu::{GpuBackend, autotune};
use straightedge::error::Result;
use straightedge::job::{BackendChoice, Protocol};
use straightedge::workers::Workers;

use crate::results::{DeviceResults, Host, Results};
use crate::settings::{Device, Part, Settings, Shape};
use crate::whole::{Plan, growth};
use crate::{gram, kernels, peak, solve};

/// Version of the results' format.
const SCHEMA: u32 = 1;

/// Callback for progress messages.
pub type Tell<'a> = &'a dyn Fn(&str);

/// Runs the benchmarks on `host` with the helper workers `workers`.
pub async fn run(settings: &Settings, host: Host, workers: Workers, tell: Tell<'_>) -> Results {
    let mut results = Results { schema: SCHEMA, settings: settings.clone(), host, ..Results::default() };
    let suite = Suite { settings, threads: results.host.threads, workers, tell };
    for device in &settings.devices {
        let mut found = DeviceResults::default();
        if let Err(error) = suite.on_device(*device, &mut found).await {
            found.failure = Some(error.to_string());
        }
        results.devices.push(found);
    }
    results
}

/// What every benchmark of a run has in common.
struct Suite<'a> {
    settings: &'a Settings,
    threads: usize,
    workers: Workers,
    tell: Tell<'a>,
}

impl Suite<'_> {
    async fn on_device(&self, device: Device, found: &mut DeviceResults) -> Result<()> {
        let Self { settings, threads, workers, tell } = self;
        match device {
            Device::Gpu => {
                found.backend = "gpu".into();
                let backend = GpuBackend::new(BackendChoice::Gpu).await?;
                found.adapter = backend.info().adapter;
                found.software = backend.is_software();
                tell("gpu: peak");
                found.peak_gflops = peak::gpu().await;
                self.on_backend(&backend, found).await?;
                // Kernels for exact second moments compete when these are first needed.
                let choice = backend.kernel_choice();
                found.variants = vec![
                    format!("{}{}", choice.variant.kernel.name, margin("product")),
                    format!("rows by {:?}{}", choice.reduction, margin("rows")),
                    format!("exact products by {:?}{}", choice.exact, margin("exact second moments")),
                ];
            }
            Device::Cpu => {
                found.backend = "cpu".into();
                tell("cpu: peak");
                found.peak_gflops = Some(peak::cpu(*threads));
                self.on_backend(&CpuBackend::new(), found).await?;
            }
        }
        if settings.parts.contains(&Part::Whole) {
            let (shape, rows) = size(settings, found.software);
            tell(&format!("{}: complete measurement, {shape}, {rows} rows", found.backend));
            let Settings { row_memory, seq_len, seed, .. } = **settings;
            let plan = Plan { name: "complete measurement".into(), device, shape, rows, row_memory, seq_len, seed };
            found.whole = Some(plan.run(workers.clone()).await?);
        }
        if settings.parts.contains(&Part::Growth) {
            for plan in growth(device, found.software, settings.seq_len, settings.seed) {
                tell(&format!("{}: {}", found.backend, plan.name));
                found.growth.push(plan.run(workers.clone()).await?);
            }
        }
        Ok(())
    }

    /// The benchmarks that need the backend itself.
    async fn on_backend<B: Backend>(&self, backend: &B, found: &mut DeviceResults) -> Result<()> {
        let Self { settings, workers, tell, .. } = self;
        let (shape, _) = size(settings, found.software);
        if settings.parts.contains(&Part::Kernels) {
            tell(&format!("{}: operations of {shape}", found.backend));
            found.kernels = kernels::time(backend, shape, settings, found.peak_gflops).await?;
        }
        if settings.parts.contains(&Part::Gram) {
            // A quotient of two passes that depends on the width; a software adapter has time for GPT-2's shape too.
            let shape = settings.shape.unwrap_or(Shape::GPT2);
            tell(&format!("{}: second moments of width {}", found.backend, shape.width));
            found.gram = Some(gram::time(backend, shape, settings).await?);
        }
        if settings.parts.contains(&Part::Solve) && found.backend == "cpu" {
            tell(&format!("solve of width {}", shape.width));
            found.solve = Some(solve::time(shape.width, workers).await?);
        }
        Ok(())
    }
}

/// By how much the chosen kernel won a contest of this run, in brackets; empty if none was held.
fn margin(contest: &str) -> String {
    let contests = autotune::snapshot();
    // A line has contest, kernel, margin and device, separated by tabs.
    let mut lines = contests.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let line = lines.find(|line| line.first() == Some(&contest));
    line.and_then(|line| line.get(2).map(|percent| format!(" (by {percent} %)"))).unwrap_or_default()
}

/// The model and its rows: small on a software adapter, unless requested otherwise.
fn size(settings: &Settings, software: bool) -> (Shape, usize) {
    let small = software && settings.shape.is_none();
    let shape = settings.shape.unwrap_or(if small { Shape::SMALL } else { Shape::GPT2 });
    let rows = settings.rows.unwrap_or(if small { 1280 } else { Protocol::default().rows });
    (shape, rows)
}

#[cfg(test)]
mod tests {
    use pollster::block_on;

    use super::*;

    #[test]
    fn every_part_gives_finite_figures_on_the_processor() {
        let settings = Settings {
            devices: vec![Device::Cpu],
            shape: Some(Shape { layers: 1, width: 16 }),
            rows: Some(160),
            seq_len: 16,
            parts: vec![Part::Kernels, Part::Gram, Part::Solve, Part::Whole],
            ..Settings::default()
        };
        let results = block_on(run(&settings, Host { threads: 1, ..Host::default() }, Workers::default(), &|_| {}));
        let [device] = &results.devices[..] else { panic!("one device") };
        assert_eq!(device.failure, None);
        assert!(device.peak_gflops.is_some_and(f64::is_finite));
        assert_eq!(device.kernels.len(), 9);
        for line in &device.kernels {
            assert!(line.ms.is_finite() && line.gbytes.is_finite() && line.gflops.is_finite(), "{line:?}");
        }
        let whole = device.whole.as_ref().expect("a measurement");
        assert_eq!(whole.rows, 160);
        assert!(whole.r2.is_some_and(f64::is_finite) && whole.total.is_finite(), "{whole:?}");
        assert!(device.solve.is_some_and(|solve| solve.ratio.is_finite()));
        assert!(device.gram.is_some_and(|gram| gram.exact.is_finite()));
        let json = serde_json::to_string(&results).expect("plain data");
        // Figures survive the round trip except for the last digit.
        let read: Results = serde_json::from_str(&json).expect("the same");
        assert_eq!((&read.settings, read.devices[0].kernels.len()), (&settings, 9));
        let (ms, read) = (device.kernels[0].ms, read.devices[0].kernels[0].ms);
        assert!((read - ms).abs() <= 1e-12 * ms, "{read} ms read where {ms} were written");
    }
}
