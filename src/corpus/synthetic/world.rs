//! The small world of all texts, the same for every seed: people with their homes, trades, possessions and facts.
//!
//! Eight places lie along one road; the year is 412. Texts repeat these facts and never contradict them.

use super::grammar::Gender::{self, He, She};

/// A person.
pub(super) struct Person {
    pub(super) name: &'static str,
    pub(super) family: &'static str,
    pub(super) gender: Gender,
    pub(super) trade: &'static str,
    /// Index of their home.
    pub(super) home: usize,
    pub(super) age: u32,
    pub(super) likes: &'static str,
    pub(super) dislikes: &'static str,
    /// Their saying: a whole sentence without its full stop.
    pub(super) saying: &'static str,
}

/// A village, a town or the like.
pub(super) struct WorldPlace {
    pub(super) name: &'static str,
    pub(super) kind: &'static str,
    pub(super) landmark: &'static str,
    pub(super) product: &'static str,
    pub(super) river: &'static str,
    pub(super) people: u32,
    /// The year of its founding.
    pub(super) founded: u32,
    /// Miles along the road from the first place.
    pub(super) mile: u32,
}

/// A thing with an owner.
pub(super) struct Thing {
    pub(super) name: &'static str,
    /// Index of the owner.
    pub(super) owner: usize,
    /// Index of the maker.
    pub(super) maker: usize,
    pub(super) material: &'static str,
    pub(super) colour: &'static str,
    /// Worth in coins.
    pub(super) worth: u32,
    pub(super) kept: &'static str,
}

/// A pet.
pub(super) struct Animal {
    pub(super) name: &'static str,
    pub(super) kind: &'static str,
    pub(super) gender: Gender,
    /// Index of the owner.
    pub(super) owner: usize,
    pub(super) colour: &'static str,
    pub(super) eats: &'static str,
    pub(super) sleeps: &'static str,
}

/// The present year of all texts.
pub(super) const YEAR: u32 = 412;

impl Person {
    pub(super) fn full_name(&self) -> String {
        format!("{} {}", self.name, self.family)
    }

    pub(super) const fn born(&self) -> u32 {
        YEAR - self.age
    }

    pub(super) fn home(&self) -> &'static WorldPlace {
        &PLACES[self.home]
    }
}

#[allow(clippy::too_many_arguments, reason = "one row of a table")]
const fn person(
    (name, family, gender): (&'static str, &'static str, Gender),
    trade: &'static str,
    home: usize,
    age: u32,
    likes: &'static str,
    dislikes: &'static str,
    saying: &'static str,
) -> Person {
    Person { name, family, gender, trade, home, age, likes, dislikes, saying }
}

pub(super) const PEOPLE: [Person; 24] = [
    person(("Ada", "Fenwick", She), "baker", 0, 41, "early mornings", "cold ovens", "Good bread waits for nobody"),
    person(("Tobin", "Marsh", He), "ferryman", 0, 58, "quiet water", "loud voices", "The river knows the way"),
    person(("Lena", "Fenwick", She), "pupil", 0, 12, "maps", "porridge", "I only want to see what is there"),
    person(("Oswin", "Pike", He), "miller", 0, 49, "windy days", "mice", "Every wheel turns in its own time"),
    person(("Mara", "Holt", She), "smith", 1, 36, "hot iron", "rust", "Strike once and strike well"),
    person(("Ned", "Holt", He), "pupil", 1, 11, "climbing trees", "sums", "It was like that when I found it"),
    person(("Hester", "Vane", She), "healer", 1, 67, "herbs", "haste", "Sleep is half of every cure"),
    person(("Jory", "Pike", He), "shepherd", 1, 29, "long walks", "crowds", "A sheep is wiser than it looks"),
    person(("Ruth", "Calder", She), "captain", 2, 45, "storms", "empty maps", "Look at the sky before you boast"),
    person(("Edwin", "Calder", He), "fisherman", 2, 47, "silence", "nets with holes", "Patience fills the basket"),
    person(("Ivy", "Sorrel", She), "lamplighter", 2, 23, "starlight", "fog", "Somebody has to light the first one"),
    person(("Bram", "Tully", He), "cook", 2, 52, "pepper", "thin soup", "Taste it before you salt it"),
    person(("Selma", "Roe", She), "teacher", 3, 38, "questions", "chalk dust", "A good question is worth two answers"),
    person(("Piet", "Roe", He), "carpenter", 3, 40, "oak", "crooked nails", "Measure twice and cut once"),
    person(("Agnes", "Thorn", She), "weaver", 3, 61, "bright wool", "moths", "Pull one thread and all of them move"),
    person(("Colin", "Thorn", He), "postman", 3, 34, "letters", "barking dogs", "No letter was ever lost by walking"),
    person(
        ("Vera", "Lund", She),
        "clockmaker",
        4,
        55,
        "small wheels",
        "late guests",
        "A minute is a thing like any other",
    ),
    person(
        ("Hugo", "Lund", He),
        "musician",
        4,
        26,
        "old songs",
        "broken strings",
        "Play it slowly and then play it again",
    ),
    person(("Wanda", "Ash", She), "gardener", 5, 44, "roses", "snails", "Nothing grows faster for being watched"),
    person(("Felix", "Ash", He), "beekeeper", 5, 46, "honey", "north wind", "Walk slowly where bees are at work"),
    person(
        ("Greta", "Moss", She),
        "innkeeper",
        6,
        50,
        "full tables",
        "unpaid bills",
        "There is always room for one more chair",
    ),
    person(("Anton", "Moss", He), "potter", 6, 53, "wet clay", "drops of rain", "A crack lets nothing in but trouble"),
    person(
        ("Noor", "Hale", She),
        "astronomer",
        7,
        31,
        "clear nights",
        "clouds",
        "Count what you see and then count again",
    ),
    person(("Simon", "Hale", He), "librarian", 7, 64, "long books", "wet umbrellas", "Put it back where you found it"),
];

#[allow(clippy::too_many_arguments, reason = "one row of a table")]
const fn place(
    (name, kind): (&'static str, &'static str),
    landmark: &'static str,
    product: &'static str,
    river: &'static str,
    people: u32,
    founded: u32,
    mile: u32,
) -> WorldPlace {
    WorldPlace { name, kind, landmark, product, river, people, founded, mile }
}

/// The places, ordered along the road.
pub(super) const PLACES: [WorldPlace; 8] = [
    place(("Millbrook", "village"), "a stone bridge", "bread", "Tarn", 340, 121, 0),
    place(("Underhill", "village"), "a tall chimney", "nails", "Tarn", 270, 158, 4),
    place(("Saltport", "harbour town"), "a white lighthouse", "dried fish", "Tarn", 1900, 64, 11),
    place(("Oakham", "market town"), "a crooked tower", "furniture", "Lisse", 1250, 97, 17),
    place(("Bellmere", "town"), "a clock with four faces", "clocks", "Lisse", 860, 203, 22),
    place(("Rosewell", "village"), "a walled garden", "honey", "Lisse", 210, 245, 29),
    place(("Crossways", "hamlet"), "a yellow inn", "pots", "Arrow", 90, 310, 33),
    place(("Highgate", "hill town"), "a round library", "paper", "Arrow", 640, 30, 40),
];

#[allow(clippy::too_many_arguments, reason = "one row of a table")]
const fn thing(
    name: &'static str,
    (owner, maker): (usize, usize),
    material: &'static str,
    colour: &'static str,
    worth: u32,
    kept: &'static str,
) -> Thing {
    Thing { name, owner, maker, material, colour, worth, kept }
}

pub(super) const THINGS: [Thing; 24] = [
    thing("lantern", (1, 4), "brass", "yellow", 9, "on a hook beside the door"),
    thing("rolling pin", (0, 13), "beech", "pale brown", 3, "in the flour bin"),
    thing("compass", (8, 16), "silver", "grey", 30, "in a leather case"),
    thing("kite", (2, 14), "linen", "red", 2, "under the stairs"),
    thing("sieve", (3, 4), "copper", "orange", 6, "behind the millstone"),
    thing("hammer", (4, 4), "steel", "black", 12, "next to the anvil"),
    thing("whistle", (5, 13), "cherry wood", "dark red", 2, "in a coat pocket"),
    thing("mortar", (6, 21), "stone", "white", 8, "on the highest shelf"),
    thing("crook", (7, 13), "ash", "light brown", 4, "against the gate"),
    thing("fishing net", (9, 14), "hemp", "green", 15, "over the railing"),
    thing("ladder", (10, 13), "pine", "blue", 7, "behind the lamp house"),
    thing("kettle", (11, 4), "iron", "dark grey", 10, "at the back of the stove"),
    thing("globe", (12, 13), "painted wood", "blue and green", 25, "on the window sill"),
    thing("saw", (13, 4), "steel", "silver", 11, "on two nails"),
    thing("shawl", (14, 14), "wool", "purple", 14, "in a cedar chest"),
    thing("satchel", (15, 14), "canvas", "brown", 5, "behind the post office counter"),
    thing("pocket watch", (16, 16), "gold", "bright yellow", 48, "in a velvet box"),
    thing("fiddle", (17, 13), "maple", "amber", 36, "on top of the cupboard"),
    thing("watering can", (18, 4), "tin", "dull green", 6, "beside the rain barrel"),
    thing("smoker", (19, 4), "copper", "brown", 13, "in the garden shed"),
    thing("guest book", (20, 23), "paper", "cream", 4, "on the front desk"),
    thing("jug", (21, 21), "clay", "deep blue", 5, "on the drying rack"),
    thing("telescope", (22, 16), "brass", "gold", 60, "under a cloth in the attic"),
    thing("seal", (23, 4), "bronze", "greenish brown", 18, "in the third drawer"),
];

#[allow(clippy::too_many_arguments, reason = "one row of a table")]
const fn animal(
    (name, kind, gender): (&'static str, &'static str, Gender),
    owner: usize,
    colour: &'static str,
    eats: &'static str,
    sleeps: &'static str,
) -> Animal {
    Animal { name, kind, gender, owner, colour, eats, sleeps }
}

pub(super) const ANIMALS: [Animal; 8] = [
    animal(("Biscuit", "cat", She), 0, "ginger", "crumbs and cream", "on a warm sack of flour"),
    animal(("Captain", "dog", He), 1, "black", "fish heads", "at the bottom of the ferry"),
    animal(("Thimble", "goat", She), 7, "white", "thistles", "on the roof of the barn"),
    animal(("Pepper", "parrot", He), 11, "grey", "sunflower seeds", "above the stove"),
    animal(("Button", "mouse", She), 14, "brown", "barley", "in a basket of wool"),
    animal(("Major", "donkey", He), 15, "dusty grey", "carrots", "behind the post office"),
    animal(("Comet", "owl", She), 22, "snowy white", "beetles", "beside the telescope"),
    animal(("Dusty", "tortoise", He), 23, "green", "lettuce", "between two shelves of poetry"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_tell_everyone_apart() {
        let people = PEOPLE.iter().map(|person| person.name);
        let others = PLACES.iter().map(|place| place.name).chain(ANIMALS.iter().map(|animal| animal.name));
        let names: Vec<_> = people.chain(others).chain(THINGS.iter().map(|thing| thing.name)).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        let nobody_twice: BTreeSet<_> = PEOPLE.iter().map(Person::full_name).collect();
        assert_eq!(nobody_twice.len(), PEOPLE.len());
    }

    #[test]
    fn the_tables_refer_to_each_other_within_bounds() {
        assert!(PEOPLE.iter().all(|person| person.home < PLACES.len() && person.age < YEAR));
        assert!(THINGS.iter().all(|thing| thing.owner < PEOPLE.len() && thing.maker < PEOPLE.len()));
        assert!(ANIMALS.iter().all(|animal| animal.owner < PEOPLE.len()));
        assert!(PLACES.windows(2).all(|pair| pair[0].mile < pair[1].mile));
        assert!(PLACES.iter().all(|place| place.founded < YEAR));
    }
}
