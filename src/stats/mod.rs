//! Statistics of rows: second moments, intervals by resampling, outlier rows, and distributions over the next token.

pub mod bootstrap;
pub mod moments;
pub mod next_token;
pub(crate) mod outlier_rows;
