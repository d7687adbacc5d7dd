//! Numbers for display: fixed digits, real minus signs, narrow spaces between thousands, the decimal sign of the
//! language in use. Links, reports and exports hold numbers in their invariant form, with a point.

use std::collections::BTreeSet;

use straightedge_api::agreement::correlation_interval;
use straightedge_api::event::Progress;
use straightedge_api::fields::{Field, NumberFormat};

use super::engine;
use super::fill;
use super::language::language;
use super::units::t;

/// Shown where a value is undefined.
pub const NOTHING: &str = "–";

const MINUS: char = '−';
const THIN: char = '\u{202f}';

/// Most decimals of a value whose uncertainty is unknown.
const DECIMALS: usize = 4;

/// A value of a field whose uncertainty is unknown.
pub(super) fn usual(field: Field, value: Option<f64>) -> String {
    match field.line().digits {
        NumberFormat::Decimals(digits) => fixed(value, digits.min(DECIMALS)),
        NumberFormat::Three => magnitude(value),
        NumberFormat::Change => exact(value),
        NumberFormat::Whole => fixed(value, 0),
        NumberFormat::Times => times(value),
    }
}

/// A factor: times as small or as fast.
pub fn times(value: Option<f64>) -> String {
    value.map_or(NOTHING.into(), |value| format!("{}×", fixed(Some(value), 1)))
}

/// A share such as R² whose uncertainty is unknown.
pub fn rounded(value: Option<f64>) -> String {
    fixed(value, DECIMALS)
}

/// All digits of a value, in the fewest that stand for no other.
pub(super) fn full(value: f64) -> String {
    // The sum of -0 and 0 has no sign.
    let text = format!("{:?}", value + 0.0);
    localised(text.strip_suffix(".0").unwrap_or(&text).into()).replace('-', &MINUS.to_string())
}

/// A share such as R², with six digits after the point.
pub fn share(value: Option<f64>) -> String {
    fixed(value, 6)
}

/// A value with `digits` digits after the point; what rounds to zero has no sign.
pub fn fixed(value: Option<f64>, digits: usize) -> String {
    let Some(value) = value else { return NOTHING.into() };
    let text = format!("{:.*}", digits, value.abs());
    let is_zero = text.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    let text = localised(text);
    if value < 0.0 && !is_zero { format!("{MINUS}{text}") } else { text }
}

/// Pearson's r over `pairs` pairs of values, with its 95 % interval where it has one that three decimals show.
pub fn pearson(r: Option<f64>, pairs: usize) -> String {
    let shown = fixed(r, 3);
    let Some(interval) = r.and_then(|r| correlation_interval(r, pairs)) else { return shown };
    let ends = interval.map(|end| fixed(Some(end), 3));
    if ends.iter().all(|end| *end == shown) {
        return shown;
    }
    fill(super::t().pearson_within, &[("r", &shown), ("low", &ends[0]), ("high", &ends[1])])
}

/// A number with the decimal sign of the language in use.
pub(crate) fn localised(number: String) -> String {
    match language().decimal() {
        '.' => number,
        sign => number.replace('.', &sign.to_string()),
    }
}

/// A shown number in its invariant form, with a point, an ASCII minus sign and no spaces; `None` if `shown` is something
/// else than one number.
pub(crate) fn invariant(shown: &str) -> Option<String> {
    let decimal = language().decimal();
    let plain: String = shown
        .chars()
        .filter(|c| *c != THIN)
        .map(|c| match c {
            MINUS => '-',
            c if c == decimal => '.',
            // The other decimal sign, which makes this no number in the language in use.
            '.' => ',',
            c => c,
        })
        .collect();
    let digits = plain.strip_suffix('×').unwrap_or(&plain);
    let is_number = digits.parse::<f64>().is_ok() && digits.bytes().any(|byte| byte.is_ascii_digit());
    is_number.then_some(plain)
}

/// A value of unknown magnitude with three significant digits: 0.0123, 12.3, 1.23e9.
pub fn magnitude(value: Option<f64>) -> String {
    let Some(value) = value else { return NOTHING.into() };
    let size = value.abs();
    if size != 0.0 && !(1e-3..1e5).contains(&size) {
        return localised(format!("{value:.2e}")).replace('-', &MINUS.to_string());
    }
    let digits = if size >= 100.0 || size == 0.0 { 0 } else { 2 - size.log10().floor() as i32 };
    fixed(Some(value), digits.max(0) as usize)
}

/// A value of unknown magnitude with six significant digits.
pub fn exact(value: Option<f64>) -> String {
    let Some(number) = value else { return NOTHING.into() };
    let size = number.abs();
    if size != 0.0 && !(1e-4..1e7).contains(&size) {
        return localised(format!("{number:.5e}")).replace('-', &MINUS.to_string());
    }
    if number.fract() == 0.0 {
        return fixed(value, 0);
    }
    fixed(value, (5 - size.log10().floor() as i32).max(0) as usize)
}

/// The value of a grid line, which is a round number.
pub fn tick(value: f64) -> String {
    let size = value.abs();
    let text = if size != 0.0 && !(1e-3..1e6).contains(&size) {
        format!("{size:.1e}").replace(".0e", "e").replace('-', &MINUS.to_string())
    } else if size >= 1e4 {
        count(size.round() as u64)
    } else {
        let text = format!("{size:.4}");
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    };
    let text = localised(text);
    if value < 0.0 && size > 0.0 { format!("{MINUS}{text}") } else { text }
}

/// A count with separated thousands.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) && digits.len() > 4 {
            text.push(THIN);
        }
        text.push(digit);
    }
    text
}

/// An amount of bytes in decimal units.
pub fn bytes(n: u64) -> String {
    let units = ["kB", "MB", "GB"];
    let step = (n.max(1).ilog10() / 3).min(3);
    if step == 0 {
        return fill(t().bytes, &[("n", &n.to_string())]);
    }
    let value = n as f64 / 1000f64.powi(step as i32);
    format!("{} {}", fixed(Some(value), usize::from(value < 99.95)), units[step as usize - 1])
}

/// An amount of bytes in the binary units of device limits.
pub fn limit(n: u64) -> String {
    let (mib, gib) = (1 << 20, 1 << 30);
    if n >= gib { format!("{} GiB", trimmed(n as f64 / gib as f64)) } else { format!("{} MiB", n / mib) }
}

fn trimmed(value: f64) -> String {
    localised(format!("{value:.1}").trim_end_matches(".0").into())
}

/// A duration in at most two units.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    let two = |number: u64| format!("{number:02}");
    match whole {
        0..10 => fill(t().seconds, &[("s", &fixed(Some(seconds.max(0.0)), 1))]),
        10..60 => fill(t().seconds, &[("s", &whole.to_string())]),
        60..3600 => fill(t().minutes, &[("min", &(whole / 60).to_string()), ("s", &two(whole % 60))]),
        _ => fill(t().hours, &[("h", &(whole / 3600).to_string()), ("min", &two(whole % 3600 / 60))]),
    }
}

/// Progress of a stage: `3 200 of 14 976 rows`.
pub fn amount(progress: &Progress) -> String {
    let is_bytes = progress.stage.unit() == "bytes";
    let [done, total] = [progress.done, progress.total].map(|n| if is_bytes { bytes(n) } else { count(n) });
    let gaps = [("done", &*done), ("total", &total), ("unit", engine::unit(progress.stage))];
    fill(if is_bytes { t().amount } else { t().amount_of }, &gaps)
}

/// Amount per second of a stage, once known.
pub fn rate(progress: &Progress) -> Option<String> {
    let rate = progress.rate()?;
    if progress.stage.unit() == "bytes" {
        return Some(fill(t().rate, &[("amount", &bytes(rate as u64))]));
    }
    let amount = if rate >= 10.0 { count(rate.round() as u64) } else { trimmed(rate) };
    Some(fill(t().rate_of, &[("amount", &amount), ("unit", engine::unit(progress.stage))]))
}

/// Numbers in a row as their first and last: `0,3-5`.
pub fn spans(blocks: &BTreeSet<usize>) -> String {
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for &block in blocks {
        match spans.last_mut() {
            Some((_, last)) if *last + 1 == block => *last = block,
            _ => spans.push((block, block)),
        }
    }
    let span = |(first, last)| if first == last { format!("{first}") } else { format!("{first}-{last}") };
    spans.into_iter().map(span).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::language::Language;
    use crate::text::translation::tests::speaking;
    use straightedge_api::event::Stage;

    #[test]
    fn shares_have_six_digits_and_no_negative_zero() {
        let cases = [(1.0, "1.000000"), (-0.25, "−0.250000"), (-1e-9, "0.000000"), (0.999_999_6, "1.000000")];
        for (value, text) in cases {
            assert_eq!(share(Some(value)), text);
        }
        assert_eq!(share(None), NOTHING);
    }

    #[test]
    fn all_digits_are_those_that_read_back_as_the_same_number() {
        let cases = [(0.1 + 0.2, "0.30000000000000004"), (63.0, "63"), (-1.5e-7, "−1.5e−7"), (-0.0, "0")];
        for (value, text) in cases {
            assert_eq!(full(value), text);
            assert_eq!(invariant(text).and_then(|text| text.parse().ok()), Some(value));
        }
    }

    #[test]
    fn magnitudes_keep_three_digits() {
        let cases = [
            (0.0, "0"),
            (0.012_34, "0.0123"),
            (1.0, "1.00"),
            (12.34, "12.3"),
            (1234.5, "1234"),
            (2.1e6, "2.10e6"),
            (-4.56e-7, "−4.56e−7"),
        ];
        for (value, text) in cases {
            assert_eq!(magnitude(Some(value)), text);
        }
    }

    #[test]
    fn exact_values_keep_six_digits() {
        let cases = [
            (3.0, "3"),
            (137.065_255_78, "137.065"),
            (-0.012_345_678, "−0.0123457"),
            (2_414_504.5, "2414504"),
            (1.5e-7, "1.50000e−7"),
        ];
        for (value, text) in cases {
            assert_eq!(exact(Some(value)), text);
        }
        assert_eq!(exact(None), NOTHING);
    }

    #[test]
    fn ticks_are_short() {
        let cases = [
            (0.0, "0"),
            (-0.25, "−0.25"),
            (20.0, "20"),
            (0.005, "0.005"),
            (1e4, "10\u{202f}000"),
            (-2e5, "−200\u{202f}000"),
            (2e6, "2e6"),
            (-1e-4, "−1e−4"),
        ];
        for (value, text) in cases {
            assert_eq!(tick(value), text);
        }
    }

    #[test]
    fn counts_bytes_and_durations_read_well() {
        assert_eq!([count(7), count(4096), count(14_976)], ["7", "4096", "14\u{202f}976"]);
        assert_eq!([bytes(12), bytes(1_500), bytes(375_000_000)], ["12 bytes", "1.5 kB", "375 MB"]);
        assert_eq!([limit(128 << 20), limit(4 << 30), limit(3 << 29)], ["128 MiB", "4 GiB", "1.5 GiB"]);
        assert_eq!([duration(4.2), duration(59.4), duration(61.0)], ["4.2 s", "59 s", "1 min 01 s"]);
        assert_eq!(duration(3725.0), "1 h 02 min");
    }

    #[test]
    fn numbers_have_the_decimal_sign_of_the_language_and_an_invariant_form() {
        let numbers = || {
            let tiny = magnitude(Some(-4.56e-7));
            [
                fixed(Some(-0.5), 2),
                tiny,
                exact(Some(137.0653)),
                tick(0.25),
                count(14_976),
                format!("{}×", trimmed(8.04)),
            ]
        };
        let plain = ["-0.50", "-4.56e-7", "137.065", "0.25", "14976", "8×"];
        for (language, decimal) in [(Language::English, '.'), (Language::German, ',')] {
            speaking(language);
            let shown = numbers();
            assert!(shown[0].contains(decimal) && shown[1].contains(decimal), "{shown:?}");
            assert_eq!(shown.map(|number| invariant(&number)), plain.map(|number| Some(number.to_string())));
            let texts = [NOTHING, "", "␣bb,", "block 1", "0,3-5", "inf"];
            assert_eq!(texts.map(invariant), [const { None }; 6]);
        }
        assert_eq!((invariant("0.5"), invariant("1,5").as_deref()), (None, Some("1.5")), "in German");
        let durations = [duration(4.2), bytes(1_500), limit(3 << 29), bytes(12)];
        assert_eq!(durations, ["4,2 s", "1,5 kB", "1,5 GiB", "12 Byte"]);
        let rows = Progress { stage: Stage::Measure, done: 3200, total: 14_976, seconds: 1000.0 };
        assert_eq!(amount(&rows), "3200 von 14\u{202f}976 Zeilen");
        assert_eq!(rate(&rows).as_deref(), Some("3,2 Zeilen/s"));
        speaking(Language::English);
    }

    #[test]
    fn amounts_and_rates_name_their_unit() {
        let rows = Progress { stage: Stage::Measure, done: 3200, total: 14_976, seconds: 4.0 };
        assert_eq!(amount(&rows), "3200 of 14\u{202f}976 rows");
        assert_eq!(rate(&rows).as_deref(), Some("800 rows/s"));
        let load = Progress { stage: Stage::Load, done: 2_000_000, total: 4_000_000, seconds: 1.0 };
        assert_eq!(amount(&load), "2.0 MB of 4.0 MB");
        assert_eq!(rate(&load).as_deref(), Some("2.0 MB/s"));
        assert_eq!(rate(&Progress { done: 0, ..rows }), None);
    }
}
