//! Arithmetic with twice the digits of f64: every number is the unevaluated sum of two (Dekker 1971, Knuth's two-sum).

use std::cmp::Ordering;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// A number of about 32 decimal digits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Double {
    high: f64,
    low: f64,
}

impl Double {
    pub(crate) const ONE: Self = Self { high: 1.0, low: 0.0 };

    /// The nearest f64.
    pub(crate) fn value(self) -> f64 {
        self.high + self.low
    }

    pub(crate) fn sqrt(self) -> Self {
        if self.high <= 0.0 {
            return Self::default();
        }
        // One step of Newton's method on the root in f64.
        let root = Self::from(self.high.sqrt());
        root + (self - root * root) / (root + root)
    }

    pub(crate) fn abs(self) -> Self {
        if self.high < 0.0 { -self } else { self }
    }

    fn normal(high: f64, low: f64) -> Self {
        let sum = high + low;
        Self { high: sum, low: low - (sum - high) }
    }
}

impl From<f64> for Double {
    fn from(high: f64) -> Self {
        Self { high, low: 0.0 }
    }
}

impl PartialOrd for Double {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (*self - *other).high.partial_cmp(&0.0)
    }
}

impl Neg for Double {
    type Output = Self;

    fn neg(self) -> Self {
        Self { high: -self.high, low: -self.low }
    }
}

impl Add for Double {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let sum = self.high + other.high;
        let part = sum - self.high;
        let lost = (self.high - (sum - part)) + (other.high - part);
        Self::normal(sum, lost + self.low + other.low)
    }
}

impl Sub for Double {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Double {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let product = self.high * other.high;
        let lost = self.high.mul_add(other.high, -product);
        Self::normal(product, lost + self.high * other.low + self.low * other.high)
    }
}

impl Div for Double {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        let first = Self::from(self.high / other.high);
        let second = Self::from((self - first * other).high / other.high);
        let third = (self - (first + second) * other).high / other.high;
        first + second + Self::from(third)
    }
}

impl AddAssign for Double {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Double {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}
