//! Statistics of rows: second moments, the rows outside their scale, and distributions over the next token.

pub mod moments;
pub mod next_token;
pub(crate) mod outlier_rows;
