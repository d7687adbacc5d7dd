//! Generated texts: their appearance, identical on every machine, correct, varied, and never shared between training
//! and measurement.

use std::collections::{BTreeMap, HashSet};

use straightedge::corpus::synthetic::{Domain, FIRST_TRAINING_SEED, SyntheticText};
use straightedge::error::Error;

fn text(domain: Domain, seed: u64, bytes: usize) -> String {
    SyntheticText { domain, seed }.text(bytes)
}

/// The text on which the checks below run.
fn measured(domain: Domain) -> String {
    text(domain, 0, 300_000)
}

#[test]
fn the_first_lines_are_these() {
    let expected = [(Domain::Tales, TALES), (Domain::Encyclopedia, ENCYCLOPEDIA), (Domain::Puzzles, PUZZLES)];
    for (domain, expected) in expected {
        let found = text(domain, 0, expected.len());
        assert_eq!(&found[..expected.len()], expected, "{domain}: a changed text needs another VERSION");
    }
}

#[test]
fn a_seed_gives_one_text_whatever_its_length_and_another_seed_another() {
    for domain in Domain::ALL {
        let long = text(domain, 3, 40_000);
        assert!((40_000..50_000).contains(&long.len()), "{}", long.len());
        assert!(long.starts_with(&text(domain, 3, 1000)), "{domain}");
        assert_ne!(long[..1000], text(domain, 4, 1000)[..1000], "{domain}");
        assert!(long.ends_with(".\n\n") || long.ends_with("\n\n"));
        assert!(text(domain, 3, 0).is_empty());
        let first: Vec<String> = SyntheticText { domain, seed: 3 }.documents().take(3).collect();
        assert!(long.starts_with(&first.concat()), "{domain}");
    }
}

#[test]
fn names_and_their_refusals() {
    let synthetic = |name: &str| SyntheticText::for_measurement(name);
    assert_eq!(synthetic("tales"), Some(Ok(SyntheticText { domain: Domain::Tales, seed: 0 })));
    assert_eq!(synthetic("puzzles:17"), Some(Ok(SyntheticText { domain: Domain::Puzzles, seed: 17 })));
    assert_eq!(
        synthetic("puzzles:17").and_then(Result::ok).map(|synthetic| synthetic.to_string()).as_deref(),
        Some("puzzles:17")
    );
    assert_eq!((synthetic("calibration"), synthetic("tale:1"), synthetic("")), (None, None, None));
    let refused = ["tales:", "tales:x", "tales:-1", "tales:1000000", "tales:18446744073709551616"];
    for name in refused {
        let found = synthetic(name);
        assert!(matches!(&found, Some(Err(Error::InvalidSetting { value, .. })) if value == name), "{found:?}");
    }
    assert!(synthetic(&format!("tales:{}", FIRST_TRAINING_SEED - 1)).is_some_and(|synthetic| synthetic.is_ok()));
}

/// Sentences as a reader counts them; a quotation with its "said Ada" is one.
fn sentences(line: &str) -> Vec<&str> {
    let bytes = line.as_bytes();
    let ends = |at: usize| {
        let before = if bytes[at - 1] == b'"' { bytes[at - 2] } else { bytes[at - 1] };
        bytes[at] == b' ' && matches!(before, b'.' | b'?' | b'!') && !bytes[at + 1].is_ascii_lowercase()
    };
    let mut cuts = vec![0];
    cuts.extend((3..bytes.len().saturating_sub(1)).filter(|&at| ends(at)));
    cuts.push(bytes.len());
    cuts.windows(2).map(|cut| line[cut[0]..cut[1]].trim()).collect()
}

/// Every passage of 64 bytes or more that must stay on its side, and the ends of sentences.
fn passages(text: &str) -> HashSet<&str> {
    let mut found = HashSet::new();
    for line in text.lines().filter(|line| line.len() >= 64) {
        found.insert(line);
        for sentence in sentences(line).into_iter().filter(|sentence| sentence.len() >= 64) {
            found.extend([sentence, &sentence[..64], &sentence[sentence.len() - 64..]]);
        }
    }
    found
}

/// The share of 64-byte windows (from every word on, within a line) that also occur in another text.
fn shared_windows(text: &str, other: &str) -> f64 {
    fn windows(text: &str) -> impl Iterator<Item = &[u8]> {
        text.lines().map(str::as_bytes).flat_map(|line| {
            let starts = (0..line.len().saturating_sub(63)).filter(|&at| at == 0 || line[at - 1] == b' ');
            starts.map(|at| &line[at..at + 64])
        })
    }
    let known: HashSet<_> = windows(other).collect();
    let (mut shared, mut all) = (0, 0);
    for window in windows(text) {
        all += 1;
        shared += u32::from(known.contains(window));
    }
    f64::from(shared) / f64::from(all)
}

#[test]
fn training_and_measurement_share_no_passage() {
    for domain in Domain::ALL {
        let training: Vec<_> =
            [0, 1, u64::MAX - FIRST_TRAINING_SEED].map(|seed| text(domain, FIRST_TRAINING_SEED + seed, 300_000)).into();
        let known: HashSet<_> = training.iter().flat_map(|text| passages(text)).collect();
        let mut passages_seen = 0;
        for seed in [0, 1, FIRST_TRAINING_SEED - 1] {
            let measurement = text(domain, seed, 300_000);
            for passage in passages(&measurement) {
                passages_seen += 1;
                assert!(!known.contains(passage), "{domain}:{seed} says as in training: {passage}");
            }
        }
        assert!(passages_seen > 2000, "{domain}: {passages_seen}");
        // Windows from the middle of sentences and across short ones can coincide, but must be few: fewer than two
        // training texts share.
        let measurement = measured(domain);
        let (across, within) = (shared_windows(&measurement, &training[0]), shared_windows(&training[1], &training[0]));
        eprintln!("{domain}: {across:.4} of 64-byte windows shared with training, {within:.4} within training");
        assert!(across < 0.06 && across < within, "{domain}: {across} {within}");
    }
}

#[test]
fn quotes_and_brackets_balance_in_every_line() {
    for domain in Domain::ALL {
        let text = measured(domain);
        assert!(text.is_ascii());
        for line in text.lines() {
            let mut open = Vec::new();
            for letter in line.chars() {
                match letter {
                    '(' => open.push(')'),
                    '[' => open.push(']'),
                    '{' => open.push('}'),
                    ')' | ']' | '}' => assert_eq!(open.pop(), Some(letter), "{line}"),
                    _ => {}
                }
            }
            assert!(open.is_empty() && line.matches('"').count() % 2 == 0, "{line}");
            assert!(!line.contains("  ") && !line.contains(" .") && !line.contains(".."), "{line}");
        }
    }
}

#[test]
fn sentences_begin_with_capitals_and_articles_agree() {
    for domain in [Domain::Tales, Domain::Encyclopedia] {
        for line in measured(domain).lines() {
            for sentence in sentences(line) {
                let first = sentence.trim_start_matches(['"', '-', ' ']).chars().next();
                assert!(first.is_none_or(|letter| !letter.is_ascii_lowercase()), "{sentence}");
                let words: Vec<_> = sentence.split([' ', '(']).collect();
                for pair in words.windows(2) {
                    let vowel = pair[1].starts_with(['a', 'e', 'i', 'o', 'u', 'A', 'E', 'I', 'O', 'U']);
                    assert!(!(pair[0] == "a" && vowel || pair[0] == "an" && !vowel), "{sentence}");
                }
            }
        }
    }
}

#[test]
fn vocabulary_and_repetition_are_those_of_a_language() {
    for domain in Domain::ALL {
        let text = measured(domain);
        let words: Vec<_> = text.split_whitespace().collect();
        let types = |count: usize| words[..count].iter().collect::<HashSet<_>>().len();
        let (small, large) = (types(2000), types(32_000));
        eprintln!("{domain}: {small} types in 2000 words, {large} in 32000");
        assert!((300..1200).contains(&small) && (600..12_000).contains(&large), "{domain}: {small}, {large}");
        assert!(large > small + small / 3, "{domain}: the vocabulary must go on growing, {small} {large}");
        let lines: Vec<_> = text.lines().filter(|line| line.len() >= 64).collect();
        let unique = lines.iter().collect::<HashSet<_>>().len();
        assert!(unique * 10 >= lines.len() * 9, "{domain}: {unique} different lines of {}", lines.len());
    }
}

/// Homes and births in the articles on people, as (person, place or year).
fn facts(text: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let lines: Vec<_> = text.lines().collect();
    for article in lines.windows(3).filter(|lines| lines[1].is_empty() && lines[0].split(' ').count() == 2) {
        for phrase in [" lives in ", " home in ", "town of ", "village of ", "hamlet of ", "born in the year "] {
            let places = article[2].split(phrase).skip(1);
            let word = |rest: &'_ str| rest.find(|letter: char| !letter.is_alphanumeric()).unwrap_or(rest.len());
            let named = places.map(|rest| (article[0], &rest[..word(rest)]));
            found.extend(named.filter(|(_, place)| *place != "the"));
        }
    }
    found
}

#[test]
fn facts_recur_and_never_contradict_each_other_across_seeds() {
    let training = text(Domain::Encyclopedia, FIRST_TRAINING_SEED, 600_000);
    let measurement = measured(Domain::Encyclopedia);
    let (known, met) = (facts(&training), facts(&measurement));
    let mut world: BTreeMap<&str, HashSet<&str>> = BTreeMap::new();
    for (person, fact) in known.iter().chain(&met) {
        world.entry(person).or_default().insert(fact);
    }
    assert_eq!(world.len(), 24);
    // One home and one year of birth for everyone, in training and measurement together.
    assert!(world.values().all(|facts| facts.len() == 2), "{world:?}");
    let known: HashSet<_> = known.into_iter().collect();
    let distinct: HashSet<_> = met.iter().collect();
    let again = distinct.iter().filter(|fact| known.contains(**fact)).count();
    eprintln!("{} facts stated, {} different, {again} of them known from training", met.len(), distinct.len());
    assert!(met.len() >= 5 * distinct.len() && 10 * again >= 9 * distinct.len());
}

/// The value of an expression in digits with brackets, by recursive descent; `None` if it is invalid.
fn value(text: &str) -> Option<i64> {
    fn factor(rest: &mut &[u8]) -> Option<i64> {
        let (&first, after) = rest.split_first()?;
        if first == b'(' || first == b'[' {
            *rest = after;
            let inner = sum(rest)?;
            let (&last, after) = rest.split_first()?;
            *rest = after;
            return (last == if first == b'(' { b')' } else { b']' }).then_some(inner);
        }
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (number, after) = rest.split_at(digits);
        *rest = after;
        std::str::from_utf8(number).ok()?.parse().ok()
    }
    fn chain(rest: &mut &[u8], signs: [u8; 2], part: fn(&mut &[u8]) -> Option<i64>) -> Option<i64> {
        let mut total = part(rest)?;
        while let Some((&sign, after)) = rest.split_first().filter(|(sign, _)| signs.contains(sign)) {
            *rest = after;
            let next = part(rest)?;
            total = match sign {
                b'+' => total + next,
                b'-' => total - next,
                b'*' => total * next,
                _ if next != 0 && total % next == 0 => total / next,
                _ => return None,
            };
        }
        Some(total)
    }
    fn product(rest: &mut &[u8]) -> Option<i64> {
        chain(rest, *b"*/", factor)
    }
    fn sum(rest: &mut &[u8]) -> Option<i64> {
        chain(rest, *b"+-", product)
    }
    let bare: Vec<u8> = text.bytes().filter(|byte| *byte != b' ').collect();
    let mut rest = &bare[..];
    sum(&mut rest).filter(|_| rest.is_empty())
}

/// A number in words, as the sum of its parts.
fn spoken(text: &str) -> Option<i64> {
    const ONES: [&str; 20] = [
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ];
    const TENS: [&str; 8] = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
    let mut total = 0;
    for word in text.to_lowercase().split([' ', '-']).filter(|word| *word != "and") {
        if let Some(one) = ONES.iter().position(|known| *known == word) {
            total += one as i64;
        } else if let Some(ten) = TENS.iter().position(|known| *known == word) {
            total += 10 * (ten as i64 + 2);
        } else {
            total *= if word == "hundred" { 100 } else { return None };
        }
    }
    Some(total)
}

#[test]
fn sums_are_right_in_digits_and_in_words() {
    let (mut in_digits, mut in_words) = (0, 0);
    for line in measured(Domain::Puzzles).lines() {
        for sentence in sentences(line) {
            let Some(sentence) = sentence.strip_suffix('.') else { continue };
            if sentence.contains(" = ") {
                let values: Vec<_> = sentence.split(" = ").map(value).collect();
                assert!(values[0].is_some() && values.iter().all(|value| *value == values[0]), "{sentence}");
                in_digits += 1;
            }
            let signs = [
                (" plus ", " is "),
                (" and ", " make "),
                (" minus ", " is "),
                (" less ", " is "),
                (" times ", " is "),
                (" divided by ", " is "),
            ];
            for (sign, is) in signs {
                let Some((left, result)) = sentence.split_once(is) else { continue };
                // "One hundred and two and three": the last sign is the operator.
                let Some((a, b)) = left.rsplit_once(sign) else { continue };
                let (Some(a), Some(b), Some(result)) = (spoken(a), spoken(b), spoken(result)) else { continue };
                let expected = match sign {
                    " plus " | " and " => a + b,
                    " times " => a * b,
                    " divided by " => {
                        if b != 0 && a % b == 0 {
                            a / b
                        } else {
                            -1
                        }
                    }
                    _ => a - b,
                };
                assert_eq!(result, expected, "{sentence}");
                in_words += 1;
            }
        }
    }
    assert!(in_digits > 500 && in_words > 300, "{in_digits} in digits, {in_words} in words");
}

#[test]
fn baskets_sequences_and_orders_come_out() {
    let numbers = |text: &str| -> Vec<i64> {
        text.split(|letter: char| !letter.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
    };
    let (mut sequences, mut orders) = (0, 0);
    for line in measured(Domain::Puzzles).lines() {
        if line.starts_with("After ") || line.starts_with("What follows ") || line.contains(": the next number is ") {
            let found = numbers(line);
            let steps: Vec<_> = found.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let doubles = found.windows(2).all(|pair| pair[1] == 2 * pair[0]);
            assert!(doubles || steps.iter().all(|step| *step == steps[0]), "{line}");
            sequences += 1;
        }
        for mark in ["Answer: ", "Solution: "] {
            let Some((question, answer)) = line.split_once(mark) else { continue };
            if !["Put in order", "Sort", "From small"].iter().any(|start| question.starts_with(start)) {
                continue;
            }
            let (mut asked, answered) = (numbers(question), numbers(answer));
            asked.sort_unstable();
            assert_eq!(asked, answered, "{line}");
            orders += 1;
        }
    }
    assert!(sequences > 200 && orders > 100, "{sequences} sequences, {orders} orders");
}

const TALES: &str = r#"A day in Bellmere

Wanda Ash and Agnes Thorn met in the mill in Bellmere late one afternoon. With Wanda came Ada's rolling pin and Edwin's fishing net. Agnes, who lived in Oakham, carried nothing at all.
Wanda lent Agnes the rolling pin. Agnes gladly put the rolling pin under the mill stairs. Soon afterwards, the gardener knew that Major the donkey slept behind the post office. Wanda shrugged and knew that the rolling pin belonged to Ada Fenwick of Millbrook.
"#;

const ENCYCLOPEDIA: &str = r#"Underhill

Underhill is the home of Jory Pike. It sells nails to all its neighbours, and it is easily found by a tall chimney. The village comes four miles after Millbrook. The village (which goes back to the year 158) would not be the same without Mara Holt, the smith. The village is two hundred and fifty-four years old and would not be the same without Hester Vane, the healer.
See also: Mara Holt (is a smith by trade; was born in the year 376).

"#;

const PUZZLES: &str = r#"Sheet 421

84 + 43 = 127. 53 + 89 = 142. 38 * 11 = 418. 46 - 14 = 32.
(66) To whom does Comet the owl belong? Noor Hale.
The word "fiddle" has six letters.
( ( [ [ ( and then ) ] ] ) ) is balanced.
Twenty-four and eighty make one hundred and four. Eighty-one and thirty-nine make one hundred and twenty. Four hundred and two divided by six is sixty-seven.
To close [ [ [ ( write ) ] ] ].
"#;
