//! Texts of the view that continues a prompt with two models side by side.

/// The texts of the view, in the language in use.
pub fn t() -> &'static Texts {
    &ENGLISH
}

catalogue! {
    Texts,

    tab: "Side by side",
    name: "The model beside its straight lines",
    about: "What R² and ΔPPL mean, seen: the model goes on with your prompt, and beside it the same model with some of its blocks replaced by their straight lines.",

    prompt: "Prompt",
    prompt_first: "A day in",
    prompt_hint: "Both read it as it stands. Small models know few words: try those of the text that they were trained on.",
    prompt_long: "A link carries 500 characters of a prompt, so that this one is in none.",
    blocks: "Blocks made linear",
    block_before: "Block ",
    block_r2: ", R² ",
    block_r2_unknown: ", R² not measured yet",
    blocks_best: "most linear",
    blocks_all: "all",
    blocks_none: "none",
    blocks_unknown: "How many blocks this model has is known once it has been read; until then all or none can be linear.",
    tokens: "Tokens to add",
    sampling: "Sampling",
    sampling_greedy: "the likeliest token at every step",
    sampling_drawn: "drawn at temperature {temperature}, seed {seed}",
    temperature: "Temperature",
    temperature_meaning: "0 takes the likeliest token; above, tokens are drawn, from flatter distributions the higher it is.",
    seed: "Seed",
    seed_meaning: "Of the draws. Both models get the same ones: equal distributions give equal texts.",
    go: "Continue",
    again: "Continue again",
    stop: "Stop",
    blocked: "Something is being measured: wait until it is done, or cancel it.",
    embedded: "This needs the engine, which an embedded chart does without.",
    first_fit: "Maps of this model are measured first, once: {stage}",

    status_idle: "Choose blocks, and continue.",
    status_starting: "Starting",
    status_going: "Going on with the prompt …",
    status_stopped: "Stopped after {tokens}.",
    status_failed: "Ended after {tokens}.",
    status_same: "{tokens}, the same in both texts.",
    status_parted: "{tokens}; the texts part at token {at}.",
    status_kl: "Mean KL {kl} nats.",
    status_ppl: "Perplexity of the prompt: {original} as it is, {linear} linear.",

    token_one: "1 token",
    token_many: "{count} tokens",

    original: "The model",
    linear: "With linear blocks {blocks}",
    linear_one: "With block {blocks} linear",
    linear_none: "With no block linear",
    flow_label: "{name}: {tokens} tokens. Arrow keys go from token to token.",
    token_label: "{token}, token {step}: KL {kl} nats",
    token_label_parted: "{token}, token {step}, where the model has {other}: KL {kl} nats",
    newline: "line end",
    caption: "The bar beneath a token is the Kullback–Leibler divergence KL(model ‖ linear) between both distributions over the next token, after the model’s own text; the tallest stands for {most} nats. Underlined with dots: tokens that differ from the model’s at the same place.",

    detail: "Token {step}",
    detail_after: "after “{text}”",
    detail_hint: "Point at a token, or go through them with the arrow keys: here you see what each model held likely at that place.",
    detail_kl: "KL {kl} nats · entropy {original} as it is, {linear} linear",
    column_token: "Next token",
    column_original: "model",
    column_linear: "linear",
    taken: "taken",

    figure_title: "How far apart the two are, token by token",
    figure_token: "Token",
    figure_both: "{original}, linear {linear}",
    figure_parting: "the texts part",
    figure_caption: "KL(model ‖ linear) = Σ p·ln(p/q) over the next token, p of the model and q of the one with linear blocks, both after the model’s own text: 0 where they agree.",
    asked: "“{prompt}” continued. {blocks}; {sampling}.",

    table_step: "Token",
    table_original: "Model",
    table_linear: "Linear",
    table_kl: "KL in nats",
    table_entropy: "Entropy",
    table_entropy_linear: "Entropy, linear",
}
