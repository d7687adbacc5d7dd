//! Statistics of rows: second moments, outlier rows, and distributions over the next token.

pub mod moments;
pub mod next_token;
pub(crate) mod outlier_rows;
