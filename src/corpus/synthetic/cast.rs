//! The state of a story: positions of people, owners and hiding places of things, and the referent of a pronoun.

use super::choices::Choices;
use super::grammar::s;
use super::world::{PEOPLE, PLACES, Person, THINGS};

/// A location with hiding places.
pub(super) struct Spot {
    pub(super) name: &'static str,
    pub(super) at: &'static str,
    pub(super) to: &'static str,
    pub(super) holes: &'static [&'static str],
}

/// The locations, the same in every village and town.
pub(super) const SPOTS: [Spot; 6] = [
    Spot {
        name: "the well",
        at: "at the well",
        to: "to the well",
        holes: &["behind the well", "in the bucket of the well"],
    },
    Spot {
        name: "the market",
        at: "at the market",
        to: "to the market",
        holes: &["under a market stall", "in a market cart"],
    },
    Spot {
        name: "the mill",
        at: "in the mill",
        to: "to the mill",
        holes: &["under the mill stairs", "behind the sacks in the mill"],
    },
    Spot {
        name: "the inn",
        at: "in the inn",
        to: "to the inn",
        holes: &["under a bench in the inn", "on the inn's window sill"],
    },
    Spot {
        name: "the bridge",
        at: "on the bridge",
        to: "to the bridge",
        holes: &["below the bridge", "on the wall of the bridge"],
    },
    Spot {
        name: "the barn",
        at: "in the barn",
        to: "to the barn",
        holes: &["in the hay of the barn", "behind the barn door"],
    },
];

/// The place of a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whereabouts {
    /// Held by a person, as a position in the cast.
    With(usize),
    /// In a hiding place.
    Lies(&'static str),
}

/// A story's people and things.
pub(super) struct Cast {
    pub(super) place: usize,
    /// Indices of people.
    pub(super) people: Vec<usize>,
    /// Indices of things.
    pub(super) things: Vec<usize>,
    spots: Vec<usize>,
    whereabouts: Vec<Whereabouts>,
    /// Coins of every person.
    purses: Vec<u32>,
    /// The subject of the last sentence and the others in it, as positions in the cast.
    spoken_of: Option<(usize, Vec<usize>)>,
}

impl Cast {
    /// Two to four people at one spot with two or three things between them.
    pub(super) fn draw(random: &mut Choices) -> Self {
        let (people, things) = (random.between(2, 4) as usize, random.between(2, 3) as usize);
        let (people, things) = (random.some_of(PEOPLE.len(), people), random.some_of(THINGS.len(), things));
        let holders = things.iter().map(|thing| {
            // Owners hold their own things.
            let owner = people.iter().position(|person| *person == THINGS[*thing].owner);
            Whereabouts::With(owner.unwrap_or_else(|| random.below(people.len())))
        });
        let whereabouts = holders.collect();
        let (place, spot) = (random.below(PLACES.len()), random.below(SPOTS.len()));
        let purses = people.iter().map(|_| random.between(6, 60)).collect();
        Self { place, purses, spots: vec![spot; people.len()], people, things, whereabouts, spoken_of: None }
    }

    pub(super) fn person(&self, who: usize) -> &'static Person {
        &PEOPLE[self.people[who]]
    }

    pub(super) fn spot_of(&self, who: usize) -> usize {
        self.spots[who]
    }

    /// The people at a spot.
    pub(super) fn at(&self, spot: usize) -> Vec<usize> {
        (0..self.people.len()).filter(|who| self.spots[*who] == spot).collect()
    }

    /// The things a person holds.
    pub(super) fn held_by(&self, who: usize) -> Vec<usize> {
        self.located().filter(|(_, place)| *place == Whereabouts::With(who)).map(|(thing, _)| thing).collect()
    }

    fn located(&self) -> impl Iterator<Item = (usize, Whereabouts)> {
        self.things.iter().copied().zip(self.whereabouts.iter().copied())
    }

    /// "a lantern of his own" in the hands of its owner, "Tobin's lantern" in another's.
    pub(super) fn with_owner(&self, who: usize, thing: usize) -> String {
        let (name, owner) = (THINGS[thing].name, THINGS[thing].owner);
        if owner == self.people[who] {
            format!("{} own {name}", PEOPLE[owner].gender.possessive())
        } else {
            format!("{} {name}", s(PEOPLE[owner].name))
        }
    }

    /// The name of a sentence's subject: a pronoun only if the last sentence leaves no doubt.
    pub(super) fn subject(&self, random: &mut Choices, who: usize) -> String {
        let person = self.person(who);
        let clear = self.spoken_of.as_ref().is_some_and(|(last, others)| {
            *last == who && others.iter().all(|other| self.person(*other).gender != person.gender)
        });
        let alone = (0..self.people.len()).all(|other| other == who || self.person(other).trade != person.trade);
        match random.below(10) {
            0..=6 if clear => person.gender.subject().into(),
            7 if alone => format!("the {}", person.trade),
            _ => person.name.into(),
        }
    }

    /// Records the people in the last sentence.
    pub(super) fn speak_of(&mut self, subject: usize, others: &[usize]) {
        self.spoken_of = Some((subject, others.to_vec()));
    }

    /// Starts a paragraph without referents for pronouns.
    pub(super) fn forget(&mut self) {
        self.spoken_of = None;
    }

    /// Spends coins if the person has more than `price`; returns the coins before and after.
    pub(super) fn spend(&mut self, who: usize, price: u32) -> Option<(u32, u32)> {
        let had = self.purses[who];
        let left = had.checked_sub(price).filter(|left| *left > 0)?;
        self.purses[who] = left;
        Some((had, left))
    }

    pub(super) fn go(&mut self, who: usize, spot: usize) {
        self.spots[who] = spot;
    }

    pub(super) fn give(&mut self, thing: usize, to: usize) {
        self.set(thing, Whereabouts::With(to));
    }

    pub(super) fn put(&mut self, thing: usize, hole: &'static str) {
        self.set(thing, Whereabouts::Lies(hole));
    }

    fn set(&mut self, thing: usize, place: Whereabouts) {
        let at = self.things.iter().position(|other| *other == thing);
        if let Some(at) = at {
            self.whereabouts[at] = place;
        }
    }

    /// A holder, a thing, and another person at the same spot.
    pub(super) fn possible_gift(&self, random: &mut Choices) -> Option<(usize, usize, usize)> {
        let gifts = self.located().flat_map(|(thing, place)| {
            let Whereabouts::With(from) = place else { return Vec::new() };
            self.at(self.spots[from]).into_iter().filter(|to| *to != from).map(|to| (from, to, thing)).collect()
        });
        one(random, gifts.collect())
    }

    /// A holder and a thing.
    pub(super) fn any_holder(&self, random: &mut Choices) -> Option<(usize, usize)> {
        let held = self.located().filter_map(|(thing, place)| match place {
            Whereabouts::With(who) => Some((who, thing)),
            Whereabouts::Lies(_) => None,
        });
        one(random, held.collect())
    }

    /// A person, a thing hidden at the same spot, and its hiding place.
    pub(super) fn possible_find(&self, random: &mut Choices) -> Option<(usize, usize, &'static str)> {
        let finds = self.located().flat_map(|(thing, place)| {
            let Whereabouts::Lies(hole) = place else { return Vec::new() };
            let spot = SPOTS.iter().position(|spot| spot.holes.contains(&hole));
            let near = spot.map(|spot| self.at(spot)).unwrap_or_default();
            near.into_iter().map(|who| (who, thing, hole)).collect()
        });
        one(random, finds.collect())
    }

    /// Two people at the same spot.
    pub(super) fn pair(&self, random: &mut Choices) -> Option<(usize, usize)> {
        let all = 0..self.people.len();
        let pairs = all.clone().flat_map(|a| all.clone().map(move |b| (a, b)));
        one(random, pairs.filter(|(a, b)| a != b && self.spots[*a] == self.spots[*b]).collect())
    }

    pub(super) fn any_thing(&self, random: &mut Choices) -> usize {
        *random.pick(&self.things)
    }

    /// The place of a thing, in the words of one character to another.
    pub(super) fn whereabouts(&self, thing: usize, speaker: usize, listener: usize) -> String {
        match self.located().find(|(other, _)| *other == thing) {
            Some((_, Whereabouts::With(who))) if who == speaker => "I have it myself".into(),
            Some((_, Whereabouts::With(who))) if who == listener => "you have it yourself".into(),
            Some((_, Whereabouts::With(who))) => format!("{} has it", self.person(who).name),
            Some((_, Whereabouts::Lies(hole))) => format!("it is {hole}"),
            None => "nobody knows".into(),
        }
    }

    /// The place of a thing, in the words of the story.
    pub(super) fn last_seen(&self, thing: usize) -> String {
        match self.located().find(|(other, _)| *other == thing) {
            Some((_, Whereabouts::With(who))) => format!("was with {}", self.person(who).name),
            Some((_, Whereabouts::Lies(hole))) => format!("still lay {hole}"),
            None => "was lost".into(),
        }
    }
}

fn one<T: Clone>(random: &mut Choices, choices: Vec<T>) -> Option<T> {
    if choices.is_empty() { None } else { Some(random.pick(&choices).clone()) }
}
