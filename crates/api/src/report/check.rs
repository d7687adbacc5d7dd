//! What is checked of an untrusted report beyond its types.

use serde_json::Value;

use crate::visible::visible;

/// More blocks than any model has.
const MOST_BLOCKS: usize = 10_000;

/// Most characters that an error repeats of what is wrong with a file.
const LONGEST_REASON: usize = 200;

/// A reason that may quote the file, of bounded length.
pub(super) fn shortened(why: String) -> String {
    match why.char_indices().nth(LONGEST_REASON) {
        Some((end, _)) => format!("{}…", &why[..end]),
        None => why,
    }
}

/// The value with all of its texts and names as they may be shown.
pub(super) fn visible_texts(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(visible(&text)),
        Value::Array(values) => Value::Array(values.into_iter().map(visible_texts).collect()),
        Value::Object(values) => {
            Value::Object(values.into_iter().map(|(name, value)| (visible(&name), visible_texts(value))).collect())
        }
        other => other,
    }
}

/// Refuses blocks out of order, and numbers of blocks and layers that no model of `of` blocks has: curves have a place
/// for every block up to the last.
pub(super) fn numbers(blocks: &[usize], layers: &[usize], of: usize) -> Result<(), String> {
    if blocks.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Err("blocks are not in ascending order".into());
    }
    if blocks.iter().chain(layers).chain([&of]).any(|number| *number > MOST_BLOCKS) {
        return Err(format!("no model has more than {MOST_BLOCKS} blocks"));
    }
    Ok(())
}
