//! The link to the lesson as a QR code, for the handout.

use qrcodegen::{QrCode, QrCodeEcc};

/// A code as one path over a square of `size` modules, without its quiet zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// Modules along each side.
    pub size: usize,
    /// A path that covers the dark modules, one unit each.
    pub path: String,
}

/// The code of a text; `None` if the text is too long for one.
pub fn code(text: &str) -> Option<Code> {
    let code = QrCode::encode_text(text, QrCodeEcc::Medium).ok()?;
    let size = code.size();
    let dark = (0..size).flat_map(|y| (0..size).map(move |x| (x, y))).filter(|(x, y)| code.get_module(*x, *y));
    Some(Code { size: size as usize, path: dark.map(|(x, y)| format!("M{x} {y}h1v1h-1z")).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_has_its_three_finder_patterns() {
        let code = code("https://host.example/straightedge/?v=1&lesson=1").unwrap();
        assert!(code.size >= 21 && (code.size - 17).is_multiple_of(4), "{}", code.size);
        let is_dark = |x: usize, y: usize| code.path.contains(&format!("M{x} {y}h"));
        for (left, top) in [(0, 0), (code.size - 7, 0), (0, code.size - 7)] {
            // A ring of dark modules around a light one, around a dark square.
            assert!((0..7).all(|at| is_dark(left + at, top) && is_dark(left, top + at)), "{left} {top}");
            assert!((1..6).all(|at| !is_dark(left + at, top + 1)) && is_dark(left + 3, top + 3));
        }
    }

    #[test]
    fn a_text_beyond_the_largest_code_has_none() {
        assert_eq!(code(&"x".repeat(5000)), None);
    }
}
