//! Puzzles about brackets: closing them, and their depth.

use super::choices::Choices;
use super::grammar::words;
use super::page::Page;

const KINDS: [(char, char); 3] = [('(', ')'), ('[', ']'), ('{', '}')];

/// Open brackets and their closing ones.
pub(super) fn close(page: &mut Page) -> Option<()> {
    page.say(|random| {
        let kinds: Vec<_> = (0..random.between(2, 8)).map(|_| *random.pick(&KINDS)).collect();
        let open = spaced(kinds.iter().map(|kind| kind.0));
        let shut = spaced(kinds.iter().rev().map(|kind| kind.1));
        match random.below(3) {
            0 => format!("The brackets {open} are closed by {shut}."),
            1 => format!("To close {open} write {shut}."),
            _ => format!("{open} and then {shut} is balanced."),
        }
    })
}

fn spaced(brackets: impl Iterator<Item = char>) -> String {
    brackets.map(String::from).collect::<Vec<_>>().join(" ")
}

/// A nested list and its depth.
pub(super) fn depth(page: &mut Page) -> Option<()> {
    page.say(|random| {
        let levels = random.between(1, 4);
        let nested = nest(random, levels);
        match random.below(2) {
            0 => format!("The list {nested} is nested {} deep.", words(levels)),
            _ => format!("{nested} has depth {levels}."),
        }
    })
}

/// A list that goes exactly `levels` deep.
fn nest(random: &mut Choices, levels: u32) -> String {
    let letter = |random: &mut Choices| char::from(b'a' + random.below(26) as u8).to_string();
    let mut items: Vec<String> = (0..random.between(1, 3)).map(|_| letter(random)).collect();
    if levels > 1 {
        items.push(nest(random, levels - 1));
        if random.one_in(3) {
            let shallower = random.between(1, levels - 1);
            items.push(nest(random, shallower));
        }
        random.shuffle(&mut items);
    }
    format!("({})", items.join(" "))
}
