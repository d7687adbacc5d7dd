//! Texts about a result as a whole: its source, its cost, and what is missing.

/// In the language in use.
pub fn t() -> &'static Texts {
    &ENGLISH
}

catalogue! {
    Texts,

    about: "{model} on {text}, {when} on {device}",
    about_rows: "{model}, {when} on {device}",
    about_published: "{model}, published in arXiv 2606.19379",
    about_continuation: "{model} on {device}",
    recorded: "recorded",
    measured: "measured",
    measured_on: "{when} {day}",

    cost_here: "About {time}, going by the last measurement here.",
    cost_recorded: "On the machine of the recording, this takes about {time}.",
    cost_many: "That is {times} times the usual {usual} rows, and takes about {times} times as long.",

    nothing_to_add_to: "Nothing is measured yet, and the link you followed locks what is measured.",
    no_such_block: "{model} has no block {block}: its blocks are 0 to {last}.",
    chart_published: "R² scalar is the share of a block’s output that the best affine map of its input predicts, against one mean for all features: constant offsets count as explained, so it is never smaller than R²_lin. The values are those that were published.",
    chart_hint_published: "Point at a block for its exact value, or use the arrow keys.",
    blocks: "blocks {blocks}: {text}",
}
