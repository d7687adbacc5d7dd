//! Texts on differences of two numbers that were measured on the same held-out windows.

/// In the language in use.
pub fn t() -> &'static Texts {
    IN_USE.get()
}

catalogue! {
    Texts,

    rank: "rank {rank}",
    choice: "Compare two replacements:",
    first: "First replacement",
    second: "Second replacement",
    with: "with",
    figure: "Difference of ΔPPL: {name} − {first}",
    series: "{name} − {first}",
    axis: "difference of ΔPPL",
    caption: "Both losses are over the same held-out windows, so that what an easy or hard window does to both cancels. Readout and table have the 95 % interval of each difference; one that contains 0 leaves open which of the two loses more.",
    differs: "On the same held-out windows, {name} differs from {first} in {blocks}, most in {at}: by {amount} ± {half} (95 % interval of the paired difference).",
    rest: " It does not differ here in {blocks}.",
    layer: "layer {blocks}",
    layers: "layers {blocks}",
    alike: "On the same held-out windows, {name} does not differ from {first} in {blocks}.",
}
