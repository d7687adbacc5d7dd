//! Splits a regular expression into lexemes, and refuses syntax that the tokenizers' library and `regex-syntax` parse
//! differently.

use std::ops::Range;

/// A part of a regular expression, and its place there.
#[derive(Clone, Debug)]
pub(super) struct Lexeme {
    pub(super) kind: LexemeKind,
    pub(super) span: Range<usize>,
}

/// What a part of a regular expression is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LexemeKind {
    /// One character of a set.
    Set,
    /// One given character.
    Literal,
    /// The start of a group.
    Open,
    /// The start of a look-ahead.
    Lookahead,
    Close,
    Bar,
    /// The start of the text.
    Start,
    /// The end of the text.
    End,
    /// How often what stands before it comes.
    Repeat(Repetition),
}

/// How often something comes: possessive if it is never tried with fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Repetition {
    pub(super) least: u64,
    pub(super) most: Option<u64>,
    pub(super) is_possessive: bool,
}

impl LexemeKind {
    /// Whether it is one character.
    pub(super) fn is_single(self) -> bool {
        matches!(self, Self::Set | Self::Literal)
    }
}

/// The parts of a regular expression; `None` where one is not known.
pub(super) fn lexemes(pattern: &str) -> Option<Vec<Lexeme>> {
    let (mut found, mut at) = (Vec::<Lexeme>::new(), 0);
    while at < pattern.len() {
        let (kind, len) = next(&pattern[at..])?;
        let is_repeatable = found.last().is_some_and(|last| last.kind.is_single() || last.kind == LexemeKind::Close);
        if matches!(kind, LexemeKind::Repeat(_)) && !is_repeatable {
            return None;
        }
        found.push(Lexeme { kind, span: at..at + len });
        at += len;
    }
    Some(found)
}

/// The first part, and its bytes.
fn next(rest: &str) -> Option<(LexemeKind, usize)> {
    let first = rest.chars().next()?;
    Some(match first {
        '(' => group(rest)?,
        ')' => (LexemeKind::Close, 1),
        '|' => (LexemeKind::Bar, 1),
        '^' => (LexemeKind::Start, 1),
        '$' => (LexemeKind::End, 1),
        '.' => (LexemeKind::Set, 1),
        '[' => (LexemeKind::Set, class(rest)?),
        '\\' => escape(rest)?,
        '*' | '+' | '?' | '{' => repetition(rest)?,
        _ => (LexemeKind::Literal, first.len_utf8()),
    })
}

/// Other groups set flags, have names, look behind or are atomic.
fn group(rest: &str) -> Option<(LexemeKind, usize)> {
    let openings = [
        ("(?:", LexemeKind::Open),
        ("(?i:", LexemeKind::Open),
        ("(?=", LexemeKind::Lookahead),
        ("(?!", LexemeKind::Lookahead),
    ];
    match openings.into_iter().find(|(opening, _)| rest.starts_with(opening)) {
        Some((opening, kind)) => Some((kind, opening.len())),
        None => (!rest.starts_with("(?")).then_some((LexemeKind::Open, 1)),
    }
}

/// The bytes of a set in brackets. Where a bracket within it may be a character, readers disagree.
fn class(rest: &str) -> Option<usize> {
    let (mut depth, mut at, mut before) = (0, 0, ' ');
    loop {
        let next = rest[at..].chars().next()?;
        at += if next == '\\' { escape(&rest[at..])?.1 } else { next.len_utf8() };
        match next {
            '[' => {
                at += usize::from(rest[at..].starts_with('^'));
                if before == '-' || rest[at..].starts_with(']') {
                    return None;
                }
                depth += 1;
            }
            ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
        before = next;
    }
}

fn escape(rest: &str) -> Option<(LexemeKind, usize)> {
    let letter = rest[1..].chars().next()?;
    Some(match letter {
        'd' | 'D' | 's' | 'S' | 'w' | 'W' => (LexemeKind::Set, 2),
        'n' | 'r' | 't' | 'f' | 'v' | 'a' => (LexemeKind::Literal, 2),
        'p' | 'P' => (LexemeKind::Set, 2 + in_braces(&rest[2..], 1)?),
        'x' => (LexemeKind::Literal, 2 + in_braces(&rest[2..], 2)?),
        'u' => (LexemeKind::Literal, 2 + in_braces(&rest[2..], 4)?),
        // They are boundaries of words.
        '<' | '>' => return None,
        ' ' => (LexemeKind::Literal, 2),
        letter if letter.is_ascii_punctuation() => (LexemeKind::Literal, 2),
        _ => return None,
    })
}

/// Bytes up to the closing brace, or else `usual` letters and digits.
fn in_braces(rest: &str, usual: usize) -> Option<usize> {
    if rest.starts_with('{') {
        return Some(rest.find('}')? + 1);
    }
    rest.get(..usual)?.chars().all(|letter| letter.is_ascii_alphanumeric()).then_some(usual)
}

fn repetition(rest: &str) -> Option<(LexemeKind, usize)> {
    let (least, most, mut len) = match rest.as_bytes()[0] {
        b'*' => (0, None, 1),
        b'+' => (1, None, 1),
        b'?' => (0, Some(1), 1),
        _ => counted(rest)?,
    };
    len += usize::from(rest[len..].starts_with('?'));
    let is_possessive = rest[len..].starts_with('+');
    len += usize::from(is_possessive);
    let is_repeated = rest[len..].starts_with(['*', '+', '?', '{']);
    (!is_repeated).then_some((LexemeKind::Repeat(Repetition { least, most, is_possessive }), len))
}

/// The numbers of `{2}`, `{2,}` or `{2,3}`, and its bytes.
fn counted(rest: &str) -> Option<(u64, Option<u64>, usize)> {
    let end = rest.find('}')?;
    let number = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| digits.parse().ok())?;
    let (least, most) = match rest[1..end].split_once(',') {
        None => (number(&rest[1..end])?, Some(number(&rest[1..end])?)),
        Some((least, "")) => (number(least)?, None),
        Some((least, most)) => (number(least)?, Some(number(most)?)),
    };
    Some((least, most, end + 1))
}
