//! Texts of the view that continues a prompt with two models side by side.

/// The texts of the view, in the language in use.
pub fn t() -> &'static Texts {
    &ENGLISH
}

catalogue! {
    Texts,

    tab: "Side by side",
    name: "The model with and without linear blocks",
    about: "See what R² and ΔPPL mean in practice: the model continues your prompt, side by side with the same model with some of its blocks replaced by linear maps.",

    prompt: "Prompt",
    prompt_first: "A day in",
    prompt_hint: "Both models read the prompt as it stands. Small models know few words: try those of the text they were trained on.",
    prompt_long: "Links carry prompts of up to 500 characters, so this one is left out.",
    blocks: "Blocks made linear",
    block_before: "Block ",
    block_r2: ", R² ",
    block_r2_unknown: ", R² not measured yet",
    blocks_best: "most linear",
    blocks_all: "all",
    blocks_none: "none",
    blocks_unknown: "The number of blocks is known once the model has been read. Until then, choose all or none.",
    tokens: "Tokens to add",
    sampling: "Sampling",
    sampling_greedy: "the most likely token at every step",
    sampling_drawn: "drawn at temperature {temperature}, seed {seed}",
    temperature: "Temperature",
    temperature_meaning: "0 always takes the most likely token. Above 0, tokens are drawn at random; higher values flatten the distribution.",
    seed: "Seed",
    seed_meaning: "Seed of the random draws. Both models get the same draws, so equal distributions give equal texts.",
    go: "Continue",
    again: "Continue again",
    stop: "Stop",
    blocked: "A measurement is running: wait until it finishes, or cancel it.",
    embedded: "This needs the engine, which an embedded chart does not load.",
    first_fit: "The maps of this model are measured first, only once: {stage}",

    status_idle: "Choose blocks and press Continue.",
    status_starting: "Starting",
    status_going: "Continuing the prompt …",
    status_stopped: "Stopped after {tokens}.",
    status_failed: "Failed after {tokens}.",
    status_same: "{tokens}, identical in both texts.",
    status_parted: "{tokens}; the texts diverge at token {at}.",
    status_kl: "Mean KL {kl} nats.",
    status_ppl: "Perplexity of the prompt: {original} original, {linear} linear.",

    token_one: "1 token",
    token_many: "{count} tokens",

    original: "The model",
    linear: "With linear blocks {blocks}",
    linear_one: "With block {blocks} linear",
    linear_none: "With no blocks linear",
    flow_label: "{name}: {tokens} tokens. Use the arrow keys to move between tokens.",
    token_label: "{token}, token {step}: KL {kl} nats",
    token_label_parted: "{token}, token {step}, where the model has {other}: KL {kl} nats",
    newline: "line break",
    caption: "The bar below a token is the Kullback–Leibler divergence KL(model ‖ linear) between the two next-token distributions after the model’s own text; the tallest bar is {most} nats. Dotted underline: the token differs from the model’s at the same position.",

    detail: "Token {step}",
    detail_after: "after “{text}”",
    detail_hint: "Point at a token, or move through them with the arrow keys, to see which tokens each model found likely at that position.",
    detail_kl: "KL {kl} nats · entropy {original} original, {linear} linear",
    column_token: "Next token",
    column_original: "model",
    column_linear: "linear",
    taken: "taken",

    figure_title: "KL divergence token by token",
    figure_token: "Token",
    figure_both: "{original}, linear {linear}",
    figure_parting: "the texts diverge",
    figure_caption: "KL(model ‖ linear) = Σ p·ln(p/q) over the next token, with p from the model and q from the one with linear blocks, both after the model’s own text: 0 where they agree.",
    asked: "Continuation of “{prompt}”. {blocks}; {sampling}.",

    table_step: "Token",
    table_original: "Model",
    table_linear: "Linear",
    table_kl: "KL in nats",
    table_entropy: "Entropy",
    table_entropy_linear: "Entropy, linear",
}
