//! Captured input and output rows of any network: what `fit` measures without a model.

use std::ops::Range;
use std::rc::Rc;

use super::header::malformed;
use super::source::Files;
use super::tensors::{ByteProgress, Weights};
use crate::error::{Error, Result};

/// A safetensors file with tensors `x` (n, d_in) and `y` (n, d_out), one row per input of the network.
pub struct RowsFile {
    tensors: Weights,
    /// Rows.
    pub n: usize,
    /// Width of x.
    pub d_in: usize,
    /// Width of y.
    pub d_out: usize,
}

impl RowsFile {
    /// Reads the header and checks that both tensors exist and have as many rows.
    pub async fn open(files: Rc<dyn Files>, file: &str) -> Result<Self> {
        let tensors = Weights::open_file(files, file).await?;
        let [n, d_in] = matrix(&tensors, file, "x")?;
        let [n_y, d_out] = matrix(&tensors, file, "y")?;
        if n != n_y {
            return Err(malformed(file, format!("x has {n} rows, y has {n_y}")));
        }
        Ok(Self { tensors, n, d_in, d_out })
    }

    /// Rows `rows` of x, row-major.
    pub async fn x(&self, rows: Range<usize>) -> Result<Vec<f32>> {
        self.read("x", rows, self.d_in).await
    }

    /// Rows `rows` of y, row-major.
    pub async fn y(&self, rows: Range<usize>) -> Result<Vec<f32>> {
        self.read("y", rows, self.d_out).await
    }

    async fn read(&self, name: &str, rows: Range<usize>, cols: usize) -> Result<Vec<f32>> {
        if rows.end > self.n {
            let hint = format!("the file has {} rows", self.n);
            return Err(Error::InvalidSetting { field: "rows".into(), value: format!("{rows:?}"), hint });
        }
        self.tensors.matrix_rows(name, rows, cols).await.map_err(|error| match error {
            Error::NonFiniteTensor { tensor, index } => Error::NonFiniteRow { tensor, row: index / cols },
            other => other,
        })
    }

    /// Storage format of most elements.
    pub fn dtype(&self) -> Option<&'static str> {
        self.tensors.dtype()
    }

    /// SHA-256 of the file.
    pub async fn sha256(&self, on_bytes: ByteProgress<'_>) -> Result<String> {
        self.tensors.sha256(on_bytes).await
    }
}

fn matrix(tensors: &Weights, file: &str, name: &str) -> Result<[usize; 2]> {
    let needs = |found: String| malformed(file, format!("{found}; fit needs x (n, d_in) and y (n, d_out)"));
    let shape = tensors.shape(name).ok_or_else(|| needs(format!("there is no tensor {name}")))?;
    match *shape {
        [n, d] if n > 0 && d > 0 => Ok([n, d]),
        _ => Err(needs(format!("tensor {name} has shape {shape:?}"))),
    }
}
