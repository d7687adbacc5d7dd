//! Four ways to misread R², each a small example computed on demand.

mod baseline;
mod null;
mod outlier;
mod scalar;

pub use baseline::Baseline;
pub use null::Null;
pub use outlier::Outlier;
pub use scalar::Scalar;

use crate::text::lesson::l;

/// One trap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trap {
    /// One mean for all features.
    #[default]
    Scalar,
    /// One row far away from the others.
    Outlier,
    /// A direction that holds only rounding errors.
    Null,
    /// A line whose training stopped early.
    Baseline,
}

/// The settings of all traps.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Traps {
    /// The open trap.
    pub open: Trap,
    /// See [`Scalar`].
    pub scalar: Scalar,
    /// See [`Outlier`].
    pub outlier: Outlier,
    /// See [`Null`].
    pub null: Null,
    /// See [`Baseline`].
    pub baseline: Baseline,
}

impl Trap {
    /// All traps.
    pub const ALL: [Self; 4] = [Self::Scalar, Self::Outlier, Self::Null, Self::Baseline];

    /// Stable short name, for tests.
    pub fn id(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Outlier => "outlier",
            Self::Null => "null",
            Self::Baseline => "baseline",
        }
    }

    /// Its explanation.
    pub fn about(self) -> &'static str {
        match self {
            Self::Scalar => l().trap_scalar_about,
            Self::Outlier => l().trap_outlier_about,
            Self::Null => l().trap_null_about,
            Self::Baseline => l().trap_baseline_about,
        }
    }

    /// Its name on the page.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => l().trap_scalar,
            Self::Outlier => l().trap_outlier,
            Self::Null => l().trap_null,
            Self::Baseline => l().trap_baseline,
        }
    }
}

impl Traps {
    /// Whether a trap shows its effect in its present setting.
    pub fn shows(&self, trap: Trap) -> bool {
        match trap {
            Trap::Scalar => self.scalar.shows(),
            Trap::Outlier => self.outlier.shows(),
            Trap::Null => self.null.shows(),
            Trap::Baseline => self.baseline.shows(),
        }
    }

    /// Opens a trap and sets it so that it shows its effect.
    pub fn show(&mut self, trap: Trap) {
        self.open = trap;
        match trap {
            Trap::Scalar => self.scalar.offset = scalar::MOST,
            Trap::Outlier => (self.outlier.size, self.outlier.is_left_out) = (outlier::MOST, false),
            Trap::Null => self.null.keeps_all = true,
            Trap::Baseline => self.baseline.tenths = baseline::LAST,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_shows_before_it_is_touched_and_everything_can_be_shown() {
        let mut traps = Traps::default();
        for trap in Trap::ALL {
            assert!(!traps.shows(trap), "{trap:?}");
            traps.show(trap);
            assert!(traps.shows(trap) && traps.open == trap, "{trap:?}");
        }
    }
}
