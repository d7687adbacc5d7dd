//! Names of the trained probes in a report, by the measure that trains them (docs/measures.md, section 5).

/// Those of the measure `probes`.
pub const NAMES: [&str; 3] = ["poly", "dense2x", "poly2x"];
/// Those of the measure `further-probes`.
pub const FURTHER: [&str; 3] = ["poly_rank64", "poly_joint", "gate"];
