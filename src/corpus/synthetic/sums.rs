//! Arithmetic: in digits, in words, in brackets, in stories and in sequences.

use super::choices::Choices;
use super::grammar::{capital, count, words};
use super::page::Page;
use super::world::PEOPLE;

/// One to four sums in digits: "17 + 25 = 42."
pub(super) fn digits(page: &mut Page) -> Option<()> {
    for _ in 0..page.random.between(1, 4) {
        page.say(|random| {
            let (a, sign, b, result) = sum(random);
            format!("{a} {sign} {b} = {result}.")
        })?;
    }
    Some(())
}

/// Two operands, an operator and the result; never negative, and divisions without remainder.
fn sum(random: &mut Choices) -> (u32, char, u32, u32) {
    let (a, b) = (random.between(1, 99), random.between(1, 99));
    match random.below(5) {
        0 | 1 => (a, '+', b, a + b),
        2 => (a.max(b), '-', a.min(b), a.abs_diff(b)),
        3 => (a, '*', b % 10 + 2, a * (b % 10 + 2)),
        _ => (a * (b % 10 + 2), '/', b % 10 + 2, a),
    }
}

/// A sum in words: "Seventeen and twenty-five make forty-two."
pub(super) fn written(page: &mut Page) -> Option<()> {
    for _ in 0..page.random.between(1, 3) {
        page.say(|random| {
            let (a, sign, b, result) = sum(random);
            let (a, b, result) = (words(a), words(b), words(result));
            let (plus, minus) = (random.pick(&["plus", "and"]), random.pick(&["minus", "less"]));
            let sentence = match sign {
                '+' => format!("{a} {plus} {b} {}", if *plus == "and" { "make" } else { "is" }),
                '-' => format!("{a} {minus} {b} is"),
                '*' => format!("{a} times {b} is"),
                _ => format!("{a} divided by {b} is"),
            };
            format!("{} {result}.", capital(&sentence))
        })?;
    }
    Some(())
}

/// An expression with nested brackets, first whole, then evaluated from the inside.
pub(super) fn bracketed(page: &mut Page) -> Option<()> {
    page.say(|random| {
        let (a, b, c, d) = (random.between(1, 20), random.between(1, 20), random.between(2, 9), random.between(1, 30));
        let inner = a + b;
        let outer = inner * c;
        match random.below(4) {
            0 => format!("({a} + {b}) * {c} = {inner} * {c} = {outer}."),
            1 => format!("(({a} + {b}) * {c}) + {d} = ({inner} * {c}) + {d} = {outer} + {d} = {}.", outer + d),
            2 => format!("{d} + ({c} * ({a} + {b})) = {d} + ({c} * {inner}) = {d} + {outer} = {}.", outer + d),
            _ => format!("[({a} + {b}) * {c}] - {inner} = {outer} - {inner} = {}.", outer - inner),
        }
    })
}

const GOODS: [(&str, &str); 10] = [
    ("apple", "apples"),
    ("loaf", "loaves"),
    ("egg", "eggs"),
    ("candle", "candles"),
    ("nail", "nails"),
    ("pear", "pears"),
    ("button", "buttons"),
    ("fish", "fish"),
    ("rose", "roses"),
    ("coin", "coins"),
];

/// A story problem: a person has some, gets some and gives some away.
pub(super) fn story(page: &mut Page) -> Option<()> {
    let pair = page.random.some_of(PEOPLE.len(), 2);
    let (one, other) = (&PEOPLE[pair[0]], &PEOPLE[pair[1]]);
    let goods = *page.random.pick(&GOODS);
    let mut has = page.random.between(5, 30);
    page.say(|random| match random.below(3) {
        0 => format!("{} has {}.", one.name, count(has, goods)),
        1 => format!("There are {} in the basket of {}.", count(has, goods), one.name),
        _ => format!("{} the {} counts {} and writes the number down.", one.full_name(), one.trade, count(has, goods)),
    })?;
    for _ in 0..page.random.between(1, 3) {
        let gives = has > 2 && page.random.one_in(2);
        let number = if gives { page.random.between(1, has - 1) } else { page.random.between(1, 20) };
        has = if gives { has - number } else { has + number };
        let (she, goods) = (one.gender.subject(), count(number, goods));
        page.say(|random| match (gives, random.below(2)) {
            (true, 0) => format!("{} gives {goods} to {}.", one.name, other.name),
            (true, _) => format!("Then {she} gives away {goods}."),
            (false, 0) => format!("{} adds {goods}.", other.name),
            (false, _) => format!("Then {she} finds {goods}."),
        })?;
    }
    page.say(|random| match random.below(2) {
        0 => format!("How many {} has {} now?", goods.1, one.name),
        _ => format!("How many {} does that leave {}?", goods.1, one.gender.object()),
    })?;
    page.say(|random| match random.below(3) {
        0 => format!("Answer: {has}."),
        1 => format!("{}.", capital(&words(has))),
        _ => format!("Answer: {}.", count(has, goods)),
    })
}

/// A sequence that follows a rule, and its next number.
pub(super) fn sequence(page: &mut Page) -> Option<()> {
    page.say(|random| {
        let (start, step, doubles) = (random.between(1, 30), random.between(2, 12), random.one_in(4));
        let grow = |n: &u32| Some(if doubles { n * 2 } else { n + step });
        let length = random.between(4, 6) as usize;
        let numbers: Vec<u32> = std::iter::successors(Some(start), grow).take(length + 1).collect();
        let shown = numbers[..length].iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        let next = numbers[length];
        match random.below(3) {
            0 => format!("{shown}: the next number is {next}."),
            1 => format!("After {shown} comes {next}."),
            _ => format!("What follows {shown} is {next}."),
        }
    })
}
