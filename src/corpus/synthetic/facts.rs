//! The facts of the world as verb phrases in several wordings, and sentences built from them.

use super::choices::Choices;
use super::grammar::{a, capital, s, words};
use super::world::{ANIMALS, Animal, PEOPLE, PLACES, Person, THINGS, Thing, WorldPlace, YEAR};

/// One fact about a subject: verb phrases with the same meaning.
pub(super) type Fact = Vec<String>;

/// The topic of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Topic {
    Person(usize),
    Place(usize),
    Thing(usize),
    Animal(usize),
}

impl Topic {
    /// A random topic.
    pub(super) fn any(random: &mut Choices) -> Self {
        match random.below(8) {
            0..=2 => Self::Person(random.below(PEOPLE.len())),
            3..=4 => Self::Place(random.below(PLACES.len())),
            5..=6 => Self::Thing(random.below(THINGS.len())),
            _ => Self::Animal(random.below(ANIMALS.len())),
        }
    }

    /// Its name in a heading.
    pub(super) fn title(self) -> String {
        match self {
            Self::Person(index) => PEOPLE[index].full_name(),
            Self::Place(index) => PLACES[index].name.into(),
            Self::Thing(index) => format!("The {} of {}", THINGS[index].name, PEOPLE[THINGS[index].owner].name),
            Self::Animal(index) => format!("{} the {}", ANIMALS[index].name, ANIMALS[index].kind),
        }
    }

    /// A later reference to it, by name, pronoun or kind.
    pub(super) fn again(self, random: &mut Choices) -> String {
        let names = match self {
            Self::Person(index) => {
                let person = &PEOPLE[index];
                [person.gender.subject().into(), person.name.into(), format!("the {}", person.trade)]
            }
            Self::Place(index) => ["it".into(), PLACES[index].name.into(), format!("the {}", PLACES[index].kind)],
            Self::Thing(index) => {
                let owner = PEOPLE[THINGS[index].owner].name;
                ["it".into(), format!("{} {}", s(owner), THINGS[index].name), format!("the {}", THINGS[index].name)]
            }
            Self::Animal(index) => {
                let animal = &ANIMALS[index];
                [animal.gender.subject().into(), animal.name.into(), format!("the {}", animal.kind)]
            }
        };
        random.pick(&names).clone()
    }

    /// Its relative pronoun: "who" or "which".
    const fn relative(self) -> &'static str {
        match self {
            Self::Person(_) | Self::Animal(_) => "who",
            Self::Place(_) | Self::Thing(_) => "which",
        }
    }

    const fn pronoun(self) -> &'static str {
        match self {
            Self::Person(index) => PEOPLE[index].gender.subject(),
            Self::Animal(index) => ANIMALS[index].gender.subject(),
            Self::Place(_) | Self::Thing(_) => "it",
        }
    }

    /// All facts about it.
    pub(super) fn facts(self) -> Vec<Fact> {
        match self {
            Self::Person(index) => of_person(index, &PEOPLE[index]),
            Self::Place(index) => of_place(index, &PLACES[index]),
            Self::Thing(index) => of_thing(&THINGS[index]),
            Self::Animal(index) => of_animal(&ANIMALS[index]),
        }
    }
}

/// A sentence that states the first fact, and usually the second. `name` is its subject.
pub(super) fn sentence(random: &mut Choices, topic: Topic, name: &str, first: &Fact, second: &Fact) -> String {
    let (x, y) = (random.pick(first).clone(), random.pick(second).clone());
    let (who, it) = (topic.relative(), topic.pronoun());
    // "The baker is a baker" says nothing.
    let said = name.strip_prefix("the ").is_some_and(|kind| x.contains(kind) || y.contains(kind));
    let name = if said { it } else { name };
    let name_first = capital(name);
    // A pronoun takes no relative clause.
    let relative = name != it;
    match random.below(12) {
        0 => format!("{name_first} {x}."),
        1 => format!("{name_first} {x}, and {it} {y}."),
        2 => format!("{name_first} {x} and {y}."),
        3 if relative => format!("{name_first}, {who} {x}, {y}."),
        4 if relative => format!("{name_first}, {who} {y}, {x}."),
        5 => format!("As {} knows, {name} {x}.", random.pick(&KNOWERS)),
        6 => format!("{} {name} {x}, and that {it} {y}.", random.pick(&KNOWN)),
        7 => format!("{} {name} {x}.", random.pick(&KNOWN)),
        8 => format!("Besides, {name} {x} (and {it} {y})."),
        9 => format!("{name_first} {x}; moreover, {it} {y}."),
        10 if relative => format!("{name_first} ({who} {y}) {x}."),
        _ => format!("{} {name} {x}, {it} {y}.", random.pick(&["While", "Although", "Whereas"])),
    }
}

const KNOWERS: [&str; 6] = [
    "everyone on the road",
    "any child",
    "every traveller",
    "anyone in the valley",
    "half the valley",
    "each of the neighbours",
];
const KNOWN: [&str; 8] = [
    "It is well known that",
    "The records say that",
    "Old letters show that",
    "Nobody doubts that",
    "Travellers report that",
    "It is written that",
    "One often hears that",
    "Visitors soon learn that",
];

fn fact<const N: usize>(wordings: [String; N]) -> Fact {
    wordings.into()
}

fn of_person(index: usize, person: &Person) -> Vec<Fact> {
    let (home, trade, his) = (person.home(), person.trade, person.gender.possessive());
    let mut facts = vec![
        fact([
            format!("lives in {}", home.name),
            format!("has {his} home in {}", home.name),
            format!("is at home in the {} of {}", home.kind, home.name),
        ]),
        match trade {
            "pupil" => fact(["goes to school", "is still at school", "is a pupil"].map(String::from)),
            _ => fact([
                format!("works as {}", a(trade)),
                format!("is {} by trade", a(trade)),
                format!("earns {his} bread as {}", a(trade)),
            ]),
        },
        fact([
            format!("was born in the year {}", person.born()),
            format!("is {} years old", words(person.age)),
            format!("has seen {} winters", words(person.age)),
        ]),
        fact([
            format!("likes {}", person.likes),
            format!("is fond of {}", person.likes),
            format!("speaks warmly of {}", person.likes),
        ]),
        fact([
            format!("cannot bear {}", person.dislikes),
            format!("has little love for {}", person.dislikes),
            format!("complains about {}", person.dislikes),
        ]),
        fact([
            format!("often says, \"{}\"", person.saying),
            format!("is known for the words \"{}\"", person.saying),
            format!("likes to tell people, \"{}\"", person.saying),
        ]),
    ];
    let neighbours = PEOPLE.iter().enumerate().filter(|(other, them)| *other != index && them.home == person.home);
    facts.extend(neighbours.map(|(_, them)| {
        let (name, trade) = (them.full_name(), them.trade);
        fact([
            format!("is a neighbour of {name}"),
            format!("often meets the {trade} {name}"),
            format!("lives not far from {name}"),
        ])
    }));
    facts.extend(THINGS.iter().filter(|thing| thing.owner == index).map(|thing| {
        let (object, kept) = (format!("{} {}", thing.colour, thing.name), thing.kept);
        fact([
            format!("owns {} made of {}", a(&object), thing.material),
            format!("keeps {} {kept}", a(&object)),
            format!("has {}, which is worth {} coins", a(&object), thing.worth),
        ])
    }));
    facts.extend(ANIMALS.iter().filter(|animal| animal.owner == index).map(|animal| {
        fact([
            format!("has {} called {}", a(&format!("{} {}", animal.colour, animal.kind)), animal.name),
            format!("looks after {} the {}", animal.name, animal.kind),
            format!("shares {his} house with {} named {}", a(animal.kind), animal.name),
        ])
    }));
    facts
}

fn of_place(index: usize, place: &WorldPlace) -> Vec<Fact> {
    let mut facts = vec![
        fact([
            format!("lies on the river {}", place.river),
            format!("stands on the banks of the {}", place.river),
            format!("draws its water from the {}", place.river),
        ]),
        fact([
            format!("is known for {}", place.landmark),
            format!("is easily found by {}", place.landmark),
            format!("is proud of {}", place.landmark),
        ]),
        fact([
            format!("sells {} to all its neighbours", place.product),
            format!("lives from its {}", place.product),
            format!("is famous for its {}", place.product),
        ]),
        fact([
            format!("has {} inhabitants", place.people),
            format!("is the home of {} people", words(place.people)),
            format!("counts {} souls", words(place.people)),
        ]),
        fact([
            format!("was founded in the year {}", place.founded),
            format!("is {} years old", words(YEAR - place.founded)),
            format!("goes back to the year {}", place.founded),
        ]),
    ];
    if let Some(next) = PLACES.get(index + 1) {
        let miles = words(next.mile - place.mile);
        facts.push(fact([
            format!("lies {miles} miles before {}", next.name),
            format!("is {miles} miles from {} by road", next.name),
        ]));
    }
    if let Some(last) = index.checked_sub(1).map(|last| &PLACES[last]) {
        let miles = words(place.mile - last.mile);
        facts.push(fact([
            format!("comes {miles} miles after {}", last.name),
            format!("can be reached from {} by a walk of {miles} miles", last.name),
        ]));
    }
    facts.extend(PEOPLE.iter().filter(|person| person.home == index).map(|person| {
        let (name, trade) = (person.full_name(), person.trade);
        fact([
            format!("is where the {trade} {name} lives"),
            format!("would not be the same without {name}, the {trade}"),
            format!("is the home of {name}"),
        ])
    }));
    facts
}

fn of_thing(thing: &Thing) -> Vec<Fact> {
    let (owner, maker) = (&PEOPLE[thing.owner], &PEOPLE[thing.maker]);
    let (own, made) = (owner.full_name(), maker.full_name());
    let origin = if thing.owner == thing.maker {
        fact([format!("was made by {} own hands", s(owner.name)), format!("is {} own work", s(&made))])
    } else {
        fact([
            format!("was made by {made}"),
            format!("came from the workshop of {made}"),
            format!("is the work of the {} {made}", maker.trade),
        ])
    };
    vec![
        fact([
            format!("belongs to {own}"),
            format!("is the property of {own}"),
            format!("is owned by the {} {own}", owner.trade),
        ]),
        origin,
        fact([format!("is made of {}", thing.material), format!("consists of {}", thing.material)]),
        fact([format!("is {} in colour", thing.colour), format!("has {} colour", a(thing.colour))]),
        fact([
            format!("is worth {} coins", thing.worth),
            format!("would cost {} coins", words(thing.worth)),
            format!("has a price of {} coins", words(thing.worth)),
        ]),
        fact([
            format!("is kept {}", thing.kept),
            format!("can be found {}", thing.kept),
            format!("is usually {}", thing.kept),
        ]),
        fact([
            format!("is to be found in {}", owner.home().name),
            format!("has its place in the {} of {}", owner.home().kind, owner.home().name),
        ]),
    ]
}

fn of_animal(animal: &Animal) -> Vec<Fact> {
    let owner = &PEOPLE[animal.owner];
    let his = animal.gender.possessive();
    vec![
        fact([
            format!("belongs to {}", owner.full_name()),
            format!("lives with the {} {}", owner.trade, owner.full_name()),
            format!("follows {} everywhere", owner.full_name()),
        ]),
        fact([
            format!("is {}", a(&format!("{} {}", animal.colour, animal.kind))),
            format!("has {} that one sees from afar", a(&format!("{} {}", animal.colour, cover(animal.kind)))),
        ]),
        fact([
            format!("eats {}", animal.eats),
            format!("lives on {}", animal.eats),
            format!("would give {his} tail for {}", animal.eats),
        ]),
        fact([
            format!("sleeps {}", animal.sleeps),
            format!("has {his} bed {}", animal.sleeps),
            format!("spends the night {}", animal.sleeps),
        ]),
        fact([
            format!("is at home in {}", owner.home().name),
            format!("is known to everyone in {}", owner.home().name),
        ]),
    ]
}

fn cover(kind: &str) -> &'static str {
    match kind {
        "parrot" | "owl" => "plumage",
        "tortoise" => "shell",
        _ => "coat",
    }
}
