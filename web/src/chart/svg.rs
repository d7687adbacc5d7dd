//! Writes SVG elements as text.

use std::fmt::Write;

/// A fragment under construction.
#[derive(Default)]
pub(super) struct Fragment(String);

impl Fragment {
    /// An empty element; attribute values are numbers or our own constants.
    pub(super) fn element(&mut self, name: &str, class: &str, attributes: &[(&str, f64)]) {
        self.open(name, class, attributes);
        self.0.push_str("/>");
    }

    /// A path.
    pub(super) fn path(&mut self, class: &str, d: &str) {
        let _ = write!(self.0, r#"<path class="{class}" d="{d}"/>"#);
    }

    /// A point that moves along a path once; the style sheet hides it where motion is not wanted.
    pub(super) fn moving_point(&mut self, class: &str, path: &str) {
        let motion = format!(r#"<animateMotion dur="1.6s" path="{path}"/>"#);
        let _ = write!(self.0, r#"<circle class="{class}" r="5">{motion}</circle>"#);
    }

    /// A text; the index of a name such as `R²_lin` is a subscript.
    pub(super) fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        self.open("text", class, &[("x", x), ("y", y)]);
        self.0.push('>');
        self.0.push_str(&typeset(text));
        self.0.push_str("</text>");
    }

    /// The whole drawing, hidden from screen readers because the page describes it in text.
    pub(super) fn into_svg(self, width: f64, height: f64) -> String {
        let body = self.0;
        format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" aria-hidden="true">{body}</svg>"#
        )
    }

    fn open(&mut self, name: &str, class: &str, attributes: &[(&str, f64)]) {
        let _ = write!(self.0, r#"<{name} class="{class}""#);
        for (attribute, value) in attributes {
            let _ = write!(self.0, r#" {attribute}="{}""#, number(*value));
        }
    }
}

/// A coordinate with at most two digits after the point.
pub(super) fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// A text as element content, with its index as a subscript.
pub(super) fn typeset(text: &str) -> String {
    match text.split_once("_lin") {
        Some((before, after)) => {
            let (before, after) = (escaped(before), escaped(after));
            format!(r#"{before}<tspan class="low" dy="3">lin</tspan><tspan dy="-3">{after}</tspan>"#)
        }
        None => escaped(text),
    }
}

pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_cannot_become_elements() {
        let mut fragment = Fragment::default();
        fragment.text("label", 1.0, 2.25, "<script> & R²_lin > 0");
        let svg = fragment.into_svg(10.0, 20.0);
        assert!(svg.contains("&lt;script&gt; &amp; R²<tspan class=\"low\" dy=\"3\">lin</tspan>"), "{svg}");
        assert!(svg.contains(r#"x="1" y="2.25""#) && svg.contains(r#"viewBox="0 0 10 20""#), "{svg}");
    }
}
