//! The trainings of the measure `baseline`: the affine map by gradient descent instead of in closed form
//! (docs/measures.md, section 5).

/// One training of the affine map on raw inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaselineTraining {
    /// Plain gradient descent from zero, at the largest stable rate.
    Sgd,
    /// AdamW as PyTorch has it by default: from the random start of `nn.Linear`, at a constant rate.
    AdamwConstant,
    /// AdamW from zero, at a rate that falls to 0 along a cosine.
    Adamw,
}

impl BaselineTraining {
    /// Every training, in the order in which they run. `Adamw` runs last: a block with its curve has all curves of its
    /// version.
    pub const ALL: [Self; 3] = [Self::Sgd, Self::AdamwConstant, Self::Adamw];

    /// Name of its curve in a report: its held-out R² by steps.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sgd => "sgd",
            Self::AdamwConstant => "adamw_constant",
            Self::Adamw => "adamw",
        }
    }
}
