//! Strips comments from shaders at compile time: devices do not need them, and they are a third of what a page loads.

/// Concatenates shader texts without their comments; line numbers are preserved, because error messages refer to them.
macro_rules! shader_text {
    ($($text:expr),+) => {{
        const WHOLE: &[u8] = concat!($($text),+).as_bytes();
        const LEN: usize = $crate::backend::gpu::kernels::comments::without_comments::<0>(WHOLE).1;
        const LEAN: [u8; LEN] = $crate::backend::gpu::kernels::comments::without_comments(WHOLE).0;
        match str::from_utf8(&LEAN) {
            Ok(text) => text,
            Err(_) => panic!("a shader is UTF-8"),
        }
    }};
}

pub(in crate::backend::gpu) use shader_text;

/// The first `LEN` bytes of `whole` without `//` comments, and the full length of that text.
///
/// WGSL has no string literals that could contain `//`.
pub(in crate::backend::gpu) const fn without_comments<const LEN: usize>(whole: &[u8]) -> ([u8; LEN], usize) {
    let (mut kept, mut count) = ([0; LEN], 0);
    let (mut at, mut comment) = (0, false);
    while at < whole.len() {
        let begins = whole[at] == b'/' && at + 1 < whole.len() && whole[at + 1] == b'/';
        comment = whole[at] != b'\n' && (comment || begins);
        if !comment {
            if count < LEN {
                kept[count] = whole[at];
            }
            count += 1;
        }
        at += 1;
    }
    (kept, count)
}

#[cfg(test)]
mod tests {
    use super::without_comments;

    #[test]
    fn comments_go_and_lines_stay() {
        let whole = "// σ\nlet a = b / c; // of d // e\n\n  //\nreturn a;/";
        let lean = "\nlet a = b / c; \n\n  \nreturn a;/";
        let (kept, count) = without_comments::<64>(whole.as_bytes());
        assert_eq!(str::from_utf8(&kept[..count]), Ok(lean));
        assert_eq!(without_comments::<0>(whole.as_bytes()), ([], count));
    }
}
