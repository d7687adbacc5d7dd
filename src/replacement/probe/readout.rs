//! The last layer of a trained network, solved again in closed form.

use serde::{Deserialize, Serialize};

use super::network::{Bilinear, Network};
use super::train::{ROWS_AT_ONCE, TrainingRows};
use crate::backend::{Activation, Backend, GramRows, GramShape, Shape};
use crate::error::Result;
use crate::job::GramMode;
use crate::platform::yielding::yield_now;
use crate::replacement::device_map::Role;
use crate::stats::moments::{Moments, Scale};

/// The features in which a network's output is linear: the input of the last layer if it has a weight, followed by its
/// products if it has a bilinear term.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Features<T> {
    before: Network<T>,
    factors: Option<Factors<T>>,
    /// `(features, inputs)` and `(features, rank)`: copy the two parts to their columns, if there are both.
    places: Option<[T; 2]>,
}

/// g(A·x) ⊙ (B·x).
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Factors<T> {
    a: T,
    b: T,
    gate: Activation,
}

impl<T> Features<T> {
    /// The same features with `make` applied to every tensor.
    pub fn map<U>(&self, make: &mut dyn FnMut(&T, Role) -> Result<U>) -> Result<Features<U>> {
        let factors = match &self.factors {
            Some(Factors { a, b, gate }) => {
                Some(Factors { a: make(a, Role::Weight)?, b: make(b, Role::Weight)?, gate: *gate })
            }
            None => None,
        };
        let places = match &self.places {
            Some([left, right]) => Some([make(left, Role::Constant)?, make(right, Role::Constant)?]),
            None => None,
        };
        let before = self.before.map(&mut |parameter| make(parameter, Role::Weight))?;
        Ok(Features { before, factors, places })
    }
}

impl<T: Clone> Features<T> {
    /// The features of `network`, which must have a layer.
    pub fn new<B: Backend<Tensor = T>>(backend: &B, network: &Network<T>) -> Result<Self> {
        let (last, before) = network.0.split_last().expect("a probe has layers");
        let places = match (&last.weight, &last.bilinear) {
            (Some(weight), Some(bilinear)) => {
                let (inputs, rank) = (backend.shape(weight).cols, backend.shape(&bilinear.a).rows);
                let all = inputs + rank;
                Some([place(backend, all, 0, inputs)?, place(backend, all, inputs, rank)?])
            }
            _ => None,
        };
        let factors = last.bilinear.clone().map(|Bilinear { a, b, gate, .. }| Factors { a, b, gate });
        Ok(Self { before: Network(before.to_vec()), factors, places })
    }

    /// Features of the rows of x, `(rows, features)`.
    pub fn of<B: Backend<Tensor = T>>(&self, backend: &B, x: &T) -> Result<T> {
        let input = match self.before.forward(backend, x)?.pop() {
            Some(trace) => backend.activation(&trace.output, Activation::Gelu)?,
            None => x.clone(),
        };
        let Some(Factors { a, b, gate }) = &self.factors else { return Ok(input) };
        let product = backend.gated(&backend.linear(&input, a, None)?, &backend.linear(&input, b, None)?, *gate)?;
        match &self.places {
            Some([left, right]) => {
                backend.add(&backend.linear(&input, left, None)?, &backend.linear(&product, right, None)?)
            }
            None => Ok(product),
        }
    }
}

/// `(all, count)`: column j is 1 in row `first` + j, else 0.
fn place<B: Backend>(backend: &B, all: usize, first: usize, count: usize) -> Result<B::Tensor> {
    let mut data = vec![0.0; all * count];
    (0..count).for_each(|j| data[(first + j) * count + j] = 1.0);
    backend.upload("place", Shape::new(all, count), &data)
}

/// Second moments of (`features` of x, target) over the training and the held-out rows. `block` is named in errors.
pub async fn moments<B: Backend>(
    backend: &B,
    block: usize,
    features: &dyn Fn(&B::Tensor) -> Result<B::Tensor>,
    table: &TrainingRows<B::Tensor>,
    sets: [&[u32]; 2],
) -> Result<[Moments; 2]> {
    let first = &sets[0][..sets[0].len().min(ROWS_AT_ONCE)];
    let rows = table.rows(backend, first)?;
    let calibration = features(&rows.x)?;
    let (d_in, d_out) = (backend.shape(&calibration).cols, backend.shape(&rows.target).cols);
    let x = Scale::from_rows(&backend.read(&calibration).await?, d_in);
    let y = Scale::from_rows(&backend.read(&rows.target).await?, d_out);
    let shape = GramShape { d_in, d_out, folds: 2, mode: GramMode::Exact };
    let mut gram = backend.gram(shape, &x, &y).await?;
    for (fold, ids) in sets.into_iter().enumerate() {
        for ids in ids.chunks(ROWS_AT_ONCE) {
            let rows = table.rows(backend, ids)?;
            let x = features(&rows.x)?;
            let first_row = ids[0] as usize;
            let rows =
                GramRows { block, fold, part: 0, first_row, x: &x, y: &rows.target, seq_len: 1, skip_positions: 0 };
            backend.accumulate(&mut gram, rows)?;
            backend.batch_end(Some(&mut gram)).await?;
            yield_now().await;
        }
    }
    let mut folds = backend.moments(gram).await?.into_iter();
    Ok([(); 2].map(|()| folds.next().expect("two folds were asked for")))
}
