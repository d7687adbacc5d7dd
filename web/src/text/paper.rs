//! Texts of the figures of arXiv 2606.19379, which compare measured with published values.

/// In the language in use.
pub fn t() -> &'static Texts {
    IN_USE.get()
}

catalogue! {
    Texts,

    group: "Figures 2–5 of arXiv 2606.19379",
    survey: "The survey",
    survey_about: "R² of the 36 blocks of GPT-2, Pythia 160M and Llama 160M on WikiText-2, as published, next to the demo models of the same families. The paper’s survey counts constant offsets as explained, so the comparison uses R² scalar.",
    kinds: "Two kinds",
    kinds_about: "R² of the median feature and the rank that keeps nine tenths of R². Some blocks owe a high R² to one large direction; others are linear throughout.",
    swaps: "Swaps",
    swaps_about: "Perplexity lost with one block replaced by its linear map, as published on WikiText-2, next to the demo models on their own text. How large a loss is depends on the model and the text.",
    curve: "Nonlinear gain",
    curve_about: "What a bilinear probe of rank 16 adds to the linear map’s R², block by block, as published, next to the demo models of the same families. The paper counts constant offsets as explained, so the gain is of R² scalar.",
    corpora: "Three corpora",
    corpora_about: "GPT-2 on three texts, as published: most of a profile comes from the model, not the text. Add the other two models by name.",
    source: "Published values: arXiv 2606.19379, read off its figures 2 to 5.",
}
