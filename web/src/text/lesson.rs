//! Texts of the lesson. Paragraphs are lines. Numbers of demo models come from `docs/models.md`, published ones from
//! `docs/measures.md`, section 8; tests check the former against the recorded reports, in every language.

/// The lesson's texts, in the language in use.
pub fn l() -> &'static Texts {
    IN_USE.get()
}

catalogue! {
    Texts,

    lesson: "Lesson",
    open: "Lesson, {minutes} minutes",
    leave: "Leave lesson",
    steps: "Steps of the lesson",
    progress: "{done} of {all} done",
    step: "Step {step}: {title}",
    step_done: "Step {step}: {title}, done",
    minutes: "About {minutes} minutes",
    previous: "Back",
    next: "Next",
    finish: "Finish",
    to_do: "To do",
    look_for: "Look for",
    do_it: "Do it for me",
    do_next: "Do the next one for me",
    busy: "Measuring …",
    done: "Done",
    terms: "Terms of this step",
    closed_form: "How it is solved: the closed form",
    hindered_views: "This link hides the views that this step needs.",

    summary_title: "The lesson is done",
    summary_title_part: "{done} of {all} steps are done",
    summary_text: "This is what you found. It stays in this browser until the lesson starts over.",
    summary_network: "R² of the straight line closest to the small network: {gelu} with GELU, {none} without an activation.",
    summary_line: "From {low} to {high}, a straight line reaches an R² of {r2}.",
    summary_many: "{inputs} inputs on {rows} rows: R² {training} on training rows, {held_out} on unseen rows.",
    summary_traps: "The four traps: {names}.",
    summary_measure: "R² by block: {values}.",
    summary_swap: "ΔPPL by block, with its linear map: {values}.",
    summary_learned: "Compared: trained and re-initialised, during training, two seeds.",
    summary_regimes: "Opened: regimes and ranks.",
    summary_exercises: "{right} of {all} checked answers are right.",
    summary_missing: "Not done yet.",

    tools: "For the class",
    projector: "Projector",
    print_handout: "Print handout",
    print_key: "Print answer key",
    start_over: "Start over",
    start_over_about: "Deletes the ticks, answers and values that this browser keeps.",
    start_over_now: "Delete and start over",
    handout_title: "How linear is a feed-forward block?",
    handout_key: "Answer key",
    handout_name: "Name",
    handout_date: "Date",
    handout_code: "QR code of the link",
    handout_saw: "What I saw",
    handout_lead: "Open this link in a browser. After the first visit it works without a network.",

    formula_rows: "rows",
    formula_replaced: "swapped",
    formula_untouched: "original",
    formula_rank: "effective rank",

    input: "input x",
    output: "output",
    r2: "R²",

    network_title: "What a feed-forward network does",
    network_text: "A transformer layer has two parts. Attention moves information between tokens; the feed-forward network then works on each token’s vector separately. It multiplies the vector by a matrix, applies a nonlinear activation φ to every number, and multiplies by a second matrix.\nHere is one with a single input, three hidden units and one output. The faint lines show what each unit contributes, the solid line is their sum y = f(x), and the dashed line is the straight line ŷ closest to it.\nIn a model, x and y are vectors: W has one row per input and one column per output, so Wᵀx + b has as many numbers as y.",
    network_task: "Take away the nonlinearity: choose “none” as the activation.",
    network_look: "The output turns into a straight line. Without an activation, the two matrices multiply into one, so everything a network can do beyond a linear map comes from φ. How much of that does a trained network use? That is what this page measures.",
    network_chart: "The network’s output, what each of its three units contributes, and the straight line closest to the output",
    network_sum: "output",
    network_unit: "unit {unit}",
    network_line: "closest line",
    network_reading: "R² of the closest line: {r2}.",
    activation: "Activation",
    activation_gelu: "GELU",
    activation_gelu_tanh: "GELU, tanh",
    activation_silu: "SiLU",
    activation_relu: "ReLU",
    activation_identity: "none",

    line_title: "Fit a line to GELU by hand",
    line_text: "GPT-2 and Pythia use the activation GELU. Far to the right it is x, far to the left it is 0, and it curves only in between. So how linear it is depends on the inputs that reach it.\nAll inputs between the two handles are equally likely. The line is the least-squares fit, and R² is the share of the curve’s variance that it predicts: 1 is all of it, 0 is no better than the mean.",
    line_task: "Drag the two handles, or move them with the arrow keys, until the interval is at least 2 wide and R² is at least 0.99.",
    line_look: "To the right of the bend the curve is almost straight; across the bend it is not: from −3 to 3, R² is 0.767. It is lowest to the left, 0.051 from −2 to 0, because there the curve hardly changes and turns back. Then try a line of your own: none beats the best one.",
    line_chart: "The activation curve, the marked interval and the fitted line",
    line_low: "Start of the interval",
    line_high: "End of the interval",
    line_own_low: "Height of your line at the start of the interval",
    line_own_high: "Height of your line at the end of the interval",
    line_which: "Line",
    line_best: "best line",
    line_own: "my own line",
    line_reading: "From {low} to {high}: y = {slope}·x {sign} {intercept}, R² {r2}.",
    line_reading_own: "From {low} to {high}, your line: R² {r2}. The best line: {best}.",
    line_flat: "undefined: the curve is flat here",

    many_title: "From one input to many",
    many_text: "A block has d inputs, not one: 768 in GPT-2 and 128 in the demo models here. It has as many outputs. The best affine map still has a closed form, so nothing needs training.\nThe example is generated and solved here. Its output mixes the first 4 of 24 inputs with noise. R² is computed on the rows that the map was fitted to, and on 600 rows that it has not seen.",
    many_closed: "D divides every input by its standard deviation. Q and Λ are the eigenvectors and eigenvalues of the inputs’ correlation matrix, and the r eigenvalues above 10⁻¹⁰ of the largest are kept.",
    many_task: "Find a number of inputs and rows for which R² on unseen rows falls below zero.",
    many_look: "On the training rows, R² only rises with every added input, even a meaningless one. On unseen rows it falls, and with few rows far below zero: worse than the mean. So only held-out R² counts, negative values are shown, and the page warns if there are fewer than twice as many training rows as inputs.",
    many_chart: "R² against the number of inputs, on training rows and on unseen rows",
    many_inputs: "Inputs",
    many_rows: "Training rows",
    many_training: "training rows",
    many_held_out: "unseen rows",
    many_rule: "{inputs} inputs",
    many_reading: "{inputs} inputs, {rows} rows: R² {training} on training rows, {held_out} on unseen rows.",

    traps_title: "What R² counts, and four traps",
    traps_text: "R² compares the squared errors with the squared distances from the mean, for each output feature separately and on held-out text. Every part of that matters. Here are four ways to be misled, small enough to compute while you watch.",
    traps_task: "Spring all four traps.",
    traps_look: "None of the four changes what the block does. They change the yardstick, the rows, the directions that are kept, or how long training runs.",
    traps_choice: "Traps",
    trap_scalar: "One mean for all",
    trap_scalar_about: "Four output features vary around different constants. Measured against one mean for all of them, the constants count as explained, though there is nothing to predict. The survey in arXiv 2606.19379 counts this way: block 10 of GPT-2 has 0.671 there, and 0.434 ± 0.062 with a mean per feature.",
    trap_scalar_slider: "Spread of the constants",
    trap_scalar_chart: "R² with a mean per feature and R² with one mean for all, against the spread of the constants",
    trap_scalar_axis: "spread of the constants, in standard deviations",
    trap_scalar_own: "a mean per feature",
    trap_scalar_one: "one mean for all",
    trap_scalar_reading: "A mean per feature: R² {own}. One mean for all: {one}.",
    trap_outlier: "A few outlier rows",
    trap_outlier_about: "Input and output are unrelated, but the first row of every window is far away in both. In many models the first token of a window is such an outlier. The page can leave it out (Protocol, Positions skipped), and one of the controls does.",
    trap_outlier_slider: "Distance of the first rows",
    trap_outlier_skip: "leave out the first rows",
    trap_outlier_chart: "Rows, with the first row of each window highlighted, and the best line",
    trap_outlier_rows: "rows",
    trap_outlier_first: "first rows",
    trap_outlier_line: "best line",
    trap_outlier_reading: "Held-out R² of the best line: {r2}.",
    trap_null: "A direction with nothing in it",
    trap_null_about: "LayerNorm subtracts the mean, so its features, each divided by its γ, add up to a constant: d features, but only d − 1 directions. The last direction holds nothing but the rounding of 32-bit numbers, and a fit that keeps it divides by almost zero. Here four features are normalised in 32 bits.",
    trap_null_keep: "keep all directions",
    trap_null_rank: "Rank",
    trap_null_smallest: "Smallest eigenvalue / largest",
    trap_null_condition: "Condition of the kept directions",
    trap_null_weight: "Largest weight",
    trap_null_r2: "Held-out R²",
    trap_null_note: "R² hardly shows it. Here, keeping every direction moves it by {change}; other draws of these rows move it by less than 0.005, up or down. On a real encoder with six blocks the loss is 0.000003 to 0.000035. The rank, the condition and the weights do show it, so the page reports rank and condition.",
    trap_baseline: "A line not fully trained",
    trap_baseline_about: "Two inputs matter equally, but one is twenty times smaller. Gradient descent fits the large one at once and the small one late. If you stop early, slow training looks like a lack of linearity: in arXiv 2606.19379, block 1 of GPT-2 reaches 0.25 after 3 000 steps of SGD, while the closed form has 0.95.",
    trap_baseline_slider: "Training steps",
    trap_baseline_chart: "R² of the trained line by step, below that of the closed form",
    trap_baseline_axis: "steps",
    trap_baseline_trained: "trained",
    trap_baseline_solved: "closed form",
    trap_baseline_reading: "After {steps} steps: R² {trained}. Closed form: {solved}.",
    trap_baseline_hint: "Train until less than 0.01 is missing.",

    measure_title: "Measure a block",
    measure_text: "Now a real model: demo-gpt2, a GPT-2 with six blocks of width 128, trained by this project on texts that it generates. The page runs a text through the model, records the inputs and outputs of each feed-forward network, and fits the best affine map on four fifths of the text. The last fifth is held out for scoring.",
    measure_task: "Press Measure and watch the profile grow block by block.",
    measure_look: "In the recording, block 0 has an R² of 0.850 and the others lie between 0.414 and 0.565: the first network is by far the most linear. The diamonds are the recording; do your dots match them? The whiskers are 95 % intervals: they show how much R² may differ on other text of the same kind. Overlapping whiskers do not mean that two blocks are alike, because all blocks were measured on the same windows. Compared window by window, the order is 1 < 2 ≈ 4 ≈ 3 < 5 < 0, where ≈ joins blocks that do not differ here. And the held-out text is no outlier: its rows lie 1.00 to 1.01 times as far from the training rows as fresh rows would.",

    swap_title: "Swap it",
    swap_text: "R² says how much of a block’s output a linear map predicts. Whether the model can do without the rest is another question, and it has a direct answer: replace the block by its linear map, change nothing else, and let the model predict the next token again. Perplexity is the number of equally likely tokens the model hesitates between; ΔPPL is how much it rises.",
    swap_task: "Measure the swap losses and open the Losses view.",
    swap_sides: "Read the texts side by side",
    swap_look: "In the recording, the original model has a perplexity of 2.32. Block 0 has the highest R², yet replacing it by its linear map costs most, 0.476; with the network removed, the model breaks down, at 6 159 more. Block 2, with an R² of 0.450, costs 0.046. A high R² does not mean a cheap swap, and a low R² does not mean an expensive one. In Layers, a whole layer is left out instead: the cheapest is layer 2, which costs 0.154, or 0.105 if a linear map takes its place.",

    learned_title: "Was it learned?",
    learned_text: "A profile may come from training or from the architecture. So the same measurement is repeated where nothing was learned: before the first step of training, and with re-initialised weights. Checkpoints of one training run show when the profile appears, and a second run with another seed shows how much of it is chance.",
    learned_task: "Open three comparisons: Trained or re-initialised, During training, Two seeds.",
    learned_look: "Before its first step, every block of demo-gpt2 is at 0.956 to 0.961, and re-initialised ones are similar: small weights keep GELU near zero, where it is almost a line. After 48 steps it is 0.993 to 1.000, so a high R² can mean that training has barely begun. At the end it is 0.414 to 0.850: what was learned here is the nonlinearity. Re-initialised weights are also smaller than trained ones. With the trained weights in random order, so with their size but without what they learned, the blocks are at 0.789 to 0.852: the step down to there is the work of larger weights, the rest was learned; in block 0 the learned order makes the network more linear. The two seeds differ by 0.07 at most.",

    regimes_title: "Two kinds of high R²",
    regimes_text: "There are two kinds of high R². In the broad kind, most output features are close to linear, and many directions carry them. In the narrow kind, a few directions hold nearly all of the variance and are linear, and the rest is not. The median over the features and the effective rank tell the two apart.\nThis chart is not measured here: it shows the values that arXiv 2606.19379 published for three models. Their R² is the scalar one.",
    regimes_task: "Open the Regimes view, then the Ranks view.",
    regimes_look: "Block 0 of demo-gpt2 is of the broad kind: its median feature has 0.845 and the whole block 0.850, and nine tenths of that take 27 of 128 directions, 95 % of it 34. This model has no block of the narrow kind, and it would be wrong to read one into it. GPT-2 has: blocks 1 and 2 have a published R² of 0.947 and 0.996, medians of 0.258 and 0.164, and an effective rank of 1.",
    regimes_chart: "Published R² of 36 blocks of three models against the median over their features",
    regimes_axis_x: "R² scalar, published",
    regimes_axis_y: "R² median, published",
    regimes_waiting: "Loading published values …",

    exercises_title: "Exercises",
    exercises_text: "The first four are checked against what the page shows now; with another model, other answers are right. The others have no checked answer: think them through.",
    exercises_task: "Answer the first four, and think about the others before you open their answers.",
    exercises_look: "Every number you need is in the table below the profile or in the views. Point at a mark to see its exact values.",
    exercise_answer: "Your answer",
    exercise_show: "Answer",
    exercise_right: "Right.",
    exercise_wrong: "Not quite.",
    exercise_unknown: "The page does not show this yet: measure it first.",
    exercise_parameters: "How many parameters does the affine map of one block of this model have, weights and biases together?",
    answer_parameters: "d·d weights and d biases: 128·128 + 128 = 16 512 in the demo models. The network of demo-gpt2, with 512 hidden units, has 131 712, about eight times as many.",
    exercise_gap: "In which block is R² scalar furthest above the R² with a mean per feature?",
    answer_gap: "The table below the profile has both. A wide gap means that the output features vary around different constants. In the recorded demo-gpt2 it is block 5, with 0.601 against 0.565.",
    exercise_cheapest: "Which block costs the least perplexity when replaced by its linear map?",
    answer_cheapest: "The Losses view shows it. In the recorded demo-gpt2 it is block 2, at 0.046 more, though its R² is only 0.450.",
    exercise_rank: "What is the effective rank of block 0?",
    answer_rank: "The smallest rank whose map keeps nine tenths of R²: see the table or the Ranks view. In the recorded demo-gpt2 it is 27 of 128.",
    exercise_early: "A model’s blocks have an R² of 0.99 after 48 steps of training. What have they learned?",
    answer_early: "Almost nothing that a linear map cannot do. Small weights keep every unit near zero, where GELU is close to x/2. So always read a profile together with how far training got: at the end of the same run, demo-gpt2 is at 0.414 to 0.850.",
    exercise_gated: "With re-initialised blocks, demo-gpt2 reaches 0.962 on average, but demo-llama only 0.428. Why?",
    answer_gated: "Llama’s networks are gated: they multiply two maps of the input, one of them passed through SiLU. Near zero that is a product of two inputs, a·b/2, and a product is not linear, however small its weights are.",
    exercise_together: "Blocks 2, 1 and 3 of demo-gpt2 are the three cheapest to replace alone. Replaced together, they raise perplexity to 2.782; blocks 2, 1 and 4 only to 2.724. How can that be?",
    answer_together: "What a block costs alone is measured beside five untouched blocks. A replaced block changes the inputs of all later ones, so errors add up or cancel, and costs do not simply add. The Losses view shows both orders; if the maps are also fitted again on those changed inputs, all six linear blocks reach 8.829 instead of 9.832. The Healing view fine-tunes the maps of the first three blocks of that order together: they then cost 0.176 instead of 0.434, or 0.328 if they learn the original model’s streams alone, without a look at the next tokens. Whole layers that become linear lose their attention too: the first three of their order cost 0.727, and 0.415 after fine-tuning.",
    exercise_tuned: "After 600 more steps on puzzles alone, demo-gpt2 predicts tales worse: its perplexity is 9.51 instead of 2.32. On the same text its layers are more linear on average, 0.904 instead of 0.895. Does it predict worse because it has become more linear?",
    answer_tuned: "Two numbers that change together do not say so. Open the comparison Fine-tuned: the first four layers have become more linear, the last two less. And measure both models on puzzles: there the tuned model predicts better than before, and its layers are slightly less linear. arXiv 2405.12250 found more linear layers after fine-tuning in models that had become better at their task.",
    exercise_read: "From the stream of demo-gpt2, a linear map names the position (which eighth of the window) of 43 % of the tokens after layer 0 and of 30 % after layer 5; the kind of the next token of 85 % and 90 %. From demo-llama’s stream it names the position of only 18 % after layer 5. What happens to the stream with depth, and why does demo-llama lack the position?",
    answer_read: "The stream turns from what the token is to what comes next: the token itself fades too, from 96 % to 90 %. Compare each share with that of the most frequent class: for the end of a sentence it is 94 % already. GPT-2 adds a vector of the position to its embeddings, which fades under what the layers add; demo-llama turns queries and keys by the position and adds nothing to its stream, so that little more than guessing, 12.5 %, is left. A property that a linear map does not name may still be there in another form.",
    exercise_degree: "In block 1 of demo-gpt2 the linear map explains 41 % of the output. Polynomials of degree 2, solved in closed form, explain 53 % with 192 features and 80 % with 640; degree 3 with 640 features explains 78 %. The trained probe “poly”, which multiplies 16 pairs of directions, reaches only about 61 %. What does the linear map miss?",
    answer_degree: "Mostly products of two inputs, but of many pairs of directions at once: every doubling of the features explains more. 16 pairs are too few to show it, so a small gain of “poly” does not say that the nonlinearity is of a high degree. Degree 3 explains less with as many features, because these are spread over more kinds of products.",
    exercise_rows: "R² of block 5 of demo-gpt2, always on the same held-out rows: 0.545 and 0.548 fitted on 2 944 training rows, 0.558 on 5 888, 0.565 on 11 904, which are 93 per input. The published survey fits GPT-2’s 768 inputs on about 12 000 rows, 15.6 per input. What does that mean for the published profile?",
    answer_rows: "A map also fits the noise of its training rows, so R² is too low where rows are few, and most where R² is low: the profile is stretched. The learning curve in the Block view estimates by how much. At 93 rows per input, block 1 is 0.011 below its limit for many rows and block 0 only 0.002. At 16 rows per input, a GPT-2 of width 64 had 0.347 instead of 0.427 in one block and 0.633 instead of 0.680 in another. The published values have a bias of this kind; their order is safer than the distances between them. A fair comparison of two models needs as many rows per input for both.",
    exercise_worth: "Block 0 of demo-gpt2 has the highest R² and costs most when replaced. How can both be true?",
    answer_worth: "R² is a share of this block’s own variance; ΔPPL is what the error does to the whole model. The model relies on block 0 so much that the 15 % which the linear map misses there cost more than the 44 to 59 % it misses elsewhere.",
}

#[cfg(test)]
mod tests {
    use super::*;
    use straightedge_api::paired::Ranking;
    use straightedge_api::report::{HealedTogether, Report};

    use crate::text::format::fixed;
    use crate::text::language::Language;
    use crate::text::translation::tests::speaking;

    /// The recorded report of a model.
    fn recorded(name: &str) -> Report {
        let file = format!("{}/data/recorded/{name}.json", env!("CARGO_MANIFEST_DIR"));
        Report::from_json(name, &std::fs::read_to_string(file).unwrap()).unwrap()
    }

    fn range(report: &Report, skip: usize) -> [String; 2] {
        let values = || report.blocks.iter().skip(skip).filter_map(|block| block.r2_lin);
        [values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max)].map(|value| format!("{value:.3}"))
    }

    /// Checks that a text says words with recorded numbers, and that its translations have those numbers.
    #[track_caller]
    fn says(text: fn(&Texts) -> &'static str, words: &[&str]) {
        for word in words {
            assert!(text(&ENGLISH).contains(word), "{word} is what was recorded, and not in: {}", text(&ENGLISH));
        }
        for language in Language::ALL {
            speaking(language);
            for number in words.iter().flat_map(|word| word.split(' ')).filter(|part| part.parse::<f64>().is_ok()) {
                let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
                let written = fixed(number.parse().ok(), decimals);
                assert!(
                    text(l()).contains(&written),
                    "{language:?}: {written} was recorded, and not in: {}",
                    text(l())
                );
            }
        }
        speaking(Language::English);
    }

    #[test]
    fn numbers_of_the_demo_models_are_those_recorded() {
        let report = recorded("demo-gpt2");
        let first = &report.blocks[0];
        let [low, high] = range(&report, 1);
        let r2 = |block: usize| format!("{:.3}", report.blocks[block].r2_lin.unwrap());
        says(|l| l.measure_look, &[&format!("R² of {}", r2(0)), &format!("between {low} and {high}")]);
        let distances = report.blocks.iter().filter_map(|block| block.heldout_distance);
        let [near, far] = distances.fold([f64::INFINITY, 0.0], |[a, b], value| [value.min(a), value.max(b)]);
        let order = Ranking::new(&report.blocks, "r2_lin").written();
        says(|l| l.measure_look, &[&format!("the order is {order}, where"), &format!("{near:.2} to {far:.2} times")]);
        let first_of = |order: &str| {
            let step = &report.orders[order][0];
            (step.block, format!("{:.3}", step.delta_ppl.unwrap()))
        };
        let ((out, removed), (_, linear)) = (first_of("layers_removed"), first_of("layers_linear"));
        let cheapest = format!("the cheapest is layer {out}, which costs {removed}, or {linear} if");
        says(|l| l.swap_look, &[&cheapest]);
        let loss = |block: usize, swap: &str| report.blocks[block].delta_ppl[swap].unwrap();
        let ppl = format!("perplexity of {:.2}", report.ppl.unwrap());
        says(
            |l| l.swap_look,
            &[&ppl, &format!("{:.3}", loss(0, "linear")), "6 159", &r2(2), &format!("{:.3}", loss(2, "linear"))],
        );
        assert_eq!(loss(0, "zero").round(), 6159.0);
        assert!(
            (1..6).all(|block| loss(block, "linear") < loss(0, "linear") && loss(block, "linear") >= loss(2, "linear"))
        );
        let rank = format!("{} of 128", first.effective_rank.unwrap());
        says(
            |l| l.regimes_look,
            &[
                &format!("{:.3} and the whole block {}", first.r2_feature_median.unwrap(), r2(0)),
                &format!("{rank} directions, 95 % of it {}", first.effective_rank_95.unwrap()),
            ],
        );
        says(|l| l.answer_rank, &[&rank]);
        says(
            |l| l.answer_gap,
            &["block 5", &format!("{:.3} against {}", report.blocks[5].r2_lin_scalar.unwrap(), r2(5))],
        );
        let left = |block: usize| 100.0 * (1.0 - report.blocks[block].r2_lin.unwrap());
        let others = (1..6).map(left).fold([f64::INFINITY, 0.0], |[a, b], value| [value.min(a), value.max(b)]);
        let curve = &report.blocks[5].learning_curve;
        let fitted = |at: usize, fit: usize| format!("{:.3}", curve[at].r2[fit].unwrap());
        let smallest = format!("{} and {} fitted", fitted(0, 0), fitted(0, 1));
        says(|l| l.exercise_rows, &[&smallest, &format!("{} on 5 888, {} on 11 904", fitted(1, 0), fitted(2, 0))]);
        assert_eq!(curve.iter().map(|point| point.rows).collect::<Vec<_>>(), [2944.0, 5888.0, 11904.0]);
        let bias = |block: usize| report.blocks[block].r2_limit.unwrap() - report.blocks[block].r2_lin.unwrap();
        says(|l| l.answer_rows, &[&format!("{:.3} below", bias(1)), &format!("only {:.3}", bias(0))]);
        says(|l| l.answer_worth, &[&format!("{:.0} %", left(0)), &format!("{:.0} to {:.0} %", others[0], others[1])]);
    }

    #[test]
    fn numbers_along_training_are_those_recorded() {
        let value_range = |name: &str| range(&recorded(name), 0).join(" to ");
        says(
            |l| l.learned_look,
            &[&value_range("demo-gpt2-step0"), &value_range("demo-gpt2-step48"), &value_range("demo-gpt2")],
        );
        says(|l| l.answer_early, &[&value_range("demo-gpt2")]);
        let shuffled = recorded("demo-gpt2");
        let shuffled = shuffled.blocks.iter().map(|block| block.controls["shuffled"].r2_lin.unwrap());
        let [least, most] = [shuffled.clone().fold(f64::INFINITY, f64::min), shuffled.fold(0.0, f64::max)];
        says(|l| l.learned_look, &[&format!("{least:.3} to {most:.3}: the step")]);
        let (one, other) = (recorded("demo-gpt2"), recorded("demo-gpt2-seed2"));
        let gaps = one.blocks.iter().zip(&other.blocks).map(|(a, b)| (a.r2_lin.unwrap() - b.r2_lin.unwrap()).abs());
        says(|l| l.learned_look, &[&format!("{:.2} at most", gaps.fold(0.0, f64::max))]);
        let redrawn = |name: &str| {
            let report = recorded(name);
            let values = report.blocks.iter().map(|block| block.controls["reinit_block"].r2_lin.unwrap());
            format!("{:.3}", values.sum::<f64>() / report.blocks.len() as f64)
        };
        says(|l| l.exercise_gated, &[&redrawn("demo-gpt2"), &redrawn("demo-llama")]);
        let steps = |order: &str| &one.orders[order];
        let first = |order: &str| {
            let blocks = steps(order)[..3].iter().map(|step| step.block.to_string()).collect::<Vec<_>>();
            format!("{}, {} and {}", blocks[0], blocks[1], blocks[2])
        };
        let after = |order: &str, count: usize| format!("{:.3}", steps(order)[count - 1].ppl.unwrap());
        let [by_cost, greedy] = ["by_cost", "greedy"].map(|order| [first(order), after(order, 3)]);
        says(|l| l.exercise_together, &by_cost.iter().chain(&greedy).map(String::as_str).collect::<Vec<_>>());
        says(|l| l.answer_together, &[&after("greedy_refitted", 6), &after("greedy", 6)]);
        let healed = &one.healed_together["greedy_refitted"];
        let cost = |learned: &str| format!("{:.3}", healed.delta_ppl[learned].unwrap());
        let [streams, tokens] = [HealedTogether::STREAMS, HealedTogether::TOKENS].map(cost);
        let before = format!("{tokens} instead of {:.3}", healed.delta_ppl_before.unwrap());
        says(|l| l.answer_together, &[&before, &format!("or {streams} if")]);
        let layers = &one.healed_together["layers_linear"];
        let [before, after] = [layers.delta_ppl_before, layers.delta_ppl[HealedTogether::TOKENS]].map(Option::unwrap);
        says(|l| l.answer_together, &[&format!("cost {before:.3}, and {after:.3} after fine-tuning")]);
        assert_eq!([healed.blocks.len(), layers.blocks.len()], [3, 3]);
        let tuned = recorded("demo-gpt2-puzzles");
        let linearity =
            |report: &Report| -> Vec<f64> { report.layers.iter().filter_map(|layer| layer.linearity).collect() };
        let [before, after] = [linearity(&one), linearity(&tuned)];
        let [ppl, mean] = [
            [&tuned, &one].map(|report| format!("{:.2}", report.ppl.unwrap())).join(" instead of "),
            [&after, &before]
                .map(|all| format!("{:.3}", all.iter().sum::<f64>() / all.len() as f64))
                .join(" instead of "),
        ];
        says(|l| l.exercise_tuned, &[&ppl, &mean]);
        let read = |report: &Report, layer: usize, property: &str| {
            format!("{:.0} %", 100.0 * report.layers[layer].properties[property].accuracy.unwrap())
        };
        let both = |property: &str| [read(&one, 0, property), read(&one, 5, property)];
        let [[position, last_position], next, [token, last_token]] = ["position", "next_kind", "token"].map(both);
        let llama = read(&recorded("demo-llama"), 5, "position");
        let [positions, next] =
            [format!("{position} of the tokens after layer 0 and of {last_position}"), next.join(" and ")];
        says(|l| l.exercise_read, &[&positions, &next, &format!("only {llama}")]);
        let guess = 100.0 * one.layers[0].properties["sentence_end"].most_frequent.unwrap();
        says(|l| l.answer_read, &[&format!("from {token} to {last_token}"), &format!("{guess:.0} % already")]);
        let explained = |degree: &str, at: usize| {
            let point = &one.blocks[1].degrees[degree][at];
            (format!("{:.0} %", 100.0 * point.r2.unwrap()), point.features)
        };
        let [(few, least), (second, most), (third, _)] = [explained("2", 0), explained("2", 3), explained("3", 3)];
        let linear = format!("explains {:.0} %", 100.0 * one.blocks[1].r2_lin.unwrap());
        let polynomials = format!("explain {few} with {least} features and {second} with {most};");
        says(|l| l.exercise_degree, &[&linear, &polynomials, &format!("with {most} features explains {third}.")]);
        let rises: Vec<bool> = before.iter().zip(&after).map(|(before, after)| after > before).collect();
        assert_eq!(rises, [true, true, true, true, false, false], "as the answer says");
    }

    #[test]
    fn published_numbers_are_those_of_the_survey() {
        let published: crate::comparison::published::Published =
            serde_json::from_str(include_str!("../../data/published.json")).unwrap();
        let gpt2 = &published.models[0];
        let value_range = |values: &[f64]| format!("{:.3} and {:.3}", values[1], values[2]);
        says(
            |l| l.regimes_look,
            &[&value_range(&gpt2.r2_lin_scalar["WikiText-2"]), &value_range(&gpt2.r2_feature_median)],
        );
        assert_eq!(gpt2.effective_rank[1..3], [1, 1]);
        says(|l| l.trap_scalar_about, &[&format!("{:.3} there", gpt2.r2_lin_scalar["WikiText-2"][10])]);
        says(|l| l.trap_baseline_about, &[&format!("{:.2}", gpt2.r2_lin_scalar["WikiText-2"][1])]);
    }
}
