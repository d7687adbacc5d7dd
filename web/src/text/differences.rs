//! Texts on a repeated measurement, compared with the earlier one.

/// In the language in use.
pub fn t() -> &'static Texts {
    IN_USE.get()
}

catalogue! {
    Texts,

    heading: "Measured again: the differences",
    then: "R² before",
    now: "R² now",
    gap: "Difference",
    most: "Largest difference",
    field: "In field",
    place: "Place",
    whole: "Model",
    none: "None of the {count} numbers differs.",
    some: "Of {count} numbers, the largest difference is {most}: in {field} of {place}. Differences are relative for values above 1.",
    weights: "The weights differ from those of the report.",
    text: "The text differs from that of the report.",
    eval: "Perplexity was measured on another text.",
    feed: "The controls were fed with the rows of another model.",
    protocol: "The protocol differs from that of the report.",
    device: "Measured on {then} before and on {now} now: different hardware rounds differently.",
}
