//! What all mutations draw: items, positions, and numbers at which arithmetic is likely to fail.

use straightedge_random::Random;

/// Characters that mean something in a text of any of these formats.
pub(super) const SIGNS: &[u8] = b"0123456789eE+-.,:;[]{}()\"\\/ntf \t\n\r%=&#@<>_\x00\x1b\x7f\x80\xc2\xe2\xff";

/// A drawn item; `None` of nothing.
pub(super) fn pick<'a, T>(random: &mut Random, items: &'a [T]) -> Option<&'a T> {
    if items.is_empty() { None } else { items.get(random.below(items.len())) }
}

/// A position in something of `len` items, 0 in nothing.
pub(super) fn place(random: &mut Random, len: usize) -> usize {
    random.below(len.max(1))
}

/// A number at which arithmetic is likely to fail, or any.
pub(super) fn odd_number(random: &mut Random) -> u64 {
    let base = match random.below(6) {
        0 => 0,
        1 => u64::MAX,
        2 => 1 << random.below(64),
        3 => u64::from(u32::MAX),
        4 => i64::MAX as u64,
        _ => random.bits() >> random.below(64),
    };
    base.wrapping_add(random.below(5) as u64).wrapping_sub(2)
}
