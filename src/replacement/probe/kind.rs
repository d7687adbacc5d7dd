//! The probe architectures and their initial parameters.

use super::network::{Bilinear, Layer, Network};
use crate::backend::{Activation, Backend, Shape};
use crate::error::Result;
use crate::platform::random::Random;

/// The probes, in training order. Their places are part of the streams of random numbers that they start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// ŷ + C·((A·x̃) ⊙ (B·x̃)), the linear part ŷ frozen at the closed form.
    Poly,
    /// Linear(d → d), GELU, Linear(d → d).
    Dense2x,
    /// As `Dense2x`, with a bilinear term in both layers.
    Poly2x,
    /// As `Poly`, with four times the products.
    PolyRank64,
    /// As `Poly`, with a linear part that is trained along, from the closed form on.
    PolyJoint,
    /// ŷ + C·(gelu(A·x̃) ⊙ (B·x̃)): a unit contributes only where its gate is open.
    Gate,
}

/// What a layer adds to its bias.
#[derive(Clone, Copy, PartialEq)]
enum Terms {
    Linear,
    Bilinear,
    Both,
}

impl Kind {
    /// Those of the measure `probes`.
    pub const PROBES: [Self; 3] = [Self::Poly, Self::Dense2x, Self::Poly2x];
    /// Those of the measure `further-probes`.
    pub const FURTHER: [Self; 3] = [Self::PolyRank64, Self::PolyJoint, Self::Gate];
    /// Every probe.
    pub const ALL: [Self; 6] = [Self::Poly, Self::Dense2x, Self::Poly2x, Self::PolyRank64, Self::PolyJoint, Self::Gate];

    /// Its name in the report.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Poly => "poly",
            Self::Dense2x => "dense2x",
            Self::Poly2x => "poly2x",
            Self::PolyRank64 => "poly_rank64",
            Self::PolyJoint => "poly_joint",
            Self::Gate => "gate",
        }
    }

    /// Whether the probe is fitted to y − ŷ and added to ŷ, instead of fitted to y.
    pub const fn has_frozen_map(self) -> bool {
        matches!(self, Self::Poly | Self::PolyRank64 | Self::Gate)
    }

    /// Whether the linear part of its only layer starts at the closed form.
    pub const fn starts_at_map(self) -> bool {
        matches!(self, Self::PolyJoint)
    }

    /// Rank of a bilinear term.
    const fn rank(self) -> usize {
        match self {
            Self::PolyRank64 => 64,
            _ => 16,
        }
    }

    /// Initial parameters: weights uniform within ±1/√inputs, `C` within ±1/√rank, biases of a purely bilinear layer 0.
    pub fn initial(self, d_in: usize, d_out: usize, random: &mut Random) -> Network<Values> {
        let rank = self.rank();
        let mut layer = |outputs: usize, terms: Terms| Layer {
            weight: (terms != Terms::Bilinear).then(|| Values::uniform(outputs, d_in, d_in, random)),
            bilinear: (terms != Terms::Linear).then(|| Bilinear {
                a: Values::uniform(rank, d_in, d_in, random),
                b: Values::uniform(rank, d_in, d_in, random),
                c: Values::uniform(outputs, rank, rank, random),
                gate: if self == Self::Gate { Activation::Gelu } else { Activation::Identity },
            }),
            bias: match terms {
                Terms::Bilinear => Values::zeros(1, outputs),
                Terms::Linear | Terms::Both => Values::uniform(1, outputs, d_in, random),
            },
        };
        Network(match self {
            Self::Poly | Self::PolyRank64 | Self::Gate => vec![layer(d_out, Terms::Bilinear)],
            Self::PolyJoint => vec![layer(d_out, Terms::Both)],
            Self::Dense2x => vec![layer(d_in, Terms::Linear), layer(d_out, Terms::Linear)],
            Self::Poly2x => vec![layer(d_in, Terms::Both), layer(d_out, Terms::Both)],
        })
    }

    /// Number of weights and biases, including the frozen map; then only the map has a bias.
    pub fn parameters(self, d_in: usize, d_out: usize) -> usize {
        let linear = |outputs: usize| (d_in + 1) * outputs;
        let bilinear = |outputs: usize| self.rank() * (2 * d_in + outputs);
        match self {
            Self::Poly | Self::PolyRank64 | Self::PolyJoint | Self::Gate => linear(d_out) + bilinear(d_out),
            Self::Dense2x => linear(d_in) + linear(d_out),
            Self::Poly2x => linear(d_in) + bilinear(d_in) + linear(d_out) + bilinear(d_out),
        }
    }
}

/// A parameter on the host, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    /// Its shape.
    pub shape: Shape,
    /// Its elements.
    pub data: Vec<f32>,
}

impl Values {
    /// All zero.
    pub fn zeros(rows: usize, cols: usize) -> Self {
        Self { shape: Shape::new(rows, cols), data: vec![0.0; rows * cols] }
    }

    /// Uniform within ±1/√`inputs`, as PyTorch's `nn.Linear` draws weights and biases.
    pub fn uniform(rows: usize, cols: usize, inputs: usize, random: &mut Random) -> Self {
        let bound = (inputs as f64).sqrt().recip();
        let data = (0..rows * cols).map(|_| (bound * random.symmetric()) as f32).collect();
        Self { shape: Shape::new(rows, cols), data }
    }

    /// Copies it to the device.
    pub fn upload<B: Backend>(&self, backend: &B) -> Result<B::Tensor> {
        backend.upload("parameter", self.shape, &self.data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probes;

    #[test]
    fn every_probe_is_in_one_list_at_its_place() {
        assert_eq!([Kind::PROBES, Kind::FURTHER].concat(), Kind::ALL);
        assert_eq!(Kind::ALL.map(|kind| kind as usize), [0, 1, 2, 3, 4, 5]);
        assert_eq!(Kind::PROBES.map(Kind::name), probes::NAMES);
        assert_eq!(Kind::FURTHER.map(Kind::name), probes::FURTHER);
    }

    #[test]
    fn parameters_are_counted_as_they_are() {
        for kind in [Kind::Dense2x, Kind::Poly2x, Kind::PolyJoint] {
            let network = kind.initial(12, 7, &mut Random::new(1));
            let mut count = 0;
            network
                .map(&mut |values: &Values| {
                    count += values.data.len();
                    Ok(())
                })
                .expect("counting");
            assert_eq!(kind.parameters(12, 7), count, "{kind:?}");
        }
        // d·d + d of the map, 2·16·d of A and B, 16·d of C.
        assert_eq!(Kind::Poly.parameters(768, 768), 768 * 769 + 48 * 768);
        assert_eq!(Kind::PolyRank64.parameters(768, 768), 768 * 769 + 4 * 48 * 768);
    }

    #[test]
    fn initial_parameters_fill_their_range() {
        let network = Kind::Poly.initial(64, 64, &mut Random::new(2));
        let bilinear = network.0[0].bilinear.as_ref().expect("a bilinear term");
        for (values, bound) in [(&bilinear.a, 0.125), (&bilinear.b, 0.125), (&bilinear.c, 0.25)] {
            let largest = values.data.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
            assert!((0.98 * bound..=bound).contains(&largest), "{largest} of {bound}");
        }
        assert!(bilinear.a != bilinear.b);
    }
}
