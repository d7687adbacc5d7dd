//! `encyclopedia`: articles about the people, places, things and animals of the world.
//!
//! An article states most facts about its topic in random order, in sentences of one or two facts, then lists related
//! items and references in brackets. Only wording, order and choice depend on the seed.

use super::facts::{Topic, sentence};
use super::grammar::{capital, count as count_of, list, s, words};
use super::page::Page;
use super::world::{ANIMALS, PEOPLE, PLACES, THINGS};

/// Adds one article.
pub(super) fn article(page: &mut Page) -> Option<()> {
    if page.random.one_in(6) {
        return overview(page);
    }
    let topic = Topic::any(&mut page.random);
    let title = topic.title();
    page.heading(&title);
    statements(page, topic)?;
    page.end_line()?;
    related(page, topic)?;
    page.end_line()
}

/// Five to nine sentences, each fact first in one of them and second in another.
fn statements(page: &mut Page, topic: Topic) -> Option<()> {
    let mut facts = topic.facts();
    page.random.shuffle(&mut facts);
    let count = page.random.between(5, 9) as usize;
    for at in 0..count.min(facts.len()) {
        let other = (at + 1 + page.random.below(facts.len() - 1)) % facts.len();
        page.say(|random| {
            let name = if at == 0 { full_name(topic) } else { topic.again(random) };
            sentence(random, topic, &name, &facts[at], &facts[other])
        })?;
    }
    Some(())
}

fn full_name(topic: Topic) -> String {
    match topic {
        Topic::Thing(index) => format!("the {} of {}", THINGS[index].name, PEOPLE[THINGS[index].owner].full_name()),
        _ => topic.title(),
    }
}

/// A reference to another article, with its location.
fn related(page: &mut Page, topic: Topic) -> Option<()> {
    let other = match topic {
        Topic::Person(index) => Topic::Place(PEOPLE[index].home),
        Topic::Place(index) => {
            let here: Vec<_> = (0..PEOPLE.len()).filter(|person| PEOPLE[*person].home == index).collect();
            Topic::Person(*page.random.pick(&here))
        }
        Topic::Thing(index) => Topic::Person(THINGS[index].maker),
        Topic::Animal(index) => Topic::Person(ANIMALS[index].owner),
    };
    let facts = other.facts();
    page.say(|random| {
        let chosen = random.some_of(facts.len(), 2);
        let (one, two) = (random.pick(&facts[chosen[0]]).clone(), random.pick(&facts[chosen[1]]).clone());
        let (see, name) = (random.pick(&["See also", "Compare", "Read on under", "More under"]), other.title());
        match random.below(3) {
            0 => format!("{see}: {name} (\"{} {one}\").", capital(&name)),
            1 => format!("{see}: {name} ({one} [and {two}])."),
            _ => format!("{see}: {name} ({one}; {two})."),
        }
    })
}

/// A list over many entries: distances, prices, ages, or who lives where.
fn overview(page: &mut Page) -> Option<()> {
    match page.random.below(4) {
        0 => distances(page),
        1 => prices(page),
        2 => ages(page),
        _ => inhabitants(page),
    }
}

fn distances(page: &mut Page) -> Option<()> {
    let start = page.random.below(PLACES.len());
    let from = &PLACES[start];
    page.heading(&format!("Distances from {}", from.name));
    page.say(|random| {
        let opening = ["All distances are in miles", "Miles are counted along the road", "Every number is in miles"];
        format!("{}, from {}.", random.pick(&opening), from.landmark)
    })?;
    page.end_line()?;
    let count = page.random.between(3, 6) as usize;
    for place in page.random.some_of(PLACES.len(), count) {
        let to = &PLACES[place];
        let miles = to.mile.abs_diff(from.mile);
        page.say(|random| match random.below(3) {
            _ if place == start => format!("- {}: here.", to.name),
            0 => format!("- {}: {miles} miles.", to.name),
            1 => format!("- {} ({}): {}.", to.name, to.kind, words(miles)),
            _ => format!("- {}: {miles} ({}).", to.name, words(miles)),
        })?;
        page.end_line()?;
    }
    Some(())
}

fn prices(page: &mut Page) -> Option<()> {
    page.heading("Prices of well-known things");
    let count = page.random.between(3, 6) as usize;
    let chosen = page.random.some_of(THINGS.len(), count);
    for &index in &chosen {
        let (thing, owner) = (&THINGS[index], PEOPLE[THINGS[index].owner].name);
        page.say(|random| match random.below(3) {
            0 => format!("- {} {}: {} coins.", s(owner), thing.name, thing.worth),
            1 => format!("- The {} of {owner} ({}): {} coins.", thing.name, thing.material, words(thing.worth)),
            _ => format!("- {} {} ({}), {} coins.", s(owner), thing.name, thing.colour, thing.worth),
        })?;
        page.end_line()?;
    }
    let total = chosen.iter().map(|index| THINGS[*index].worth).sum::<u32>();
    page.say(|random| match random.below(3) {
        0 => format!("Together: {total} coins."),
        1 => format!("All of these together are worth {} coins ({total}).", words(total)),
        _ => format!("In total this makes {} coins.", words(total)),
    })?;
    page.end_line()
}

fn ages(page: &mut Page) -> Option<()> {
    page.heading("People by age");
    let count = page.random.between(3, 6) as usize;
    let mut chosen = page.random.some_of(PEOPLE.len(), count);
    chosen.sort_by_key(|person| (PEOPLE[*person].age, *person));
    for (rank, &index) in chosen.iter().enumerate() {
        let person = &PEOPLE[index];
        page.say(|random| {
            let name = person.full_name();
            match random.below(3) {
                0 => format!("{}. {name}, {} years.", rank + 1, person.age),
                1 => format!("{}. {name} ({} of {}): {}.", rank + 1, person.trade, person.home().name, person.age),
                _ => format!("{}. {name}, born in {}.", rank + 1, person.born()),
            }
        })?;
        page.end_line()?;
    }
    let (youngest, oldest) = (&PEOPLE[chosen[0]], &PEOPLE[chosen[chosen.len() - 1]]);
    page.say(|random| {
        let years = count_of(oldest.age - youngest.age, ("year", "years"));
        let (young, old) = (youngest.name, oldest.name);
        match random.below(3) {
            0 => format!("From {young} to {old} it is {years}."),
            1 => format!("Of these, {old} is the oldest and {young} the youngest, {years} apart."),
            _ => format!("Thus {old} is {years} older than {young}."),
        }
    })?;
    page.end_line()
}

fn inhabitants(page: &mut Page) -> Option<()> {
    page.heading("Who lives where");
    let count = page.random.between(3, 5) as usize;
    for index in page.random.some_of(PLACES.len(), count) {
        let place = &PLACES[index];
        let mut here: Vec<_> = PEOPLE.iter().filter(|person| person.home == index).collect();
        page.random.shuffle(&mut here);
        page.say(|random| {
            random.shuffle(&mut here);
            let names: Vec<_> = here.iter().map(|person| person.full_name()).collect();
            let trades: Vec<_> = here.iter().map(|person| format!("the {} {}", person.trade, person.name)).collect();
            match random.below(4) {
                0 => format!("- {}: {}.", place.name, list(&names)),
                1 => format!("- {} ({} people): {}.", place.name, place.people, list(&trades)),
                2 => format!("- In {}, with {}, live {}.", place.name, place.landmark, list(&trades)),
                _ => format!("- {} live in {}.", list(&names), place.name),
            }
        })?;
        page.end_line()?;
    }
    Some(())
}
