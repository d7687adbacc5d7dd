//! A line fitted to an activation by hand: the chosen interval, and the best line on it or the visitor's own.

use super::activation::Activation;
use super::line::{Curve, Line};

/// Range of inputs drawn.
pub const INPUTS: [f64; 2] = [-5.0, 5.0];
/// Range of values drawn.
pub const VALUES: [f64; 2] = [-1.5, 5.0];
/// The shortest interval.
const SHORTEST: f64 = 0.5;
/// Grid of positions, so that the displayed value is the value used.
const RASTER: f64 = 0.05;
/// The task: an interval at least this wide whose line reaches this R².
const WIDE: f64 = 2.0;
const HIGH: f64 = 0.99;

/// A drag handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handle {
    /// Lower end of the interval.
    Low,
    /// Upper end of the interval.
    High,
    /// Height of the visitor's line at the lower end.
    OwnLow,
    /// Height of the visitor's line at the upper end.
    OwnHigh,
}

/// The current setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hand {
    /// The curve.
    pub activation: Activation,
    /// Ends of the interval.
    pub interval: [f64; 2],
    /// Heights of the visitor's line at these ends; `None` shows the best line.
    pub own: Option<[f64; 2]>,
}

impl Default for Hand {
    fn default() -> Self {
        Self { activation: Activation::Gelu, interval: [-3.0, 3.0], own: None }
    }
}

impl Handle {
    /// Stable short name, for tests.
    pub fn id(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::High => "high",
            Self::OwnLow => "own-low",
            Self::OwnHigh => "own-high",
        }
    }

    /// Whether it moves vertically.
    pub fn is_upright(self) -> bool {
        matches!(self, Self::OwnLow | Self::OwnHigh)
    }

    /// The position a key moves it to; `None` for keys without effect.
    pub fn step(self, key: &str, from: f64) -> Option<f64> {
        let ends = if self.is_upright() { VALUES } else { INPUTS };
        Some(match key {
            "ArrowRight" | "ArrowUp" => from + 2.0 * RASTER,
            "ArrowLeft" | "ArrowDown" => from - 2.0 * RASTER,
            "PageUp" => from + 10.0 * RASTER,
            "PageDown" => from - 10.0 * RASTER,
            "Home" => ends[0],
            "End" => ends[1],
            _ => return None,
        })
    }
}

impl Hand {
    /// The curve's moments on the interval.
    fn curve(&self) -> Curve {
        Curve::over(|x| self.activation.at(x), self.interval[0], self.interval[1])
    }

    /// The best line on the interval, and its R².
    pub fn best(&self) -> (Line, Option<f64>) {
        let curve = self.curve();
        (curve.line(), curve.r2(curve.line()))
    }

    /// The line that is shown, and its R².
    pub fn shown(&self) -> (Line, Option<f64>) {
        let curve = self.curve();
        let own = self.own.and_then(|[low, high]| Line::through([self.interval[0], low], [self.interval[1], high]));
        let line = own.unwrap_or_else(|| curve.line());
        (line, curve.r2(line))
    }

    /// Position of a handle.
    pub fn place(&self, handle: Handle) -> f64 {
        let own = |at: usize| self.own.map_or(0.0, |own| own[at]);
        match handle {
            Handle::Low => self.interval[0],
            Handle::High => self.interval[1],
            Handle::OwnLow => own(0),
            Handle::OwnHigh => own(1),
        }
    }

    /// Moves a handle within its limits.
    pub fn drag(&mut self, handle: Handle, to: f64) {
        let [low, high] = self.interval;
        match handle {
            Handle::Low => self.interval[0] = on_raster(to, [INPUTS[0], high - SHORTEST]),
            Handle::High => self.interval[1] = on_raster(to, [low + SHORTEST, INPUTS[1]]),
            Handle::OwnLow | Handle::OwnHigh => {
                if let Some(own) = &mut self.own {
                    own[usize::from(handle == Handle::OwnHigh)] = on_raster(to, VALUES);
                }
            }
        }
    }

    /// Starts the visitor's own line, level at first, or returns to the best one.
    pub fn take(&mut self, is_own: bool) {
        let level = (self.curve().line().at(f64::midpoint(self.interval[0], self.interval[1]))).clamp(0.0, 4.0);
        let level = on_raster(level, VALUES);
        self.own = is_own.then_some([level, level]);
    }

    /// Whether the task is solved: the best line of a wide enough interval explains nearly everything.
    pub fn is_straight(&self) -> bool {
        let [low, high] = self.interval;
        high - low >= WIDE - RASTER / 2.0 && self.best().1.is_some_and(|r2| r2 >= HIGH)
    }

    /// Sets an interval that solves the task.
    pub fn straighten(&mut self) {
        *self = Self { activation: self.activation, interval: [0.5, 4.0], own: None };
    }
}

/// The nearest grid position within bounds; NaN becomes the lower bound.
fn on_raster(value: f64, [low, high]: [f64; 2]) -> f64 {
    let rounded = (value.max(low).min(high) / RASTER).round() * RASTER;
    // Multiples of 0.05 have two decimals: the displayed value is the value used.
    (rounded * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_stay_on_the_raster_apart_from_each_other_and_within_the_picture() {
        let mut hand = Hand::default();
        hand.drag(Handle::Low, -1.234);
        assert_eq!(hand.interval, [-1.25, 3.0]);
        hand.drag(Handle::Low, 9.0);
        assert_eq!(hand.interval, [2.5, 3.0]);
        hand.drag(Handle::High, -9.0);
        assert_eq!(hand.interval, [2.5, 3.0]);
        hand.drag(Handle::High, f64::INFINITY);
        assert_eq!(hand.interval, [2.5, 5.0]);
        hand.drag(Handle::Low, f64::NAN);
        assert_eq!(hand.interval, [-5.0, 5.0]);
        hand.drag(Handle::OwnLow, 1.0);
        assert_eq!(hand.own, None, "there is no own line to drag");
    }

    #[test]
    fn keys_move_by_a_tenth_by_a_half_and_to_the_ends() {
        let close = |found: Option<f64>, expected: f64| assert!((found.unwrap() - expected).abs() <= 1e-12);
        close(Handle::Low.step("ArrowRight", 1.0), 1.1);
        close(Handle::OwnLow.step("PageDown", 1.0), 0.5);
        close(Handle::High.step("Home", 1.0), -5.0);
        close(Handle::OwnHigh.step("End", 1.0), 5.0);
        assert_eq!(Handle::Low.step("Tab", 1.0), None);
    }

    #[test]
    fn an_own_line_is_never_better_than_the_best() {
        let mut hand = Hand::default();
        hand.take(true);
        let level = hand.shown().1.unwrap();
        assert!(level <= 1e-3, "a level line explains nothing: {level}");
        hand.drag(Handle::OwnHigh, 2.2);
        hand.drag(Handle::OwnLow, -0.8);
        let (line, own) = hand.shown();
        let (_, best) = hand.best();
        assert!(own.unwrap() < best.unwrap() && own.unwrap() > 0.7, "{own:?} {best:?}");
        assert!((line.slope - 0.5).abs() <= 1e-12, "{line:?}");
        hand.take(false);
        assert_eq!(hand.shown().1, best);
    }

    #[test]
    fn the_task_is_reached_on_one_side_of_the_bend_and_not_across_it() {
        for activation in Activation::BENT {
            let mut hand = Hand { activation, ..Hand::default() };
            assert!(!hand.is_straight(), "{activation:?}");
            hand.interval = [3.0, 3.5];
            assert!(!hand.is_straight(), "too short");
            hand.straighten();
            assert!(hand.is_straight(), "{activation:?}");
        }
    }
}
