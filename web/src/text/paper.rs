//! Texts of the figures of arXiv 2606.19379, with what was measured beside what was published.

/// In the language in use.
pub fn t() -> &'static Texts {
    &ENGLISH
}

catalogue! {
    Texts,

    group: "Figures 2–5 of arXiv 2606.19379",
    survey: "The survey",
    survey_about: "R² of the 36 blocks of GPT-2, Pythia 160M and Llama 160M on WikiText-2, as published, beside the demo models of the same families. The paper’s survey counts constant offsets as explained, so R² scalar is what is compared.",
    kinds: "Two kinds",
    kinds_about: "R² of the typical feature and the rank that keeps nine tenths of R²: blocks with a high R² that is one large direction’s, and blocks that are linear throughout.",
    swaps: "Swaps",
    swaps_about: "Perplexity lost with one block replaced by its line, as published on WikiText-2, beside the demo models on their own text. The scale of a loss is its model’s and its text’s.",
    curve: "What a curve adds",
    curve_about: "What a bilinear probe of rank 16 adds to the line’s R², block by block. Of the demo models probes are not recorded: order them under Protocol, and add the measurement here.",
    corpora: "Three corpora",
    corpora_about: "GPT-2 on three texts, as published: most of a profile is the model’s, not the text’s. Add the other two models by their names.",
    source: "Published values: arXiv 2606.19379, read off its figures 2 to 5.",
}
