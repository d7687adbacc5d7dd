//! Names of the groups of views, and the question that each measure answers.

/// In the language in use.
pub fn t() -> &'static Texts {
    IN_USE.get()
}

catalogue! {
    Texts,

    groups: "Groups of views",
    views: "Views of “{group}”",
    explore: "Explore",
    swap: "Swap",
    why: "Why",

    asks_fit: "How much of each block’s output does a linear map of its input predict?",
    asks_swap: "What does the model lose when one block is replaced by its linear map, by its mean, or by nothing?",
    asks_rank_swap: "How small may the rank of the linear map be before the model loses more?",
    asks_greedy: "How many blocks can be linear at once, if each step takes the one that costs least?",
    asks_layers: "How linear is a whole layer, with attention and the residual stream?",
    asks_prune: "How many layers can be removed or made linear, one after another?",
    asks_probes: "How much of what the linear map misses can small trained networks predict?",
    asks_further_probes: "Do more products, a linear part that is trained along, or a gate explain more of it?",
    asks_degrees: "Is what the linear map misses a sum of products of two, three or four inputs?",
    asks_baseline: "Does gradient descent find the same linear map as the closed form?",
    asks_conjunction: "Does what the linear map misses depend on pairs of inputs?",
    asks_controls: "Did training make the blocks this linear, or would any weights and inputs do?",
    asks_heal: "How much of the loss does fine-tuning the linear map recover?",
    asks_heal_together: "How much of the loss of half of the blocks, or layers, does fine-tuning all maps together recover?",

    add: "Add {measure}",
    with: "Measure with {measure}",
    cost_add: "About {time} here, the profile included. Existing results are kept, even if you cancel.",
    cost_with: "On the machine of the recording, this takes about {time}, the profile included.",
    cost_unknown: "The time is known once a profile of this model is measured.",
    measure_published: "Measure {model}",
}
