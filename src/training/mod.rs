//! Training by automatic differentiation: the optimiser, and healing of a replaced network. \[candle-core\]

pub mod adamw;
pub mod heal;
