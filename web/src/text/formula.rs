//! Formulas as MathML: the computation of a feed-forward network, and the affine map that replaces it.
//!
//! Reports are untrusted: unknown names in them are written as text, never as elements.

use straightedge_api::report::ModelInfo;

use crate::text::detail::t as d;
use crate::text::fill;
use crate::text::format::count;

/// A formula with the meaning of its letters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formula {
    /// A `math` element.
    pub mathml: String,
    /// The same as text, for screen readers without MathML, and for tests.
    pub plain: String,
    /// Sizes, in a sentence.
    pub about: String,
}

/// Families whose networks have a gate.
const GATED: [&str; 8] = ["llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text", "modernbert"];

/// The computation of a model's network; `None` for captured rows, whose network is unknown.
pub fn network(model: &ModelInfo) -> Option<Formula> {
    let inner = model.intermediate_size.filter(|_| model.architecture != "rows")?;
    let act = activation(model.hidden_act.as_deref().unwrap_or("act"));
    let is_gated = GATED.contains(&model.architecture.as_str());
    let biased = has_biases(model, inner, is_gated);
    let bias =
        |at: &str| if biased { format!("<mo>+</mo><msub><mi>b</mi>{}</msub>", index(at)) } else { String::new() };
    let plain_bias = |at: &str| if biased { format!(" + b{at}") } else { String::new() };
    let (right, plain) = if is_gated {
        let gate = format!("{}{OPEN}{}{}{CLOSE}", act.mathml, times("g"), bias("g"));
        let up = format!("{OPEN}{}{}{CLOSE}", times("u"), bias("u"));
        let right = format!("{}{OPEN}{gate}<mo>⊙</mo>{up}{CLOSE}{}", matrix("d"), bias("d"));
        let gated = format!("{}(Wgᵀ x{}) ⊙ (Wuᵀ x{})", act.plain, plain_bias("g"), plain_bias("u"));
        (right, format!("y = Wdᵀ ({gated}){}", plain_bias("d")))
    } else {
        let inside = format!("{}{OPEN}{}{}{CLOSE}", act.mathml, times("1"), bias("1"));
        let plain = format!("y = W2ᵀ {}(W1ᵀ x{}){}", act.plain, plain_bias("1"), plain_bias("2"));
        (format!("{}{inside}{}", matrix("2"), bias("2")), plain)
    };
    let gaps = [
        ("inputs", model.hidden_size.to_string()),
        ("units", inner.to_string()),
        ("parameters", model.ffn_parameters.map_or("?".into(), |parameters| count(parameters as u64))),
    ];
    Some(Formula {
        mathml: math(&format!("<mi>y</mi><mo>=</mo>{right}")),
        plain,
        about: filled(d().formula_network, &gaps),
    })
}

/// The best affine map of a model's block; `outputs` is its number of output features.
pub fn map(model: &ModelInfo, outputs: usize) -> Formula {
    let hat = "<mover accent=\"true\"><mi>y</mi><mo>ˆ</mo></mover>";
    let transposed = "<msup><mi>W</mi><mo>⊤</mo></msup>";
    let body = format!("{hat}<mo>=</mo>{transposed}<mi>x</mi><mo>+</mo><mi>b</mi>");
    let gaps = [
        ("inputs", model.hidden_size.to_string()),
        ("outputs", outputs.to_string()),
        ("parameters", count(model.hidden_size.saturating_add(1).saturating_mul(outputs) as u64)),
    ];
    Formula { mathml: math(&body), plain: "ŷ = Wᵀ x + b".into(), about: filled(d().formula_map, &gaps) }
}

const OPEN: &str = "<mo stretchy=\"false\">(</mo>";
const CLOSE: &str = "<mo stretchy=\"false\">)</mo>";

fn math(body: &str) -> String {
    format!(r#"<math display="block"><mrow>{body}</mrow></math>"#)
}

fn index(at: &str) -> String {
    if at.parse::<u8>().is_ok() { format!("<mn>{at}</mn>") } else { format!("<mi>{at}</mi>") }
}

/// A transposed matrix: W has one row per input and one column per output, as in the lesson and in `docs/measures.md`.
fn matrix(at: &str) -> String {
    format!("<msubsup><mi>W</mi>{}<mo>⊤</mo></msubsup>", index(at))
}

fn times(at: &str) -> String {
    format!("{}<mi>x</mi>", matrix(at))
}

/// Whether the network has biases, derived from its number of parameters.
fn has_biases(model: &ModelInfo, inner: usize, is_gated: bool) -> bool {
    let matrices: usize = if is_gated { 3 } else { 2 };
    let weights = matrices.saturating_mul(model.hidden_size).saturating_mul(inner);
    model.ffn_parameters.map_or(!is_gated, |parameters| parameters > weights)
}

struct ActivationFormula {
    mathml: String,
    plain: String,
}

/// An activation by its name in `config.json`.
fn activation(name: &str) -> ActivationFormula {
    let (letters, index) = match name {
        "gelu" => ("GELU", None),
        "gelu_new" | "gelu_fast" | "gelu_pytorch_tanh" => ("GELU", Some("tanh")),
        "quick_gelu" => ("GELU", Some("quick")),
        "silu" | "swish" => ("SiLU", None),
        "relu" => ("ReLU", None),
        "relu2" => ("ReLU", Some("2")),
        other => (other, None),
    };
    let text = |text: &str| format!("<mtext>{}</mtext>", escaped(text));
    let mathml = match index {
        Some("2") => format!("<msup>{}<mn>2</mn></msup>", text(letters)),
        Some(index) => format!("<msub>{}{}</msub>", text(letters), text(index)),
        None => text(letters),
    };
    ActivationFormula { mathml, plain: letters.into() }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn filled(text: &str, gaps: &[(&str, String)]) -> String {
    fill(text, &gaps.iter().map(|(name, value)| (*name, value.as_str())).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(architecture: &str, act: &str, parameters: usize) -> ModelInfo {
        ModelInfo {
            architecture: architecture.into(),
            hidden_act: Some(act.into()),
            hidden_size: 768,
            intermediate_size: Some(3072),
            ffn_parameters: Some(parameters),
            ..ModelInfo::default()
        }
    }

    #[test]
    fn every_family_has_its_own_network() {
        let plain = |model: ModelInfo| network(&model).unwrap().plain;
        assert_eq!(plain(model("gpt2", "gelu_new", 4_722_432)), "y = W2ᵀ GELU(W1ᵀ x + b1) + b2");
        assert_eq!(plain(model("bert", "relu", 2 * 768 * 3072)), "y = W2ᵀ ReLU(W1ᵀ x)");
        assert_eq!(plain(model("llama", "silu", 7_077_888)), "y = Wdᵀ (SiLU(Wgᵀ x) ⊙ (Wuᵀ x))");
        assert_eq!(plain(model("llama", "silu", 7_077_888 + 6_912)), "y = Wdᵀ (SiLU(Wgᵀ x + bg) ⊙ (Wuᵀ x + bu)) + bd");
        assert_eq!(network(&model("rows", "gelu", 1)), None);
        let gelu = network(&model("gpt2", "gelu_new", 4_722_432)).unwrap();
        assert!(
            gelu.mathml.contains("<mtext>tanh</mtext>") && gelu.about.contains("4\u{202f}722\u{202f}432"),
            "{gelu:?}"
        );
        assert!(map(&model("gpt2", "gelu", 1), 768).about.contains("590\u{202f}592"));
        assert_eq!(map(&model("gpt2", "gelu", 1), 768).plain, "ŷ = Wᵀ x + b");
    }

    #[test]
    fn elements_are_closed_and_names_from_outside_stay_texts() {
        for architecture in ["gpt2", "llama"] {
            let formula = network(&model(architecture, "<script>alert(1)</script>", 9_999_999)).unwrap();
            assert!(!formula.mathml.contains("<script"), "{}", formula.mathml);
            let mut open = Vec::new();
            for tag in formula.mathml.split('<').skip(1).map(|part| part.split(['>', ' ']).next().unwrap()) {
                match tag.strip_prefix('/') {
                    Some(closed) => assert_eq!(open.pop(), Some(closed), "{}", formula.mathml),
                    None => open.push(tag),
                }
            }
            assert!(open.is_empty(), "{open:?}");
        }
    }
}
