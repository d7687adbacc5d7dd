//! Which regular expressions of a tokenizer are matched in bounded time and memory.
//!
//! The tokenizers' library matches plain expressions in time linear in what they match. Look-aheads and possessive
//! repetitions make it backtrack, in time that may grow with every choice, and each stretch between them is compiled as
//! a pattern of its own. So they are accepted only in the few places where the tokenizers of the supported families
//! have them.

use super::pattern_lexemes::{Lexeme, LexemeKind, Repetition, lexemes};

/// Bytes of a regular expression; the longest of DeepSeek has 0.9 kB.
pub(super) const LONGEST_PATTERN: usize = 1 << 11;
/// Copies of something that counted repetitions make, also within one another.
const MOST_COPIES: u64 = 64;
/// Sets of characters with their copies. Each of a Unicode class takes some 20 kB.
const MOST_SETS: u64 = 512;
/// Alternatives where some are matched step by step.
const MOST_ALTERNATIVES: usize = 32;
/// Elements of all alternatives that are matched step by step; each is an expression of its own.
const MOST_ELEMENTS: usize = 64;
/// Choices of an alternative that is matched step by step: of each `?` and group.
const MOST_CHOICES: usize = 3;
/// Alternatives of a group that is matched step by step.
const MOST_WORDS: usize = 8;
/// Patterns of published tokenizers whose backtracking ends with a number or a run of line ends: groups of three digits
/// from the right in SuperBPE and Command A, line ends in Laguna.
const KNOWN: [&str; 3] = [r"(?=(\d{3})+(?!\d))", r"\d{1,3}(?=(?:\d{3})*\b)", r"(?:\r?\n)+(?!\r?\n)"];

/// Whether an expression is matched in bounded time and memory.
pub(super) fn is_bounded(pattern: &str) -> bool {
    if KNOWN.contains(&pattern) {
        return true;
    }
    let Some(lexemes) = lexemes(pattern).filter(|all| pattern.len() <= LONGEST_PATTERN && has_few_copies(all)) else {
        return false;
    };
    let Some(alternatives) = alternatives(&lexemes) else { return false };
    let (mut stepwise, mut elements) = (false, 0);
    for part in &alternatives {
        if is_plain(part) && is_read(pattern, part) {
            continue;
        }
        let Some(count) = elements_in_steps(pattern, part) else { return false };
        (stepwise, elements) = (true, elements + count);
    }
    !stepwise || alternatives.len() <= MOST_ALTERNATIVES && elements <= MOST_ELEMENTS
}

/// Whether neighbouring parts are an expression by themselves.
fn is_read(pattern: &str, part: &[Lexeme]) -> bool {
    regex_syntax::parse(text(pattern, part)).is_ok()
}

/// The text of neighbouring parts.
fn text<'a>(pattern: &'a str, part: &[Lexeme]) -> &'a str {
    match (part.first(), part.last()) {
        (Some(first), Some(last)) => &pattern[first.span.start..last.span.end],
        _ => "",
    }
}

/// Whether an alternative has neither look-aheads nor possessive repetitions.
fn is_plain(part: &[Lexeme]) -> bool {
    !part.iter().any(|lexeme| match lexeme.kind {
        LexemeKind::Repeat(repetition) => repetition.is_possessive,
        kind => kind == LexemeKind::Lookahead,
    })
}

/// What counted repetitions make of an expression or a group.
#[derive(Clone, Copy)]
struct Copies {
    sets: u64,
    /// The most copies of one thing.
    most: u64,
}

/// Whether counted repetitions make few copies; `false` too where groups are not closed.
fn has_few_copies(lexemes: &[Lexeme]) -> bool {
    let mut open = vec![Copies { sets: 0, most: 1 }];
    for (at, lexeme) in lexemes.iter().enumerate() {
        let inner = match lexeme.kind {
            LexemeKind::Open | LexemeKind::Lookahead => {
                open.push(Copies { sets: 0, most: 1 });
                continue;
            }
            LexemeKind::Close => open.pop(),
            kind => Some(Copies { sets: u64::from(kind == LexemeKind::Set), most: 1 }),
        };
        let times = match lexemes.get(at + 1).map(|next| next.kind) {
            Some(LexemeKind::Repeat(repetition)) => repetition.most.unwrap_or(repetition.least).max(1),
            _ => 1,
        };
        let (Some(inner), Some(outer)) = (inner, open.last_mut()) else { return false };
        outer.sets = outer.sets.saturating_add(inner.sets.saturating_mul(times));
        outer.most = outer.most.max(inner.most.saturating_mul(times));
    }
    matches!(open[..], [Copies { sets, most }] if sets <= MOST_SETS && most <= MOST_COPIES)
}

/// The alternatives of an expression; `None` where groups are not closed.
fn alternatives(lexemes: &[Lexeme]) -> Option<Vec<&[Lexeme]>> {
    let (mut found, mut start, mut depth) = (Vec::new(), 0, 0usize);
    for (at, lexeme) in lexemes.iter().enumerate() {
        match lexeme.kind {
            LexemeKind::Open | LexemeKind::Lookahead => depth += 1,
            LexemeKind::Close => depth = depth.checked_sub(1)?,
            LexemeKind::Bar if depth == 0 => {
                found.push(&lexemes[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&lexemes[start..]);
    Some(found)
}

/// A character or one of a few words, and how often it comes.
struct PatternStep {
    is_group: bool,
    repetition: Option<Repetition>,
}

impl PatternStep {
    fn is_possessive(&self) -> bool {
        self.repetition.is_some_and(|repetition| repetition.is_possessive)
    }

    fn is_optional(&self) -> bool {
        self.repetition.is_some_and(|repetition| repetition.most == Some(1) && repetition.least == 0)
    }

    /// Whether its length depends on the text, by more than one character.
    fn is_long(&self) -> bool {
        let varies = |repetition: Repetition| repetition.most != Some(repetition.least);
        !self.is_optional() && self.repetition.is_some_and(varies)
    }
}

/// The number of elements of an alternative that is matched step by step; `None` if it may take many steps.
fn elements_in_steps(pattern: &str, part: &[Lexeme]) -> Option<usize> {
    if KNOWN.contains(&text(pattern, part)) {
        return Some(4);
    }
    let (part, end) = without_end(part);
    let steps = steps(part).filter(|_| is_read(pattern, part) && is_read(pattern, end))?;
    // What follows the last possessive repetition is matched as a plain expression.
    let last = steps.iter().rposition(PatternStep::is_possessive).map_or(0, |at| at + 1);
    let stepwise = if end.is_empty() { &steps[..last] } else { &steps[..] };
    has_few_choices(stepwise, &steps).then_some(steps.len() + 1)
}

/// An alternative without the look-ahead or end of text behind it, and the character of that look-ahead.
fn without_end(part: &[Lexeme]) -> (&[Lexeme], &[Lexeme]) {
    match part {
        [steps @ .., Lexeme { kind: LexemeKind::End, .. }] => (steps, &part[steps.len()..]),
        [steps @ .., lookahead, class, close]
            if lookahead.kind == LexemeKind::Lookahead && class.kind.is_single() && close.kind == LexemeKind::Close =>
        {
            (steps, std::slice::from_ref(class))
        }
        _ => (part, &[]),
    }
}

/// The elements of an alternative; `None` if it has others than characters and groups of words.
fn steps(mut part: &[Lexeme]) -> Option<Vec<PatternStep>> {
    let mut found = Vec::new();
    while let Some(first) = part.first() {
        let is_group = first.kind == LexemeKind::Open;
        let len = if is_group { words(part)? } else { 1 };
        if !is_group && !first.kind.is_single() {
            return None;
        }
        part = &part[len..];
        let repetition = match part.first().map(|lexeme| lexeme.kind) {
            Some(LexemeKind::Repeat(repetition)) => Some(repetition),
            _ => None,
        };
        part = &part[usize::from(repetition.is_some())..];
        found.push(PatternStep { is_group, repetition });
    }
    Some(found)
}

/// The parts of a group of few words.
fn words(part: &[Lexeme]) -> Option<usize> {
    let end = part.iter().position(|lexeme| lexeme.kind == LexemeKind::Close)?;
    let bars = part[1..end].iter().filter(|lexeme| lexeme.kind == LexemeKind::Bar).count();
    let are_words = part[1..end].iter().all(|lexeme| lexeme.kind.is_single() || lexeme.kind == LexemeKind::Bar);
    (are_words && bars < MOST_WORDS).then_some(end + 1)
}

/// Whether these elements bound backtracking.
fn has_few_choices(stepwise: &[PatternStep], all: &[PatternStep]) -> bool {
    let optional = stepwise.iter().filter(|step| step.is_optional() && !step.is_possessive()).count();
    let groups = stepwise.iter().filter(|step| step.is_group).count();
    let repeats_a_group = stepwise.iter().any(|step| step.is_group && step.repetition.is_some() && !step.is_optional());
    let is_varied = |step: &PatternStep| step.is_long() && !step.is_possessive();
    let ends_varied = match stepwise.iter().position(is_varied) {
        Some(at) => !all[at + 1..].iter().any(PatternStep::is_long),
        None => true,
    };
    optional + groups <= MOST_CHOICES && groups <= 1 && !repeats_a_group && ends_varied
}
