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
