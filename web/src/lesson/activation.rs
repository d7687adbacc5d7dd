//! Activations as functions of one number: the nonlinearity of a feed-forward network.

/// Slope of the cubic term in GELU's tanh form.
const CUBIC: f64 = 0.044_715;

/// One activation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activation {
    /// x·Φ(x), Φ the distribution function of the normal distribution.
    #[default]
    Gelu,
    /// GELU with tanh in place of Φ, as in GPT-2.
    GeluTanh,
    /// x times the logistic function of x.
    Silu,
    /// The positive part.
    Relu,
    /// No activation.
    Identity,
}

impl Activation {
    /// The nonlinear ones.
    pub const BENT: [Self; 4] = [Self::Gelu, Self::GeluTanh, Self::Silu, Self::Relu];

    /// Stable short name, for tests.
    pub fn id(self) -> &'static str {
        match self {
            Self::Gelu => "gelu",
            Self::GeluTanh => "gelu-tanh",
            Self::Silu => "silu",
            Self::Relu => "relu",
            Self::Identity => "identity",
        }
    }

    /// Its value at `x`.
    pub fn at(self, x: f64) -> f64 {
        match self {
            Self::Gelu => 0.5 * x * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2),
            Self::GeluTanh => {
                let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + CUBIC * x.powi(3));
                0.5 * x * (1.0 + inner.tanh())
            }
            Self::Silu => x / (1.0 + (-x).exp()),
            Self::Relu => x.max(0.0),
            Self::Identity => x,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_thirty_digit_arithmetic() {
        // mpmath, 30 digits.
        let known = [
            (Activation::Gelu, 1.0, 0.841_344_746_068_542_9),
            (Activation::Gelu, -2.0, -0.045_500_263_896_358_4),
            (Activation::GeluTanh, 1.0, 0.841_191_990_608_276_7),
            (Activation::Silu, 1.0, 0.731_058_578_630_004_9),
            (Activation::Relu, -3.0, 0.0),
            (Activation::Identity, -3.0, -3.0),
        ];
        for (activation, x, expected) in known {
            let found = activation.at(x);
            assert!((found - expected).abs() <= 1e-15, "{activation:?} at {x}: {found} where {expected} is right");
        }
    }

    #[test]
    fn each_but_the_identity_is_half_its_input_plus_something_even() {
        for activation in Activation::BENT {
            for x in [0.3, 1.7, 4.0] {
                let odd = activation.at(x) - activation.at(-x);
                assert!((odd - x).abs() <= 1e-12, "{activation:?} at {x}: {odd}");
            }
        }
    }
}
