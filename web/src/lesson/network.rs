//! A feed-forward network with one input, three hidden units and one output, small enough to draw.

use super::activation::Activation;
use super::line::{Curve, Line};

/// Each unit: input weight, bias, output weight.
const UNITS: [[f64; 3]; 3] = [[2.0, 3.0, 0.6], [2.0, 0.0, -1.1], [2.0, -3.0, 0.9]];
/// Range of inputs that is drawn and fitted.
pub const INPUTS: [f64; 2] = [-3.0, 3.0];

/// The current setting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// Activation of its units.
    pub activation: Activation,
}

impl Network {
    /// Contribution of each unit to the output.
    pub fn parts(self, x: f64) -> [f64; 3] {
        UNITS.map(|[inner, bias, outer]| outer * self.activation.at(inner * x + bias))
    }

    /// The output.
    pub fn at(self, x: f64) -> f64 {
        self.parts(x).iter().sum()
    }

    /// The nearest straight line, and its R².
    pub fn line(self) -> (Line, Option<f64>) {
        let curve = Curve::over(|x| self.at(x), INPUTS[0], INPUTS[1]);
        (curve.line(), curve.r2(curve.line()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_bend_the_network_is_one_line() {
        let network = Network { activation: Activation::Identity };
        let (line, r2) = network.line();
        // Σ outer·inner and Σ outer·bias.
        assert!((line.slope - 0.8).abs() <= 1e-13 && (line.intercept + 0.9).abs() <= 1e-13, "{line:?}");
        assert!((r2.unwrap() - 1.0).abs() <= 1e-13);
    }

    #[test]
    fn with_a_bend_it_is_none() {
        let (_, r2) = Network::default().line();
        assert!(r2.unwrap() < 0.5, "{r2:?}");
    }
}
