//! Where a text can be cut into pieces that give the same tokens as the whole.
//!
//! A piece is encoded after the last character of the one before, whose own tokens are dropped. So nothing that a
//! tokenizer does only at the start of a text needs to be known here.

use std::collections::HashSet;

use serde_json::Value;

use super::sentencepiece::{EDGES, RUNS};

/// Where a tokenizer allows cuts.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Cuts {
    /// Nowhere that is known: a text is encoded whole.
    Never,
    /// After a letter or digit and before a space, and perhaps other characters: always a boundary between words.
    Before {
        /// Also before a line feed.
        line_feeds: bool,
        /// Also between a character of Chinese or Japanese and its punctuation.
        punctuation: bool,
    },
    /// After a letter or digit and before another character, where no token holds both next to each other.
    Apart(Pairs),
}

impl Cuts {
    /// What is proved of a tokenizer: the text of `tokenizer.json`.
    pub(super) fn of(tree: &Value) -> Self {
        let added = tree["added_tokens"].as_array().map(Vec::as_slice).unwrap_or_default();
        if !added.iter().all(stays_on_one_side) {
            return Self::Never;
        }
        let words = if leaves_words(&tree["normalizer"]) { words(&tree["pre_tokenizer"]) } else { Self::Never };
        match words {
            // A cut may not be within an added token, which blanks and punctuation may end.
            Self::Before { .. } if added.iter().any(|token| holds(token, |pair| words.allow(pair[0], pair[1]))) => {
                Self::Never
            }
            Self::Never => Pairs::of(tree, added).map_or(Self::Never, Self::Apart),
            words => words,
        }
    }

    /// The end of a piece of at least `size` bytes, or of the text; `None` if there is none up to `most` bytes.
    pub(super) fn end(&self, text: &str, size: usize, most: usize) -> Option<usize> {
        let last = text[..text.floor_char_boundary(size.clamp(1, text.len()))].char_indices().next_back();
        let start = last.map_or(0, |(at, _)| at);
        let characters = text[start..].char_indices();
        let next = text[start..].char_indices().skip(1);
        let cut = characters
            .zip(next)
            .take_while(|(_, (at, _))| start + at <= most)
            .find(|((_, left), (_, right))| self.allow(*left, *right));
        let cut = cut.map(|(_, (at, _))| start + at);
        cut.or((text.len() <= most).then_some(text.len()))
    }

    fn allow(&self, left: char, right: char) -> bool {
        match self {
            Self::Never => false,
            Self::Before { line_feeds, punctuation } => match right {
                ' ' => left.is_alphanumeric(),
                '\n' | '\r' => *line_feeds && (left.is_ascii_alphanumeric() || is_east_asian(left)),
                '，' | '。' | '、' | '；' | '：' | '！' | '？' => *punctuation && is_east_asian(left),
                _ => false,
            },
            Self::Apart(pairs) => pairs.allow(left, right),
        }
    }
}

/// Kana, ideographs and Hangul syllables that are letters in every table of characters.
fn is_east_asian(character: char) -> bool {
    matches!(character, 'ぁ'..='ゖ' | 'ァ'..='ヺ' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '가'..='힣')
}

/// Whether matching an added token is independent of the text beyond a cut: it takes no blanks after a cut, and does not
/// ask whether its neighbours are letters.
fn stays_on_one_side(token: &Value) -> bool {
    let ends_word = token["content"].as_str().is_some_and(|content| content.ends_with(char::is_alphanumeric));
    token["single_word"] == false && (token["rstrip"] == false || !ends_word)
}

/// Whether an added token holds two characters of some kind next to each other.
fn holds(token: &Value, is_of_kind: impl Fn(&[char]) -> bool) -> bool {
    let content: Vec<char> = token["content"].as_str().unwrap_or_default().chars().collect();
    content.windows(2).any(is_of_kind)
}

/// Whether a normaliser keeps blanks and does not look across them.
fn leaves_words(normalizer: &Value) -> bool {
    match normalizer["type"].as_str() {
        None => normalizer.is_null(),
        Some("Sequence") => normalizer["normalizers"].as_array().is_some_and(|all| all.iter().all(leaves_words)),
        Some("Replace") => is_about_runs(normalizer),
        Some(name) => matches!(name, "NFC" | "BertNormalizer" | "Lowercase" | "Prepend"),
    }
}

/// Whether a normaliser drops spaces at the ends of a text or within runs of them, which lie on one side of a cut.
fn is_about_runs(normalizer: &Value) -> bool {
    let pattern = normalizer["pattern"]["Regex"].as_str();
    matches!((pattern, normalizer["content"].as_str()), (Some(EDGES), Some("")) | (Some(RUNS), Some(" ")))
}

/// The boundaries between words that a pre-tokenizer always makes, without looking beyond the first character after them.
fn words(pre_tokenizer: &Value) -> Cuts {
    let all = Cuts::Before { line_feeds: true, punctuation: true };
    match pre_tokenizer["type"].as_str() {
        Some("BertPreTokenizer" | "Whitespace") => all,
        Some("WhitespaceSplit") => Cuts::Before { line_feeds: true, punctuation: false },
        Some("Metaspace") if pre_tokenizer["split"] != false => Cuts::Before { line_feeds: false, punctuation: false },
        Some("ByteLevel") if pre_tokenizer["use_regex"] != false => all,
        Some("Split") if is_known_split(pre_tokenizer) => all,
        // Later steps work within the words of the first one, and digits stay on one side of a cut.
        Some("Sequence") => {
            let steps = pre_tokenizer["pretokenizers"].as_array().into_iter().flatten();
            steps.skip_while(|step| step["type"] == "Digits").map(words).next().unwrap_or(Cuts::Never)
        }
        _ => Cuts::Never,
    }
}

/// The split patterns of Llama 3, Qwen2 and BLOOM. A match that contains a letter or digit ends before the next blank
/// or punctuation mark, and no pattern has a look-behind.
fn is_known_split(split: &Value) -> bool {
    let pattern = split["pattern"]["Regex"].as_str().unwrap_or_default();
    split["behavior"] == "Isolated" && split["invert"] == false && KNOWN_PATTERNS.contains(&pattern)
}

pub(super) const KNOWN_PATTERNS: [&str; 3] = [
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r" ?[^(\s|[.,!?…。，、।۔،])]+",
];

/// The characters of a byte-pair encoding whose words are whole texts, such as Llama's.
///
/// If no token contains two characters in a row, they are never merged. The merges before such a pair do not depend on
/// the text after it, nor the reverse.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pairs {
    /// Characters that are tokens of their own; others become bytes or one unknown token together.
    single: HashSet<char>,
    /// Neighbours within tokens, the first a letter or digit.
    joined: HashSet<(char, char)>,
    /// What replaces a character before it is looked up.
    replaced: Vec<(char, String)>,
}

impl Pairs {
    /// `None` if the tokenizer is of another kind.
    fn of(tree: &Value, added: &[Value]) -> Option<Self> {
        let (model, pre_tokenizer) = (&tree["model"], &tree["pre_tokenizer"]);
        let is_unset = |field: &str| model[field].as_str().unwrap_or_default().is_empty();
        let is_plain = is_unset("continuing_subword_prefix") && is_unset("end_of_word_suffix");
        if !model["merges"].is_array() || !is_plain || model["ignore_merges"] == true {
            return None;
        }
        let mut replaced = replacements(&tree["normalizer"])?;
        match pre_tokenizer["type"].as_str() {
            None if pre_tokenizer.is_null() => {}
            Some("Metaspace") if pre_tokenizer["split"] == false => {
                replaced.push((' ', pre_tokenizer["replacement"].as_str()?.into()));
            }
            // It finds no space to split at.
            Some("Split") if pre_tokenizer["pattern"]["String"] == " " && removes_spaces(&replaced) => {}
            _ => return None,
        }
        let mut pairs = Self { single: HashSet::new(), joined: HashSet::new(), replaced };
        for token in model["vocab"].as_object()?.keys() {
            pairs.add(token);
        }
        for token in added {
            let content = token["content"].as_str().unwrap_or_default();
            pairs.add(content);
            let replaced: String = content.chars().map(|character| pairs.replace(character)).collect();
            pairs.join(&replaced);
        }
        Some(pairs)
    }

    fn add(&mut self, token: &str) {
        let mut characters = token.chars();
        if let (Some(single), None) = (characters.next(), characters.next()) {
            self.single.insert(single);
        }
        self.join(token);
    }

    fn join(&mut self, token: &str) {
        let pairs = token.chars().zip(token.chars().skip(1));
        self.joined.extend(pairs.filter(|(left, _)| left.is_alphanumeric()));
    }

    fn replace(&self, character: char) -> String {
        let character = if character == '\r' { '\n' } else { character };
        let mut text = String::from(character);
        for (from, to) in &self.replaced {
            text = text.replace(*from, to);
        }
        text
    }

    fn allow(&self, left: char, right: char) -> bool {
        if !left.is_alphanumeric() {
            return false;
        }
        let (left, right) = (self.replace(left), self.replace(right));
        let (Some(left), Some(right)) = (left.chars().next_back(), right.chars().next()) else { return false };
        let is_known = left.is_alphanumeric() && self.single.contains(&left) && self.single.contains(&right);
        is_known && !self.joined.contains(&(left, right))
    }
}

/// The single characters that a normaliser replaces, in order; `None` if it does more than that after the start of a text.
fn replacements(normalizer: &Value) -> Option<Vec<(char, String)>> {
    match normalizer["type"].as_str() {
        None => normalizer.is_null().then(Vec::new),
        Some("Prepend") => Some(Vec::new()),
        Some("Replace") if is_about_runs(normalizer) => Some(Vec::new()),
        Some("Replace") => {
            let mut pattern = normalizer["pattern"]["String"].as_str()?.chars();
            let (Some(from), None) = (pattern.next(), pattern.next()) else { return None };
            Some(vec![(from, normalizer["content"].as_str()?.into())])
        }
        Some("Sequence") => {
            let all: Option<Vec<_>> = normalizer["normalizers"].as_array()?.iter().map(replacements).collect();
            Some(all?.concat())
        }
        _ => None,
    }
}

fn removes_spaces(replaced: &[(char, String)]) -> bool {
    let becomes = replaced.iter().fold(String::from(" "), |text, (from, to)| text.replace(*from, to));
    !becomes.contains(' ')
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::corpus::Tokenizer;
    use crate::platform::random::Random;

    /// Words, runs of blanks, line ends, punctuation, accents apart from their letters, several scripts, added tokens.
    const PARTS: [&str; 44] = [
        "a",
        "b",
        "the",
        "x's",
        "y 've",
        "12",
        "4567",
        " ",
        " ",
        " ",
        "  ",
        "    ",
        "\n",
        "\n\n",
        "\r\n",
        "\t",
        ".",
        ", ",
        "!?",
        "(",
        "é",
        "e\u{301}",
        " \u{301}",
        "中",
        "文字",
        "，",
        "。",
        "日本の",
        "あ",
        "か\u{3099}",
        "слово",
        "мир",
        "كلمة",
        "नमस्ते",
        "한국",
        "🦉",
        "\u{a0}",
        "<s>",
        " <s> ",
        "</s>",
        "▁",
        "<0x41>",
        "it",
        "\u{2028}",
    ];

    fn random_text(random: &mut Random, parts: usize) -> String {
        (0..parts).map(|_| PARTS[random.below(PARTS.len())]).collect()
    }

    fn special(id: usize, content: &str, flags: Value) -> Value {
        let mut token = json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
            "normalized": false, "special": true});
        token.as_object_mut().expect("an object").extend(flags.as_object().expect("an object").clone());
        token
    }

    fn tree(normalizer: Value, pre_tokenizer: Value, vocab: &[String], merges: &[(String, String)]) -> Value {
        let vocab: serde_json::Map<_, _> =
            vocab.iter().enumerate().map(|(id, token)| (token.clone(), json!(id))).collect();
        let specials = [special(0, "<s>", json!({"lstrip": true})), special(1, "</s>", json!({"rstrip": true}))];
        json!({"version": "1.0", "truncation": null, "padding": null, "added_tokens": specials, "normalizer": normalizer,
            "pre_tokenizer": pre_tokenizer, "post_processor": null, "decoder": null,
            "model": {"type": "BPE", "dropout": null, "unk_token": "<unk>", "continuing_subword_prefix": null,
                "end_of_word_suffix": null, "fuse_unk": true, "byte_fallback": true, "vocab": vocab, "merges": merges}})
    }

    /// Merges the most frequent neighbours of a text's words, which begin with a mark.
    fn learn(text: &str, merges: usize) -> Vec<(String, String)> {
        let mut words: Vec<Vec<String>> =
            text.split(' ').map(|word| format!("▁{word}").chars().map(String::from).collect()).collect();
        let mut learnt = Vec::new();
        for _ in 0..merges {
            let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
            for pair in words.iter().flat_map(|word| word.windows(2)) {
                *counts.entry((pair[0].clone(), pair[1].clone())).or_default() += 1;
            }
            let Some(best) = counts.into_iter().max_by_key(|(_, count)| *count).map(|(pair, _)| pair) else { break };
            for word in &mut words {
                while let Some(at) = word.windows(2).position(|pair| pair[0] == best.0 && pair[1] == best.1) {
                    word.splice(at..at + 2, [format!("{}{}", best.0, best.1)]);
                }
            }
            learnt.push(best);
        }
        learnt
    }

    /// A tokenizer like Llama's, some of whose characters are not in the vocabulary.
    fn without_words(normalizer: Value, pre_tokenizer: Value) -> Value {
        let mut merges = learn(&random_text(&mut Random::new(5), 3000).replace(['\n', '\r', 'あ', '🦉'], ""), 300);
        merges.extend([("▁".into(), "▁".into()), ("▁▁".into(), "▁▁".into())]);
        let letters: std::collections::BTreeSet<String> =
            merges.iter().flat_map(|(left, right)| left.chars().chain(right.chars())).map(String::from).collect();
        let bytes = (0..256).map(|byte| format!("<0x{byte:02X}>"));
        let mut vocab: Vec<String> = ["<s>", "</s>", "<unk>"].map(String::from).into_iter().chain(bytes).collect();
        vocab.extend(letters);
        vocab.extend(merges.iter().map(|(left, right)| format!("{left}{right}")));
        tree(normalizer, pre_tokenizer, &vocab, &merges)
    }

    fn byte_level(normalizer: Value, pre_tokenizer: Value) -> Value {
        let alphabet = ('!'..='~').chain('\u{a1}'..='\u{ac}').chain('\u{ae}'..='\u{143}').map(String::from);
        let pairs = ["Ġ a", "Ġ b", "Ġ Ġ", "Ċ Ġ", "Ġ t", "2 3", "Ġ x", "' s", "Ġ s", "s Ġ", ". Ċ", "1 2", "å Ĳ"];
        let merges: Vec<(String, String)> =
            pairs.iter().map(|pair| pair.split_once(' ').expect("a pair")).map(|(a, b)| (a.into(), b.into())).collect();
        let joined = merges.iter().map(|(left, right)| format!("{left}{right}"));
        let vocab: Vec<String> =
            ["<s>", "</s>", "<unk>"].map(String::from).into_iter().chain(alphabet).chain(joined).collect();
        tree(normalizer, pre_tokenizer, &vocab, &merges)
    }

    fn split(pattern: &str) -> Value {
        let split = json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false});
        let bytes = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false});
        json!({"type": "Sequence", "pretokenizers": [split, bytes]})
    }

    fn metaspace(scheme: &str, split: bool) -> Value {
        json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": split})
    }

    fn marked(prepend: bool) -> Value {
        let replace = json!({"type": "Replace", "pattern": {"String": " "}, "content": "▁"});
        match prepend {
            true => json!({"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, replace]}),
            false => replace,
        }
    }

    fn single_spaces() -> Value {
        let drop = |pattern: &str, content: &str| json!({"type": "Replace", "pattern": {"Regex": pattern}, "content": content});
        let prepend = json!({"type": "Prepend", "prepend": "▁"});
        json!({"type": "Sequence", "normalizers": [drop(EDGES, ""), drop(RUNS, " "), prepend]})
    }

    fn cuttable() -> Vec<Value> {
        let bytes = |prefix: bool| json!({"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": true});
        let digits = json!({"type": "Sequence", "pretokenizers": [
            {"type": "Digits", "individual_digits": true}, {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true}]});
        let at_spaces =
            json!({"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": false});
        let nfc = json!({"type": "NFC"});
        let mut trees: Vec<_> = [bytes(false), bytes(true), digits, split(KNOWN_PATTERNS[0]), split(KNOWN_PATTERNS[1])]
            .into_iter()
            .chain([split(KNOWN_PATTERNS[2])])
            .map(|words| byte_level(nfc.clone(), words))
            .collect();
        trees.extend([
            without_words(marked(true), Value::Null),
            without_words(marked(false), Value::Null),
            without_words(single_spaces(), Value::Null),
            without_words(single_spaces(), metaspace("always", true)),
            without_words(marked(false), at_spaces),
            without_words(Value::Null, metaspace("first", false)),
            without_words(Value::Null, metaspace("always", false)),
            without_words(Value::Null, metaspace("always", true)),
            without_words(Value::Null, metaspace("never", true)),
        ]);
        trees
    }

    #[test]
    fn pieces_give_the_tokens_of_the_whole_text() {
        for tree in cuttable() {
            let tokenizer = Tokenizer::from_json(tree.to_string().as_bytes()).expect("a tokenizer");
            let about = format!("{} {}", tree["normalizer"], tree["pre_tokenizer"]);
            let mut cut = 0;
            for seed in 0..150 {
                let text = random_text(&mut Random::new(seed), 120);
                let (whole, _) = tokenizer.in_pieces(&text, usize::MAX);
                let (pieces, count) = tokenizer.in_pieces(&text, 1 + seed as usize % 7);
                assert_eq!(pieces, whole, "{about}: {text:?}");
                cut += count;
            }
            assert!(cut > 500, "{about}: only {cut} pieces");
        }
    }

    #[test]
    fn a_tokenizer_of_an_unknown_kind_is_not_cut() {
        let unknown = [
            byte_level(json!({"type": "NFC"}), split(r"[^x]+|x")),
            byte_level(
                json!({"type": "Replace", "pattern": {"Regex": " +"}, "content": "_"}),
                split(KNOWN_PATTERNS[0]),
            ),
            without_words(json!({"type": "NFKC"}), Value::Null),
        ];
        for tree in unknown {
            assert_eq!(Cuts::of(&tree), Cuts::Never, "{}", tree["pre_tokenizer"]);
        }
        let known = byte_level(Value::Null, split(KNOWN_PATTERNS[0]));
        for (field, value) in [("single_word", json!(true)), ("content", json!("b  c")), ("content", json!("中，"))] {
            let mut tree = known.clone();
            tree["added_tokens"][0][field] = value;
            assert_eq!(Cuts::of(&tree), Cuts::Never, "{field}");
        }
        let mut whole_words = without_words(marked(true), Value::Null);
        whole_words["model"]["ignore_merges"] = json!(true);
        assert_eq!(Cuts::of(&whole_words), Cuts::Never);
    }

    #[test]
    fn an_end_lies_between_two_characters_that_allow_it() {
        let words = Cuts::Before { line_feeds: true, punctuation: true };
        let cases = [
            ("ab cd e", 1, 2),
            ("ab cd e", 3, 5),
            ("ab cd e", 6, 7),
            ("ab", 100, 2),
            ("é. ü", 1, 6),
            ("日本，a", 1, 6),
        ];
        for (text, size, end) in cases {
            assert_eq!(words.end(text, size, 100), Some(end), "{text} {size}");
        }
        assert_eq!(words.end("ab cd e", 3, 4), None);
        assert_eq!(words.end("abcd", 1, 4), Some(4));
        assert_eq!(words.end("abcde", 1, 4), None);
    }
}
