//! Mutations of links: the bytes in a fragment, and the names and values of a query.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use straightedge_random::Random;

use super::bytes;
use super::draw::{SIGNS, odd_number, pick, place};

/// Bytes of the prefix of a fragment with a result.
const PREFIX: usize = "#r=1".len();

/// Changes the bytes that a fragment holds.
pub(super) fn fragment(random: &mut Random, input: &[u8]) -> Vec<u8> {
    let (prefix, code) = input.split_at(PREFIX.min(input.len()));
    let mut held = URL_SAFE_NO_PAD.decode(code).unwrap_or_default();
    bytes::mutate(random, &mut held, None);
    [prefix, URL_SAFE_NO_PAD.encode(held).as_bytes()].concat()
}

/// Changes pairs of a query: values exchanged between names, repeated, and replaced.
pub(super) fn query(random: &mut Random, input: &[u8], others: &[Vec<u8>]) -> Vec<u8> {
    let pairs = |query: &[u8]| query.split(|byte| *byte == b'&').map(<[u8]>::to_vec).collect::<Vec<_>>();
    let (mut found, more) = (pairs(input), pick(random, others).map(|other| pairs(other)).unwrap_or_default());
    for _ in 0..=random.below(4) {
        let at = place(random, found.len());
        let cut = found[at].iter().position(|byte| *byte == b'=').map_or(found[at].len(), |cut| cut + 1);
        match random.below(7) {
            0 if found.len() > 1 => drop(found.remove(at)),
            1 => found.extend(pick(random, &more).cloned()),
            2 => {
                found[at].truncate(cut);
                found[at].extend(odd_number(random).to_string().into_bytes());
            }
            3 => {
                let value = pick(random, &more).and_then(|pair| pair.split(|byte| *byte == b'=').next_back());
                let value = value.map(<[u8]>::to_vec).unwrap_or_default();
                found[at].truncate(cut);
                found[at].extend(value);
            }
            4 => {
                let value = found[at].split_off(cut);
                found[at].extend(value.repeat(1 + random.below(60)));
            }
            5 => {
                let value = found[at].split_off(cut);
                found[at].extend([&value[..], b",", &value].concat());
            }
            _ => {
                let mut value = found[at].split_off(cut);
                bytes::mutate(random, &mut value, Some(SIGNS));
                found[at].extend(value);
            }
        }
    }
    found.join(&b'&')
}
