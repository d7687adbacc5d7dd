//! Every text of the page, in one catalogue: a translation is one more [`Texts`].
//!
//! Texts with a gap write it as `{name}`. Errors and stages are told in the engine's own words.

/// The catalogue in use.
pub fn t() -> &'static Texts {
    &ENGLISH
}

macro_rules! catalogue {
    ($($name:ident: $text:literal,)*) => {
        /// All texts; each is documented by its English form.
        #[derive(Debug)]
        pub struct Texts {
            $(#[doc = $text] pub $name: &'static str,)*
        }

        static ENGLISH: Texts = Texts { $($name: $text,)* };
    };
}

catalogue! {
    title: "Straightedge",
    lead: "How much of each feed-forward block of a transformer is only a straight line? Measure it here: the model runs in your browser, and nothing leaves your machine.",
    controls: "What to measure",
    results: "Result",

    model: "Model",
    model_own: "Your own model …",
    model_folder: "Choose folder",
    model_files: "Choose files",
    model_hint: "A folder in Hugging Face layout: config.json, tokenizer.json and model.safetensors. Dropping it anywhere on this page works too.",
    model_chosen: "{name}: {files} files, {size}",
    model_loading: "Loading the list of models …",

    text: "Text",
    text_own: "The text of “{title}”",
    text_made: "Made text {corpus}",
    text_pasted: "Pasted text …",
    text_file: "Text file …",
    text_paste_label: "Paste the text here",
    text_choose: "Choose text file",
    text_hint: "Plain text, UTF-8. 15 000 rows take some 60 000 characters.",

    protocol: "Protocol",
    protocol_summary: "{rows} rows, windows of {seq_len}, {folds} folds",
    rows: "Rows",
    rows_meaning: "Tokens to run through the model; cut down to whole windows.",
    seq_len: "Tokens per window",
    seq_len_meaning: "Each window runs through the model on its own.",
    folds: "Folds",
    folds_meaning: "Contiguous parts of the text; the last one is held out for the score.",
    skip_positions: "Positions skipped",
    skip_positions_meaning: "Leading tokens of every window left out of fit and score.",
    gram: "Moments on the GPU",
    gram_exact: "exact (integer digits)",
    gram_fast: "fast (32-bit floats)",
    backend: "Compute on",
    backend_auto: "a GPU if there is one",
    backend_gpu: "the GPU, emulated ones too",
    backend_cpu: "the CPU",

    measure: "Measure",
    measure_again: "Measure again",
    cancel: "Cancel",
    drop_here: "Drop a model folder, its files, or a text file",

    device_probing: "Looking for a GPU …",
    device_gpu: "Runs on {adapter} through WebGPU: buffers up to {buffer}, bindings up to {binding}.",
    device_software: "WebGPU is only emulated here ({adapter}), so measurements run on the CPU unless you choose otherwise.",
    device_cpu: "This browser offers no WebGPU, so measurements run on the CPU.",
    device_unnamed: "a GPU",
    device_broken: "The engine could not be started.",

    status_idle: "Nothing measured yet: press Measure and watch it grow block by block.",
    status_starting: "Starting",
    status_finished: "{blocks} measured on {rows} rows in {time}, on {device}.",
    status_cancelled: "Cancelled. What was measured is kept: {blocks}.",
    status_cancelled_early: "Cancelled before the first block was done.",
    status_failed: "Stopped. What was measured is kept: {blocks}.",
    status_failed_early: "Stopped before the first block was done.",
    status_one_block: "1 block",
    status_blocks: "{blocks} blocks",
    time_left: "{time} left",
    download: "Download report",

    chart_name: "Linear recoverability by block",
    chart_axis_value: "R²_lin",
    chart_axis_block: "block",
    chart_label: "R² of each block, {known} of {blocks} measured. Arrow keys go from block to block.",
    chart_caption: "R²_lin is the share of a block’s output that the best affine map of its input predicts on held-out text: 1 is exactly linear, 0 no better than the mean. Whiskers: ± one standard deviation over the folds.",
    chart_expected: "Grey bars: known by construction.",
    chart_undefined: "Cross: undefined.",
    chart_hint: "Point at a block for its exact values, or use the arrow keys.",
    block_value: "Block {block}: R² {value}",
    block_spread: "± {spread} over the folds",
    block_undefined: "Block {block}: R² is undefined, see the warnings.",
    block_missing: "Block {block}: not measured.",
    block_title: "Made to be: {title}.",

    table_name: "All blocks in numbers",
    block: "Block",
    r2_lin: "R²_lin",
    r2_lin_meaning: "Held-out R² of the best affine map, one mean per output feature.",
    spread: "± folds",
    spread_meaning: "Standard deviation of R² over the folds, each held out in turn.",
    scalar: "R² scalar",
    scalar_meaning: "The same against one mean for all features: constant offsets count as explained, so it is never smaller.",
    median: "R² median",
    median_meaning: "Median of R² over the output features.",
    rank: "Rank",
    rank_meaning: "Input directions that the fit could use. One less than the width is normal after LayerNorm.",
    effective_rank: "Eff. rank",
    effective_rank_meaning: "Smallest rank of a map that keeps 90 % of R².",
    condition: "Condition",
    condition_meaning: "Largest over smallest eigenvalue of the input’s correlation matrix.",
    cosine: "Cosine",
    cosine_meaning: "Mean cosine of predicted and true output over held-out rows.",
    rmse: "RMSE",
    rmse_meaning: "Root of the mean squared error over held-out rows and features, in raw units.",
    expected: "Expected",
    expected_meaning: "Value known from how the model was made.",
    agrees: "agrees",
    differs: "differs",

    setting: "“{name}”",

    views: "Views of this measurement",
    block_n: "Block {block}",
    layer_n: "Layer {layer}",
    layer: "Layer",
    rank_n: "Rank {rank}",
    probe: "Probe",
    control: "Control",
    r2: "R²",
    parameters: "Parameters",
    compression: "Smaller by",
    time_original: "µs/row as it is",
    time_linear: "µs/row linear",
    in_numbers: "In numbers",
    legend: "Legend",
    figure_label: "{title}. {marks} values. Arrow keys go from value to value.",
    figure_hint: "Point at a mark for its exact values, or use the arrow keys.",
    block_choice: "Block",
    block_latest: "latest",

    axis_delta_ppl: "ΔPPL",
    axis_ppl: "perplexity",
    axis_median: "R² median",
    axis_greedy: "blocks made linear",
    axis_rank: "rank",
    axis_residual: "1 − R²_lin",
    axis_gain: "gain",
    axis_conjunction: "conjunction",
    axis_steps: "steps",
    axis_validation: "validation R²",
    axis_heldout: "held-out R²",
    axis_layer: "layer",
    axis_linearity: "linearity",
    axis_update: "update / stream",
    axis_nll: "loss",

    profile_tab: "Profile",

    losses_tab: "Losses",
    losses_name: "What the model loses",
    losses_about: "How much worse the model predicts the next token when one block is replaced by its straight line, by its mean, or by nothing.",
    losses_figure: "Loss of each block against its R²",
    losses_caption: "ΔPPL is the change of held-out perplexity with this one block replaced and nothing else changed. A block can be nearly linear and yet matter, or hardly linear and hardly matter.",
    swap_linear: "linear",
    swap_mean: "mean",
    swap_zero: "removed",
    untouched: "Perplexity of the untouched model: {ppl}.",
    third: "{third} third, mean ΔPPL: removed {removed}, linear {linear}{low_rank}{speed}.",
    third_low_rank: ", rank {rank} {loss}",
    third_speed: "; linear {times}× as fast",
    third_lower: "Lower",
    third_middle: "Middle",
    third_upper: "Upper",
    greedy_figure: "Block after block made linear, the cheapest first",
    greedy_caption: "Each step replaces one more block by its straight line. The numbers beside the marks name the block.",
    greedy_step: "Block {block} linear too",
    greedy_start: "untouched",
    greedy_more: "all feed-forward networks {times}× smaller",

    regimes_tab: "Regimes",
    regimes_name: "Two kinds of linearity",
    regimes_about: "Whether a high R² belongs to all features of a block’s output, or to a few large ones.",
    regimes_figure: "R² of the whole output against that of the typical feature",
    regimes_caption: "Right and up: linear in most features. Right and down: linear in few features that carry most of the variance. The larger a mark, the higher the effective rank.",
    regimes_more: "effective rank {rank}",

    ranks_tab: "Ranks",
    ranks_name: "How many directions it takes",
    ranks_about: "The best map of every rank: how much of a block’s output few directions already predict, and what the model loses by them.",
    ranks_figure: "R² of the best map of every rank",
    ranks_caption: "The effective rank is the smallest that keeps nine tenths of R².",
    rank_rule: "effective rank {rank}",
    rank_full: "full rank",
    rank_losses_figure: "loss by rank",
    rank_losses_caption: "ΔPPL with the block replaced by its best map of that rank.",

    probes_tab: "Probes",
    probes_name: "What a curve adds to the line",
    probes_about: "Small trained networks look for what the straight line leaves over; how much they gain, and whether they gain more where more is left.",
    probes_figure: "Gain of each probe against what the line leaves",
    probes_caption: "Gain is held-out R² of line and probe together less that of the line. poly multiplies pairs of directions, rank 16; dense2x and poly2x are two-layer networks of twice the line’s parameters.",
    probe_more: "{steps} steps",
    probe_fact: "{probe}: Pearson r = {r} over {n} blocks, median gain {median}, largest {most}.",
    conjunction_figure: "Conjunction index",
    conjunction_caption: "How much of what the network does to one half of its inputs depends on the other half: 0 for any affine map.",
    conjunction_network: "network itself",
    probe_curves_figure: "training of the probes",
    probe_curves_caption: "R² on the part of the training rows that decides when to stop.",

    baseline_tab: "Baseline",
    baseline_name: "A line that is trained instead of solved",
    baseline_about: "The same affine map trained by gradient descent from zero: how far below the closed form it stays, step by step.",
    baseline_figure: "held-out R² against steps",
    baseline_caption: "Raw inputs, as they come. What a short training does not reach is no lack of linearity.",
    baseline_fact: "{name}: {value} after {steps} steps; the closed form reaches {ceiling}.",
    baseline_overview: "All blocks: trained and solved",
    baseline_overview_caption: "What training came to at its end, beside the closed form.",
    ceiling: "closed form",
    closed_form: "closed form",
    sgd: "SGD",
    adamw: "AdamW",

    controls_tab: "Controls",
    controls_name: "Learned, or there anyway?",
    controls_about: "The same fit with weights drawn anew, with Gaussian inputs, and without the first position of each window.",
    controls_figure: "R² of each block, original and under other conditions",
    controls_caption: "Original far from the redrawn weights: the profile is learned. Gaussian inputs as linear as the real ones: it is the weights, not the data.",
    control_original: "original",
    control_first: "without first position",
    control_block: "block redrawn",
    control_model: "model redrawn",
    control_gaussian: "Gaussian inputs",
    control_cross: "another model’s inputs",
    control_matched: "the same, matched",

    layers_tab: "Layers",
    layers_name: "Whole layers",
    layers_about: "How linear the step from one layer’s residual stream to the next is, with and without the stream itself, and what the model loses without the layer.",
    layers_figure: "Linearity of each layer",
    layers_caption: "1 is a linear step. Most of it is the stream that is passed on unchanged: without it, far less is linear.",
    layer_linearity: "in-sample",
    layer_heldout: "held-out",
    layer_no_residual: "without the residual",
    layer_update: "update",
    update_figure: "Size of each layer’s update",
    update_caption: "Mean length of what a layer adds to the stream, relative to the stream.",
    layer_losses_figure: "Loss by layer",
    layer_losses_caption: "ΔPPL with the whole layer skipped, or replaced by its affine map.",
    layer_linear: "linear",
    layer_removed: "removed",

    healing_tab: "Healing",
    healing_name: "What a little training wins back",
    healing_about: "The straight line in place of a block is trained through the frozen rest of the model; the original block gets the same training for comparison.",
    healing_figure: "Loss of each block before and after healing",
    healing_caption: "Only the replaced block is trained. Where the original gains as much, it is the text that was learned, not the damage that was healed.",
    heal_before: "linear, before",
    heal_after: "linear, healed",
    heal_original: "original, trained too",
    healing_curves_figure: "loss while healing",
    healing_curves_caption: "Mean negative log-likelihood per token on the training text.",

    measure_fit: "the profile",
    measure_swap: "what each block is worth",
    measure_rank_swap: "what each rank loses",
    measure_layers: "whole layers",
    measure_probes: "the probes",
    measure_baseline: "the trained baseline",
    measure_conjunction: "the conjunction index",
    measure_controls: "the controls",
    measure_heal: "healing",
    measure_more: "Measure {measure}",
    measure_cost: "About {time} here",
    measure_keeps: "What is measured already stays, also if you cancel.",
    measure_all: "all blocks",
    measure_opened: "This report was opened from a file. Choose its model and text, and measure here to add to it.",
    refused_not_built: "This build cannot measure {measure} yet.",
    refused_encoder: "This model is an encoder and predicts no next token, so there is no perplexity to lose: {measure} cannot be measured.",

    overlay: "Lay over",
    overlay_none: "nothing",
    overlay_published: "published, {corpus}",
    overlay_metric: "Show",
    overlay_published_note: "Diamonds: published in {source}, {how}; not measured here. They count constant offsets as explained, so they are compared with R² scalar.",
    overlay_kept_note: "Diamonds: {name}.",
    overlay_value: "{name}: {value}.",
    overlay_agreement: "Over {n} blocks: Pearson {pearson}, Spearman {spearman}, mean absolute shift {shift}.",
    block_scalar: "Block {block}: R² scalar {value}.",
    open_report: "Open report",

    warnings: "To know beside the numbers",
}

/// A text with its gaps filled.
pub fn fill(text: &str, gaps: &[(&str, &str)]) -> String {
    gaps.iter().fold(text.to_string(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_filled_by_name() {
        let text = fill(t().protocol_summary, &[("rows", "1"), ("folds", "2"), ("seq_len", "3")]);
        assert_eq!(text, "1 rows, windows of 3, 2 folds");
    }
}
