//! An affine map trained in f64 by loops over rows: written from docs/measures.md, section 5, and from what PyTorch's
//! Linear and AdamW are defined to do. It shares the random draws with the engine, and no arithmetic.

use straightedge::baseline::BaselineTraining;
use straightedge::platform::random::Random;

use super::common::planted::Rows;

/// Rows per batch.
const BATCH: usize = 256;
/// Where the draws of batches and of a start come from: streams of seed 0 for block 0.
const STREAMS: [[u64; 2]; 2] = [[0x62_61_73, 0], [0x73_74_61, 0]];

/// A weight or bias, and the means of its gradients and of their squares.
#[derive(Clone, Copy, Default)]
struct Parameter {
    value: f64,
    first: f64,
    second: f64,
}

impl Parameter {
    /// Step number `step` of AdamW, counted from 1.
    fn adamw(&mut self, gradient: f64, step: usize, rate: f64, decay: f64) {
        self.first = 0.9 * self.first + 0.1 * gradient;
        self.second = 0.999 * self.second + 0.001 * gradient * gradient;
        let unbiased = |mean: f64, beta: f64| mean / (1.0 - beta.powi(step as i32));
        self.value -= rate * decay * self.value;
        self.value -= rate * unbiased(self.first, 0.9) / (unbiased(self.second, 0.999).sqrt() + 1e-8);
    }
}

/// A map in training.
pub(crate) struct Descent {
    training: BaselineTraining,
    /// (x, 1) of every row.
    x: Vec<Vec<f64>>,
    y: Vec<Vec<f64>>,
    /// The first so many rows are for training.
    train: usize,
    /// By output: weights of the inputs, then the bias.
    map: Vec<Vec<Parameter>>,
}

impl Descent {
    /// The map at step 0.
    pub(crate) fn new(training: BaselineTraining, rows: &Rows, train: usize) -> Self {
        let n = rows.x.len() / rows.d;
        let wide = |row: &[f32]| row.iter().map(|&value| f64::from(value)).collect::<Vec<f64>>();
        let x: Vec<Vec<f64>> = rows.x.chunks(rows.d).map(|row| [wide(row), vec![1.0]].concat()).collect();
        let y: Vec<Vec<f64>> = rows.y.chunks(rows.y.len() / n).map(wide).collect();
        let mut map = vec![vec![Parameter::default(); rows.d + 1]; y[0].len()];
        if training == BaselineTraining::AdamwConstant {
            draw_linear(&mut map);
        }
        Self { training, x, y, train, map }
    }

    /// R² on the rows that are not for training, after each of these steps of a training of `total`.
    pub(crate) fn r2_at(mut self, stops: &[usize], total: usize) -> Vec<f64> {
        let sgd_rate = self.stable_rate();
        let mut random = Random::stream(0, &STREAMS[0]);
        let mut order: Vec<usize> = (0..self.train).collect();
        let mut found = vec![self.r2()];
        let mut step = 0;
        while step < total {
            random.shuffle(&mut order);
            for batch in order.clone().chunks_exact(BATCH).take(total - step) {
                step += 1;
                self.step(&self.gradient(batch), step, total, sgd_rate);
                if stops.contains(&step) {
                    found.push(self.r2());
                }
            }
        }
        found
    }

    /// Output `j` of the map for a row.
    fn output(&self, row: usize, j: usize) -> f64 {
        self.map[j].iter().zip(&self.x[row]).map(|(weight, x)| weight.value * x).sum()
    }

    /// Of half the squared error, summed over outputs and averaged over a batch.
    fn gradient(&self, batch: &[usize]) -> Vec<Vec<f64>> {
        let mut sum = vec![vec![0.0; self.x[0].len()]; self.map.len()];
        for &row in batch {
            for (j, sums) in sum.iter_mut().enumerate() {
                let error = self.output(row, j) - self.y[row][j];
                sums.iter_mut().zip(&self.x[row]).for_each(|(sum, x)| *sum += error * x / BATCH as f64);
            }
        }
        sum
    }

    fn step(&mut self, gradient: &[Vec<f64>], step: usize, total: usize, sgd_rate: f64) {
        let (rate, decay) = match self.training {
            BaselineTraining::Sgd => (sgd_rate, None),
            BaselineTraining::AdamwConstant => (1e-3, Some(0.01)),
            BaselineTraining::Adamw => {
                let done = (step - 1) as f64 / total as f64;
                (1e-3 * (1.0 + (std::f64::consts::PI * done).cos()) / 2.0, Some(1e-4))
            }
        };
        for (parameter, &gradient) in self.map.iter_mut().flatten().zip(gradient.iter().flatten()) {
            match decay {
                None => parameter.value -= rate * gradient,
                Some(decay) => parameter.adamw(gradient, step, rate, decay),
            }
        }
    }

    fn r2(&self) -> f64 {
        let heldout = self.train..self.x.len();
        let (mut error, mut variation) = (0.0, 0.0);
        for j in 0..self.map.len() {
            let mean = heldout.clone().map(|row| self.y[row][j]).sum::<f64>() / heldout.len() as f64;
            for row in heldout.clone() {
                error += (self.y[row][j] - self.output(row, j)).powi(2);
                variation += (self.y[row][j] - mean).powi(2);
            }
        }
        1.0 - error / variation
    }

    /// 1/(λ + r²/batch): λ by power iteration on the rows.
    fn stable_rate(&self) -> f64 {
        let rows = &self.x[..self.train];
        let mut direction = vec![1.0; rows[0].len()];
        let mut largest = 0.0;
        for _ in 0..2000 {
            let mut next = vec![0.0; direction.len()];
            for row in rows {
                let dot: f64 = row.iter().zip(&direction).map(|(x, v)| x * v).sum();
                next.iter_mut().zip(row).for_each(|(sum, x)| *sum += dot * x / rows.len() as f64);
            }
            largest = next.iter().map(|value| value * value).sum::<f64>().sqrt();
            direction = next.into_iter().map(|value| value / largest).collect();
        }
        let square = |row: &Vec<f64>| row.iter().map(|x| x * x).sum::<f64>();
        1.0 / (largest + rows.iter().map(square).fold(0.0, f64::max) / BATCH as f64)
    }
}

/// Weights, output by output, then biases: uniform within ±1/√inputs, rounded to f32.
fn draw_linear(map: &mut [Vec<Parameter>]) {
    let mut random = Random::stream(0, &STREAMS[1]);
    let inputs = map[0].len() - 1;
    let mut draw = || f64::from((random.symmetric() / (inputs as f64).sqrt()) as f32);
    map.iter_mut().for_each(|row| row[..inputs].iter_mut().for_each(|weight| weight.value = draw()));
    map.iter_mut().for_each(|row| row[inputs].value = draw());
}
