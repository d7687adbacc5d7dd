//! Texts about a result as a whole: its source, its cost, and what is missing.

use crate::text::fill;
use crate::text::format::fixed;

/// In the language in use.
pub fn t() -> &'static Texts {
    IN_USE.get()
}

/// R² from which on more than half of a block is linear.
const HALF: f64 = 0.5;

/// How many of the blocks with these R² are more than half linear; `None` without any.
pub fn finding_of(known: &[f64]) -> Option<String> {
    match known {
        [] => None,
        [only] => Some(fill(t().finding_one, &[("value", &fixed(Some(*only), 2))])),
        many => {
            let linear = many.iter().filter(|value| **value > HALF).count();
            let gaps = [("linear", linear.to_string()), ("blocks", many.len().to_string())];
            Some(fill(t().finding_many, &gaps.each_ref().map(|(name, value)| (*name, value.as_str()))))
        }
    }
}

catalogue! {
    Texts,

    about: "{model} on {text}, {when} on {device}",
    about_rows: "{model}, {when} on {device}",
    about_published: "{model}, published in arXiv 2606.19379",
    about_continuation: "{model} on {device}",
    rows_alike: "Training rows per input: {rows}.",
    rows_differ: "Training rows per input: {rows}. Fewer bias R² downwards.",
    rows_of: "{rows} for {names}",
    recorded: "recorded",
    measured: "measured",
    measured_on: "{when} {day}",

    claim: "{from}, not measured on your machine: {blocks}, {rows} rows. Measure it again to verify it.",
    claim_of_link: "From a link",
    claim_of_address: "From {address}",
    claim_replay: "Measure it again",
    claim_short: "The link holds R² with its folds, ranks and losses, not the details of each block; the sender’s report has them.",
    fetching: "Fetching a report from {address}.",
    unfetched: "{why}; its host must let other sites read it by CORS",
    busy_link: "Something is being measured here, so the result of the link is not shown. Open the link in another tab.",

    title: "{model}: {finding} – Straightedge",
    title_plain: "{model} – Straightedge",
    title_app: "Straightedge",
    finding_many: "{linear} of {blocks} blocks more than half linear",
    finding_one: "R² of its only block is {value}",

    share: "Share this result",
    share_about: "as a link, in a web page, in a paper",
    share_link: "Link",
    share_link_note: "The link itself holds the numbers of the profile: whoever opens it sees this result and can measure it again.",
    share_report_note: "The link names the report’s address: whoever opens it sees the report from there.",
    share_settings_note: "The link holds the settings. Measure first, and it holds the result too.",
    share_embed: "Embedded in a web page",
    share_cite: "Citation (BibTeX)",
    share_copy: "Copy",
    share_copy_name: "{label}: {name}",
    share_copy_link: "Copy link",
    share_copied: "Copied",
    share_not_copied: "Not copied: select it, and copy it by hand",
    cite_result: "Linearity of {model} on {text}, measured with Straightedge",
    cite_note: "{finding}. {rows} rows, {folds} folds, {device}",

    cost_here: "About {time}, going by the last measurement here.",
    cost_recorded: "On the machine of the recording, this takes about {time}.",
    cost_many: "That is {times} times the usual {usual} rows, so it takes about {times} times as long.",

    nothing_to_add_to: "Nothing is measured yet, and the link you followed locks what is measured.",
    no_such_block: "{model} has no block {block}: its blocks are 0 to {last}.",
    chart_published: "R² scalar is the share of a block’s output that the best affine map of its input predicts, against one mean for all features: constant offsets count as explained, so it is never smaller than R²_lin. The values are those that were published.",
    chart_hint_published: "Point at a block for its exact value, or use the arrow keys.",
    blocks: "blocks {blocks}: {text}",
    one_block: "block {block}: {text}",
}
