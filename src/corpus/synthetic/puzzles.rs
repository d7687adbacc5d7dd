//! `puzzles`: sums in digits and in words, lists, brackets, quotations and questions about the world, with answers.
//!
//! Every answer is computed, none is stored; facts about people and places are those of the world.

use super::brackets;
use super::grammar::{capital, count, list, words};
use super::page::Page;
use super::sums;
use super::world::{ANIMALS, PEOPLE, PLACES, THINGS};

/// Adds a numbered sheet of puzzles.
pub(super) fn sheet(page: &mut Page) -> Option<()> {
    let number = page.random.between(1, 999);
    page.heading(&format!("Sheet {number}"));
    for _ in 0..page.random.between(5, 9) {
        page.line(|page| match page.random.below(12) {
            0 => sums::digits(page),
            1 => sums::written(page),
            2 => sums::bracketed(page),
            3 => sums::story(page),
            4 => sums::sequence(page),
            5 => brackets::close(page),
            6 => brackets::depth(page),
            7 => order(page),
            8 => compare(page),
            9 => inside(page),
            10 => letters(page),
            _ => quiz(page),
        })?;
    }
    Some(())
}

/// Sorts a list.
fn order(page: &mut Page) -> Option<()> {
    let length = page.random.between(3, 6);
    if page.random.one_in(2) {
        let numbers: Vec<u32> = (0..length).map(|_| page.random.between(1, 99)).collect();
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        let shown = |numbers: &[u32]| numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        page.say(|random| match random.below(3) {
            0 => format!("Put in order: {}.", shown(&numbers)),
            1 => format!("Sort [{}].", shown(&numbers)),
            _ => format!("From small to large: {}.", shown(&numbers)),
        })?;
        return page.say(|random| match random.below(2) {
            0 => format!("Answer: {}.", shown(&sorted)),
            _ => format!("Solution: [{}].", shown(&sorted)),
        });
    }
    let chosen = page.random.some_of(PEOPLE.len(), length as usize);
    let names: Vec<_> = chosen.iter().map(|person| PEOPLE[*person].name).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    page.say(|random| match random.below(2) {
        0 => format!("Put these names in the order of the alphabet: {}.", list(&names)),
        _ => format!("By the alphabet: {}.", names.join(", ")),
    })?;
    page.say(|_| format!("Answer: {}.", sorted.join(", ")))
}

/// Finds the oldest person or the farthest place from a chain of comparisons.
fn compare(page: &mut Page) -> Option<()> {
    let mut chosen = page.random.some_of(PEOPLE.len(), 3);
    chosen.sort_by_key(|person| PEOPLE[*person].age);
    let [young, middle, old] = [0, 1, 2].map(|rank| PEOPLE[chosen[rank]].name);
    let mut clues = [(middle, young), (old, middle)];
    page.random.shuffle(&mut clues);
    for (older, younger) in clues {
        page.say(|random| match random.below(3) {
            0 => format!("{older} is older than {younger}."),
            1 => format!("{younger} is younger than {older}."),
            _ => format!("{younger} was born after {older}."),
        })?;
    }
    let oldest = page.random.one_in(2);
    let (superlative, answer) = if oldest { ("oldest", old) } else { ("youngest", young) };
    page.say(|_| format!("Who is the {superlative} of the three?"))?;
    page.say(|random| match random.below(3) {
        0 => format!("Answer: {answer}."),
        1 => format!("It is {answer}."),
        _ => format!("The {superlative} is {answer}."),
    })
}

/// Boxes within boxes.
fn inside(page: &mut Page) -> Option<()> {
    const BOXES: [&str; 8] =
        ["a tin box", "a sack", "a basket", "an old trunk", "a paper bag", "a barrel", "a drawer", "a wooden crate"];
    let thing = page.random.pick(&THINGS).name;
    let count = page.random.between(2, 4) as usize;
    let boxes: Vec<&str> = page.random.some_of(BOXES.len(), count).into_iter().map(|chosen| BOXES[chosen]).collect();
    let the = |noun: &str| format!("the {}", noun.trim_start_matches("an ").trim_start_matches("a "));
    let mut inner = format!("the {thing}");
    for outer in &boxes {
        page.say(|random| match random.below(3) {
            0 => format!("{} is in {outer}.", capital(&inner)),
            1 => format!("In {outer} lies {inner}."),
            _ => format!("Somebody put {inner} into {outer}."),
        })?;
        inner = the(outer);
    }
    page.say(|random| match random.below(3) {
        0 => format!("Where is the {thing}?"),
        1 => format!("What must be opened, from the outside, to reach the {thing}?"),
        _ => format!("How does one find the {thing}?"),
    })?;
    let outwards: Vec<_> = boxes.iter().map(|outer| format!("in {}", the(outer))).collect();
    page.say(|random| match random.below(2) {
        0 => format!("Answer: {}.", outwards.join(" ")),
        _ => format!("Open first {}.", boxes.iter().rev().map(|outer| the(outer)).collect::<Vec<_>>().join(", then ")),
    })
}

/// The letters of a word.
fn letters(page: &mut Page) -> Option<()> {
    let kinds = ANIMALS.iter().map(|animal| animal.kind);
    let all: Vec<&str> =
        THINGS.iter().map(|thing| thing.name).chain(PLACES.iter().map(|place| place.name)).chain(kinds).collect();
    let word = page.random.pick(&all).split(' ').next().unwrap_or_default().to_lowercase();
    let backwards: String = word.chars().rev().collect();
    let length = word.len() as u32;
    match page.random.below(3) {
        0 => page.say(|_| format!("The word \"{word}\" read backwards is \"{backwards}\".")),
        1 => page.say(|_| format!("The word \"{word}\" has {}.", count(length, ("letter", "letters")))),
        _ => {
            let spelled: Vec<_> = word.chars().map(String::from).collect();
            page.say(|_| format!("Spell \"{word}\": {}.", spelled.join("-")))
        }
    }
}

/// A question that only the facts of the world answer.
fn quiz(page: &mut Page) -> Option<()> {
    let (person, place) = (page.random.pick(&PEOPLE), page.random.below(PLACES.len()));
    let (thing, animal) = (page.random.pick(&THINGS), page.random.pick(&ANIMALS));
    let there = &PLACES[place];
    let other = page.random.pick(&PLACES);
    let (owner, keeper) = (&PEOPLE[thing.owner], &PEOPLE[animal.owner]);
    let miles = there.mile.abs_diff(other.mile);
    let questions: [(String, String); 8] = [
        (format!("Where does {} live?", person.full_name()), person.home().name.into()),
        (format!("Who says, \"{}\"?", person.saying), person.full_name()),
        (format!("Who owns the {} of {}?", thing.name, thing.material), owner.full_name()),
        (format!("What is the {} of {} made of?", thing.name, owner.name), thing.material.into()),
        (format!("How old is the {} {}?", person.trade, person.full_name()), format!("{} years", words(person.age))),
        (format!("To whom does {} the {} belong?", animal.name, animal.kind), keeper.full_name()),
        (format!("On which river lies {}?", there.name), format!("the {}", there.river)),
        (format!("How many miles is it from {} to {}?", there.name, other.name), miles.to_string()),
    ];
    let (question, answer) = page.random.pick(&questions).clone();
    page.say(|random| match random.below(4) {
        0 => question.clone(),
        1 => format!("Question: {question}"),
        2 => format!("Without looking it up: {}{}", question[..1].to_lowercase(), &question[1..]),
        _ => format!("({}) {question}", random.between(1, 99)),
    })?;
    page.say(|random| match random.below(3) {
        0 => format!("Answer: {answer}."),
        1 => format!("[{}]", capital(&answer)),
        _ => format!("{}.", capital(&answer)),
    })
}
