//! The warnings of a report as the page shows them: the same warning of several blocks is one sentence.

use std::collections::BTreeSet;

use straightedge_api::report::Warning;
use straightedge_api::visible::visible;

use crate::state::words::on_page;
use crate::text::fill;
use crate::text::format::spans;
use crate::text::result::t;

/// Advice in warnings that only the command line can follow.
const NOT_HERE: &str = ", allow more --probe-steps";

/// One sentence per distinct warning.
pub fn sentences(warnings: &[Warning]) -> Vec<String> {
    let mut groups: Vec<(&str, &str, BTreeSet<usize>)> = Vec::new();
    for warning in warnings {
        let (block, text) = parts(warning);
        match groups.iter_mut().find(|(code, known, _)| (*code, *known) == (&*warning.code, text)) {
            Some((_, _, blocks)) => blocks.extend(block),
            None => groups.push((&warning.code, text, block.into_iter().collect())),
        }
    }
    groups.into_iter().map(|(_, text, blocks)| sentence(text, &blocks)).collect()
}

/// The block that a warning's text begins with, and the rest of the text.
fn parts(warning: &Warning) -> (Option<usize>, &str) {
    let text_without_block = warning.block.and_then(|block| warning.text.strip_prefix(&format!("block {block}: ")));
    (warning.block.filter(|_| text_without_block.is_some()), text_without_block.unwrap_or(&warning.text))
}

fn sentence(text: &str, blocks: &BTreeSet<usize>) -> String {
    let text = on_page(&visible(&text.replace(NOT_HERE, "")));
    let name = spans(blocks).replace(',', ", ");
    match blocks.len() {
        0 => text,
        1 => fill(t().one_block, &[("block", &name), ("text", &text)]),
        _ => fill(t().blocks, &[("blocks", &name), ("text", &text)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn warning(code: &str, block: Option<usize>, text: &str) -> Warning {
        Warning { code: code.into(), block, text: text.into() }
    }

    #[test]
    fn what_is_said_of_many_blocks_is_said_once_and_of_one_as_it_is() {
        let few = |block| warning("few_rows", Some(block), &format!("block {block}: 90 training rows are few"));
        let mut all: Vec<_> = [0, 1, 2, 5].map(few).into();
        all.insert(1, warning("no_adapter", None, "no hardware GPU: none; measured on the CPU"));
        all.push(warning("clipped_rank", Some(3), "block 3: rank 7 where 8 is expected"));
        let expected = [
            "blocks 0-2, 5: 90 training rows are few",
            "no hardware GPU: none; measured on the CPU",
            "block 3: rank 7 where 8 is expected",
        ];
        assert_eq!(sentences(&all), expected);
    }

    #[test]
    fn no_option_of_the_command_line_is_named() {
        let text =
            "block 1: poly was still improving after 60 steps; its R² is a lower bound, allow more --probe-steps";
        let text_without_block = sentences(&[warning("probe_steps", Some(1), text)]);
        assert_eq!(text_without_block, ["block 1: poly was still improving after 60 steps; its R² is a lower bound"]);
        assert_eq!(
            sentences(&[warning("x", Some(1), "rank 3")]),
            ["rank 3"],
            "a text that does not begin with its block"
        );
    }
}
