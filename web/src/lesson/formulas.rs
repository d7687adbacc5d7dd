//! The lesson's formulas as complete MathML Core elements. Words in them are placeholders, filled from the texts.

use crate::text::fill;
use crate::text::lesson::l;

/// A feed-forward network, and the affine map closest to it.
pub const NETWORK: &str = "<math display=\"block\"><mtable displaystyle=\"true\" columnalign=\"left\">\
<mtr><mtd><mi>y</mi><mo>=</mo><mi>f</mi><mo stretchy=\"false\">(</mo><mi>x</mi><mo stretchy=\"false\">)</mo><mo>=</mo>\
<msubsup><mi>W</mi><mn>2</mn><mo>⊤</mo></msubsup><mspace width=\"0.17em\"/><mi>φ</mi>\
<mrow><mo>(</mo><msubsup><mi>W</mi><mn>1</mn><mo>⊤</mo></msubsup><mi>x</mi><mo>+</mo><msub><mi>b</mi><mn>1</mn></msub><mo>)</mo></mrow>\
<mo>+</mo><msub><mi>b</mi><mn>2</mn></msub></mtd></mtr>\
<mtr><mtd><mover accent=\"true\"><mi>y</mi><mo stretchy=\"false\">^</mo></mover><mo>=</mo><msup><mi>W</mi><mo>⊤</mo></msup><mi>x</mi><mo>+</mo><mi>b</mi></mtd></mtr>\
</mtable></math>";

/// R² of a line on an interval.
pub const LINE: &str = "<math display=\"block\"><msup><mi>R</mi><mn>2</mn></msup><mo>=</mo><mn>1</mn><mo>−</mo>\
<mfrac>\
<mrow><msubsup><mo>∫</mo><mi>a</mi><mi>b</mi></msubsup><msup><mrow><mo>(</mo><mi>f</mi><mo stretchy=\"false\">(</mo><mi>x</mi><mo stretchy=\"false\">)</mo><mo>−</mo><mover accent=\"true\"><mi>y</mi><mo stretchy=\"false\">^</mo></mover><mo stretchy=\"false\">(</mo><mi>x</mi><mo stretchy=\"false\">)</mo><mo>)</mo></mrow><mn>2</mn></msup><mspace width=\"0.17em\"/><mi>d</mi><mi>x</mi></mrow>\
<mrow><msubsup><mo>∫</mo><mi>a</mi><mi>b</mi></msubsup><msup><mrow><mo>(</mo><mi>f</mi><mo stretchy=\"false\">(</mo><mi>x</mi><mo stretchy=\"false\">)</mo><mo>−</mo><mover accent=\"true\"><mi>f</mi><mo stretchy=\"false\">¯</mo></mover><mo>)</mo></mrow><mn>2</mn></msup><mspace width=\"0.17em\"/><mi>d</mi><mi>x</mi></mrow>\
</mfrac></math>";

/// The map of least squares.
pub const MANY: &str = "<math display=\"block\"><munder><mo>min</mo><mrow><mi>W</mi><mo>,</mo><mi>b</mi></mrow></munder><mspace width=\"0.17em\"/><munder><mo>∑</mo><mtext>{rows}</mtext></munder>\
<msup><mrow><mo>‖</mo><mi>y</mi><mo>−</mo><msup><mi>W</mi><mo>⊤</mo></msup><mi>x</mi><mo>−</mo><mi>b</mi><mo>‖</mo></mrow><mn>2</mn></msup></math>";

/// The same in closed form.
pub const CLOSED: &str = "<math display=\"block\"><mtable displaystyle=\"true\" columnalign=\"left\">\
<mtr><mtd><msup><mi>W</mi><mo>*</mo></msup><mo>=</mo><mi>D</mi><mspace width=\"0.1em\"/><msub><mi>Q</mi><mi>r</mi></msub><msubsup><mi>Λ</mi><mi>r</mi><mrow><mo>−</mo><mn>1</mn></mrow></msubsup><msubsup><mi>Q</mi><mi>r</mi><mo>⊤</mo></msubsup><mspace width=\"0.1em\"/><mi>D</mi><mspace width=\"0.17em\"/><mi>Cov</mi><mrow><mo>(</mo><mi>x</mi><mo>,</mo><mi>y</mi><mo>)</mo></mrow></mtd></mtr>\
<mtr><mtd><msup><mi>b</mi><mo>*</mo></msup><mo>=</mo><mover accent=\"true\"><mi>y</mi><mo stretchy=\"false\">¯</mo></mover><mo>−</mo><msup><mi>W</mi><mrow><mo>*</mo><mo>⊤</mo></mrow></msup><mover accent=\"true\"><mi>x</mi><mo stretchy=\"false\">¯</mo></mover></mtd></mtr>\
</mtable></math>";

/// Held-out R² with one mean per feature.
pub const TRAPS: &str = "<math display=\"block\"><msubsup><mi>R</mi><mtext>lin</mtext><mn>2</mn></msubsup><mo>=</mo><mn>1</mn><mo>−</mo>\
<mfrac><mrow><mo>∑</mo><msup><mrow><mo>‖</mo><mi>y</mi><mo>−</mo><mover accent=\"true\"><mi>y</mi><mo stretchy=\"false\">^</mo></mover><mo>‖</mo></mrow><mn>2</mn></msup></mrow>\
<mrow><mo>∑</mo><msup><mrow><mo>‖</mo><mi>y</mi><mo>−</mo><msub><mover accent=\"true\"><mi>y</mi><mo stretchy=\"false\">¯</mo></mover><mi>h</mi></msub><mo>‖</mo></mrow><mn>2</mn></msup></mrow></mfrac></math>";

/// Perplexity, and the cost of a replacement.
pub const SWAP: &str = "<math display=\"block\"><mtable displaystyle=\"true\" columnalign=\"left\">\
<mtr><mtd><mi>PPL</mi><mo>=</mo><mi>exp</mi><mrow><mo>(</mo><mo>−</mo><mfrac><mn>1</mn><mi>n</mi></mfrac><munder><mo>∑</mo><mi>t</mi></munder><mi>ln</mi><mspace width=\"0.17em\"/><mi>p</mi><mrow><mo>(</mo><msub><mi>w</mi><mi>t</mi></msub><mo>∣</mo><msub><mi>w</mi><mrow><mo>&lt;</mo><mi>t</mi></mrow></msub><mo>)</mo></mrow><mo>)</mo></mrow></mtd></mtr>\
<mtr><mtd><mi>ΔPPL</mi><mo>=</mo><msub><mi>PPL</mi><mtext>{replaced}</mtext></msub><mo>−</mo><msub><mi>PPL</mi><mtext>{untouched}</mtext></msub></mtd></mtr>\
</mtable></math>";

/// The effective rank.
pub const REGIMES: &str = "<math display=\"block\"><mtext>{rank}</mtext><mo>=</mo>\
<mi>min</mi><mrow><mo>{</mo><mi>k</mi><mo>:</mo><msubsup><mi>R</mi><mi>k</mi><mn>2</mn></msubsup><mo>≥</mo><mn>0.9</mn><mspace width=\"0.17em\"/><msubsup><mi>R</mi><mtext>lin</mtext><mn>2</mn></msubsup><mo>}</mo></mrow></math>";

/// A formula with its placeholders filled.
pub fn worded(formula: &str) -> String {
    let l = l();
    let words = [
        ("rows", l.formula_rows),
        ("replaced", l.formula_replaced),
        ("untouched", l.formula_untouched),
        ("rank", l.formula_rank),
    ];
    fill(formula, &words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_formula_is_one_element_whose_tags_all_close() {
        for formula in [NETWORK, LINE, MANY, CLOSED, TRAPS, SWAP, REGIMES] {
            let mut open = Vec::new();
            for tag in formula.split('<').skip(1) {
                let (tag, _) = tag.split_once('>').expect("a tag ends");
                let name = tag.split(' ').next().unwrap();
                match tag.strip_prefix('/') {
                    Some(closing) => assert_eq!(open.pop(), Some(closing), "{formula}"),
                    None if tag.ends_with('/') => {}
                    None => open.push(name),
                }
                assert!(name.starts_with("/m") || name.starts_with('m'), "{name} is no element of MathML");
                assert!(!tag.contains(" style=") && !tag.contains(" on"), "{tag} would be against the page's policy");
            }
            assert!(open.is_empty(), "{formula}");
            assert!(!worded(formula).contains("<mtext>{"), "a word is missing in {formula}");
        }
    }
}
