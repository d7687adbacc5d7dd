//! `tales`: stories of a few people of the world who meet, carry things about, hide, lend, look for and find them.
//!
//! A story tracks positions and possessions, so that every answer in it is right. People are named, then referred to by
//! pronoun, trade or name; their facts are those of the world.

use super::cast::{Cast, SPOTS};
use super::grammar::{a, capital, count, list, words};
use super::page::Page;
use super::world::{ANIMALS, PEOPLE, PLACES, THINGS};

/// Adds one story.
pub(super) fn tale(page: &mut Page) -> Option<()> {
    let mut cast = Cast::draw(&mut page.random);
    let (thing, spot) = (THINGS[cast.things[0]].name, SPOTS[page.random.below(SPOTS.len())].name);
    let titles = [
        format!("The {thing} and {spot}"),
        format!("A story of {} and the {thing}", PEOPLE[cast.people[0]].name),
        format!("A day in {}", PLACES[cast.place].name),
        format!("{} and {}", PEOPLE[cast.people[0]].name, PEOPLE[cast.people[1]].name),
    ];
    let title = page.random.pick(&titles).clone();
    page.heading(&title);
    opening(page, &mut cast)?;
    page.end_line()?;
    cast.forget();
    for _ in 0..page.random.between(2, 4) {
        for _ in 0..page.random.between(2, 4) {
            event(page, &mut cast)?;
        }
        page.end_line()?;
        cast.forget();
    }
    ending(page, &mut cast)?;
    page.end_line()
}

/// Introduces time, place, people and their things.
fn opening(page: &mut Page, cast: &mut Cast) -> Option<()> {
    let place = &PLACES[cast.place];
    let spot = SPOTS[cast.spot_of(0)].at;
    let names: Vec<_> = cast.people.iter().map(|person| PEOPLE[*person].full_name()).collect();
    page.say(|random| {
        let time = random.pick(&TIMES);
        let weather = random.pick(&WEATHER);
        match random.below(4) {
            0 => format!("{time}, when {weather}, {} met {spot} in {}.", list(&names), place.name),
            1 => format!("{time} {weather} in {}, and {} were waiting {spot}.", place.name, list(&names)),
            2 => format!(
                "In {}, {} known for {}, {} stood {spot} while {weather}.",
                place.name,
                a(place.kind),
                place.landmark,
                list(&names)
            ),
            _ => format!("{} met {spot} in {} {}.", list(&names), place.name, time.to_lowercase()),
        }
    })?;
    for who in 0..cast.people.len() {
        introduce(page, cast, who)?;
    }
    Some(())
}

fn introduce(page: &mut Page, cast: &mut Cast, who: usize) -> Option<()> {
    let person = &PEOPLE[cast.people[who]];
    let held = cast.held_by(who);
    page.say(|random| {
        let (name, home) = (person.name, person.home().name);
        let things = list(&held.iter().map(|thing| cast.with_owner(who, *thing)).collect::<Vec<_>>());
        let from = random.pick(&["who lived in", "who came from", "who was at home in"]);
        match random.below(4) {
            _ if held.is_empty() && random.one_in(2) => format!("{name}, {from} {home}, carried nothing at all."),
            _ if held.is_empty() => format!("{name} the {} had come with empty hands.", person.trade),
            0 => format!("{name}, {from} {home}, had brought {things}."),
            1 => format!("With {name} came {things}."),
            2 => format!("{name} the {} carried {things}.", person.trade),
            _ => format!("In the hands of {name} ({} of {home}) lay {things}.", a(person.trade)),
        }
    })?;
    cast.speak_of(who, &[]);
    Some(())
}

/// Adds one event and updates the state of the story.
fn event(page: &mut Page, cast: &mut Cast) -> Option<()> {
    match page.random.below(9) {
        0 | 1 => give(page, cast),
        2 => hide(page, cast),
        3 => fetch(page, cast),
        4 => walk(page, cast),
        5 => ask(page, cast),
        6 => remember(page, cast),
        7 => coins(page, cast),
        _ => pause(page, cast),
    }
}

fn give(page: &mut Page, cast: &mut Cast) -> Option<()> {
    let Some((from, to, thing)) = cast.possible_gift(&mut page.random) else { return walk(page, cast) };
    let name = THINGS[thing].name;
    page.say(|random| {
        let (subject, other) = (cast.subject(random, from), cast.person(to).name);
        let (why, how) = (random.pick(&REASONS), random.pick(&MANNERS));
        let sentence = match random.below(6) {
            0 => format!("{subject} gave the {name} to {other}, {why}."),
            1 => format!("{subject} {how} handed {other} the {name}."),
            2 => format!("\"Take the {name},\" said {}, and {other} took it {how}.", cast.person(from).name),
            3 => format!("{}, {subject} let {other} have the {name}.", capital(why)),
            4 => format!("{subject} had carried the {name} long enough and gave it to {other}."),
            _ => format!("{subject} lent {other} the {name}."),
        };
        capital(&sentence)
    })?;
    cast.give(thing, to);
    cast.speak_of(from, &[to]);
    Some(())
}

fn hide(page: &mut Page, cast: &mut Cast) -> Option<()> {
    let Some((who, thing)) = cast.any_holder(&mut page.random) else { return fetch(page, cast) };
    let (name, spot) = (THINGS[thing].name, &SPOTS[cast.spot_of(who)]);
    let hole = *page.random.pick(spot.holes);
    page.say(|random| {
        let (subject, how) = (cast.subject(random, who), random.pick(&MANNERS));
        let sentence = match random.below(5) {
            0 => format!("{subject} {how} put the {name} {hole}."),
            1 => format!("{subject} looked around and hid the {name} {hole}."),
            2 => format!("So that nobody would trip over it, {subject} left the {name} {hole}."),
            3 => format!("When nobody was looking, {subject} laid the {name} {hole}."),
            _ => format!("{subject} grew tired of carrying the {name} and set it down {hole}."),
        };
        capital(&sentence)
    })?;
    cast.put(thing, hole);
    cast.speak_of(who, &[]);
    Some(())
}

fn fetch(page: &mut Page, cast: &mut Cast) -> Option<()> {
    let Some((who, thing, hole)) = cast.possible_find(&mut page.random) else { return walk(page, cast) };
    let name = THINGS[thing].name;
    page.say(|random| {
        let (subject, how) = (cast.subject(random, who), random.pick(&MANNERS));
        let sentence = match random.below(4) {
            0 => format!("{subject} found the {name} {hole} and picked it up."),
            1 => format!("{subject} {how} took the {name}, which lay {hole}."),
            2 => format!("There, {hole}, lay the {name}; {subject} took it."),
            _ => format!("After a short search {subject} held the {name}, which had been {hole}."),
        };
        capital(&sentence)
    })?;
    cast.give(thing, who);
    cast.speak_of(who, &[]);
    Some(())
}

fn walk(page: &mut Page, cast: &mut Cast) -> Option<()> {
    let who = page.random.below(cast.people.len());
    let to = (cast.spot_of(who) + 1 + page.random.below(SPOTS.len() - 1)) % SPOTS.len();
    let company: Vec<_> = cast.at(to).into_iter().map(|other| cast.person(other).name).collect();
    page.say(|random| {
        let (subject, spot, how) = (cast.subject(random, who), SPOTS[to].to, random.pick(&MANNERS));
        let found = if company.is_empty() {
            ["where nobody was to be seen", "where all was quiet", "which lay empty"].map(String::from)
        } else {
            let company = list(&company);
            [format!("where {company} waited"), format!("and there stood {company}"), format!("to find {company}")]
        };
        let found = random.pick(&found);
        let sentence = match random.below(5) {
            0 => format!("{subject} {how} walked {spot}, {found}."),
            1 => format!("{}, {subject} went {spot}, {found}.", random.pick(&LATER)),
            2 => format!("{subject} {} and went {spot}.", random.pick(&GESTURES)),
            3 => format!("{}, {subject} ran {spot}.", random.pick(&LATER)),
            _ => format!("{subject} left {} and went {spot}, {found}.", SPOTS[cast.spot_of(who)].name),
        };
        capital(&sentence)
    })?;
    cast.go(who, to);
    let others = cast.at(to).into_iter().filter(|other| *other != who).collect::<Vec<_>>();
    cast.speak_of(who, &others);
    Some(())
}

/// A question and its true answer.
fn ask(page: &mut Page, cast: &mut Cast) -> Option<()> {
    let Some((asking, asked)) = cast.pair(&mut page.random) else { return walk(page, cast) };
    let thing = cast.any_thing(&mut page.random);
    let (name, place) = (THINGS[thing].name, cast.whereabouts(thing, asked, asking));
    let (asks, answers) = (cast.person(asking), cast.person(asked));
    page.say(|random| {
        let (verb, other) = (random.pick(&["asked", "wondered"]), answers.name);
        match random.below(4) {
            0 => format!("\"Where is the {name}, {other}?\" {verb} {}.", asks.name),
            1 => format!("{} turned to {other} and asked, \"Where is the {name}?\"", asks.name),
            2 => format!("\"Tell me,\" said {}, \"where is the {name}?\"", asks.name),
            _ => format!("{} {} and {verb} where the {name} was.", asks.name, random.pick(&GESTURES)),
        }
    })?;
    page.say(|random| {
        let verb = random.pick(&["answered", "said", "replied"]);
        let (other, saying) = (answers.name, within(answers.saying));
        match random.below(5) {
            0 => format!("\"{},\" {verb} {other}.", capital(&place)),
            1 => format!("\"{},\" {verb} {other} the {}.", capital(&place), answers.trade),
            2 => format!("\"{}, as far as I know,\" {verb} {other}, who {}.", capital(&place), random.pick(&GESTURES)),
            3 => format!("\"{},\" {verb} {other}, \"and remember: '{saying}.'\"", capital(&place)),
            _ => format!("{other} {} and {verb}, \"{}.\"", random.pick(&GESTURES), capital(&place)),
        }
    })?;
    cast.speak_of(asked, &[asking]);
    Some(())
}

/// A character remembers a fact of the world.
fn remember(page: &mut Page, cast: &mut Cast) -> Option<()> {
    let who = page.random.below(cast.people.len());
    let thing = &THINGS[cast.any_thing(&mut page.random)];
    let (owner, maker) = (&PEOPLE[thing.owner], &PEOPLE[thing.maker]);
    let animal = page.random.pick(&ANIMALS);
    page.say(|random| {
        let (subject, name) = (cast.subject(random, who), thing.name);
        let thought = random.pick(&["remembered that", "said aloud that", "had not forgotten that", "knew that"]);
        let facts = [
            format!("the {name} belonged to {} of {}", owner.full_name(), owner.home().name),
            format!("the {name} had been made by {} the {}", maker.full_name(), maker.trade),
            format!("the {name} was made of {} and worth {} coins", thing.material, words(thing.worth)),
            format!("the {name} was usually kept {}", thing.kept),
            format!("{}, the {} of {}, ate {}", animal.name, animal.kind, PEOPLE[animal.owner].name, animal.eats),
            format!("{} the {} slept {}", animal.name, animal.kind, animal.sleeps),
        ];
        let sentence = match random.below(3) {
            0 => format!("{subject} {thought} {}.", random.pick(&facts)),
            1 => format!("{}, {subject} {thought} {}.", random.pick(&LATER), random.pick(&facts)),
            _ => format!("{subject} {} and {thought} {}.", random.pick(&GESTURES), random.pick(&facts)),
        };
        capital(&sentence)
    })?;
    // The sentence may have named others.
    cast.forget();
    Some(())
}

/// A purchase, with the coins left.
fn coins(page: &mut Page, cast: &mut Cast) -> Option<()> {
    let who = page.random.below(cast.people.len());
    let price = page.random.between(1, 5);
    let Some((have, left)) = cast.spend(who, price) else { return pause(page, cast) };
    let goods = page.random.pick(&GOODS);
    let coins = ("coin", "coins");
    page.say(|random| {
        let subject = cast.subject(random, who);
        let (has, costs) = (count(have, coins), count(price, coins));
        let sentence = match random.below(4) {
            0 => format!("{subject} had {has} and bought {goods} for {costs}."),
            1 => format!("Of {has}, {subject} spent {} on {goods}.", words(price)),
            2 => format!("There was {goods} for sale, and {subject}, who had {has}, paid {costs} for it."),
            _ => format!("{subject} counted {has}, then paid {costs} for {goods}."),
        };
        capital(&sentence)
    })?;
    cast.speak_of(who, &[]);
    page.say(|random| {
        let subject = cast.subject(random, who);
        let sentence = match random.below(3) {
            0 => format!("{} {} left.", count(left, coins), if left == 1 { "was" } else { "were" }),
            1 => format!("After that {subject} had {}.", count(left, coins)),
            _ => format!("{have} less {price} is {left}, thought {}.", cast.person(who).name),
        };
        capital(&sentence)
    })
}

fn pause(page: &mut Page, cast: &mut Cast) -> Option<()> {
    let who = page.random.below(cast.people.len());
    page.say(|random| {
        let (subject, gesture) = (cast.subject(random, who), random.pick(&GESTURES));
        let (weather, later) = (random.pick(&WEATHER), random.pick(&LATER));
        let sentence = match random.below(4) {
            0 => format!("{subject} {gesture}."),
            1 => format!("{later}, when {weather}, {subject} {gesture}."),
            2 => format!("{subject} said nothing, because {weather}."),
            _ => format!("While {weather}, {subject} {gesture}."),
        };
        capital(&sentence)
    })?;
    cast.speak_of(who, &[]);
    Some(())
}

/// States the final owners.
fn ending(page: &mut Page, cast: &mut Cast) -> Option<()> {
    for thing in cast.things.clone() {
        let (name, place) = (THINGS[thing].name, cast.last_seen(thing));
        page.say(|random| match random.below(4) {
            0 => format!("In the end the {name} {place}."),
            1 => format!("When night fell, the {name} {place}."),
            2 => format!("And the {name} {place}."),
            _ => format!(
                "At the end of that day the {name}, which {} had made, {place}.",
                PEOPLE[THINGS[thing].maker].name
            ),
        })?;
    }
    let last = cast.person(0);
    page.say(|random| match random.below(3) {
        0 => format!("\"{},\" said {}, and everyone went home.", last.saying, last.name),
        1 => format!("Then {} went home to {}, thinking: {}.", last.name, last.home().name, within(last.saying)),
        _ => format!("They said good night, {} last of all, as {} always did.", last.name, last.gender.subject()),
    })
}

/// A saying within a sentence: in lower case, unless it begins with "I".
fn within(saying: &str) -> String {
    if saying.starts_with("I ") { saying.into() } else { saying[..1].to_lowercase() + &saying[1..] }
}

const TIMES: [&str; 10] = [
    "One morning",
    "One evening in autumn",
    "On the first day of spring",
    "Late one afternoon",
    "Before sunrise",
    "On a market day",
    "On the longest day of the year",
    "After the harvest",
    "In the second week of winter",
    "On the day after the feast",
];
const WEATHER: [&str; 12] = [
    "rain was falling",
    "the wind blew from the north",
    "the sun stood low",
    "snow lay on the roofs",
    "a bell was ringing",
    "the street was full of people",
    "fog came up from the river",
    "the first stars were out",
    "nothing moved",
    "swallows flew overhead",
    "the air smelt of smoke",
    "thunder rolled over the hills",
];
const REASONS: [&str; 8] = [
    "because it was late",
    "for no reason at all",
    "as a friend would",
    "to have both hands free",
    "just for a while",
    "as had been promised",
    "in return for an old favour",
    "since nobody else wanted it",
];
const MANNERS: [&str; 8] = ["quickly", "slowly", "gladly", "silently", "carefully", "at once", "cheerfully", "calmly"];
const GESTURES: [&str; 12] = [
    "nodded",
    "laughed",
    "sighed",
    "looked at the sky",
    "thought for a moment",
    "smiled",
    "shrugged",
    "hummed a tune",
    "listened",
    "waited",
    "sat down",
    "yawned",
];
const LATER: [&str; 8] = [
    "A little later",
    "Soon afterwards",
    "At noon",
    "After a while",
    "An hour later",
    "Before long",
    "Towards evening",
    "In the meantime",
];
const GOODS: [&str; 8] = [
    "a warm loaf",
    "a bag of nuts",
    "a jar of honey",
    "a bowl of soup",
    "a new candle",
    "a ball of string",
    "a basket of plums",
    "a cup of tea",
];
