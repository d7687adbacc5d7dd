//! Errors in the words for captured rows, which have neither model nor text.

use super::Error;

impl Error {
    /// The error for captured rows, in which nothing refers to a model or a text.
    #[must_use]
    pub fn of_rows(self) -> Self {
        match self {
            Self::TooFewWindows { corpus, tokens, seq_len, folds, .. } => Self::TooFewCaptured {
                file: corpus,
                rows: tokens,
                needed: (seq_len as u64).saturating_mul(folds as u64),
                what: format!("for {folds} folds of windows of {seq_len}"),
            },
            Self::TooFewRows { corpus, train_rows, needed } => Self::TooFewCaptured {
                file: corpus,
                rows: train_rows,
                needed: needed as u64,
                what: "outside the held-out fold to determine an affine map".into(),
            },
            Self::InvalidSetting { field, value, hint } => Self::InvalidSetting {
                field: field.replace("--seq-len", "--window"),
                value,
                hint: hint.replace("--seq-len", "--window").replace("token per", "row per"),
            },
            Self::MissingFile { file, .. } => {
                Self::MissingFile { file, hint: "give a safetensors file of captured rows".into() }
            }
            Self::MalformedWeights { file, why } => Self::MalformedRows { file, why },
            Self::TensorDtype { tensor, dtype } => Self::MalformedRows {
                file: format!("tensor {tensor}"),
                why: format!("its format is {dtype} instead of F32, F16 or BF16"),
            },
            Self::NonFiniteTensor { tensor, index } => {
                Self::MalformedRows { file: tensor, why: format!("element {index} is not finite") }
            }
            Self::NonFiniteActivation { site, row, .. } => {
                Self::NonFiniteRow { tensor: if site == "ffn_in" { "x".into() } else { "y".into() }, row }
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_captured_rows_speaks_of_rows() {
        let few = Error::TooFewWindows { corpus: "r".into(), tokens: 10, windows: 0, seq_len: 32, folds: 5 };
        let narrow = Error::TooFewRows { corpus: "r".into(), train_rows: 128, needed: 129 };
        let broken = |site: &str| Error::NonFiniteActivation { block: 0, site: site.into(), row: 7 };
        let sentences = [few, narrow, broken("ffn_in"), broken("ffn_out")].map(|error| error.of_rows().to_string());
        assert!(
            sentences[0].starts_with("r: 10 rows are too few, where 160 are needed for 5 folds"),
            "{}",
            sentences[0]
        );
        assert!(sentences[1].contains("128 rows") && sentences[1].contains("129"), "{}", sentences[1]);
        assert!(
            sentences[2].starts_with("tensor x: row 7") && sentences[3].starts_with("tensor y: row 7"),
            "{sentences:?}"
        );
        for text in sentences {
            assert!(!text.contains("text") && !text.contains("weights"), "{text}");
        }
        let window = Error::InvalidSetting {
            field: "--seq-len".into(),
            value: "0".into(),
            hint: "give at least 1 token per window".into(),
        };
        assert_eq!(window.of_rows().to_string(), "--window: 0 is not possible; give at least 1 row per window");
        let damaged = Error::MalformedWeights { file: "r".into(), why: "no header".into() }.of_rows().to_string();
        assert!(damaged.starts_with("r: not captured rows (no header)") && !damaged.contains("download"), "{damaged}");
        let doubles = Error::TensorDtype { tensor: "x".into(), dtype: "F64".into() }.of_rows().to_string();
        assert!(doubles.starts_with("tensor x: not captured rows") && doubles.contains("F64"), "{doubles}");
        assert!(!doubles.contains("weights"), "{doubles}");
        let endless =
            Error::TooFewWindows { corpus: "r".into(), tokens: 10, windows: 0, seq_len: usize::MAX, folds: 5 };
        assert!(endless.of_rows().to_string().contains(&format!("{} are needed", usize::MAX)));
        assert_eq!(Error::Cancelled.of_rows(), Error::Cancelled);
    }
}
