//! Sentences of the page that depend on its state.

use straightedge_api::date::day;
use straightedge_api::error::Result;
use straightedge_api::event::Progress;
use straightedge_api::report::{DeviceInfo, Report};
use straightedge_api::visible::shown;

use crate::state::form::Form;
use crate::state::order_status::Phase;
use crate::state::run::{Provenance, Run};
use crate::text::continuation as texts_continuation;
use crate::text::engine;
use crate::text::format::{amount, count, duration, limit, rate};
use crate::text::language::plural;
use crate::text::result::t as r;
use crate::text::sentences::translated;
use crate::text::{fill, t};
use straightedge_api::message::{AvailableDevice, Unfinished};

/// The device that measurements run on, in words; `None` while it is probed, an error if the engine did not start.
pub fn device(device: Option<&Result<AvailableDevice>>) -> String {
    match device {
        None => t().device_probing.into(),
        Some(Err(_)) => t().device_broken.into(),
        Some(Ok(AvailableDevice::Cpu { .. })) => t().device_cpu.into(),
        Some(Ok(AvailableDevice::Gpu { info, software: true })) => {
            fill(t().device_software, &[("adapter", adapter(info))])
        }
        Some(Ok(AvailableDevice::Gpu { info, software: false })) => {
            let limit_of = |name: &str| info.limits.get(name).map_or("?".into(), |bytes| limit(*bytes));
            let (buffer, binding) = (limit_of("maxBufferSize"), limit_of("maxStorageBufferBindingSize"));
            fill(t().device_gpu, &[("adapter", adapter(info)), ("buffer", &buffer), ("binding", &binding)])
        }
    }
}

/// Status of a measurement, in one line.
pub fn status(run: &Run) -> String {
    let blocks = blocks(run.blocks().len());
    if let Some(wait) = run.waiting() {
        return fill(t().status_waiting, &[("time", &duration(wait.seconds)), ("why", &translated(&wait.why))]);
    }
    if let (true, Some(report)) = (run.provenance().is_claim(), run.report()) {
        return claimed(report, run.provenance(), &blocks);
    }
    match run.phase() {
        Phase::Idle => t().status_idle.into(),
        Phase::Recorded => run.report().map_or(String::new(), recorded),
        Phase::Running => run.progress().map_or(t().status_starting, |progress| engine::stage(progress.stage)).into(),
        Phase::Cancelled if run.blocks().is_empty() => t().status_cancelled_early.into(),
        Phase::Cancelled => fill(t().status_cancelled, &[("blocks", &blocks)]),
        Phase::Failed(_) if run.blocks().is_empty() => t().status_failed_early.into(),
        Phase::Failed(_) => fill(t().status_failed, &[("blocks", &blocks)]),
        Phase::Finished => run.report().map_or(String::new(), |report| finished(report, &blocks)),
    }
}

/// Where a claim comes from, and that nothing here has verified it.
fn claimed(report: &Report, from: &Provenance, blocks: &str) -> String {
    let rows = count(report.protocol.rows as u64);
    let from = match from {
        Provenance::Address(address) => fill(r().claim_of_address, &[("address", address)]),
        _ => r().claim_of_link.into(),
    };
    fill(r().claim, &[("from", &from), ("blocks", blocks), ("rows", &rows)])
}

/// Model, text, day and device of the result shown, from its report and not from the form.
pub fn about(run: &Run) -> Option<String> {
    let report = run.report()?;
    let when = if *run.phase() == Phase::Recorded { r().recorded } else { r().measured };
    let day = report.date.as_deref().and_then(day);
    let when = day.map_or(when.into(), |day| fill(r().measured_on, &[("when", when), ("day", day)]));
    let (model, text, device) = (shown(&report.model.id), shown(&report.corpus.id), computed_on(&report.device));
    let sentence = if report.model.architecture == "rows" { r().about_rows } else { r().about };
    Some(fill(sentence, &[("model", &model), ("text", &text), ("when", &when), ("device", device)]))
}

/// Describes the unfinished measurement that can be resumed.
pub fn unfinished(found: &Unfinished) -> String {
    let Unfinished { model, text, next, of, .. } = found;
    let (next, of) = (next.to_string(), of.to_string());
    fill(t().unfinished, &[("model", model), ("text", text), ("next", &next), ("of", &of)])
}

/// Amount, rate and time left of the present stage; empty while its total is unknown.
pub fn progress(progress: &Progress) -> String {
    if progress.total == 0 {
        return String::new();
    }
    let left = progress.seconds_left().filter(|_| progress.done < progress.total);
    let left = left.map(|seconds| fill(t().time_left, &[("time", &duration(seconds))]));
    [Some(amount(progress)), rate(progress), left].into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// A concurrent stage and its progress.
pub fn concurrent(progress: &Progress) -> String {
    format!(" · {}: {}", engine::stage(progress.stage), amount(progress))
}

/// A sentence of the engine in the language in use, with command line options replaced by their names on the page.
pub fn on_page(sentence: &str) -> String {
    let continuation = texts_continuation::t();
    let options = [
        ("--rows", t().rows),
        ("--seq-len", t().seq_len),
        ("--interleaved-folds", t().interleaved_folds),
        ("--folds", t().folds),
        ("--skip-positions", t().skip_positions),
        ("--gram", t().gram),
        ("--bos", t().bos),
        ("--piece-chars", t().piece_chars),
        ("--backend", t().backend),
        ("--eval-text", t().eval),
        ("--feed", t().feed),
        ("--blocks", continuation.blocks),
        ("--prompt", continuation.prompt),
        ("--tokens", continuation.tokens),
        ("--temperature", continuation.temperature),
        ("--seed", continuation.seed),
    ];
    let name = |name: &str| fill(t().setting, &[("name", name)]);
    let on_cpu = name(&format!("{}: {}", t().backend, t().backend_cpu));
    let text = translated(sentence).replace("--backend cpu", &on_cpu);
    let text = options.iter().fold(text, |text, (option, label)| text.replace(option, &name(label)));
    text.split(' ').map(in_words).collect::<Vec<_>>().join(" ")
}

/// An option without a setting on the page, in plain words: `--probe-steps` becomes probe steps.
fn in_words(word: &str) -> String {
    match word.split_once("--") {
        Some((before, option))
            if !before.ends_with(char::is_alphanumeric) && option.starts_with(|c: char| c.is_ascii_lowercase()) =>
        {
            format!("{before}{}", option.replace('-', " "))
        }
        _ => word.into(),
    }
}

/// The protocol in one line, as typed.
pub fn protocol(form: &Form) -> String {
    let rows = form.rows.parse().map_or(form.rows.clone(), count);
    fill(t().protocol_summary, &[("rows", &rows), ("seq_len", &form.seq_len), ("folds", &form.folds)])
}

/// File name of a downloaded report.
pub fn report_name(report: &Report) -> String {
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' };
    let name = format!("{}-{}", report.model.id, report.corpus.id);
    format!("straightedge-{}.json", name.chars().map(plain).collect::<String>())
}

fn finished(report: &Report, blocks: &str) -> String {
    let (rows, time) = (count(report.protocol.rows as u64), duration(report.seconds.total));
    let gaps = [("blocks", blocks), ("rows", &rows), ("time", &time), ("device", computed_on(&report.device))];
    fill(t().status_finished, &gaps)
}

fn recorded(report: &Report) -> String {
    fill(t().status_recorded, &[("rows", &count(report.protocol.rows as u64))])
}

/// Display name of a device.
pub(crate) fn computed_on(device: &DeviceInfo) -> &str {
    if device.backend == "gpu" { adapter(device) } else { t().backend_cpu }
}

fn adapter(device: &DeviceInfo) -> &str {
    device.adapter.as_deref().filter(|name| !name.is_empty()).unwrap_or(t().device_unnamed)
}

fn blocks(n: usize) -> String {
    fill(plural(n, t().status_one_block, t().status_blocks), &[("blocks", &n.to_string())])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::run::tests::recording;
    use std::collections::BTreeMap;
    use straightedge_api::error::Error;
    use straightedge_api::event::{Event, Stage};
    use straightedge_api::message::Reply;

    #[test]
    fn the_device_line_tells_gpu_emulation_and_cpu_apart() {
        let limits = BTreeMap::from([
            ("maxBufferSize".to_string(), 4 << 30),
            ("maxStorageBufferBindingSize".to_string(), 128 << 20),
        ]);
        let info = DeviceInfo { adapter: Some("Acme 9".into()), limits, ..Default::default() };
        let hardware = device(Some(&Ok(AvailableDevice::Gpu { info: info.clone(), software: false })));
        assert!(hardware.contains("Acme 9") && hardware.contains("4 GiB") && hardware.contains("128 MiB"));
        let emulated = device(Some(&Ok(AvailableDevice::Gpu { info, software: true })));
        assert!(emulated.contains("emulated") && emulated.contains("CPU"));
        assert!(device(Some(&Ok(AvailableDevice::Cpu { why: "none".into() }))).contains("no WebGPU"));
    }

    #[test]
    fn the_status_follows_the_recording() {
        let mut run = Run::start(1, None);
        let lines: Vec<_> = std::iter::once(status(&run))
            .chain(recording().into_iter().map(|event| {
                run.receive(&Reply::Event { run: 1, event });
                status(&run)
            }))
            .collect();
        assert_eq!(lines[..2], ["Starting", "Loading weights"]);
        assert_eq!(lines[3], "Measuring rows");
        assert_eq!(lines.last().unwrap(), "3 blocks measured on 14\u{202f}976 rows in 0.0 s, on the CPU.");
    }

    #[test]
    fn a_result_says_whose_it_is() {
        let mut run = Run::start(1, None).dated("2024-02-29T12:34:56Z".into());
        assert_eq!(about(&run), None, "nothing is known yet");
        for event in recording() {
            run.receive(&Reply::Event { run: 1, event });
        }
        assert_eq!(about(&run).unwrap(), "m on t, measured 2024-02-29 on the CPU");
        let report = run.report().unwrap().clone();
        let undated = Report { date: Some("<b>".into()), ..report.clone() };
        assert_eq!(about(&Run::opened(2, undated.clone())).unwrap(), "m on t, measured on the CPU");
        assert_eq!(about(&Run::recorded(undated)).unwrap(), "m on t, recorded on the CPU");
        let mut rows = report;
        rows.model.id = "m\u{202e}\n".into();
        assert_eq!(about(&Run::opened(2, rows.clone())).unwrap(), "m\\u{202e}\\n on t, measured 2024-02-29 on the CPU");
        (rows.model.id, rows.model.architecture) = ("m".into(), "rows".into());
        assert_eq!(about(&Run::opened(2, rows)).unwrap(), "m, measured 2024-02-29 on the CPU");
    }

    #[test]
    fn progress_tells_amount_rate_and_time_left() {
        let Event::Progress(measuring) = recording()[2].clone() else { panic!("the recording has changed") };
        assert_eq!(progress(&measuring), "7488 of 14\u{202f}976 rows · 1872 rows/s · 4.0 s left");
        assert_eq!(progress(&Progress { done: 0, total: 0, ..measuring }), "");
    }

    #[test]
    fn what_goes_on_beside_is_named_with_its_amount() {
        let loading = Progress { stage: Stage::Load, done: 2_000_000, total: 4_000_000, seconds: 1.0 };
        assert_eq!(concurrent(&loading), " · Loading weights: 2.0 MB of 4.0 MB");
    }

    #[test]
    fn no_sentence_names_an_option_of_the_command_line() {
        let error = Error::InvalidSetting { field: "--seq-len".into(), value: "0".into(), hint: "give more".into() };
        assert_eq!(on_page(&error.to_string()), "“Tokens per window”: 0 is not possible; give more");
        assert_eq!(on_page("no adapter; use --backend cpu"), "no adapter; use “Compute on: the CPU”");
        assert_eq!(
            on_page("improving after 60 steps, allow more --probe-steps"),
            "improving after 60 steps, allow more probe steps"
        );
        assert_eq!(on_page("a--b.txt: not -- as you think -- a text"), "a--b.txt: not -- as you think -- a text");
    }

    #[test]
    fn a_report_is_named_after_model_and_text() {
        let mut run = Run::start(1, None);
        for event in recording() {
            run.receive(&Reply::Event { run: 1, event });
        }
        let mut report = run.report().unwrap().clone();
        report.model.id = "a/b c".into();
        assert_eq!(report_name(&report), "straightedge-a-b-c-t.json");
    }
}
