//! Mutations of JSON: values replaced by extreme ones or by each other, removed, repeated, nested; names changed.

use serde_json::{Map, Number, Value, json};
use straightedge_random::Random;

use super::bytes;
use super::draw::{SIGNS, odd_number, pick, place};

/// Levels of the deepest nesting; readers give up at 128.
const DEEPEST: usize = 200;

/// Changes the JSON before the first zero byte, or the part after it.
pub(super) fn mutate(random: &mut Random, input: &[u8]) -> Vec<u8> {
    let end = input.iter().position(|byte| *byte == 0).unwrap_or(input.len());
    let (json, rest) = input.split_at(end);
    let Ok(mut tree) = serde_json::from_slice::<Value>(json) else {
        let mut input = input.to_vec();
        bytes::mutate(random, &mut input, Some(SIGNS));
        return input;
    };
    if !rest.is_empty() && random.below(6) == 0 {
        let mut rest = rest[1..].to_vec();
        bytes::mutate(random, &mut rest, Some(SIGNS));
        return [json, b"\0", &rest].concat();
    }
    for _ in 0..=random.below(3) {
        change(random, &mut tree);
    }
    let mut text = tree.to_string().into_bytes();
    if random.below(8) == 0 {
        long_number(random, &mut text);
    }
    [&text[..], rest].concat()
}

/// Changes a value somewhere in a tree.
pub(super) fn change(random: &mut Random, tree: &mut Value) {
    let count = count(tree);
    let other = node(tree, &mut random.below(count)).cloned().unwrap_or_default();
    let Some(value) = node(tree, &mut random.below(count)) else { return };
    match random.below(10) {
        0 | 1 => *value = extreme(random),
        2 => *value = other,
        3 => nest(random, value),
        4 => lists(random, value, other),
        5 | 6 => names(random, value, other),
        _ => tweak(random, value),
    }
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    }
}

/// The value at a position in reading order.
fn node<'a>(value: &'a mut Value, at: &mut usize) -> Option<&'a mut Value> {
    if *at == 0 {
        return Some(value);
    }
    *at -= 1;
    match value {
        Value::Array(items) => items.iter_mut().find_map(|item| node(item, at)),
        Value::Object(fields) => fields.values_mut().find_map(|field| node(field, at)),
        _ => None,
    }
}

/// A value that few readers expect.
fn extreme(random: &mut Random) -> Value {
    let known = [
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(1),
        json!(-1),
        json!(4_294_967_295_u64),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(1e308),
        json!(-1e308),
        json!(5e-324),
        json!(0.5),
        json!([]),
        json!({}),
        json!([[]]),
        json!(""),
        json!(" "),
        json!("<script>alert(1)</script>\u{202e}\u{0}"),
        json!("\u{1b}[31m\n"),
        json!("../../etc/passwd"),
    ];
    match random.below(4) {
        0 => json!(odd_number(random)),
        1 => json!(["9", "a", "\u{2581}", "é", "\u{10ffff}", "("][random.below(6)].repeat(random.below(3000))),
        _ => known[random.below(known.len())].clone(),
    }
}

/// Puts a value into many lists or objects.
fn nest(random: &mut Random, value: &mut Value) {
    let most = [3, DEEPEST][random.below(2)];
    for _ in 0..=random.below(most) {
        let inner = value.take();
        *value = if random.below(2) == 0 { json!([inner]) } else { json!({"a": inner}) };
    }
}

/// Removes, repeats, adds or shuffles the items of a list; of anything else, makes one.
fn lists(random: &mut Random, value: &mut Value, other: Value) {
    let Value::Array(items) = value else {
        *value = Value::Array(vec![value.take(); 1 + random.below(3)]);
        return;
    };
    let at = place(random, items.len());
    match random.below(5) {
        0 if !items.is_empty() => drop(items.remove(at)),
        1 if !items.is_empty() => {
            let again = vec![items[at].clone(); 1 + random.below(100)];
            items.splice(at..at, again);
        }
        2 => items.truncate(at),
        3 => random.shuffle(items),
        _ => items.insert(at, other),
    }
}

/// Removes, renames or adds a field; of anything else, makes an object.
fn names(random: &mut Random, value: &mut Value, other: Value) {
    let Value::Object(fields) = value else {
        *value = extreme(random);
        return;
    };
    let known: Vec<String> = fields.keys().cloned().collect();
    let Some(name) = pick(random, &known).cloned() else {
        *value = Value::Object(Map::from_iter([("type".to_owned(), other)]));
        return;
    };
    let new = match random.below(3) {
        0 => pick(random, &known).cloned().unwrap_or_default(),
        1 => name.repeat(2),
        _ => String::from_utf8_lossy(&text(random, &name)).into_owned(),
    };
    match random.below(3) {
        0 => drop(fields.remove(&name)),
        1 => {
            let moved = fields.remove(&name).unwrap_or_default();
            fields.insert(new, moved);
        }
        _ => drop(fields.insert(new, other)),
    }
}

/// Changes a number or a text a little; replaces all else.
fn tweak(random: &mut Random, value: &mut Value) {
    *value = match &*value {
        Value::Number(number) => tweaked(random, number),
        Value::String(found) => json!(String::from_utf8_lossy(&text(random, found))),
        Value::Bool(is_so) => json!(!is_so),
        _ => extreme(random),
    };
}

fn tweaked(random: &mut Random, number: &Number) -> Value {
    match (number.as_i64(), number.as_f64().unwrap_or_default()) {
        (Some(whole), _) if random.below(3) > 0 => match random.below(6) {
            0 => json!(whole.wrapping_add(1)),
            1 => json!(whole.wrapping_sub(1)),
            2 => json!(whole.wrapping_neg()),
            3 => json!(whole.wrapping_mul(2)),
            4 => json!(whole ^ 1 << random.below(63)),
            _ => json!(odd_number(random)),
        },
        (_, real) => match random.below(4) {
            0 => json!(-real),
            1 => json!(real * 10f64.powi(random.below(600) as i32 - 300)),
            2 => json!(f64::from_bits(real.to_bits() ^ 1 << random.below(64))),
            _ => json!(real + 0.5),
        },
    }
}

fn text(random: &mut Random, text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes::mutate(random, &mut bytes, Some(SIGNS));
    bytes
}

/// Writes a number as no writer does: with hundreds of digits or a huge exponent.
fn long_number(random: &mut Random, text: &mut Vec<u8>) {
    let digits: Vec<usize> = (0..text.len()).filter(|at| text[*at].is_ascii_digit()).collect();
    if let Some(&at) = pick(random, &digits) {
        let tail: &[u8] = [&b"e999999"[..], b"e-999999", b".0000000000000001", &[b'9'; 400]][random.below(4)];
        text.splice(at + 1..at + 1, tail.iter().copied());
    }
}
