//! The text: windows in which every token appears equally often, in random order, one window per line.

use straightedge_random::Random;

use super::design::TOKENS;

/// Tokens per window: the default protocol's `seq_len`.
pub(super) const SEQ_LEN: usize = 128;
/// Windows: 24 for training and 6 held out under five folds.
pub(super) const WINDOWS: usize = 30;
/// Characters of the tokens.
pub(super) const ALPHABET: &[u8; TOKENS] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";

/// The token ids, window after window.
pub(super) fn tokens() -> Vec<usize> {
    let mut random = Random::new(1);
    let mut tokens = Vec::with_capacity(WINDOWS * SEQ_LEN);
    for _ in 0..WINDOWS {
        let mut window: Vec<usize> = (0..SEQ_LEN).map(|position| position % TOKENS).collect();
        random.shuffle(&mut window);
        tokens.append(&mut window);
    }
    tokens
}

/// The same as text.
pub(super) fn text() -> String {
    let line = |window: &[usize]| window.iter().map(|token| char::from(ALPHABET[*token])).chain(['\n']).collect();
    tokens().chunks(SEQ_LEN).map(line).collect::<Vec<String>>().concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_window_holds_every_token_equally_often() {
        let tokens = tokens();
        assert_eq!(tokens.len(), WINDOWS * SEQ_LEN);
        for window in tokens.chunks(SEQ_LEN) {
            for token in 0..TOKENS {
                assert_eq!(window.iter().filter(|id| **id == token).count(), SEQ_LEN / TOKENS);
            }
        }
    }

    #[test]
    fn no_two_tokens_look_alike() {
        let mut letters = ALPHABET.to_vec();
        letters.sort();
        letters.dedup();
        assert_eq!(letters.len(), TOKENS);
    }
}
