//! Texts on blocks and layers replaced one after another.

/// In the language in use.
pub fn t() -> &'static Texts {
    IN_USE.get()
}

catalogue! {
    Texts,

    axis_blocks: "blocks made linear",
    axis_layers: "layers replaced",

    blocks_figure: "Replacing block after block",
    blocks_caption: "Each step replaces one more block by its linear map. The first line goes by what each block costs alone. The second chooses the block anew at every step: the one that raises perplexity least now. The third also fits the maps again at every step, on the activations of the partly replaced model. The numbers next to the marks are block numbers; where lines take the same block, only the first has it.",
    by_cost: "in order of own cost",
    greedy: "cheapest at every step",
    refitted: "cheapest, maps refitted",
    step: "Block {block} also linear",
    start: "original model",
    more: "perplexity {ppl}, {times}× smaller",

    layers_figure: "Replacing layer after layer",
    layers_caption: "Each step removes one more layer, or replaces it by an affine map of the residual stream that is fitted on the partly replaced model. Each step takes the layer that raises perplexity least. The numbers next to the marks are layer numbers.",
    layer_linear: "Layer {block} also linear",
    layer_removed: "Layer {block} removed",

    healed_blocks_figure: "Half of the blocks linear, healed together",
    healed_layers_figure: "Half of the layers linear, healed together",
    healed_caption: "The line is the order with refitted maps. At half of it, all its maps are fine-tuned together through the frozen rest of the model, from the same start in two ways: towards the residual streams of the original model, without any look at the next tokens, and towards the next tokens of the training text. The error of the streams is the mean of the squared error of a row relative to its squared length, over rows and layers of the held-out windows.",
    refitted_order: "not healed",
    healed_streams: "healed towards the original streams",
    healed_tokens: "healed towards the next tokens",
    healed_at: "{count} replaced, {steps} steps",
    healed_maps: "maps",
    healed_error: "error of the streams",
    axis_replaced: "replaced",
}
