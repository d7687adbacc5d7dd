//! Texts about what the linear map misses: trained probes, polynomials and the conjunction index.

/// In the language in use.
pub fn t() -> &'static Texts {
    IN_USE.get()
}

catalogue! {
    Texts,

    probes_tab: "Probes",
    probes_name: "What nonlinear probes add",
    probes_about: "Small trained networks look for structure that the linear map misses: how much they gain, and whether they gain more where more is left to explain. Polynomials, solved in closed form, show of what degree that structure is.",
    probes_figure: "Gain of each probe against what the linear map misses",
    probes_caption: "The gain is the held-out R² of map and probe together minus that of the map alone. “poly” multiplies pairs of directions (rank 16); “dense2x” and “poly2x” are two-layer networks with twice the map’s parameters. “poly_rank64” multiplies four times as many pairs; “poly_joint” trains the linear map along with the products; in “gate” one factor of each product is a gate (GELU) that closes for many inputs.",
    measure_further: "further probes",
    probe_more: "{steps} steps",
    probe_fact: "{probe}: Pearson r = {r} over {n} blocks, median gain {median}, largest {most}.",
    loss_healed: "ΔPPL, healed",
    over_seeds: "sd over seeds",
    probe_healed: "{probe}, healed",
    conjunction_figure: "Conjunction index",
    conjunction_caption: "How much the effect of one half of the inputs depends on the other half: 0 for any affine map.",
    conjunction_network: "network itself",
    degree_n: "degree {degree}",
    degrees_figure: "R² of each block by polynomials, by degree",
    degrees_caption: "Held-out R² of the best map whose outputs are polynomials of the inputs, with the most features measured. They are solved in closed form, so that no training can be blamed. If degree 2 adds little, pairwise products of the inputs are not what the linear map misses.",
    degrees_fact: "On average, degree 2 adds {second} to R² of the linear map; with as many features, the better of degrees 3 and 4 differs from degree 2 by {more}.",
    degrees_growth_figure: "R² by number of features",
    degrees_growth_caption: "Features are the inputs and (1 + x·z)^degree, with z from training rows. Ridge regression keeps useless features from doing harm. A curve that levels off has found what its degree can explain.",
    probe_curves_figure: "training curves of the probes",
    probe_curves_caption: "R² on the validation part of the training rows, which decides when training stops.",
}
