//! Texts of the view of one block.

/// In the language in use.
pub fn t() -> &'static Texts {
    IN_USE.get()
}

catalogue! {
    Texts,

    tab: "Block",
    name: "One block in detail",
    about: "What one block computes, the linear map that replaces it, and where the two differ.",
    strip: "Blocks by R². Use the arrow keys to move between blocks.",
    strip_value: "Block {block} of {blocks}, R² {value}",
    strip_missing: "Block {block} of {blocks}, not measured",
    none_measured: "No block is measured yet. Press Measure, and the first one appears here as soon as it is finished.",
    not_measured: "Block {block} was not measured. Choose all blocks and measure again.",
    numbers: "As a table",
    over_folds: "mean {mean} (sd {deviation})",

    formula_network_name: "The network",
    formula_map_name: "The linear map",
    formula_network: "{inputs} inputs, {units} units; {parameters} weights and biases.",
    formula_map: "W is {inputs} × {outputs}, inputs × outputs; {parameters} weights and biases, solved in closed form.",
    formula_unknown: "Captured rows do not say which network produced them.",

    mechanism_label: "A block: the token’s row of the residual stream passes the norm and becomes x. The network turns x into y, which is added to the stream. The linear map turns the same x into ŷ. A scale compares one value of y with that of ŷ.",
    mechanism_token: "token",
    mechanism_row: "row {row}",
    mechanism_stream: "residual stream",
    mechanism_norm: "norm",
    mechanism_size: "{size} numbers",
    mechanism_units: "the network: {units} units",
    mechanism_scale: "one value of y and ŷ, in σ",
    mechanism_feature: "feature {feature}",
    mechanism_some_feature: "one feature",
    mechanism_values: "Row {row} of {rows} in block {block}: {feature} of y is {actual} σ, the linear map gives {predicted} σ, and {residual} σ is left.",
    mechanism_previous: "Previous row",
    mechanism_next: "Next row",
    mechanism_scatter: "Show it among all rows",
    mechanism_caption: "A held-out row of this measurement. R² compares the squares of what is left, over all rows and features, with the squares of y around its mean.",

    missing_recorded: "This recording lacks {measures} for this block. Press Measure first, and you can add them.",
    missing_opened: "This report lacks {measures} for this block. Choose its model and text, select them under Protocol, and measure here.",
    missing_detail: "This report is from a version that did not store {figures}. Measure again to get them.",
    missing_spectrum: "spectra",
    missing_scatter: "predictions",
    and: " and ",

    features_figure: "R² feature by feature",
    features_caption: "Each output feature has its own R². The whole block’s R² weights them by variance, so a few large features can dominate it.",
    features_between: "R² {from} to {to}",
    features_below: "R² below {to}",
    features_count: "features",
    features_column: "R² of the feature",
    features_all: "R² of the whole block",
    features_undefined: "{n} features do not vary on the held-out rows and have no R².",
    axis_feature_r2: "R² of the feature",

    scatter_figure: "predicted against actual",
    scatter_caption: "Values at evenly spaced held-out rows and features, each minus its feature’s mean, in standard deviations σ of the feature on the training rows. On the diagonal the prediction is exact.",
    scatter_values: "held-out values",
    scatter_equal: "exact",
    scatter_number: "Value",
    axis_actual: "actual / σ",
    axis_predicted: "predicted / σ",

    learning_figure: "R² by the number of training rows",
    learning_caption: "Fits on two different quarters, on half and on all of the training folds, scored on the same held-out rows. A map fitted on few rows also fits some of their noise, which lowers its R² elsewhere by about c·rank/(rows − rank − 1). The line is this law through the two largest sizes. Ridge regressions, shown where polynomials were measured, keep the noise small: where they lie far above, rows are few.",
    learning_fits: "fits",
    learning_ridge: "ridge regression",
    learning_law: "law",
    learning_rows: "{rows} training rows",
    learning_limit: "limit {limit}",
    learning_summary: "With many rows R² would be about {limit} ± {error}; with {ratio} training rows per input it is {r2}.",
    learning_needed: "It is within 0.005 of that from about {rows} training rows on.",
    axis_training_rows: "training rows",

    spectrum_figure: "spectrum of its inputs",
    spectrum_caption: "Eigenvalues of the inputs’ covariance and correlation matrices, largest first. Anything below the cut-off is rounding noise, which the fit leaves out; under LayerNorm that is always one direction.",
    spectrum_covariance: "covariance, raw units",
    spectrum_correlation: "correlation matrix",
    spectrum_place: "Eigenvalue {k}",
    spectrum_cut: "cut-off",
    spectrum_rank: "rank {rank}",
    axis_eigenvalue_k: "index",
    axis_eigenvalue: "λ",

    block_swaps_figure: "what each replacement costs",
    swaps_caption: "ΔPPL is the change in held-out perplexity with this one block replaced and nothing else changed.",
    replacement: "Replacement",

    block_probes_figure: "what nonlinear probes add",
    block_probes_caption: "Held-out R² of map and probe together minus that of the map alone.",
    block_probe_more: "R² {r2}, {steps} steps",
}
