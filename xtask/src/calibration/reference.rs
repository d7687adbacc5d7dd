//! An independent measurement of the bundled model: a plain f64 forward pass of its files, and least squares by
//! orthogonalising the columns. Shares no formula with the construction.

use std::collections::HashMap;

use safetensors::SafeTensors;

use super::design::{HIDDEN, blocks, expected};
use super::files;
use super::text::{SEQ_LEN, WINDOWS, tokens};
use super::weights::{EPS, HEADS, directions};

type Row = Vec<f64>;

/// Input and output of one feed-forward network, one row per position.
struct Captured {
    x: Vec<Row>,
    y: Vec<Row>,
}

/// The checkpoint's tensors, as shapes and values.
struct Model(HashMap<String, (Vec<usize>, Vec<f64>)>);

impl Model {
    fn bundled() -> Self {
        let files = files::all().expect("the construction is sound");
        let (_, bytes) =
            files.iter().find(|(name, _)| name.ends_with("model.safetensors")).expect("the weights are a file");
        let checkpoint = SafeTensors::deserialize(bytes).expect("an intact file");
        let tensors = checkpoint.tensors().into_iter().map(|(name, view)| {
            let values = view.data().as_chunks::<4>().0.iter().map(|bytes| f64::from(f32::from_le_bytes(*bytes)));
            (name, (view.shape().to_vec(), values.collect()))
        });
        Self(tensors.collect())
    }

    fn values(&self, name: &str) -> &[f64] {
        &self.0[&format!("transformer.{name}")].1
    }

    /// x·W + b with W as GPT-2 stores it, (in, out).
    fn affine(&self, name: &str, x: &Row) -> Row {
        let (weight, mut y) = (self.values(&format!("{name}.weight")), self.values(&format!("{name}.bias")).to_vec());
        assert_eq!(weight.len(), x.len() * y.len());
        for (value, row) in x.iter().zip(weight.chunks(y.len())) {
            y.iter_mut().zip(row).for_each(|(y, weight)| *y += value * weight);
        }
        y
    }

    fn norm(&self, name: &str, x: &Row) -> Row {
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64;
        let (weight, bias) = (self.values(&format!("{name}.weight")), self.values(&format!("{name}.bias")));
        (0..x.len()).map(|j| (x[j] - mean) / (variance + EPS).sqrt() * weight[j] + bias[j]).collect()
    }

    fn attention(&self, name: &str, x: &[Row]) -> Vec<Row> {
        let qkv: Vec<Row> = x.iter().map(|x| self.affine(&format!("{name}.c_attn"), x)).collect();
        let width = HIDDEN / HEADS;
        let attended = (0..x.len()).map(|here| {
            let mut row = vec![0.0; HIDDEN];
            for head in 0..HEADS {
                let part = |position: usize, which: usize| &qkv[position][which * HIDDEN + head * width..][..width];
                let score = |there: usize| dot(part(here, 0), part(there, 1)) / (width as f64).sqrt();
                let weights: Row = (0..=here).map(|there| score(there).exp()).collect();
                for (there, weight) in weights.iter().enumerate() {
                    let share = weight / weights.iter().sum::<f64>();
                    row[head * width..].iter_mut().zip(part(there, 2)).for_each(|(row, value)| *row += share * value);
                }
            }
            self.affine(&format!("{name}.c_proj"), &row)
        });
        attended.collect()
    }

    fn feed_forward(&self, name: &str, x: &Row) -> Row {
        let hidden = self.affine(&format!("{name}.c_fc"), x);
        self.affine(&format!("{name}.c_proj"), &hidden.into_iter().map(gelu_new).collect())
    }

    /// Input and output of every feed-forward network over one window.
    fn forward(&self, window: &[usize]) -> Vec<Captured> {
        let embed = |(position, token): (usize, &usize)| {
            let token = &self.values("wte.weight")[token * HIDDEN..][..HIDDEN];
            add(token, &self.values("wpe.weight")[position * HIDDEN..][..HIDDEN])
        };
        let mut h: Vec<Row> = window.iter().enumerate().map(embed).collect();
        let mut captured = Vec::new();
        for block in 0..blocks().len() {
            let name = |part: &str| format!("h.{block}.{part}");
            let x: Vec<Row> = h.iter().map(|h| self.norm(&name("ln_1"), h)).collect();
            h = h.iter().zip(self.attention(&name("attn"), &x)).map(|(h, a)| add(h, &a)).collect();
            let x: Vec<Row> = h.iter().map(|h| self.norm(&name("ln_2"), h)).collect();
            let y: Vec<Row> = x.iter().map(|x| self.feed_forward(&name("mlp"), x)).collect();
            h = h.iter().zip(&y).map(|(h, y)| add(h, y)).collect();
            captured.push(Captured { x, y });
        }
        captured
    }
}

fn gelu_new(x: f64) -> f64 {
    0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh())
}

fn add(a: &[f64], b: &[f64]) -> Row {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The columns of a matrix of rows, each minus its mean.
fn centred_columns(rows: &[Row]) -> Vec<Row> {
    let column = |j: usize| {
        let mean = rows.iter().map(|row| row[j]).sum::<f64>() / rows.len() as f64;
        rows.iter().map(|row| row[j] - mean).collect()
    };
    (0..rows[0].len()).map(column).collect()
}

/// An orthonormal basis of the columns; a column adds a direction if its remainder is more than rounding.
fn basis(columns: &[Row]) -> Vec<Row> {
    let mut basis: Vec<Row> = Vec::new();
    for column in columns {
        let rest = without(&without(column, &basis), &basis);
        let norm = dot(&rest, &rest).sqrt();
        if norm > 1e-5 * dot(column, column).sqrt() && norm > 1e-9 {
            basis.push(rest.iter().map(|value| value / norm).collect());
        }
    }
    basis
}

/// The remainder of a column after its projection on a basis.
fn without(column: &Row, basis: &[Row]) -> Row {
    basis.iter().fold(column.clone(), |rest, direction| {
        let share = dot(&rest, direction);
        rest.iter().zip(direction).map(|(value, direction)| value - share * direction).collect()
    })
}

/// Smallest number of directions that hold 0.9 of the variance of the columns: eigenvalues of their Gram matrix by
/// power iteration with deflation.
fn effective_rank(mut columns: Vec<Row>) -> usize {
    let power = |columns: &[Row]| columns.iter().map(|column| dot(column, column)).sum::<f64>();
    let (whole, mut rank) = (power(&columns), 0);
    while power(&columns) > (0.1 + 1e-9) * whole {
        let mut direction = columns.iter().max_by(|a, b| dot(a, a).total_cmp(&dot(b, b))).expect("a column").clone();
        for _ in 0..200 {
            let shares: Row = columns.iter().map(|column| dot(column, &direction)).collect();
            let sum = |at: usize| columns.iter().zip(&shares).map(|(column, share)| column[at] * share).sum();
            let next: Row = (0..direction.len()).map(sum).collect();
            let norm = dot(&next, &next).sqrt();
            direction = next.iter().map(|value| value / norm).collect();
        }
        columns = columns.iter().map(|column| without(column, std::slice::from_ref(&direction))).collect();
        rank += 1;
    }
    rank
}

fn assert_near(what: &str, found: f64, expected: f64) {
    let near = (found - expected).abs() <= 1e-7;
    assert!(near, "{what}: {found} where {expected} was expected");
}

/// Two windows hold every token four times, which is all the information in the text.
#[test]
fn an_independent_forward_pass_and_fit_agree_with_the_construction() {
    let (model, tokens) = (Model::bundled(), tokens());
    let windows: Vec<_> = tokens.chunks(SEQ_LEN).take(2).map(|window| model.forward(window)).collect();
    for (index, block) in blocks().iter().enumerate() {
        let expected = expected(block, &directions());
        let rows = |side: fn(&Captured) -> &[Row]| {
            windows.iter().flat_map(|window| side(&window[index]).to_vec()).collect::<Vec<Row>>()
        };
        let x = centred_columns(&rows(|block| &block.x));
        let y = centred_columns(&rows(|block| &block.y));
        let basis = basis(&x);
        assert_eq!(basis.len(), expected.rank, "block {index}: rank");

        let varying: Vec<&Row> = y.iter().filter(|column| dot(column, column) > 0.0).collect();
        let Some(r2_lin) = expected.r2_lin else {
            assert!(varying.is_empty(), "block {index} was to return zero");
            continue;
        };
        let unexplained: Vec<Row> = varying.iter().map(|column| without(column, &basis)).collect();
        let ratio = |rest: &Row, column: &Row| dot(rest, rest) / dot(column, column);
        let whole: f64 = varying.iter().map(|column| dot(column, column)).sum();
        let lost: f64 = unexplained.iter().map(|rest| dot(rest, rest)).sum();
        assert_near(&format!("block {index}: r2_lin"), 1.0 - lost / whole, r2_lin);

        let mut features: Vec<f64> =
            unexplained.iter().zip(&varying).map(|(rest, all)| 1.0 - ratio(rest, all)).collect();
        features.sort_by(f64::total_cmp);
        let middle = features.len() / 2;
        let median = (features[middle - 1] + features[middle]) / 2.0;
        assert_near(&format!("block {index}: median"), median, expected.r2_feature_median.expect("features vary"));

        if let Some(rank) = expected.effective_rank {
            let predicted = varying
                .iter()
                .zip(&unexplained)
                .map(|(column, rest)| column.iter().zip(rest).map(|(value, rest)| value - rest).collect());
            assert_eq!(effective_rank(predicted.collect()), rank, "block {index}: effective rank");
        }
    }
}

#[test]
fn the_construction_gives_the_values_it_was_made_for() {
    let expected: Vec<_> = blocks().iter().map(|block| expected(block, &directions())).collect();
    let assert_near = |what: &str, found: Option<f64>, expected: Option<f64>| match (found, expected) {
        (Some(found), Some(expected)) => assert_near(what, found, expected),
        _ => assert_eq!(found, expected, "{what}"),
    };
    let r2_lin = [Some(1.0), Some(0.75), Some(0.0), None, Some(1.0), Some(4096.0 / (4096.0 + 47.0))];
    let median = [Some(1.0), Some(0.75), Some(0.0), None, Some(1.0), Some(0.0)];
    assert_eq!(expected.len(), r2_lin.len());
    for (index, block) in expected.iter().enumerate() {
        assert_near(&format!("block {index}: r2_lin"), block.r2_lin, r2_lin[index]);
        assert_near(&format!("block {index}: median"), block.r2_feature_median, median[index]);
    }
}

#[test]
fn the_text_is_long_enough_for_a_fit_without_reservations() {
    let train_rows = (WINDOWS - WINDOWS / 5) * SEQ_LEN;
    assert!(train_rows >= 2 * HIDDEN);
}
