//! The table of report fields, one line each: those of blocks, of layers, and of the whole measurement.

use super::line::Get::{Block, Layer};
use super::line::Higher::{LessLinear, MoreLinear};
use super::line::Line;
use super::line::NumberFormat::{Change, Decimals, Three, Times, Whole};
use super::line::Shown::{Nowhere, Table};
use super::line::Spread::{FromZero, Linear, Share, Wide};
use crate::job::Measure::{Fit, Layers, Probes, Swap};
use crate::report::{BlockReport, INFLUENCE_DIGITS, LayerReport, Scatter, Spectrum};

/// Tolerance of fields that are not results: a place, a time, or steps until a training stopped.
const NO_RESULT: f64 = f64::INFINITY;

/// Tolerance of shares of counted rows: two devices round a few rows to another class.
const COUNTED: f64 = 200.0;

/// Tolerance of polynomials: in f32 their powers have fewer digits than x.
const DEGREES: f64 = 100.0;

/// The names of all fields, and their lines in the same order.
macro_rules! fields {
    ($($name:ident = $line:expr;)*) => {
        /// A field of the report, or one number of a field that has several by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Field {
            $(#[doc = "See its line in the table."] $name,)*
        }

        impl Field {
            /// All of them, in the order of tables.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Its line of the table.
            pub fn line(self) -> &'static Line {
                static LINES: &[Line] = &[$($line,)*];
                &LINES[self as usize]
            }
        }
    };
}

fields! {
    Number = Line::listed("blocks[].block", 0, "Number of the block, from 0").tolerance(NO_RESULT);
    R2Lin = Line::number("blocks[].r2_lin", Block(|b| b.r2_lin), Decimals(6), "R²_lin", 2, "Held-out R² of the best affine map, one mean per output feature").interval("r2_lin").shown(Table).higher(MoreLinear).chart("r2_lin", "R²_lin", Share, Fit);
    R2CvStd = Line::number("blocks[].r2_cv_std", Block(|b| b.r2_cv_std), Decimals(4), "folds", 2, "Standard deviation of R² over the folds, each held out in turn").shown(Table);
    RowsPerInput = Line::number("blocks[].rows_per_input", Block(|b| b.rows_per_input), Decimals(1), "Rows/input", 2, "Training rows divided by inputs; optional").shown(Table);
    R2Limit = Line::number("blocks[].r2_limit", Block(|b| b.r2_limit), Decimals(4), "R² limit", 2, "R²_lin that the learning curve approaches with many rows; optional").shown(Table).higher(MoreLinear);
    R2LimitError = Line::number("blocks[].r2_limit_error", Block(|b| b.r2_limit_error), Decimals(4), "± limit", 2, "Standard error of r2_limit; optional");
    RowsNeeded = Line::number("blocks[].rows_needed", Block(|b| b.rows_needed), Whole, "Rows needed", 2, "Training rows with which R²_lin is within 0.005 of r2_limit; optional").tolerance(NO_RESULT);
    R2LinScalar = Line::number("blocks[].r2_lin_scalar", Block(|b| b.r2_lin_scalar), Decimals(6), "R² scalar", 2, "The same as R²_lin against one mean for all features: constant offsets count as explained, so it is never smaller").interval("r2_lin_scalar").shown(Table).higher(MoreLinear).chart("r2_lin_scalar", "R² scalar", Share, Fit);
    R2FeatureMedian = Line::number("blocks[].r2_feature_median", Block(|b| b.r2_feature_median), Decimals(6), "R² median", 2, "Median of R² over the output features").shown(Table).higher(MoreLinear).chart("r2_feature_median", "R² median", Share, Fit);
    Rank = Line::number("blocks[].rank", Block(|b| Some(b.rank as f64)), Whole, "Rank", 2, "Input directions that the fit could use; one less than the width is normal after LayerNorm").shown(Table);
    EffectiveRank = Line::number("blocks[].effective_rank", Block(|b| whole(b.effective_rank)), Whole, "Eff. rank", 3, "Smallest rank of a map that keeps 90 % of R²").interval("effective_rank").shown(Table).chart("effective_rank", "effective rank", FromZero, Fit);
    EffectiveRank95 = Line::number("blocks[].effective_rank_95", Block(|b| whole(b.effective_rank_95)), Whole, "Rank at 95 %", 3, "Smallest rank of a map that keeps 95 % of R²; optional");
    EffectiveRankWhitened = Line::number("blocks[].effective_rank_whitened", Block(|b| whole(b.effective_rank_whitened)), Whole, "Whitened rank", 3, "Directions of the output, all scaled to the same variance, that hold 90 % of what the map explains of them, on training rows; optional");
    CanonicalR2Mean = Line::number("blocks[].canonical_r2_mean", Block(|b| b.canonical_r2_mean), Decimals(4), "R² per direction", 3, "Share of a direction of the output that the map explains, averaged over all directions, whatever their variance, on training rows; optional").higher(MoreLinear);
    ScaledCondition = Line::number("blocks[].scaled_condition", Block(|b| b.scaled_condition), Three, "Condition", 3, "Largest over smallest eigenvalue of the input’s correlation matrix").shown(Table).tolerance(1e3);
    Cosine = Line::number("blocks[].cosine", Block(|b| b.cosine), Decimals(4), "Cosine", 2, "Mean cosine of predicted and true output over held-out rows").interval("cosine").shown(Table).higher(MoreLinear).tolerance(10.0);
    Rmse = Line::number("blocks[].rmse", Block(|b| b.rmse), Three, "RMSE", 2, "Root of the mean squared error over held-out rows and features, in raw units").shown(Table).unit("units of y").higher(LessLinear);
    Condition = Line::number("blocks[].condition", Block(|b| b.condition), Three, "Condition, raw", 3, "Largest over smallest eigenvalue of the input’s covariance, in raw units").tolerance(1e3);
    InputParticipation = Line::number("blocks[].input_participation", Block(|b| b.input_participation), Decimals(1), "Input directions", 3, "Participation ratio of the input’s covariance: how many directions carry its variance");
    OutputParticipation = Line::number("blocks[].output_participation", Block(|b| b.output_participation), Decimals(1), "Output directions", 3, "Participation ratio of the output’s covariance, on held-out rows");
    InputEntropyRank = Line::number("blocks[].input_entropy_rank", Block(|b| b.input_entropy_rank), Decimals(1), "Input entropy rank", 3, "Exponential of the entropy of the eigenvalues of the input’s covariance; optional");
    InputStableRank = Line::number("blocks[].input_stable_rank", Block(|b| b.input_stable_rank), Decimals(1), "Input stable rank", 3, "Sum over the largest of the eigenvalues of the input’s covariance; optional");
    PredictionEntropyRank = Line::number("blocks[].prediction_entropy_rank", Block(|b| b.prediction_entropy_rank), Decimals(1), "Prediction entropy rank", 3, "Exponential of the entropy of the eigenvalues of the prediction’s covariance, on training rows; optional");
    PredictionStableRank = Line::number("blocks[].prediction_stable_rank", Block(|b| b.prediction_stable_rank), Decimals(1), "Prediction stable rank", 3, "Sum over the largest of the eigenvalues of the prediction’s covariance, on training rows; optional");
    HeldOutDistance = Line::number("blocks[].heldout_distance", Block(|b| b.heldout_distance), Decimals(3), "Held-out distance", 2, "Mean squared distance of held-out inputs from the training rows: 1 for fresh rows of the same distribution, more for a tail; optional");
    HeldOutOutside = Line::number("blocks[].heldout_outside", Block(|b| b.heldout_outside), Three, "Outside support", 2, "Share of the held-out inputs’ variance in directions that training rows do not have; optional");
    OutputVarianceRatio = Line::number("blocks[].output_variance_ratio", Block(|b| b.output_variance_ratio), Three, "Largest feature", 3, "Largest variance of an output feature over the median one");
    CompressionLinear = Line::number("blocks[].compression.linear", Block(|b| known(&b.compression, "linear")), Times, "Compression", 4, "Parameters of the network divided by those of the linear map");
    DeltaPplLinear = Line::number("blocks[].delta_ppl.linear", Block(|b| known(&b.delta_ppl, "linear")), Change, "ΔPPL linear", 4, "Change of held-out perplexity with the linear map in place of the block").interval("delta_ppl_linear").higher(LessLinear).chart("delta_ppl_linear", "ΔPPL", Wide, Swap);
    DeltaPplPoly = Line::number("blocks[].delta_ppl.poly", Block(|b| known(&b.delta_ppl, "poly")), Change, "ΔPPL poly", 4, "Change of held-out perplexity with linear map and bilinear probe in place of the block").interval("delta_ppl_poly").shown(Nowhere).chart("delta_ppl_poly", "ΔPPL", Wide, Probes);
    PolyGain = Line::number("blocks[].probes.poly.gain", Block(|b| b.probes.get("poly")?.gain), Decimals(6), "gain of poly", 5, "Held-out R² of linear map and bilinear probe together minus that of the linear map").interval("gain_poly").shown(Nowhere).higher(LessLinear).chart("poly_gain_r2_lin", "gain", FromZero, Probes);
    PolyGainScalar = Line::number("blocks[].probes.poly.gain_scalar", Block(|b| b.probes.get("poly")?.gain_scalar), Decimals(6), "gain of poly, scalar", 5, "Held-out R² scalar of linear map and bilinear probe together minus that of the linear map").shown(Nowhere).higher(LessLinear).chart("poly_gain", "gain, scalar", FromZero, Probes);
    Conjunction = Line::number("blocks[].conjunction", Block(|b| b.conjunction), Decimals(4), "Conjunction", 5, "How much the effect of one half of the inputs depends on the other half: 0 for an affine map").higher(LessLinear);
    R2LinLow = Line::number("blocks[].intervals.r2_lin.low", Block(|b| end(b, "r2_lin", Ends::Low)), Decimals(4), "R²_lin from", 2, "Lower end of the 95 % interval of R²_lin");
    R2LinHigh = Line::number("blocks[].intervals.r2_lin.high", Block(|b| end(b, "r2_lin", Ends::High)), Decimals(4), "R²_lin to", 2, "Upper end of the 95 % interval of R²_lin");
    R2ScalarLow = Line::number("blocks[].intervals.r2_lin_scalar.low", Block(|b| end(b, "r2_lin_scalar", Ends::Low)), Decimals(4), "R² scalar from", 2, "Lower end of the 95 % interval of R² scalar");
    R2ScalarHigh = Line::number("blocks[].intervals.r2_lin_scalar.high", Block(|b| end(b, "r2_lin_scalar", Ends::High)), Decimals(4), "R² scalar to", 2, "Upper end of the 95 % interval of R² scalar");
    CosineLow = Line::number("blocks[].intervals.cosine.low", Block(|b| end(b, "cosine", Ends::Low)), Decimals(4), "Cosine from", 2, "Lower end of the 95 % interval of the cosine");
    CosineHigh = Line::number("blocks[].intervals.cosine.high", Block(|b| end(b, "cosine", Ends::High)), Decimals(4), "Cosine to", 2, "Upper end of the 95 % interval of the cosine");
    DeltaPplLow = Line::number("blocks[].intervals.delta_ppl_linear.low", Block(|b| end(b, "delta_ppl_linear", Ends::Low)), Change, "ΔPPL from", 4, "Lower end of the 95 % interval of ΔPPL of the linear map");
    DeltaPplHigh = Line::number("blocks[].intervals.delta_ppl_linear.high", Block(|b| end(b, "delta_ppl_linear", Ends::High)), Change, "ΔPPL to", 4, "Upper end of the 95 % interval of ΔPPL of the linear map");
    IntervalLow = Line::listed("blocks[].intervals.NAME.low", 2, "Lower end of a 95 % interval, of `r2_lin`, `r2_lin_scalar`, `cosine`, `effective_rank`, `delta_ppl_` with the name of a replacement, or `gain_` with that of a probe; optional");
    IntervalHigh = Line::listed("blocks[].intervals.NAME.high", 2, "Upper end of it");
    Influence = Line::listed("blocks[].influence.NAME", 2, "How much each held-out window moves the same number; optional").kept(INFLUENCE_DIGITS).tolerance(100.0);
    R2Features = Line::listed("blocks[].r2_features", 2, "R² of every output feature").higher(MoreLinear);
    R2Folds = Line::listed("blocks[].r2_folds", 2, "R² with each fold held out in turn").higher(MoreLinear);
    LearningRows = Line::listed("blocks[].learning_curve[].rows", 2, "Training rows of the fits of one size, on average; optional");
    LearningR2 = Line::listed("blocks[].learning_curve[].r2", 2, "Held-out R² of each of them").higher(MoreLinear);
    R2CvMean = Line::listed("blocks[].r2_cv_mean", 2, "Mean of r2_folds").higher(MoreLinear);
    SpectrumPlace = Line::listed("blocks[].spectrum.k", 2, "Places k of the spectrum, ascending; optional");
    SpectrumCovariance = Line::listed("blocks[].spectrum.covariance", 2, "The k-th largest eigenvalue of Cov(x)").unit("squared units of x").kept(Spectrum::DIGITS);
    SpectrumCorrelation = Line::listed("blocks[].spectrum.correlation", 2, "The k-th largest eigenvalue of C").kept(Spectrum::DIGITS);
    ScatterActual = Line::listed("blocks[].scatter.actual", 2, "Values of the network; optional").unit("standard deviations").kept(Scatter::DIGITS);
    ScatterPredicted = Line::listed("blocks[].scatter.predicted", 2, "Values of the map at the same places").unit("standard deviations").kept(Scatter::DIGITS);
    R2Rank = Line::listed("blocks[].r2_rank", 3, "Held-out R² of the map of rank k, k = 1 … d_out");
    PredictionParticipation = Line::listed("blocks[].prediction_participation", 3, "Participation ratio of the prediction’s covariance, on held-out rows");
    InputVarianceRatio = Line::listed("blocks[].input_variance_ratio", 3, "Largest variance of an input over the median one");
    DeltaPpl = Line::listed("blocks[].delta_ppl.NAME", 4, "Change of held-out perplexity, by replacement").higher(LessLinear);
    Compression = Line::listed("blocks[].compression.NAME", 4, "Parameters of the network divided by those of its replacement, by replacement");
    RowMicroseconds = Line::listed("blocks[].row_microseconds.NAME", 4, "Time per row, of `original` and by replacement").unit("microseconds").tolerance(NO_RESULT);
    ProbeR2 = Line::listed("blocks[].probes.NAME.r2", 5, "Held-out R² of a probe");
    ProbeGain = Line::listed("blocks[].probes.NAME.gain", 5, "r2 − r2_lin").higher(LessLinear);
    ProbeGainScalar = Line::listed("blocks[].probes.NAME.gain_scalar", 5, "The same difference of both R² scalar, as published gains are; optional").higher(LessLinear);
    ProbeCosine = Line::listed("blocks[].probes.NAME.cosine", 5, "Mean cosine of the probe’s and the true output over held-out rows; optional").higher(MoreLinear).tolerance(10.0);
    ProbeRmse = Line::listed("blocks[].probes.NAME.rmse", 5, "Root of the mean squared error of the probe over held-out rows and features; optional").unit("units of y").higher(LessLinear);
    ProbeSteps = Line::listed("blocks[].probes.NAME.steps", 5, "Training steps").tolerance(NO_RESULT);
    ProbeParameters = Line::listed("blocks[].probes.NAME.parameters", 5, "Weights and biases, the frozen map included");
    ProbeConjunction = Line::listed("blocks[].probes.NAME.conjunction", 5, "Conjunction index of the probe");
    DegreeFeatures = Line::listed("blocks[].degrees.NAME[].features", 5, "Features of a polynomial of degree `1`, `2`, `3` or `4`, the inputs included; optional");
    DegreeR2 = Line::listed("blocks[].degrees.NAME[].r2", 5, "Its held-out R², by ridge regression").tolerance(DEGREES);
    RidgeCurveRows = Line::listed("blocks[].ridge_curve[].rows", 5, "Training rows of ridge regressions of one size, on average; optional");
    RidgeCurveR2 = Line::listed("blocks[].ridge_curve[].r2", 5, "Held-out R² of each of them").higher(MoreLinear);
    CurveStep = Line::listed("blocks[].curves.NAME[].step", 5, "Steps of a training taken");
    CurveValue = Line::listed("blocks[].curves.NAME[].value", 5, "For a probe the R² on the validation rows; for `sgd`, `adamw_constant`, `adamw` the held-out R²; for `heal_linear`, `heal_linear_adam`, `heal_original` and `heal_` before the name of a probe the loss before that step, in nats per token");
    ControlR2Lin = Line::listed("blocks[].controls.NAME.r2_lin", 6, "The same as r2_lin, of a control");
    ControlR2LinScalar = Line::listed("blocks[].controls.NAME.r2_lin_scalar", 6, "The same as r2_lin_scalar, of a control");
    ControlR2FeatureMedian = Line::listed("blocks[].controls.NAME.r2_feature_median", 6, "The same as r2_feature_median, of a control");
    ControlEffectiveRank = Line::listed("blocks[].controls.NAME.effective_rank", 6, "The same as effective_rank, of a control");
    Seeds = Line::listed("blocks[].seeds.NAME", 5, "What is random, for each of several seeds: `gain_` with the name of a probe, or `r2_lin_` with that of a drawn control; optional");
    HealDeltaPpl = Line::listed("blocks[].heal.NAME.delta_ppl", 4, "Change of held-out perplexity after healing of `linear`, of `linear_adam`, of `original` or of a probe").higher(LessLinear);
    HealDeltaPplBefore = Line::listed("blocks[].heal.NAME.delta_ppl_before", 4, "The same before healing").higher(LessLinear);
    HealSteps = Line::listed("blocks[].heal.NAME.steps", 4, "Training steps").tolerance(NO_RESULT);
    HealLow = Line::listed("blocks[].heal.NAME.interval.low", 4, "Lower end of the 95 % interval of delta_ppl; optional");
    HealHigh = Line::listed("blocks[].heal.NAME.interval.high", 4, "Upper end of it");

    LayerNumber = Line::listed("layers[].layer", 0, "Number of the layer, from 0").tolerance(NO_RESULT);
    Linearity = Line::number("layers[].linearity", Layer(|l| l.linearity), Decimals(6), "layer linearity", 7, "Share of the step from one layer’s residual stream to the next that is affine, in-sample").shown(Table).higher(MoreLinear).chart("linearity", "linearity", Linear, Layers);
    LinearityHeldout = Line::number("layers[].linearity_heldout", Layer(|l| l.linearity_heldout), Decimals(6), "layer linearity, held out", 7, "The same as linearity, on held-out rows").interval("linearity_heldout").shown(Table).higher(MoreLinear).chart("linearity_heldout", "linearity", Linear, Layers);
    LinearityNoResidual = Line::number("layers[].linearity_no_residual", Layer(|l| l.linearity_no_residual), Decimals(6), "layer linearity, no residual", 7, "The same as linearity, without the stream that is passed on").shown(Table).higher(MoreLinear).chart("linearity_no_residual", "linearity", Share, Layers);
    UpdateNormRatio = Line::number("layers[].update_norm_ratio", Layer(|l| l.update_norm_ratio), Decimals(6), "update / stream", 7, "Mean length of what the layer adds to the stream, relative to the stream").shown(Table);
    Anisotropy = Line::number("layers[].anisotropy", Layer(|l| l.anisotropy), Decimals(4), "anisotropy", 7, "Share of the variance of the stream before the layer in its first principal component; optional").shown(Table).chart("anisotropy", "anisotropy", Share, Layers);
    IntrinsicDimension = Line::number("layers[].intrinsic_dimension", Layer(|l| l.intrinsic_dimension), Decimals(1), "intrinsic dimension", 7, "Dimension of the stream before the layer, from the two nearest neighbours of held-out rows; optional").shown(Table).chart("intrinsic_dimension", "dimension", FromZero, Layers);
    ReadsToken = Line::number("layers[].properties.token.accuracy", Layer(|l| accuracy(l, "token")), Decimals(3), "token read out", 7, "Share of held-out tokens whose property a linear map of the stream after the layer names: the token itself, one of the 16 most frequent ones or another").interval("reads_token").chart("reads_token", "accuracy", Share, Layers).tolerance(COUNTED);
    ReadsPosition = Line::number("layers[].properties.position.accuracy", Layer(|l| accuracy(l, "position")), Decimals(3), "position read out", 7, "Share of held-out tokens whose property a linear map of the stream after the layer names: the eighth of the window").interval("reads_position").chart("reads_position", "accuracy", Share, Layers).tolerance(COUNTED);
    ReadsNextKind = Line::number("layers[].properties.next_kind.accuracy", Layer(|l| accuracy(l, "next_kind")), Decimals(3), "kind of the next token read out", 7, "Share of held-out tokens whose property a linear map of the stream after the layer names: the kind of the next token (begins a word, continues one, number, line break, other sign)").interval("reads_next_kind").chart("reads_next_kind", "accuracy", Share, Layers).tolerance(COUNTED);
    ReadsSentenceEnd = Line::number("layers[].properties.sentence_end.accuracy", Layer(|l| accuracy(l, "sentence_end")), Decimals(3), "end of sentence read out", 7, "Share of held-out tokens whose property a linear map of the stream after the layer names: the answer to whether the next token ends a sentence").interval("reads_sentence_end").chart("reads_sentence_end", "accuracy", Share, Layers).tolerance(COUNTED);
    ReadsPerson = Line::number("layers[].properties.person.accuracy", Layer(|l| accuracy(l, "person")), Decimals(3), "person read out", 7, "Share of held-out tokens whose property a linear map of the stream after the layer names: the last person named in a generated text").interval("reads_person").chart("reads_person", "accuracy", Share, Layers).tolerance(COUNTED);
    ReadsPlace = Line::number("layers[].properties.place.accuracy", Layer(|l| accuracy(l, "place")), Decimals(3), "place read out", 7, "Share of held-out tokens whose property a linear map of the stream after the layer names: the last place named in a generated text").interval("reads_place").chart("reads_place", "accuracy", Share, Layers).tolerance(COUNTED);
    PropertyAccuracy = Line::listed("layers[].properties.NAME.accuracy", 7, "Share of the held-out rows whose `token`, `position`, `next_kind`, `sentence_end`, `person` or `place` a linear map of the stream after the layer names; optional").tolerance(COUNTED);
    PropertyMostFrequent = Line::listed("layers[].properties.NAME.most_frequent", 7, "The same share if the most frequent class of the training rows is always named; optional").tolerance(COUNTED);
    LayerRemoved = Line::number("layers[].delta_ppl.removed", Layer(|l| known(&l.delta_ppl, "removed")), Change, "ΔPPL removed", 7, "Change of held-out perplexity with the layer skipped").interval("delta_ppl_removed").shown(Table);
    LayerLinear = Line::number("layers[].delta_ppl.linear", Layer(|l| known(&l.delta_ppl, "linear")), Change, "ΔPPL linear", 7, "Change of held-out perplexity with the layer replaced by its affine map").interval("delta_ppl_linear").shown(Table).higher(LessLinear);
    LayerDeltaPpl = Line::listed("layers[].delta_ppl.NAME", 7, "Change of held-out perplexity with the layer `removed` or `linear`");
    LayerIntervalLow = Line::listed("layers[].intervals.NAME.low", 7, "Lower end of a 95 % interval, of `linearity_heldout`, `reads_` with the name of a property, `delta_ppl_removed` or `delta_ppl_linear`; optional");
    LayerIntervalHigh = Line::listed("layers[].intervals.NAME.high", 7, "Upper end of it");
    LayerInfluence = Line::listed("layers[].influence.NAME", 7, "How much each held-out window moves the same number; optional").kept(INFLUENCE_DIGITS).tolerance(100.0);

    Ppl = Line::listed("ppl", 4, "Perplexity of the untouched model").unit("perplexity");
    OrderBlock = Line::listed("orders.NAME[].block", 4, "Block or layer replaced in this step of an order: `by_cost`, `greedy`, `greedy_refitted`, `layers_removed`, `layers_linear`");
    OrderPpl = Line::listed("orders.NAME[].ppl", 4, "Perplexity after this step").unit("perplexity");
    OrderDeltaPpl = Line::listed("orders.NAME[].delta_ppl", 4, "The same minus `ppl`").higher(LessLinear);
    OrderCompression = Line::listed("orders.NAME[].compression", 4, "Parameters of all networks, or of all layers, divided by those that are left");
    OrderLow = Line::listed("orders.NAME[].interval.low", 4, "Lower end of the 95 % interval of delta_ppl; optional");
    OrderHigh = Line::listed("orders.NAME[].interval.high", 4, "Upper end of it");
    HealedBlocks = Line::listed("healed_together.NAME.blocks", 4, "Networks (`greedy_refitted`) or layers (`layers_linear`) that were made linear and healed together; optional");
    HealedSteps = Line::listed("healed_together.NAME.steps", 4, "Training steps of each way to heal");
    HealedBefore = Line::listed("healed_together.NAME.delta_ppl_before", 4, "Change of held-out perplexity before healing").higher(LessLinear);
    HealedDeltaPpl = Line::listed("healed_together.NAME.delta_ppl.NAME", 4, "The same after healing towards the original `streams` or the next `tokens`").higher(LessLinear);
    HealedErrorBefore = Line::listed("healed_together.NAME.stream_error_before", 4, "Mean squared error of the streams, relative to the squared length of the original ones, on held-out windows, before healing").higher(LessLinear);
    HealedError = Line::listed("healed_together.NAME.stream_error.NAME", 4, "The same after healing").higher(LessLinear);
    HealedLow = Line::listed("healed_together.NAME.intervals.NAME.low", 4, "Lower end of the 95 % interval of the change of perplexity `before` healing, or after it; optional");
    HealedHigh = Line::listed("healed_together.NAME.intervals.NAME.high", 4, "Upper end of it");
}

/// The two ends of an interval.
enum Ends {
    Low,
    High,
}

fn end(block: &BlockReport, name: &str, end: Ends) -> Option<f64> {
    let interval = block.intervals.get(name)?;
    Some(match end {
        Ends::Low => interval.low,
        Ends::High => interval.high,
    })
}

fn whole(value: Option<usize>) -> Option<f64> {
    value.map(|value| value as f64)
}

fn accuracy(layer: &LayerReport, property: &str) -> Option<f64> {
    layer.properties.get(property)?.accuracy
}

fn known(values: &std::collections::BTreeMap<String, Option<f64>>, name: &str) -> Option<f64> {
    values.get(name).copied().flatten()
}
