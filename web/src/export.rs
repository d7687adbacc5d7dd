//! Saves a chart as a picture for print, as a table or as data. Every format names the source of its numbers.

use serde_json::{Value, json};
use straightedge_api::fields::Field;
use straightedge_api::report::{AppInfo, DeviceInfo, Report};

use crate::chart::draw::{self, sample};
use crate::chart::paper::{Paper, paper};
use crate::chart::profile::{self, Labels, Profile};
use crate::comparison::overlay::{Metric, Overlay};
use crate::continuation::{self, ContinuationState};
use crate::figures::table::cells;
use crate::figures::{Figure, Grid};
use crate::text::cell::Cell;
use crate::text::engine;
use crate::text::format::{NOTHING, count, invariant, rounded};
use crate::text::{fill, t};

/// Width of pictures.
const WIDTH: f64 = 760.0;

/// A chart ready to save.
#[derive(Clone, Debug, PartialEq)]
pub struct Sheet {
    /// Name of the file without its ending.
    pub name: String,
    /// The picture.
    pub svg: String,
    /// The table next to the chart.
    pub table: Grid,
    /// The chart's data in full digits.
    pub data: Value,
}

impl Sheet {
    /// A figure of a view; without a report it compares several measurements, whose names give the sources.
    pub fn of_figure(figure: &Figure, report: Option<&Report>) -> Self {
        let source = report.map_or_else(|| t().export_many.into(), source);
        Self::new(figure, &figure.facts, source, report)
    }

    /// The chart of a continuation, with all of it as data; none before its first token.
    pub fn of_continuation(continuation: &ContinuationState) -> Option<Self> {
        let (figure, transcript) = (continuation::figure(continuation)?, continuation.transcript());
        let report = continuation.report();
        let text = [continuation::ordered(continuation), continuation::outcome(transcript)];
        // Without linear blocks nothing was measured.
        let opening = transcript.opening.as_ref();
        let plain = || opening.map(|opening| plain_source(&opening.model, &opening.device)).unwrap_or_default();
        let mut sheet = Self::new(&figure, &text, report.map_or_else(plain, source), report);
        sheet.data["asked"] = json!(continuation.settings());
        sheet.data["continuation"] = json!(transcript);
        Some(sheet)
    }

    fn new(figure: &Figure, facts: &[String], source: String, report: Option<&Report>) -> Self {
        let layout = draw::Layout::new(&figure.plot, WIDTH);
        let named = figure.plot.series.iter().filter(|series| !series.name.is_empty());
        let around = Paper {
            title: figure.title.clone(),
            legend: named.map(|series| (sample(series), series.name.clone())).collect(),
            caption: facts.iter().cloned().chain([figure.notes()]).collect::<Vec<_>>().join(" "),
            source,
        };
        let series = figure.plot.series.iter().map(|series| {
            let point = |mark: &crate::chart::plot::Mark| json!({"block": mark.block, "x": mark.x, "y": mark.y, "interval": mark.within.y});
            json!({"name": series.name, "points": series.marks.iter().map(point).collect::<Vec<_>>()})
        });
        let (x, y) = (figure.plot.x.name, figure.plot.y.name);
        Self {
            name: name(&figure.title, report),
            svg: paper(&draw::draw(&figure.plot, &layout), (layout.width, layout.height), &around),
            table: figure.table.clone(),
            data: data(&around, json!({"x": x, "y": y, "series": series.collect::<Vec<_>>()}), report),
        }
    }

    /// The profile with its overlay; `report` is present once something is measured, opened or recorded.
    pub fn of_profile(profile: &Profile, metric: Metric, report: Option<&Report>, overlay: Option<&Overlay>) -> Self {
        let value = engine::label(metric.field());
        let layout = profile::ProfileLayout::new(WIDTH, profile.blocks);
        let labels = Labels { value, block: t().chart_axis_block };
        let notes = [Some(t().chart_caption), overlay.map(|overlay| overlay.note.as_str())];
        let around = Paper {
            title: t().chart_name.into(),
            legend: Vec::new(),
            caption: notes.into_iter().flatten().collect::<Vec<_>>().join(" "),
            source: report.map(source).unwrap_or_default(),
        };
        let points = profile.points.iter();
        let points = points.map(|point| json!({"block": point.block, "y": point.value, "spread": point.spread}));
        let mut series = vec![json!({"name": value, "points": points.collect::<Vec<_>>()})];
        if let Some(overlay) = overlay {
            let points = overlay.values.iter().enumerate().map(|(block, y)| json!({"block": block, "y": y}));
            series.push(json!({"name": overlay.name, "points": points.collect::<Vec<_>>()}));
        }
        Self {
            name: name(t().chart_name, report),
            svg: paper(&profile::draw(profile, &layout, labels), (layout.width, layout.height), &around),
            table: profile_table(report, overlay),
            data: data(&around, json!({"x": t().block, "y": value, "series": series}), report),
        }
    }

    /// The table as CSV, in every language: all digits, decimal points, ASCII minus signs, empty cells for undefined
    /// values.
    pub fn csv(&self) -> String {
        let head = line(self.table.head.iter().map(String::as_str));
        let rows = self.table.rows.iter().map(|cells| line(cells.iter().map(Cell::in_full)));
        std::iter::once(head).chain(rows).collect()
    }

    /// The chart's data as JSON.
    pub fn json(&self) -> String {
        format!("{:#}\n", self.data)
    }
}

/// The source of a report's numbers, in one line.
pub fn source(report: &Report) -> String {
    let computed = report.model.sha256.as_deref().filter(|_| !report.model.sha256_claimed);
    let hash = computed.and_then(|hash| hash.get(..12));
    let revision = report.model.revision.as_ref().map(|revision| format!("@{revision}"));
    let gaps = [
        ("app", app(&report.app)),
        ("model", format!("{}{}", report.model.id, revision.unwrap_or_default())),
        ("hash", hash.unwrap_or("?").into()),
        ("text", report.corpus.id.clone()),
        ("rows", count(report.protocol.rows as u64)),
        ("seq_len", report.protocol.seq_len.to_string()),
        ("folds", report.protocol.folds.to_string()),
        ("backend", report.device.backend.clone()),
        ("adapter", report.device.adapter.clone().unwrap_or_default()),
    ];
    fill(t().export_source, &gaps.each_ref().map(|(name, value)| (*name, value.as_str())))
}

/// The same for a model that ran without being measured.
fn plain_source(model: &str, device: &DeviceInfo) -> String {
    let (app, adapter) = (app(&AppInfo::this()), device.adapter.as_deref().unwrap_or_default());
    let gaps = [("app", app.as_str()), ("model", model), ("backend", &device.backend), ("adapter", adapter)];
    fill(t().export_source_plain, &gaps)
}

fn app(app: &AppInfo) -> String {
    let commit = app.commit.as_ref().map_or(String::new(), |commit| format!(" ({commit})"));
    format!("Straightedge {}{commit}", app.version)
}

fn profile_table(report: Option<&Report>, overlay: Option<&Overlay>) -> Grid {
    let headings = Field::table().map(|field| field.label().to_string());
    let mut head: Vec<String> = std::iter::once(t().block.to_string()).chain(headings).collect();
    let over =
        |block: usize| overlay.map(|overlay| Cell::number(overlay.values.get(block).copied().flatten(), None, rounded));
    head.extend(overlay.map(|overlay| overlay.name.clone()));
    let blocks = report.map(|report| report.blocks.as_slice()).unwrap_or_default();
    let named = |block: usize| std::iter::once(Cell::from(block.to_string()));
    let mut rows: Vec<Vec<Cell>> =
        blocks.iter().map(|block| named(block.block).chain(cells(block)).chain(over(block.block)).collect()).collect();
    if let (true, Some(overlay)) = (rows.is_empty(), overlay) {
        head = vec![t().block.into(), overlay.name.clone()];
        rows = (0..overlay.values.len()).map(|block| named(block).chain(over(block)).collect()).collect();
    }
    Grid { head, rows }
}

/// The chart's data with the provenance from the report.
fn data(around: &Paper, chart: Value, report: Option<&Report>) -> Value {
    let made = report.map(|report| {
        json!({
            "app": report.app, "model": report.model, "corpus": report.corpus,
            "protocol": report.protocol, "device": report.device,
        })
    });
    json!({
        "title": around.title, "caption": around.caption, "source": around.source, "chart": chart, "made": made,
    })
}

fn name(title: &str, report: Option<&Report>) -> String {
    let parts = [Some(title), report.map(|r| r.model.id.as_str()), report.map(|r| r.corpus.id.as_str())];
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join("-").to_lowercase();
    let text: String = text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' }).collect();
    let words = text.split('-').filter(|word| !word.is_empty());
    format!("straightedge-{}", words.collect::<Vec<_>>().join("-"))
}

/// A line of a CSV.
fn line<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    cells.map(|cell| quoted(&plain(cell))).collect::<Vec<_>>().join(",") + "\r\n"
}

/// A cell as other programs read it.
fn plain(cell: &str) -> String {
    if cell == NOTHING { String::new() } else { invariant(cell).unwrap_or_else(|| cell.replace('−', "-")) }
}

/// A CSV cell, with an apostrophe if spreadsheets would take it for a formula.
fn quoted(cell: &str) -> String {
    let is_formula = cell.starts_with(['=', '+', '-', '@']) && cell.parse::<f64>().is_err();
    let cell = if is_formula { format!("'{cell}") } else { cell.to_string() };
    let is_bare = !cell.contains([',', '"', '\n', '\r']);
    if is_bare { cell } else { format!("\"{}\"", cell.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use straightedge_api::report::Interval;

    use super::*;
    use crate::figures::{figures, sample_report};
    use crate::state::run::Run;
    use crate::state::views::View;
    use crate::text::language::Language;
    use crate::text::translation::tests::speaking;

    #[test]
    fn a_figure_leaves_with_its_table_its_digits_and_its_source() {
        let report = sample_report();
        let mut figure = figures(View::Losses, &report, None).remove(0);
        figure.plot.series[0].marks[0].within.y = Some(Interval { low: 0.5, high: 0.75 });
        let many = Sheet::of_figure(&figure, None);
        assert!(many.svg.contains("given next to its name") && many.data["made"].is_null(), "{}", many.svg);
        let sheet = Sheet::of_figure(&figure, Some(&report));
        let rows: Vec<_> = sheet.csv().lines().map(|line| line.split(',').count()).collect();
        assert_eq!(rows, vec![figure.table.head.len(); figure.table.rows.len() + 1]);
        assert!(sheet.svg.contains("Straightedge ") && sheet.svg.contains("windows of"), "{}", sheet.svg);
        let data: Value = serde_json::from_str(&sheet.json()).unwrap();
        assert_eq!(data["chart"]["series"][0]["points"][0]["y"], json!(figure.plot.series[0].marks[0].y));
        assert_eq!(data["chart"]["series"][0]["points"][0]["interval"], json!({"low": 0.5, "high": 0.75}));
        assert!(sheet.svg.contains(t().whiskers), "{}", sheet.svg);
        assert_eq!(data["made"]["model"]["id"], "m");
        assert!(sheet.name.starts_with("straightedge-") && sheet.name.ends_with("-m-t"), "{}", sheet.name);
        let mut hashed = report;
        hashed.model.sha256 = Some("0123456789abcdef".repeat(4));
        assert!(source(&hashed).contains("weights 0123456789ab "), "{}", source(&hashed));
        hashed.model.sha256_claimed = true;
        assert!(source(&hashed).contains("weights ? "), "{}", source(&hashed));
    }

    #[test]
    fn a_continuation_leaves_with_what_was_asked_and_all_that_was_told() {
        use crate::continuation::tests::{opened, received, step};
        assert_eq!(Sheet::of_continuation(&received(&[opened()])), None);
        let continuation = received(&[opened(), step(0, [" a", " a"], 0.0), step(1, [" bb", "=c"], 0.25)]);
        let sheet = Sheet::of_continuation(&continuation).unwrap();
        for text in ["Continuation of “A ”", "blocks 1, 2", "the texts diverge at token 2", "Straightedge "] {
            assert!(sheet.svg.contains(text), "{text} in {}", sheet.svg);
        }
        assert_eq!(
            (&sheet.data["asked"]["prompt"], &sheet.data["chart"]["series"][0]["points"][1]["y"]),
            (&json!("A "), &json!(0.25))
        );
        assert_eq!(sheet.data["continuation"]["steps"][1]["candidates"][0]["probability"]["linear"], 0.25);
        assert_eq!(sheet.csv().lines().nth(2), Some("2,␣bb,'=c,0.25,1,2"));
    }

    #[test]
    fn a_profile_leaves_with_what_is_laid_over_it() {
        let report = sample_report();
        let profile = Run::opened(1, report.clone()).profile(Metric::Lin);
        let overlay = Overlay { name: "o".into(), values: vec![Some(0.5), None], note: "Diamonds: o.".into() };
        let sheet = Sheet::of_profile(&profile, Metric::Lin, Some(&report), Some(&overlay));
        let lines: Vec<_> = sheet.csv().lines().map(String::from).collect();
        assert!(lines[0].starts_with("Block,R²_lin,") && lines[0].ends_with(",o"), "{}", lines[0]);
        assert!(lines[1].ends_with(",0.5") && lines[2].ends_with(','), "{lines:?}");
        assert!(lines[2].starts_with("1,-0.25,"), "{}", lines[2]);
        assert_eq!(sheet.data["chart"]["series"][1]["points"][0]["y"], 0.5);
        let alone = Sheet::of_profile(&Profile::default(), Metric::Scalar, None, Some(&overlay));
        assert_eq!(alone.csv(), "Block,o\r\n0,0.5\r\n1,\r\n");
    }

    #[test]
    fn a_table_that_shows_rounded_numbers_leaves_with_all_digits_in_every_language() {
        let mut report = sample_report();
        let (value, interval) = (0.849_123_456_789, straightedge_api::report::Interval { low: 0.847, high: 0.8512 });
        report.blocks[0].r2_lin = Some(value);
        report.blocks[0].intervals = [("r2_lin".into(), interval)].into();
        for (language, shown) in [(Language::English, "0.849 ± 0.002"), (Language::German, "0,849 ± 0,002")] {
            speaking(language);
            let profile = Run::opened(1, report.clone()).profile(Metric::Lin);
            let losses = Sheet::of_figure(&figures(View::Losses, &report, None).remove(0), Some(&report));
            for sheet in [Sheet::of_profile(&profile, Metric::Lin, Some(&report), None), losses] {
                assert_eq!(sheet.table.rows[0][1], shown);
                assert_eq!(sheet.csv().lines().nth(1).and_then(|line| line.split(',').nth(1)), Some("0.849123456789"));
            }
        }
        speaking(Language::English);
    }

    #[test]
    fn exports_hold_the_same_numbers_in_every_language() {
        let report = sample_report();
        let lines = |language| {
            speaking(language);
            let figures = View::ALL.into_iter().flat_map(|view| figures(view, &report, None));
            let mut sheets: Vec<_> = figures.map(|figure| Sheet::of_figure(&figure, Some(&report))).collect();
            let profile = Run::opened(1, report.clone()).profile(Metric::Lin);
            sheets.push(Sheet::of_profile(&profile, Metric::Lin, Some(&report), None));
            let series = sheets.iter().map(|sheet| sheet.data["chart"]["series"].to_string());
            let points: Vec<_> = series.map(|text| text.matches(char::is_numeric).collect::<String>()).collect();
            // Ranges and names are texts; numbers are numbers.
            let csv: Vec<String> = sheets.iter().map(Sheet::csv).collect();
            let numbers = |csv: &String| -> Vec<f64> {
                csv.lines().skip(1).flat_map(|line| line.split(',')).filter_map(|cell| cell.parse().ok()).collect()
            };
            (csv.iter().map(numbers).collect::<Vec<_>>(), points)
        };
        let english = lines(Language::English);
        assert!(english.0.iter().flatten().count() > 50, "{english:?}");
        assert_eq!(lines(Language::German), english);
        speaking(Language::English);
    }

    #[test]
    fn cells_are_numbers_to_programs_and_never_formulas() {
        assert_eq!(plain("−1.5"), "-1.5");
        assert_eq!([plain("14\u{202f}976"), plain("R² −0.05 to 0.00")], ["14976", "R² -0.05 to 0.00"]);
        assert_eq!([quoted("-1.5"), quoted("=1+1"), quoted("a,\"b\"")], ["-1.5", "'=1+1", "\"a,\"\"b\"\"\""]);
    }
}
