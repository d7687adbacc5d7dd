//! Texts that say in plain words what a profile shows.

/// In the language in use.
pub fn t() -> &'static Texts {
    IN_USE.get()
}

catalogue! {
    Texts,

    numbers: "no one two three four five six seven eight nine ten eleven twelve",
    some: "{count} of {all} blocks are more than half linear",
    one: "One of {all} blocks is more than half linear",
    all: "All {all} blocks are more than half linear",
    both: "Both blocks are more than half linear",
    none: "None of the {all} blocks is more than half linear",
    single_more: "Block {block} is more than half linear (R² {value}).",
    single_less: "Block {block} is less than half linear (R² {value}).",
    ends: "; block {least} is the least linear ({low}) and block {most} the most ({high}).",
    same: "; each has an R² of {low}.",
    undefined: " R² is undefined for {blocks}.",
    undefined_one: "block {blocks}",
    undefined_many: "blocks {blocks}",
    by_r2: "From least to most linear: {order}.",
    by_loss: "By the loss when made linear, ascending: {order}.",
    alike: " ≈ joins blocks whose difference lies within its 95 % interval.",
    so_far: "So far, {done} of {all} blocks: {verdict}",
}
