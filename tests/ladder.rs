//! Captured rows of ever harder kinds: far offsets, scales from subnormal to the end of f32, heavy tails, constant and
//! nearly constant columns, as few rows as possible. Every number is that of the same definition in double-double
//! arithmetic, or the report says that it cannot be known.

mod common;

use std::ops::Range;
use std::rc::Rc;

use common::double::Double;
use common::synthetic::{f32s, safetensors};
use futures::StreamExt;
use futures::executor::block_on;
use straightedge::event::{Event, Recorder};
use straightedge::job::{BackendChoice, Job};
use straightedge::platform::random::Random;
use straightedge::report::{BlockReport, Report};
use straightedge::run::{self, RowsInputs};
use straightedge::solve::TAU;
use straightedge::weights::MemoryFiles;

const D: usize = 6;
const OUT: usize = 3;
const ROWS: usize = 320;
/// Share of a column's largest magnitude below which its deviation counts as rounding.
const CONSTANT: f64 = 1.0 / (1 << 22) as f64;
/// The digits that are promised.
const DIGITS: f64 = 1e-6;

/// Captured rows.
#[derive(Clone)]
struct Rows {
    x: Vec<f32>,
    y: Vec<f32>,
    window: usize,
    folds: usize,
}

impl Rows {
    /// Normal x, and a y that an affine map explains to about three quarters.
    fn new(n: usize, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let weight: Vec<f64> = (0..D * OUT).map(|_| random.normal() / 2.5).collect();
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for _ in 0..n {
            let row: Vec<f64> = (0..D).map(|_| random.normal()).collect();
            for weights in weight.chunks(D) {
                let dot: f64 = row.iter().zip(weights).map(|(x, w)| x * w).sum();
                y.push((dot + 0.5 * random.normal()) as f32);
            }
            x.extend(row.into_iter().map(|x| x as f32));
        }
        Self { x, y, window: 4, folds: 5 }
    }

    fn map(mut self, side: Side, change: impl Fn(usize, usize, f64) -> f64) -> Self {
        let changed = |values: &mut Vec<f32>, cols: usize| {
            for (at, value) in values.iter_mut().enumerate() {
                let found = change(at / cols, at % cols, f64::from(*value));
                *value = found.clamp(-f64::from(f32::MAX), f64::from(f32::MAX)) as f32;
            }
        };
        if side != Side::Y {
            changed(&mut self.x, D);
        }
        if side != Side::X {
            changed(&mut self.y, OUT);
        }
        self
    }

    fn rows_of_fold(&self, fold: usize) -> Range<usize> {
        let start = |fold: usize| fold * (self.len() / self.window) / self.folds * self.window;
        start(fold)..start(fold + 1)
    }

    fn len(&self) -> usize {
        self.x.len() / D
    }

    fn measured(&self) -> Report {
        let n = self.len();
        let bytes = safetensors(&[f32s("x", &[n, D], &self.x), f32s("y", &[n, OUT], &self.y)]);
        let mut job = Job::new("rows", "rows");
        (job.protocol.seq_len, job.protocol.rows, job.protocol.folds) = (self.window, n, self.folds);
        job.backend = BackendChoice::Cpu;
        let files = MemoryFiles::default().with("rows.safetensors", bytes);
        let mut events = run::fit(job, RowsInputs::new(Rc::new(files), "rows.safetensors"));
        let mut recorder = Recorder::default();
        block_on(async {
            while let Some(event) = events.next().await {
                assert!(!matches!(event, Event::Failed(_)), "{event:?}");
                recorder.record(&event);
            }
        });
        recorder.into_report().expect("a report")
    }
}

/// What a rung changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    X,
    Y,
    Both,
}

const SIDES: [Side; 3] = [Side::X, Side::Y, Side::Both];

/// The numbers of docs/measures.md, section 2, in double-double arithmetic.
struct Expected {
    r2_folds: Vec<Option<f64>>,
    r2_scalar: Option<f64>,
    median: Option<f64>,
    rmse: f64,
    /// Root of the held-out variance per element.
    spread: f64,
    cosine: f64,
    rank: usize,
}

type Matrix = Vec<Vec<Double>>;

fn rows_of(values: &[f32], cols: usize) -> Matrix {
    values.chunks(cols).map(|row| row.iter().map(|&value| Double::from(f64::from(value))).collect()).collect()
}

fn means(rows: &[Vec<Double>]) -> Vec<Double> {
    let n = Double::from(rows.len() as f64);
    (0..rows[0].len()).map(|j| rows.iter().map(|row| row[j]).sum::<Double>() / n).collect()
}

/// The affine map of some rows.
struct Map {
    mean_x: Vec<Double>,
    mean_y: Vec<Double>,
    weight: Matrix,
    rank: usize,
}

impl Map {
    fn new(x: &[Vec<Double>], y: &[Vec<Double>]) -> Self {
        let (mean_x, mean_y, n) = (means(x), means(y), Double::from(x.len() as f64));
        let mean = |term: &dyn Fn(usize) -> Double| (0..x.len()).map(term).sum::<Double>() / n;
        let off = |row: usize, j: usize| x[row][j] - mean_x[j];
        let deviation: Vec<Double> = (0..D).map(|j| mean(&|row| off(row, j) * off(row, j)).sqrt()).collect();
        let largest = |j: usize| x.iter().map(|row| row[j].abs().value()).fold(0.0, f64::max);
        let active: Vec<usize> = (0..D).filter(|&j| deviation[j].value() > CONSTANT * largest(j)).collect();
        let scaled = |row: usize, j: usize| off(row, j) / deviation[j];
        let correlation = |&i: &usize| active.iter().map(|&j| mean(&|row| scaled(row, i) * scaled(row, j))).collect();
        let correlation: Matrix = active.iter().map(correlation).collect();
        let cross = |&i: &usize| (0..OUT).map(|f| mean(&|row| scaled(row, i) * (y[row][f] - mean_y[f]))).collect();
        let cross: Matrix = active.iter().map(cross).collect();
        let (eigenvalues, vectors) = jacobi(correlation);
        let top = eigenvalues.iter().map(|value| value.value()).fold(0.0, f64::max);
        let kept: Vec<usize> = (0..active.len()).filter(|&k| eigenvalues[k].value() > TAU * top).collect();
        let mut weight = vec![vec![Double::default(); OUT]; D];
        for &k in &kept {
            for f in 0..OUT {
                let along: Double = (0..active.len()).map(|i| vectors[i][k] * cross[i][f]).sum();
                for (i, &j) in active.iter().enumerate() {
                    weight[j][f] += vectors[i][k] * along / eigenvalues[k] / deviation[j];
                }
            }
        }
        Self { mean_x, mean_y, weight, rank: kept.len() }
    }

    fn predicted(&self, x: &[Double]) -> Vec<Double> {
        let term = |j: usize, f: usize| (x[j] - self.mean_x[j]) * self.weight[j][f];
        (0..OUT).map(|f| self.mean_y[f] + (0..D).map(|j| term(j, f)).sum::<Double>()).collect()
    }
}

/// Eigenvalues and eigenvectors, in columns, of a symmetric matrix by Jacobi's rotations.
fn jacobi(mut a: Matrix) -> (Vec<Double>, Matrix) {
    let d = a.len();
    let mut v: Matrix = (0..d).map(|i| (0..d).map(|j| Double::from(f64::from(u8::from(i == j)))).collect()).collect();
    for _ in 0..40 {
        for p in 0..d {
            for q in p + 1..d {
                if a[p][q].abs().value() <= 1e-40 {
                    continue;
                }
                let theta = (a[q][q] - a[p][p]) / (a[p][q] + a[p][q]);
                let sign = if theta.value() < 0.0 { -Double::ONE } else { Double::ONE };
                let t = sign / (theta.abs() + (theta * theta + Double::ONE).sqrt());
                let c = Double::ONE / (t * t + Double::ONE).sqrt();
                let s = t * c;
                for row in a.iter_mut().chain(&mut v) {
                    (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
                }
                let (first, second) = (a[p].clone(), a[q].clone());
                let turned = |c: Double, s: Double| first.iter().zip(&second).map(|(x, y)| c * *x + s * *y).collect();
                (a[p], a[q]) = (turned(c, -s), turned(s, c));
            }
        }
    }
    ((0..d).map(|i| a[i][i]).collect(), v)
}

fn expected(rows: &Rows) -> Expected {
    let n = rows.len() / rows.window * rows.window;
    let (x, y) = (rows_of(&rows.x[..n * D], D), rows_of(&rows.y[..n * OUT], OUT));
    let square = |value: Double| value * value;
    let mut found =
        Expected { r2_folds: Vec::new(), r2_scalar: None, median: None, rmse: 0.0, spread: 0.0, cosine: 0.0, rank: 0 };
    for fold in 0..rows.folds {
        let held = rows.rows_of_fold(fold);
        let train = |of: &Matrix| [&of[..held.start], &of[held.end..n]].concat();
        let map = Map::new(&train(&x), &train(&y));
        let (x, y) = (&x[held.clone()], &y[held.clone()]);
        let own = means(y);
        let predicted: Vec<Vec<Double>> = x.iter().map(|x| map.predicted(x)).collect();
        let errors: Vec<Double> =
            (0..OUT).map(|f| y.iter().zip(&predicted).map(|(y, p)| square(y[f] - p[f])).sum::<Double>()).collect();
        let totals: Vec<Double> = (0..OUT).map(|f| y.iter().map(|y| square(y[f] - own[f])).sum::<Double>()).collect();
        let (error, total) = (errors.iter().copied().sum::<Double>(), totals.iter().copied().sum::<Double>());
        let r2 = |error: Double, total: Double| (total.value() > 0.0).then(|| (Double::ONE - error / total).value());
        found.r2_folds.push(r2(error, total));
        if fold + 1 < rows.folds {
            continue;
        }
        let count = Double::from((y.len() * OUT) as f64);
        let grand = own.iter().copied().sum::<Double>() / Double::from(OUT as f64);
        let scalar = y.iter().flatten().map(|y| square(*y - grand)).sum::<Double>();
        found.r2_scalar = r2(error, scalar);
        let varies =
            |f: usize| (totals[f] / Double::from(y.len() as f64)).sqrt().value() > CONSTANT * own[f].abs().value();
        let mut features: Vec<f64> = (0..OUT).filter(|&f| varies(f)).filter_map(|f| r2(errors[f], totals[f])).collect();
        features.sort_by(f64::total_cmp);
        let middle = features.len() / 2;
        found.median = match features.len() {
            0 => None,
            odd if odd % 2 == 1 => Some(features[middle]),
            _ => Some(f64::midpoint(features[middle - 1], features[middle])),
        };
        (found.rmse, found.spread) = ((error / count).sqrt().value(), (total / count).sqrt().value());
        let dot = |a: &[Double], b: &[Double]| a.iter().zip(b).map(|(a, b)| *a * *b).sum::<Double>();
        let cosine = |(y, p): (&Vec<Double>, &Vec<Double>)| {
            let lengths = dot(y, y).sqrt() * dot(p, p).sqrt();
            if lengths.value() > 0.0 { (dot(y, p) / lengths).value() } else { 0.0 }
        };
        found.cosine = y.iter().zip(&predicted).map(cosine).sum::<f64>() / y.len() as f64;
        found.rank = map.rank;
    }
    found
}

/// How far R² and rmse may be off, as a warning says.
fn stated(report: &Report) -> Option<f64> {
    let warning = report.warnings.iter().find(|warning| warning.code.ends_with("_digits"))?;
    let Some((_, after)) = warning.text.split_once("may be off by ") else { return Some(f64::INFINITY) };
    Some(after.split(' ').next().unwrap_or_default().parse().expect("a number"))
}

/// What is wrong with a rung, if anything.
fn faults(rows: &Rows) -> (Vec<String>, Vec<String>) {
    let (report, expected) = (rows.measured(), expected(rows));
    let codes: Vec<String> = report.warnings.iter().map(|warning| warning.code.clone()).collect();
    let warned = |code: &str| codes.iter().any(|found| found == code);
    let block: &BlockReport = &report.blocks[0];
    let stated = stated(&report);
    let digits = stated.unwrap_or_default().max(DIGITS);
    let mut faults = Vec::new();
    let mut check = |name: &str, found: Option<f64>, expected: Option<f64>, digits: f64| match (found, expected) {
        (None, None) => {}
        // Nothing is known, or said.
        _ if digits.is_infinite() => {}
        (None, _) if digits > DIGITS => {}
        (Some(a), Some(b)) if (a - b).abs() <= digits * b.abs().max(1.0) => {}
        _ => faults.push(format!("{name}: {found:?} where {expected:?} is right")),
    };
    for (fold, (found, expected)) in block.r2_folds.iter().zip(&expected.r2_folds).enumerate() {
        check(&format!("fold {fold}"), *found, *expected, digits);
    }
    check("r2_lin", block.r2_lin, expected.r2_folds[rows.folds - 1], digits);
    check("r2_lin_scalar", block.r2_lin_scalar, expected.r2_scalar, digits);
    // The mean squared error is right to so many digits of the variance.
    let share = |rmse: f64| (rmse / expected.spread).powi(2);
    if expected.spread > 0.0 {
        check("rmse", block.rmse.map(share), Some(share(expected.rmse)), digits);
    }
    if stated.is_none() {
        check("median", block.r2_feature_median, expected.median, DIGITS);
        check("rank", Some(block.rank as f64), Some(expected.rank as f64), 0.0);
    }
    if !warned("no_cosine") && block.r2_lin.is_some() {
        // What moves the squared error turns the prediction by up to its root.
        check("cosine", block.cosine, Some(expected.cosine), stated.map_or(DIGITS, f64::sqrt));
    }
    if block.cosine.is_some_and(|cosine| !(-1.0..=1.0).contains(&cosine)) {
        faults.push(format!("cosine is {:?}", block.cosine));
    }
    if block.rank < D && !warned("clipped_rank") {
        faults.push(format!("rank {} without a warning", block.rank));
    }
    if block.r2_lin.is_none() && !warned("no_variance") {
        faults.push("no R² without a warning".into());
    }
    (faults, codes)
}

/// Climbs rungs, and fails with everything that is wrong on any: calm ones have no warning, `most` may lose digits.
fn climb(rungs: impl IntoIterator<Item = (String, Rows)>, calm: impl Fn(&str) -> bool, most: usize) {
    let (mut all, mut lost) = (Vec::new(), 0);
    for (name, rows) in rungs {
        let (faults, codes) = faults(&rows);
        lost += usize::from(codes.iter().any(|code| code.ends_with("_digits")));
        all.extend(faults.into_iter().map(|fault| format!("{name}: {fault} ({codes:?})")));
        if calm(&name) && !codes.is_empty() {
            all.push(format!("{name}: warnings {codes:?} for rows without a difficulty"));
        }
    }
    if lost > most {
        all.push(format!("{lost} rungs lose digits, more than {most}"));
    }
    assert!(all.is_empty(), "\n{}", all.join("\n"));
}

#[test]
fn offsets() {
    let rungs = SIDES.into_iter().flat_map(|side| {
        (0..=12).map(move |k| {
            let offset = 10f64.powi(k);
            (format!("{side:?} offset by 1e{k}"), Rows::new(ROWS, 1).map(side, |_, j, v| v + offset * (1.0 + j as f64)))
        })
    });
    climb(rungs, |name| ["1e0", "1e1", "1e2", "1e3", "1e4"].iter().any(|end| name.ends_with(end)), 0);
}

#[test]
fn one_constant_offset_of_all_outputs() {
    let rungs = (0..=10).map(|k| {
        let offset = 10f64.powi(k);
        (format!("all y offset by 1e{k}"), Rows::new(ROWS, 2).map(Side::Y, |_, _, v| v + offset))
    });
    climb(rungs, |_| false, 0);
}

#[test]
fn scales() {
    let rungs = SIDES.into_iter().flat_map(|side| {
        (-45..=37).map(move |k| {
            let scale = 10f64.powi(k);
            (format!("{side:?} scaled by 1e{k}"), Rows::new(ROWS, 3).map(side, |_, _, v| v * scale))
        })
    });
    climb(rungs, |name| ["1e-10", "1e0", "1e10"].iter().any(|end| name.ends_with(end)), 0);
}

#[test]
fn columns_of_different_scale() {
    let rungs = SIDES.into_iter().flat_map(|side| {
        (0..=16).map(move |k| {
            let step = 10f64.powi(k);
            (
                format!("{side:?} columns 1e{k} apart"),
                Rows::new(ROWS, 4).map(side, |_, j, v| v * step.powi(j as i32 - 1)),
            )
        })
    });
    climb(rungs, |name| name.ends_with("1e1 apart"), 0);
}

#[test]
fn a_fifth_of_the_rows_far_away() {
    type Group = (&'static str, fn(usize) -> bool);
    let groups: [Group; 4] = [
        ("every fifth", |row| row % 5 == 0),
        ("the first", |row| row < ROWS / 5),
        ("the last", |row| row >= ROWS / 5 * 4),
        ("the third", |row| (ROWS / 5 * 2..ROWS / 5 * 3).contains(&row)),
    ];
    let rungs = groups.into_iter().flat_map(|(which, is_far)| {
        SIDES.into_iter().flat_map(move |side| {
            (1..=9).flat_map(move |k| {
                let far = 10f64.powi(k);
                let rows = Rows::new(ROWS, 5);
                let added =
                    rows.clone().map(side, |row, j, v| if is_far(row) { v + far * (j as f64 + 1.0) } else { v });
                let scaled = rows.map(side, |row, _, v| if is_far(row) { v * far } else { v });
                [(format!("{which}, {side:?} + 1e{k}"), added), (format!("{which}, {side:?} · 1e{k}"), scaled)]
            })
        })
    });
    climb(rungs, |name| name.ends_with("1e1"), 82);
}

#[test]
fn one_element_far_away() {
    let rungs = SIDES.into_iter().flat_map(|side| {
        [3, ROWS / 2, ROWS - 5].into_iter().flat_map(move |at| {
            [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 30, 37].into_iter().map(move |k| {
                let far = 10f64.powi(k);
                let change = move |row: usize, j: usize, v: f64| if row == at && j == 1 { far } else { v };
                (format!("{side:?} of row {at} is 1e{k}"), Rows::new(ROWS, 6).map(side, change))
            })
        })
    });
    climb(rungs, |name| name.ends_with("is 1e1") || name.ends_with("is 1e2"), 51);
}

#[test]
fn one_row_far_away() {
    let rungs = SIDES.into_iter().flat_map(|side| {
        [3, ROWS / 2, ROWS - 5].into_iter().flat_map(move |at| {
            (1..=12).map(move |k| {
                let far = 10f64.powi(k);
                (
                    format!("{side:?} of row {at} · 1e{k}"),
                    Rows::new(ROWS, 7).map(side, |row, _, v| if row == at { v * far } else { v }),
                )
            })
        })
    });
    climb(rungs, |name| name.ends_with("1e1") || name.ends_with("1e2"), 45);
}

#[test]
fn heavy_tails() {
    let rungs = SIDES.into_iter().flat_map(|side| {
        [0.5, 1.0, 2.0, 4.0, 8.0, 12.0].into_iter().flat_map(move |weight: f64| {
            let rows = Rows::new(ROWS, 8);
            let spread = rows.clone().map(side, |_, _, v| v * (weight * v.abs()).exp());
            let power = rows.map(side, |_, _, v| v.signum() * v.abs().powf(1.0 + 4.0 * weight));
            [(format!("{side:?} · exp({weight}·)"), spread), (format!("{side:?} to the power of {weight}"), power)]
        })
    });
    climb(rungs, |name| name.ends_with("exp(0.5·)"), 4);
}

#[test]
fn constant_and_nearly_constant_columns() {
    let last_place = f64::from(f32::EPSILON);
    let mut rungs = Vec::new();
    for side in SIDES {
        for value in [0.0, 1.0, -3e5, 1e-30, 1e30] {
            let constant = move |_: usize, j: usize, v: f64| if j == 1 { value } else { v };
            rungs.push((format!("{side:?} column 1 is {value}"), Rows::new(ROWS, 9).map(side, constant)));
            for steps in [1.0, 2.0, 16.0] {
                let nearly = move |row: usize, j: usize, v: f64| {
                    if j == 1 { value * (1.0 + last_place * steps * (row % 3) as f64) } else { v }
                };
                rungs.push((
                    format!("{side:?} column 1 is nearly {value}, {steps}"),
                    Rows::new(ROWS, 9).map(side, nearly),
                ));
                let once = move |row: usize, j: usize, v: f64| {
                    if j == 1 { value * (1.0 + last_place * steps * f64::from(u8::from(row == 70))) } else { v }
                };
                rungs.push((
                    format!("{side:?} column 1 is once not {value}, {steps}"),
                    Rows::new(ROWS, 9).map(side, once),
                ));
            }
        }
        let all = move |_: usize, _: usize, _: f64| 2.5;
        rungs.push((format!("{side:?} is constant"), Rows::new(ROWS, 9).map(side, all)));
        let zero = move |_: usize, _: usize, _: f64| 0.0;
        rungs.push((format!("{side:?} is zero"), Rows::new(ROWS, 9).map(side, zero)));
        let trailing = move |row: usize, j: usize, v: f64| if j == 1 && row >= ROWS / 5 * 4 { 0.0 } else { v };
        rungs.push((format!("{side:?} column 1 is zero on the held-out rows"), Rows::new(ROWS, 9).map(side, trailing)));
    }
    climb(rungs, |_| false, 6);
}

#[test]
fn dependent_columns() {
    let rungs = (0..=9).map(|k| {
        let mut rows = Rows::new(ROWS, 10);
        let near = 10f64.powi(-k);
        for row in rows.x.chunks_mut(D) {
            row[4] = (f64::from(row[0]) + near * f64::from(row[4])) as f32;
        }
        (format!("columns 0 and 4 are 1e-{k} apart"), rows)
    });
    climb(rungs, |name| name.contains("1e-0") || name.contains("1e-2"), 1);
}

#[test]
fn rows_that_drift() {
    let rungs = SIDES.into_iter().flat_map(|side| {
        (0..=8).map(move |k| {
            let step = 10f64.powi(k) / ROWS as f64;
            (format!("{side:?} drifts by 1e{k}"), Rows::new(ROWS, 11).map(side, |row, _, v| v + step * row as f64))
        })
    });
    climb(rungs, |name| name.ends_with("1e0") || name.ends_with("1e1"), 2);
}

#[test]
fn as_few_rows_as_possible() {
    // Two folds of one window each: as many training rows as an affine map has parameters per output.
    let rungs = (0..20).map(|seed| {
        let rows = Rows { window: D + 1, folds: 2, ..Rows::new(2 * (D + 1), seed) };
        (format!("{} training rows, seed {seed}", D + 1), rows)
    });
    climb(rungs, |_| false, 0);
}
