//! The glossary: what the terms on the page mean. Definitions at headings and table heads, the terms of each step of the
//! lesson and docs/glossary.md come from here; report fields are defined in the table of `straightedge_api::fields`.
//!
//! Each name lists the forms in which a text has the term, separated by `;`, the usual one first.

use std::fmt::Write;

use straightedge_api::fields::Field;

use super::engine;

/// In the language in use.
pub fn t() -> &'static Texts {
    IN_USE.get()
}

catalogue! {
    Texts,

    block: "feed-forward block; feed-forward blocks; feed-forward network; feed-forward networks",
    block_means: "The part of a transformer layer that works on each token’s vector separately: matrices with a nonlinear activation between them.",
    stream: "residual stream",
    stream_means: "The vector that each token carries from layer to layer; attention and feed-forward blocks add to it.",
    row: "row; rows",
    row_means: "One token at one block: the vector x that goes into the block, and the vector y that comes out.",
    window: "window; windows",
    window_means: "A piece of the text of fixed length, which runs through the model on its own.",
    fold: "fold; folds",
    fold_means: "One of the contiguous parts into which the rows are divided; each is held out in turn.",
    held_out: "held-out rows; held-out; held out",
    held_out_means: "Rows that no fit has seen: those of the last fold. Every score is computed on them.",
    map: "linear map; linear maps; affine map; affine maps",
    map_means: "A matrix and a bias, ŷ = Wᵀx + b. The best one has the least squared error on the training rows.",
    closed: "closed form",
    closed_means: "The affine map with the smallest error on the training rows, computed from their second moments without any training.",
    r2: "R²",
    r2_means: "Share of the variance of a block’s output that a prediction explains on held-out rows: 1 is exact, 0 is no better than the mean, and negative values are worse.",
    r2_lin: "R²_lin",
    scalar: "R² scalar; scalar R²",
    median: "R² median; median R²",
    interval: "95 % interval; 95 % intervals",
    interval_means: "Range that covers 95 % of the values found when the held-out windows are drawn anew, with replacement.",
    residual: "residual; residuals",
    residual_means: "What the linear map misses: y − ŷ.",
    rank: "rank; ranks",
    rank_means: "Number of independent directions that a linear map passes on.",
    effective_rank: "effective rank; eff. rank; effective ranks",
    curve: "rank curve; rank curves",
    curve_means: "Held-out R² of the best map of every rank, from 1 to the full rank.",
    spectrum: "spectrum; spectra",
    spectrum_means: "The eigenvalues of a covariance matrix, largest first: how much variance each direction carries.",
    perplexity: "perplexity",
    perplexity_means: "The number of equally likely tokens between which the model hesitates; e to the power of the mean loss. Lower is better.",
    loss: "ΔPPL",
    loss_means: "Change of held-out perplexity when a part of the model is replaced and nothing else is changed. Lower is less loss.",
    kl: "KL; KL divergence; mean KL",
    kl_means: "Kullback–Leibler divergence, Σ p·ln(p/q) in nats: how far the next-token distribution q of the model with linear blocks is from the model’s own p. 0 means the same distribution.",
    swap: "swap; swaps; swapped",
    swap_means: "Replacing a block by its linear map, by its mean, or by nothing, while the rest of the model stays as it is.",
    healing: "healing; healed",
    healing_means: "Fine-tuning the linear map that replaces a block, through the frozen rest of the model.",
    probe: "probe; probes",
    probe_means: "A small network trained on what the linear map misses; it shows whether there is structure left.",
    gain: "gain",
    conjunction: "conjunction index; conjunction",
    control: "control; controls",
    control_means: "The same fit where nothing was learned, or on other inputs. It shows what training contributes to R².",
    fresh: "re-initialised",
    fresh_means: "With new random weights, drawn as before training.",
    linearity: "linearity",
    regime: "regime; regimes",
    regime_means: "How a high R² comes about: broad, in most features, or narrow, in a few features that carry most of the variance.",
}

/// A definition: that of a report field, or a text of its own.
#[derive(Clone, Copy, Debug)]
enum Meaning {
    Field(Field),
    Text(fn(&Texts) -> &'static str),
}

/// A term of the glossary.
#[derive(Clone, Copy, Debug)]
pub struct Term {
    forms: fn(&Texts) -> &'static str,
    meaning: Meaning,
}

const fn defined(forms: fn(&Texts) -> &'static str, meaning: fn(&Texts) -> &'static str) -> Term {
    Term { forms, meaning: Meaning::Text(meaning) }
}

const fn measured(forms: fn(&Texts) -> &'static str, field: Field) -> Term {
    Term { forms, meaning: Meaning::Field(field) }
}

/// All terms, in the order in which they build on each other.
pub const TERMS: [Term; 30] = [
    defined(|t| t.block, |t| t.block_means),
    defined(|t| t.stream, |t| t.stream_means),
    defined(|t| t.row, |t| t.row_means),
    defined(|t| t.window, |t| t.window_means),
    defined(|t| t.fold, |t| t.fold_means),
    defined(|t| t.held_out, |t| t.held_out_means),
    defined(|t| t.map, |t| t.map_means),
    defined(|t| t.closed, |t| t.closed_means),
    defined(|t| t.r2, |t| t.r2_means),
    measured(|t| t.r2_lin, Field::R2Lin),
    measured(|t| t.scalar, Field::R2LinScalar),
    measured(|t| t.median, Field::R2FeatureMedian),
    defined(|t| t.interval, |t| t.interval_means),
    defined(|t| t.residual, |t| t.residual_means),
    defined(|t| t.rank, |t| t.rank_means),
    measured(|t| t.effective_rank, Field::EffectiveRank),
    defined(|t| t.curve, |t| t.curve_means),
    defined(|t| t.spectrum, |t| t.spectrum_means),
    defined(|t| t.perplexity, |t| t.perplexity_means),
    defined(|t| t.loss, |t| t.loss_means),
    defined(|t| t.kl, |t| t.kl_means),
    defined(|t| t.swap, |t| t.swap_means),
    defined(|t| t.healing, |t| t.healing_means),
    defined(|t| t.probe, |t| t.probe_means),
    measured(|t| t.gain, Field::PolyGain),
    measured(|t| t.conjunction, Field::Conjunction),
    defined(|t| t.control, |t| t.control_means),
    defined(|t| t.fresh, |t| t.fresh_means),
    measured(|t| t.linearity, Field::Linearity),
    defined(|t| t.regime, |t| t.regime_means),
];

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Plain text.
    Plain(String),
    /// A term as written there, and its definition.
    Term(String, String),
}

impl Term {
    /// Its usual name.
    pub fn name(self) -> &'static str {
        self.forms().next().unwrap_or_default()
    }

    /// Its definition in sentences.
    pub fn meaning(self) -> String {
        match self.meaning {
            Meaning::Field(field) => engine::definition(field),
            Meaning::Text(text) => text(t()).into(),
        }
    }

    fn forms(self) -> impl Iterator<Item = &'static str> {
        (self.forms)(t()).split("; ")
    }
}

/// A text in pieces: the first place of every term in it, and what is between.
pub fn pieces(text: &str) -> Vec<Piece> {
    let mut left: Vec<(&str, usize)> =
        TERMS.iter().enumerate().flat_map(|(at, term)| term.forms().map(move |form| (form, at))).collect();
    left.sort_by_key(|(form, _)| std::cmp::Reverse(form.len()));
    let (mut pieces, mut plain, mut rest) = (Vec::new(), String::new(), text);
    while let Some(next) = rest.chars().next() {
        let is_start = !plain.chars().next_back().is_some_and(is_of_a_word);
        let found = left.iter().find(|(form, _)| is_start && starts_with(rest, form)).copied();
        let taken = found.map_or(next.len_utf8(), |(form, _)| length_of(rest, form));
        let (head, tail) = rest.split_at(taken);
        match found {
            Some((_, at)) => {
                if !plain.is_empty() {
                    pieces.push(Piece::Plain(std::mem::take(&mut plain)));
                }
                pieces.push(Piece::Term(head.into(), TERMS[at].meaning()));
                left.retain(|(_, other)| *other != at);
            }
            None => plain.push_str(head),
        }
        rest = tail;
    }
    if !plain.is_empty() {
        pieces.push(Piece::Plain(plain));
    }
    pieces
}

/// Terms that a text has, each once.
pub fn terms_in(text: &str) -> Vec<[String; 2]> {
    let named = TERMS.map(|term| [term.name().to_string(), term.meaning()]);
    let found = pieces(text);
    let is_found =
        |meaning: &String| found.iter().any(|piece| matches!(piece, Piece::Term(_, defined) if defined == meaning));
    named.into_iter().filter(|[_, meaning]| is_found(meaning)).collect()
}

/// Whether a text starts with a form as a word of its own, with a capital or without.
fn starts_with(text: &str, form: &str) -> bool {
    let (mut letters, mut expected) = (text.chars(), form.chars());
    let is_first = match (letters.next(), expected.next()) {
        (Some(letter), Some(expected)) => letter == expected || letter.to_lowercase().eq(expected.to_lowercase()),
        _ => false,
    };
    let rest = letters.as_str();
    is_first && rest.strip_prefix(expected.as_str()).is_some_and(|after| !after.starts_with(is_of_a_word))
}

/// Bytes of a form at the start of a text; its first letter may have another size there.
fn length_of(text: &str, form: &str) -> usize {
    let first = |text: &str| text.chars().next().map_or(0, char::len_utf8);
    first(text) + form.len() - first(form)
}

fn is_of_a_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// docs/glossary.md.
pub fn document() -> String {
    let mut text = String::from(
        "# Glossary\n\nThe terms of the page, as it defines them where they stand in a heading or at the head of a table \
         column, and in the lesson. [measures.md](measures.md) has the formulas.\n\n| term | meaning |\n|---|---|\n",
    );
    for term in TERMS {
        // Writing to a string does not fail.
        let _ = writeln!(text, "| {} | {} |", term.name(), term.meaning());
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn names(text: &str) -> Vec<String> {
        let name = |piece| if let Piece::Term(name, _) = piece { Some(name) } else { None };
        pieces(text).into_iter().filter_map(name).collect()
    }

    #[test]
    fn terms_are_found_as_words_once_each_and_the_longest_first() {
        assert_eq!(names("R² of the best map of every rank: ranks"), ["R²", "rank"]);
        assert_eq!(names("Effective rank of R²_lin"), ["Effective rank", "R²_lin"]);
        assert_eq!(names("R² scalar"), ["R² scalar"]);
        assert_eq!(names("the residual stream"), ["residual stream"]);
        assert_eq!(names("shrank, KLM, prober"), Vec::<String>::new());
        let text = "ΔPPL with held-out rows";
        let whole: String = pieces(text)
            .into_iter()
            .map(|piece| match piece {
                Piece::Plain(text) | Piece::Term(text, _) => text,
            })
            .collect();
        assert_eq!(whole, text);
        assert_eq!(terms_in("KL and KL")[0][0], "KL");
    }

    #[test]
    fn no_form_and_no_definition_stands_for_two_terms() {
        let forms: Vec<_> = TERMS.iter().flat_map(|term| term.forms()).map(str::to_lowercase).collect();
        assert_eq!(forms.iter().collect::<BTreeSet<_>>().len(), forms.len());
        let meanings: BTreeSet<_> = TERMS.iter().map(|term| term.meaning()).collect();
        assert_eq!(meanings.len(), TERMS.len());
        assert!(meanings.iter().all(|meaning| meaning.ends_with('.')));
    }

    #[test]
    fn the_document_is_this_glossary() {
        let written = include_str!("../../../docs/glossary.md");
        let hint = "write it anew: cargo run -p straightedge-web --example glossary > docs/glossary.md";
        assert!(written == document(), "docs/glossary.md is not this glossary; {hint}");
    }
}
