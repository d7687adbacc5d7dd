//! Mutations of safetensors files: the JSON of the header, its length, and the data.

use serde_json::Value;
use straightedge_random::Random;

use super::draw::{odd_number, place};
use super::{bytes, json};

/// Changes the header, and sometimes what lies around it.
pub(super) fn mutate(random: &mut Random, input: &[u8]) -> Vec<u8> {
    let split = || {
        let (length, rest) = input.split_at_checked(8)?;
        let length = usize::try_from(u64::from_le_bytes(length.try_into().ok()?)).ok()?;
        let (header, data) = rest.split_at_checked(length)?;
        Some((serde_json::from_slice::<Value>(header).ok()?, data.to_vec()))
    };
    let Some((mut header, mut data)) = split() else {
        let mut input = input.to_vec();
        bytes::mutate(random, &mut input, None);
        return input;
    };
    match random.below(4) {
        // The offsets still fit, so that more than the header is read.
        0 => bytes_of_equal_length(random, &mut data),
        1 => shape(random, &mut header),
        2 => drop(data.split_off(place(random, data.len()))),
        _ => (0..=random.below(2)).for_each(|_| json::change(random, &mut header)),
    }
    let header = header.to_string().into_bytes();
    let length = if random.below(16) == 0 { odd_number(random) } else { header.len() as u64 };
    [&length.to_le_bytes()[..], &header, &data].concat()
}

fn bytes_of_equal_length(random: &mut Random, data: &mut [u8]) {
    for _ in 0..=random.below(4) {
        let at = place(random, data.len());
        // Values that are no numbers, and the ends of what is one.
        let value = [f32::NAN, f32::INFINITY, f32::MAX, f32::MIN_POSITIVE / 2.0, -0.0][random.below(5)];
        for (place, byte) in data.iter_mut().skip(at & !3).zip(value.to_le_bytes()) {
            *place = byte;
        }
    }
}

/// Splits or joins the sides of a shape, which leaves its number of elements or comes near it.
fn shape(random: &mut Random, header: &mut Value) {
    let Some(tensors) = header.as_object_mut() else { return };
    let at = place(random, tensors.len());
    let Some(shape) = tensors.values_mut().nth(at).and_then(|tensor| tensor.get_mut("shape")?.as_array_mut()) else {
        return;
    };
    match random.below(4) {
        0 => shape.push(1.into()),
        1 => shape.insert(0, odd_number(random).into()),
        2 => shape.reverse(),
        _ => shape.extend([0.into(), u64::MAX.into()]),
    }
}
