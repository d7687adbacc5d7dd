//! Shortens an input that fails, as far as a bounded number of trials allows.

/// Most trials for one input.
const MOST: usize = 600;

/// The shortest input found for which `fails` is still true: pieces are left out, from halves down to single bytes.
pub fn minimise(input: &[u8], mut fails: impl FnMut(&[u8]) -> bool) -> Vec<u8> {
    let (mut shortest, mut tries) = (input.to_vec(), 0);
    let mut size = shortest.len() / 2;
    while size > 0 && tries < MOST {
        let (mut at, mut is_shorter) = (0, false);
        while at < shortest.len() && tries < MOST {
            let end = (at + size).min(shortest.len());
            let candidate = [&shortest[..at], &shortest[end..]].concat();
            tries += 1;
            if fails(&candidate) {
                (shortest, is_shorter) = (candidate, true);
            } else {
                at = end;
            }
        }
        if !is_shorter {
            size /= 2;
        }
    }
    shortest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_matter_is_left_out() {
        let input: Vec<u8> = (0..=255).collect();
        assert_eq!(minimise(&input, |found| found.contains(&7) && found.contains(&200)), [7, 200]);
        assert_eq!(minimise(b"", |_| true), b"");
    }
}
