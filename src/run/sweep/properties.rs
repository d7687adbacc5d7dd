//! Which properties of a token a linear map reads out of the residual stream after a layer (docs/measures.md, section 7).

use std::ops::Range;

use super::visit::Visit;
use crate::backend::{Backend, Shape};
use crate::corpus::{Folds, Properties, Property};
use crate::error::Result;
use crate::job::Protocol;
use crate::replacement::swap::Replacement;
use crate::report::{LayerReport, PropertyScore, finite};
use crate::solve;
use crate::stats::bootstrap::Resamples;
use crate::workers::sums::{BlockSums, HalfFold};

/// Second moments of one layer's stream and of the classes.
pub(super) struct PropertySums<'a, B: Backend> {
    backend: &'a B,
    layer: usize,
    folds: &'a Folds,
    protocol: &'a Protocol,
    properties: &'a Properties,
    sums: BlockSums<'a, B>,
}

impl<'a, B: Backend> PropertySums<'a, B> {
    /// Empty sums.
    pub(super) fn new(
        backend: &'a B,
        layer: usize,
        folds: &'a Folds,
        protocol: &'a Protocol,
        properties: &'a Properties,
    ) -> Self {
        let sums = BlockSums::new(backend, layer, folds.len(), protocol, None);
        Self { backend, layer, folds, protocol, properties, sums }
    }

    /// Adds the rows of a batch.
    pub(super) async fn add(&mut self, part: HalfFold, windows: &Range<usize>, stream: &B::Tensor) -> Result<()> {
        if self.properties.all.is_empty() {
            return Ok(());
        }
        let shape = Shape::new(windows.len() * self.protocol.seq_len, self.properties.columns());
        let classes = self.backend.upload("classes of tokens", shape, &self.properties.targets(windows))?;
        self.sums.add((part, windows), stream, &classes).await
    }

    /// Fits the least-squares map from the stream to the classes on the training rows, counts the held-out rows where
    /// the largest output of a property is that of its class, and adds their shares to the report of the layer.
    pub(super) async fn score(
        self,
        visit: &Visit<'_, B>,
        resamples: &Resamples,
        report: &mut LayerReport,
    ) -> Result<()> {
        let Self { backend, layer, folds, protocol, properties, sums } = self;
        if properties.all.is_empty() {
            return Ok(());
        }
        let map = Replacement::affine(backend, &solve::fit_map(layer, &sums.moments().await?)?)?;
        let mut counts = vec![Count::default(); properties.all.len()];
        for rows in &visit.rows {
            let (Some(part), Some(stream)) = (rows.batch.part, &rows.next) else { continue };
            if part.fold == folds.len() - 1 {
                let outputs = map.apply(backend, &visit.store.tensor(stream)?)?;
                count(properties, protocol, &rows.batch.windows, &backend.read(&outputs).await?, &mut counts);
            }
        }
        for (property, Count { rows, right }) in properties.all.iter().zip(&counts) {
            let share = |of: f64| finite(of / rows.iter().sum::<f64>());
            let accuracy = share(right.iter().sum());
            let most_frequent = share(most_frequent(property, protocol, folds) as f64);
            report.properties.insert(property.name.into(), PropertyScore { accuracy, most_frequent });
            let found = resamples.uncertainty([right, rows], |[right, rows]| right / rows);
            report.add_uncertainty(format!("reads_{}", property.name), found);
        }
        Ok(())
    }
}

/// Held-out rows with a class, and those among them whose class was named, by window.
#[derive(Clone, Default)]
struct Count {
    rows: Vec<f64>,
    right: Vec<f64>,
}

/// Adds the rows of some windows, given their outputs.
fn count(properties: &Properties, protocol: &Protocol, windows: &Range<usize>, outputs: &[f32], counts: &mut [Count]) {
    for (at, row) in outputs.chunks_exact(properties.columns()).enumerate() {
        let place = at % protocol.seq_len;
        let mut rest = row;
        for (property, Count { rows, right }) in properties.all.iter().zip(&mut *counts) {
            let (outputs, others) = rest.split_at(property.classes);
            rest = others;
            let class = property.labels[windows.start * protocol.seq_len + at];
            let class = class.filter(|_| place >= protocol.skip_positions);
            for (sums, is_one) in [(rows, class.is_some()), (right, class == Some(largest(outputs)))] {
                if place == 0 {
                    sums.push(0.0);
                }
                if let Some(sum) = sums.last_mut() {
                    *sum += f64::from(is_one);
                }
            }
        }
    }
}

/// Held-out rows of the class that is the most frequent one in the training rows.
fn most_frequent(property: &Property, protocol: &Protocol, folds: &Folds) -> usize {
    let heldout = folds.windows(folds.len() - 1);
    let (mut train, mut held) = (vec![0_usize; property.classes], vec![0_usize; property.classes]);
    for (at, label) in property.labels.iter().enumerate() {
        if let Some(label) = label.filter(|_| at % protocol.seq_len >= protocol.skip_positions) {
            let counts = if heldout.contains(&(at / protocol.seq_len)) { &mut held } else { &mut train };
            counts[label] += 1;
        }
    }
    let most = (0..property.classes).rev().max_by_key(|class| train[*class]);
    most.map_or(0, |class| held[class])
}

/// Place of the largest value; the first of equal ones.
fn largest(values: &[f32]) -> usize {
    let mut best = 0;
    for (at, value) in values.iter().enumerate() {
        if *value > values[best] {
            best = at;
        }
    }
    best
}
