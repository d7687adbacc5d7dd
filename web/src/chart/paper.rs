//! A standalone chart for print: on white, with title, legend, caption and source, and styles inlined on every element,
//! so that every SVG viewer shows it alike.
//!
//! The page's own charts are styled by the style sheet through the same class names. A test checks that none of these
//! is missing here.

use super::shape::STYLES;
use super::svg::{escaped, number, typeset};

const INK: &str = "#1f1e1b";
const SOFT: &str = "#615e56";
const ACCENT: &str = "#0072b2";
/// Colour and dashes of each style, as in the light style sheet.
const STYLE_ATTRIBUTES: [(&str, &str); STYLES] = [
    ("#0072b2", "none"),
    ("#d55e00", "7 4"),
    ("#009e73", "2 4"),
    ("#b05a8c", "9 3 2 3"),
    ("#b27a00", "5 2"),
    ("#2f8fc4", "1 3"),
    ("#5d5a52", "12 4"),
    ("#8a8200", "3 3"),
];
const FONT: &str = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', 'Liberation Sans', Arial, sans-serif";
const MARGIN: f64 = 24.0;
const LINE: f64 = 17.0;
/// Mean width of a caption letter.
const LETTER: f64 = 6.6;

/// The texts around a standalone chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Paper {
    /// Heading.
    pub title: String,
    /// Legend entries: the sample as drawn for the page, and its name.
    pub legend: Vec<(String, String)>,
    /// Explanation below the chart.
    pub caption: String,
    /// Source of the numbers.
    pub source: String,
}

/// The page chart `drawing`, `width` × `height` pixels, as a standalone SVG.
pub fn paper(drawing: &str, (width, height): (f64, f64), around: &Paper) -> String {
    let full = width + 2.0 * MARGIN;
    let mut body = String::new();
    let mut y = MARGIN + 12.0;
    line(&mut body, y, "font-size=\"16\" font-weight=\"600\"", INK, &around.title);
    y += 14.0;
    if around.legend.len() > 1 {
        y = legend(&mut body, y, full, &around.legend);
    }
    body +=
        &format!(r#"<g transform="translate({MARGIN} {})">{}</g>"#, number(y), inside(&with_inline_styles(drawing)));
    y += height + 10.0;
    for (text, colour) in [(&around.caption, INK), (&around.source, SOFT)] {
        for text in wrapped(text, ((full - 2.0 * MARGIN) / LETTER) as usize) {
            y += LINE;
            line(&mut body, y, "font-size=\"12\"", colour, &text);
        }
        y += 5.0;
    }
    let (full, y) = (number(full), number(y + MARGIN - 6.0));
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {full} {y}" width="{full}" height="{y}" font-family="{FONT}"><title>{}</title><desc>{}</desc><metadata>{}</metadata><rect width="100%" height="100%" fill="#ffffff"/>{body}</svg>"##,
        escaped(&around.title),
        escaped(&around.caption),
        escaped(&around.source),
    )
}

fn line(body: &mut String, y: f64, font: &str, colour: &str, text: &str) {
    let y = number(y);
    *body +=
        &format!(r#"<text x="{MARGIN}" y="{y}" {font} fill="{colour}">{}</text>"#, with_inline_styles(&typeset(text)));
}

/// Legend entries in rows as wide as the paper; returns the y coordinate where they end.
fn legend(body: &mut String, mut y: f64, full: f64, entries: &[(String, String)]) -> f64 {
    let mut x = MARGIN;
    for (sample, name) in entries {
        let width = 34.0 + name.chars().count() as f64 * 6.4 + 18.0;
        if x + width > full && x > MARGIN {
            (x, y) = (MARGIN, y + 20.0);
        }
        let (left, name_x) = (number(x), number(x + 32.0));
        *body +=
            &format!(r#"<g transform="translate({left} {})">{}</g>"#, number(y), inside(&with_inline_styles(sample)));
        *body += &format!(
            r#"<text x="{name_x}" y="{}" font-size="12" fill="{INK}">{}</text>"#,
            number(y + 12.0),
            escaped(name)
        );
        x += width;
    }
    y + 26.0
}

/// The content of an SVG element.
fn inside(svg: &str) -> &str {
    let start = svg.find('>').map_or(0, |at| at + 1);
    svg[start..].strip_suffix("</svg>").unwrap_or(&svg[start..])
}

/// Replaces the classes of a drawing by presentation attributes.
fn with_inline_styles(drawing: &str) -> String {
    let mut parts = drawing.split(" class=\"");
    let mut text = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let (class, rest) = part.split_once('"').unwrap_or((part, ""));
        text += " ";
        text += &attributes(class).unwrap_or_default();
        text += rest;
    }
    text
}

/// Presentation attributes of a class; `None` if the class is unknown.
fn attributes(class: &str) -> Option<String> {
    if let Some(class) = class.strip_suffix(" behind") {
        return Some(format!(r#"{} opacity="0.28""#, attributes(class)?));
    }
    if let Some((kind, style)) = class.split_once(" look") {
        let (colour, dash) = STYLE_ATTRIBUTES.get(style.parse::<usize>().ok()?)?;
        return match kind {
            "mark" => Some(format!(r##"fill="{colour}" stroke="#ffffff" stroke-width="1.2""##)),
            "bar" => Some(format!(r#"fill="{colour}""#)),
            "whisker" => Some(format!(r#"fill="none" stroke="{colour}" stroke-width="1.5""#)),
            "join" => Some(format!(r#"fill="none" stroke="{colour}" stroke-width="1.8" stroke-dasharray="{dash}""#)),
            _ => None,
        };
    }
    let text = |size: &str, colour: &str, anchor: &str| {
        format!(r#"font-size="{size}" fill="{colour}" text-anchor="{anchor}""#)
    };
    let stroke = |colour: &str, more: &str| format!(r#"fill="none" stroke="{colour}" {more}"#);
    Some(match class {
        "grid" => stroke("#e9e6de", ""),
        "zero" => stroke(SOFT, r#"stroke-width="1.2""#),
        "below" => r##"fill="#e9e6de" opacity="0.45""##.into(),
        "band" => r##"fill="#e9e6de" opacity="0.35""##.into(),
        "expected" => stroke("#a39e92", r#"stroke-width="5" stroke-linecap="round" opacity="0.7""#),
        "line" => stroke(ACCENT, r#"stroke-width="1.5" opacity="0.4""#),
        "whisker" => stroke(ACCENT, r#"stroke-width="1.5""#),
        "dot" => format!(r##"fill="{ACCENT}" stroke="#ffffff" stroke-width="1.5""##),
        "undefined" => stroke(SOFT, r#"stroke-width="2""#),
        "rule" => stroke(SOFT, r#"stroke-width="1.2" stroke-dasharray="6 4""#),
        "overlay" => stroke("#d55e00", r#"stroke-width="1.8""#),
        "overlay line" => stroke("#d55e00", r#"stroke-width="1.4" stroke-dasharray="5 4" opacity="0.7""#),
        "under" => text("12", ACCENT, "start"),
        "under before" => text("12", ACCENT, "end"),
        "tick x" => text("12", SOFT, "middle"),
        "tick y" => text("12", SOFT, "end"),
        "name x" => text("12.5", INK, "middle"),
        "name y" => text("12.5", INK, "start"),
        "aside" => text("11.5", SOFT, "start"),
        "aside before" => text("11.5", SOFT, "end"),
        "short" => text("11.5", INK, "start"),
        "low" => r#"font-size="9""#.into(),
        _ => return None,
    })
}

/// Lines of at most `width` letters.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is always a line");
        if last.is_empty() {
            last.push_str(word);
        } else if last.chars().count() + 1 + word.chars().count() <= width {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_string());
        }
    }
    lines.retain(|line| !line.is_empty());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::draw::{self, Layout};
    use crate::chart::profile::{self, Labels, Point, Profile};
    use crate::figures::{figures, sample_report};
    use crate::state::views::View;

    fn classes(drawing: &str) -> Vec<&str> {
        drawing.split(" class=\"").skip(1).filter_map(|part| part.split('"').next()).collect()
    }

    fn drawings() -> Vec<String> {
        let report = sample_report();
        let figures = View::ALL.into_iter().flat_map(|view| figures(view, &report, None));
        let mut all: Vec<_> = figures.map(|f| draw::draw(&f.plot, &Layout::new(&f.plot, 700.0))).collect();
        let mut faint = crate::figures::figures(View::Layers, &report, None).remove(0).plot;
        faint.series.iter_mut().for_each(|series| (series.is_behind, series.joined) = (true, true));
        all.push(draw::draw(&faint, &Layout::new(&faint, 700.0)));
        let values = [Some(0.5), None, Some(-3.0), Some(-7.0)];
        let points = values.iter().enumerate().map(|(block, value)| Point {
            block,
            value: *value,
            spread: value.map(|value| [value - 0.1, value + 0.1]),
            ..Point::default()
        });
        let profile = Profile {
            points: points.collect(),
            expected: vec![Some(0.2)],
            overlay: values.to_vec(),
            ..Profile::default()
        };
        let labels = Labels { value: "R²_lin", block: "block" };
        all.push(profile::draw(&profile.covering(), &profile::ProfileLayout::new(700.0, 4), labels));
        all
    }

    #[test]
    fn every_class_of_every_chart_has_its_looks_on_paper_and_none_is_left() {
        let drawings = drawings();
        assert!(drawings.len() > 8);
        for drawing in &drawings {
            for class in classes(drawing) {
                assert!(attributes(class).is_some(), "{class}");
            }
            assert!(!with_inline_styles(drawing).contains("class="));
        }
    }

    #[test]
    fn the_colours_of_looks_are_those_of_the_style_sheet() {
        let sheet = include_str!("../../style/views.css");
        for (at, (colour, dash)) in STYLE_ATTRIBUTES.iter().enumerate() {
            let line = sheet.lines().find(|line| line.starts_with(&format!(".look{at} "))).expect("in light first");
            assert!(line.contains(&format!("--look: {colour};")), "{line}");
            assert!(*dash == "none" || line.contains(&format!("--dash: {dash};")), "{line}");
        }
    }

    #[test]
    fn texts_from_outside_stay_texts_and_long_ones_are_broken() {
        let around = Paper {
            title: "<script>alert(1)</script>".into(),
            caption: "word ".repeat(60),
            source: "a & b".into(),
            legend: vec![(drawings()[0].clone(), "<b>".into()), (String::new(), "y".into())],
        };
        let svg = paper(&drawings()[0], (700.0, 400.0), &around);
        assert!(!svg.contains("<script>") && !svg.contains("<b>") && svg.contains("a &amp; b"));
        assert!(svg.matches("word word").count() >= 3, "broken into lines");
        assert_eq!(svg.matches("<svg").count(), 1, "one drawing, nothing nested");
        assert!(wrapped("aa bb cc", 5) == ["aa bb", "cc"] && wrapped("", 5).is_empty());
    }
}
