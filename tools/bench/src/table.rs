//! Formats the results as one table.

use std::fmt::Write;

use crate::results::{DeviceResults, KernelLine, Results, WholeLine};

/// The whole table, for a terminal.
pub fn table(results: &Results) -> String {
    let host = &results.host;
    let mut text = format!("Straightedge {} on {}", host.version, host.system);
    if let Some(processor) = &host.processor {
        let _ = write!(text, ", {processor}");
    }
    let _ = write!(text, ", {} threads", host.threads);
    if let Some(load) = host.load {
        let _ = write!(text, ", load {load:.1} before it began");
    }
    text.push('\n');
    for device in &results.devices {
        text.push('\n');
        device_table(device, &mut text);
    }
    for peer in &results.peers {
        let _ = write!(text, "\n{}: {} on {}\n", peer.name, peer.what, peer.device);
        if let Some(failure) = &peer.failure {
            let _ = writeln!(text, "  no figures: {failure}");
        }
        for (name, value) in &peer.figures {
            let _ = writeln!(text, "  {name:<44} {value:>10.3}");
        }
    }
    text
}

fn device_table(device: &DeviceResults, text: &mut String) {
    let name = device.adapter.as_deref().map(|adapter| format!(", {adapter}")).unwrap_or_default();
    let software = if device.software { ", emulated by the processor" } else { "" };
    let _ = write!(text, "{}{name}{software}", device.backend);
    if let Some(peak) = device.peak_gflops {
        let _ = write!(text, ": multiply-adds alone {peak:.1} GFLOP/s");
    }
    if !device.variants.is_empty() {
        let _ = write!(text, "; kernels chosen: {}", device.variants.join(", "));
    }
    text.push('\n');
    if let Some(failure) = &device.failure {
        let _ = writeln!(text, "  ended early: {failure}");
    }
    if !device.kernels.is_empty() {
        let _ = writeln!(
            text,
            "  {:<28} {:>6} {:>10} {:>9} {:>8} {:>8}",
            "operation", "rows", "ms", "GFLOP/s", "of peak", "GB/s"
        );
        device.kernels.iter().for_each(|line| kernel_line(line, text));
    }
    if let Some(gram) = &device.gram {
        let _ = writeln!(
            text,
            "  second moments of {}, {} rows: forward {:.0} ms; exact adds {:.2}, fast {:.2} of it",
            gram.shape, gram.rows, gram.forward_ms, gram.exact, gram.fast
        );
    }
    if let Some(solve) = &device.solve {
        let _ = writeln!(
            text,
            "  solve of one block, {} wide, {} folds: {:.0} ms, {:.2} of one eigen-decomposition ({:.0} ms)",
            solve.width, solve.folds, solve.block_ms, solve.ratio, solve.eigen_ms
        );
    }
    let lines: Vec<&WholeLine> = device.whole.iter().chain(&device.growth).collect();
    if !lines.is_empty() {
        let _ = writeln!(
            text,
            "  {:<21} {:>7} {:>6} | {:>6} {:>6} {:>8} {:>7} {:>8} s | {:>7} {:>7} MB",
            "measurement", "shape", "rows", "load", "hash", "measure", "solve", "total", "process", "GPU"
        );
        lines.iter().for_each(|line| whole_line(line, text));
    }
}

fn kernel_line(line: &KernelLine, text: &mut String) {
    let share = line.share.map(|share| format!("{:.1} %", 100.0 * share)).unwrap_or_default();
    let _ = writeln!(
        text,
        "  {:<28} {:>6} {:>10.3} {:>9.2} {:>8} {:>8.2}",
        line.name, line.rows, line.ms, line.gflops, share, line.gbytes
    );
}

fn whole_line(line: &WholeLine, text: &mut String) {
    let megabytes = |bytes: Option<u64>| bytes.map(|bytes| (bytes / 1_000_000).to_string()).unwrap_or_default();
    let shape = line.shape.map(|shape| shape.to_string()).unwrap_or_default();
    let _ = writeln!(
        text,
        "  {:<21} {:>7} {:>6} | {:>6.2} {:>6.2} {:>8.2} {:>7.2} {:>8.2} s | {:>7} {:>7} MB",
        line.name,
        shape,
        line.rows,
        line.load,
        line.hash,
        line.measure,
        line.solve,
        line.total,
        megabytes(line.process_bytes),
        megabytes(line.device_bytes)
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{GramLine, Peer, SolveLine};
    use crate::settings::Shape;

    #[test]
    fn every_figure_is_in_the_table() {
        let gram = GramLine { shape: Shape::GPT2, rows: 64, forward_ms: 7.0, exact: 0.81, fast: 0.19 };
        let solve = SolveLine { width: 768, folds: 5, eigen_ms: 200.0, block_ms: 700.0, ratio: 3.5 };
        let kernel =
            KernelLine { name: "add 4".into(), rows: 128, ms: 1.25, gflops: 9.5, gbytes: 3.75, share: Some(0.123) };
        let whole =
            WholeLine { name: "rows ×4".into(), total: 17.7, device_bytes: Some(5_000_000), ..Default::default() };
        let device = DeviceResults {
            backend: "gpu".into(),
            kernels: vec![kernel],
            gram: Some(gram),
            solve: Some(solve),
            growth: vec![whole],
            failure: Some("lost".into()),
            ..DeviceResults::default()
        };
        let figures = vec![("seconds".to_owned(), 42.5)];
        let peer = Peer { name: "p".into(), what: "w".into(), device: "d".into(), figures, failure: None };
        let text = table(&Results { devices: vec![device], peers: vec![peer], ..Results::default() });
        for part in ["add 4", "9.50", "12.3 %", "0.81", "0.19", "3.50", "rows ×4", "17.7", "lost", "42.500"] {
            assert!(text.contains(part), "{part} is missing:\n{text}");
        }
    }
}
