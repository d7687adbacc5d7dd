//! Texts of the view of one block.

/// In the language in use.
pub fn t() -> &'static Texts {
    &ENGLISH
}

catalogue! {
    Texts,

    tab: "Block",
    name: "One block in detail",
    about: "What one block computes, the straight line in its place, and where the two part.",
    strip: "Blocks by their R². Arrow keys go from block to block.",
    strip_value: "Block {block} of {blocks}, R² {value}",
    strip_missing: "Block {block} of {blocks}, not measured",
    none_measured: "No block is measured yet: press Measure, and the first one appears here as soon as it is done.",
    not_measured: "Block {block} is not measured. Choose all blocks, and measure again.",
    numbers: "In numbers",

    formula_network_name: "The network",
    formula_map_name: "The straight line",
    formula_network: "{inputs} inputs, {units} units; {parameters} weights and biases.",
    formula_map: "{inputs} inputs, {outputs} outputs; {parameters} weights and biases, found in closed form.",
    formula_unknown: "Captured rows do not tell which network made them.",

    missing_recorded: "This recording has nothing of {measures} for this block. Measure it here, and each can be added.",
    missing_opened: "This report has nothing of {measures} for this block. Choose its model and text, name them under Protocol, and measure here.",
    missing_detail: "This report was written before {figures} were kept: measured again, it has them.",
    missing_spectrum: "spectra",
    missing_scatter: "predictions",
    and: " and ",

    features_figure: "R² feature by feature",
    features_caption: "Each output feature has an R² of its own. The whole block’s weighs them by their variance, so that a few large features can carry it.",
    features_between: "R² {from} to {to}",
    features_below: "R² below {to}",
    features_count: "features",
    features_column: "R² of the feature",
    features_all: "R² of the whole block",
    features_undefined: "{n} features do not vary on the held-out rows and have none.",
    axis_feature_r2: "R² of the feature",

    scatter_figure: "predicted against actual",
    scatter_caption: "Values at held-out rows and features taken evenly, each less its feature’s mean, in standard deviations σ of the feature on the training rows. On the line the prediction is exact.",
    scatter_values: "held-out values",
    scatter_equal: "exact",
    scatter_number: "Value",
    axis_actual: "actual / σ",
    axis_predicted: "predicted / σ",

    spectrum_figure: "spectrum of its inputs",
    spectrum_caption: "Eigenvalues of the inputs’ covariance and of their correlation matrix, largest first. What lies below the cut is rounding, and the fit leaves it out: under LayerNorm one direction always does.",
    spectrum_covariance: "covariance, raw units",
    spectrum_correlation: "correlation matrix",
    spectrum_place: "Eigenvalue {k}",
    spectrum_cut: "cut",
    spectrum_rank: "rank {rank}",
    axis_eigenvalue_k: "place",
    axis_eigenvalue: "λ",

    block_swaps_figure: "what each replacement costs",
    swaps_caption: "ΔPPL is the change of held-out perplexity with this one block replaced and nothing else changed.",
    replacement: "Replacement",

    block_probes_figure: "what a curve adds",
    block_probes_caption: "Held-out R² of line and probe together less that of the line.",
    block_probe_more: "R² {r2}, {steps} steps",
}
