//! Texts and numbers of a continuation: above the texts, at their tokens and in the table.

use std::collections::BTreeSet;

use straightedge_api::continuation::{Both, Candidate, Continuation, Step};
use straightedge_api::event::Stage;
use straightedge_api::report::Interval;
use straightedge_api::transcript::Transcript;
use straightedge_api::visible::visible;

use super::block_list::BlockList;
use super::form::{ContinuationForm, Linear};
use super::state::ContinuationState;
use crate::chart::scale::LEAST_NATS;
use crate::figures::Grid;
use crate::state::order_status::Phase;
use crate::state::words::{computed_on, on_page};
use crate::text::cell::Cell;
use crate::text::continuation::t;
use crate::text::engine;
use crate::text::format::{duration, exact, fixed, localised, magnitude};
use crate::text::language::plural;
use crate::text::result::t as about_result;
use crate::text::sentences::translated;
use crate::text::{fill, t as page};

/// Characters of the preceding text repeated in a token's heading.
const BEFORE: usize = 24;

/// Status in a sentence or two, without anything that changes at every token.
pub fn status(continuation: &ContinuationState) -> String {
    let transcript = continuation.transcript();
    let count = tokens(transcript);
    match continuation.phase() {
        Phase::Idle | Phase::Recorded => t().status_idle.into(),
        Phase::Running => running(continuation),
        Phase::Cancelled => fill(t().status_stopped, &[("tokens", &count)]),
        Phase::Failed(_) => fill(t().status_failed, &[("tokens", &count)]),
        Phase::Finished => outcome(transcript),
    }
}

fn running(continuation: &ContinuationState) -> String {
    if let Some(wait) = continuation.waiting() {
        return fill(page().status_waiting, &[("time", &duration(wait.seconds)), ("why", &translated(&wait.why))]);
    }
    match continuation.progress().map(|progress| progress.stage) {
        _ if continuation.transcript().opening.is_some() => t().status_going.into(),
        // Cached maps need no fit.
        Some(stage @ Stage::Measure) => fill(t().first_fit, &[("stage", engine::stage(stage))]),
        stage => stage.map_or(t().status_starting, engine::stage).into(),
    }
}

fn tokens(transcript: &Transcript) -> String {
    let count = transcript.steps.len();
    fill(plural(count, t().token_one, t().token_many), &[("count", &count.to_string())])
}

/// The result, in sentences.
pub fn outcome(transcript: &Transcript) -> String {
    let count = tokens(transcript);
    let mut sentences = vec![match transcript.parting() {
        None => fill(t().status_same, &[("tokens", &count)]),
        Some(at) => fill(t().status_parted, &[("tokens", &count), ("at", &(at + 1).to_string())]),
    }];
    let kl = magnitude(transcript.mean_kl());
    let kl = match transcript.kl_interval() {
        Some(Interval { low, high }) => {
            let ends = [low, high].map(|end| magnitude(Some(end)));
            fill(page().pearson_within, &[("r", &kl), ("low", &ends[0]), ("high", &ends[1])])
        }
        None => kl,
    };
    sentences.push(fill(t().status_kl, &[("kl", &kl)]));
    if let Some(Both { original: Some(original), linear: Some(linear) }) = transcript.opening.as_ref().map(|o| o.ppl) {
        let gaps = [("original", &*magnitude(Some(original))), ("linear", &*magnitude(Some(linear)))];
        sentences.push(fill(t().status_ppl, &gaps));
    }
    sentences.extend(transcript.warnings.iter().filter(|warning| warning.code == "context_full").map(|warning| {
        let text = on_page(&visible(&warning.text));
        let mut letters = text.chars();
        let first = letters.next().map(|first| first.to_uppercase().collect::<String>()).unwrap_or_default();
        format!("{first}{}.", letters.as_str())
    }));
    sentences.join(" ")
}

/// Model and device of the texts.
pub fn about(continuation: &ContinuationState) -> Option<String> {
    let opening = continuation.transcript().opening.as_ref()?;
    Some(fill(
        about_result().about_continuation,
        &[("model", &opening.model), ("device", computed_on(&opening.device))],
    ))
}

/// The choices that have changed since these texts were ordered; `None` if none has.
pub fn stale(
    continuation: &ContinuationState,
    form: &ContinuationForm,
    known: &BlockList,
    model: Option<&str>,
) -> Option<String> {
    let (settings, opening) = (continuation.settings()?, continuation.transcript().opening.as_ref()?);
    let blocks: BTreeSet<usize> = match form.linear(known) {
        Linear::All => (0..opening.num_hidden_layers).collect(),
        Linear::Some(blocks) => blocks,
    };
    let now = form.continuation().ok();
    let is_other =
        |get: fn(&Continuation) -> (usize, u64, u64)| now.as_ref().is_none_or(|now| get(now) != get(settings));
    let is_other_model = model.is_some_and(|model| model != opening.model);
    // For another model the blocks differ anyway.
    let changed = [
        (is_other_model, t().stale_model),
        (form.prompt != settings.prompt, t().stale_prompt),
        (!is_other_model && !blocks.iter().eq(&opening.blocks), t().stale_blocks),
        (is_other(|settings| (settings.tokens, settings.temperature.to_bits(), settings.seed)), t().stale_sampling),
    ];
    let changed: Vec<_> = changed.into_iter().filter(|(is_changed, _)| *is_changed).map(|(_, what)| what).collect();
    (!changed.is_empty()).then(|| fill(t().stale, &[("what", &changed.join(", "))]))
}

/// Notes that the maps measured for the texts are kept, and where.
pub fn fit_kept(continuation: &ContinuationState) -> Option<String> {
    let report = continuation.report().filter(|report| !report.partial && !report.blocks.is_empty())?;
    Some(fill(t().fit_kept, &[("model", &report.model.id)]))
}

/// The request, in sentences.
pub fn ordered(continuation: &ContinuationState) -> String {
    let Some(settings) = continuation.settings() else { return String::new() };
    let blocks = continuation.transcript().opening.as_ref().map_or(String::new(), |opening| heading(&opening.blocks));
    let sampling = sampling(&settings.temperature.to_string(), &settings.seed.to_string());
    fill(t().asked, &[("prompt", &settings.prompt), ("blocks", &blocks), ("sampling", &sampling)])
}

/// Sampling settings in words.
pub fn sampling(temperature: &str, seed: &str) -> String {
    match temperature {
        "0" => t().sampling_greedy.into(),
        temperature => fill(t().sampling_drawn, &[("temperature", &localised(temperature.into())), ("seed", seed)]),
    }
}

/// Heading above the linear model's text.
pub fn heading(blocks: &[usize]) -> String {
    let list = blocks.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let text = match blocks {
        [] => t().linear_none,
        [_] => t().linear_one,
        _ => t().linear,
    };
    fill(text, &[("blocks", &list)])
}

/// Nats of the tallest bar.
pub fn most(transcript: &Transcript) -> f64 {
    transcript.steps.iter().map(|step| step.kl).fold(LEAST_NATS, f64::max)
}

/// Height of a step's bar, 0 to 1.
pub fn bar(step: &Step, most: f64) -> f64 {
    (step.kl / most).clamp(0.0, 1.0)
}

/// A token made visible: with its spaces, and line ends by name.
pub(super) fn shown(name: &str) -> String {
    if name.chars().all(|c| c == '\n') && !name.is_empty() {
        return "⏎".repeat(name.chars().count());
    }
    name.replace('\n', "⏎").replace('\t', "⇥").replace(' ', "\u{2423}")
}

/// Accessible label of a token of either text.
pub fn label(step: &Step, is_linear: bool) -> String {
    let Both { original, linear } = &step.token;
    let token = if is_linear { linear } else { original };
    let spoken =
        |name: &str| if name.trim().is_empty() { t().newline.into() } else { format!("“{}”", name.trim()) };
    let (number, kl) = ((step.step + 1).to_string(), magnitude(Some(step.kl)));
    let gaps = [("token", &*spoken(&token.name)), ("step", &number), ("kl", &kl), ("other", &spoken(&original.name))];
    let is_other = is_linear && !step.is_same();
    fill(if is_other { t().token_label_parted } else { t().token_label }, &gaps)
}

/// Position of a step, and the text before it.
pub fn place(continuation: &ContinuationState, at: usize, is_own: bool) -> [String; 2] {
    let steps = continuation.transcript().steps.iter().take(at);
    let token = |step: &Step| if is_own { step.token.linear.text.clone() } else { step.token.original.text.clone() };
    let before = continuation.prompt().to_string() + &steps.map(token).collect::<String>();
    let skipped = before.chars().count().saturating_sub(BEFORE);
    let end: String = before.chars().skip(skipped).collect();
    let end = end.replace('\n', " ⏎ ");
    let text = if skipped > 0 { format!("…{end}") } else { end };
    [fill(t().detail, &[("step", &(at + 1).to_string())]), fill(t().detail_after, &[("text", &text)])]
}

/// One row of a step's distributions: the token, both probabilities, and which of the models takes it.
#[derive(Clone, Debug, PartialEq)]
pub struct CandidateRow {
    /// The token made visible.
    pub token: String,
    /// Its probability in either model.
    pub probability: Both<Option<f64>>,
    /// Whether each model continues with it.
    pub is_taken: Both<bool>,
}

/// The distributions of a step; `is_own` selects the linear model after its own text, once the texts diverge.
pub fn candidates(step: &Step, is_own: bool) -> Vec<CandidateRow> {
    let is_own = is_own && !step.own.is_empty();
    let line = |candidate: &Candidate| CandidateRow {
        token: shown(&candidate.name),
        probability: candidate.probability,
        is_taken: Both {
            original: !is_own && candidate.id == step.token.original.id,
            linear: (is_own || step.own.is_empty()) && candidate.id == step.token.linear.id,
        },
    };
    if is_own { &step.own } else { &step.candidates }.iter().map(line).collect()
}

/// A probability as a percentage.
pub fn percent(probability: f64) -> String {
    let percent = 100.0 * probability;
    if percent > 0.0 && percent < 0.1 {
        format!("<{} %", fixed(Some(0.1), 1))
    } else {
        format!("{} %", fixed(Some(percent), 1))
    }
}

/// All steps in numbers.
pub(super) fn numbers(transcript: &Transcript) -> Grid {
    let head = [
        t().table_step,
        t().table_original,
        t().table_linear,
        t().table_kl,
        t().table_entropy,
        t().table_entropy_linear,
    ];
    let row = |step: &Step| {
        let Both { original, linear } = &step.token;
        let values = [step.kl, step.entropy.original, step.entropy.linear];
        let values = values.map(|value| Cell::number(Some(value), None, exact));
        let names = [(step.step + 1).to_string(), shown(&original.name), shown(&linear.name)].map(Cell::from);
        names.into_iter().chain(values).collect()
    };
    Grid { head: head.map(String::from).to_vec(), rows: transcript.steps.iter().map(row).collect() }
}

#[cfg(test)]
mod tests {
    use straightedge_api::event::{Event, FinalResults, Progress};
    use straightedge_api::report::Warning;

    use super::super::tests::{opened, received, step};
    use super::*;

    fn events() -> Vec<Event> {
        vec![opened(), step(0, [" a", " a"], 0.0), step(1, [" bb", " ccc"], 2.0), step(2, ["\n", "."], 1.0)]
    }

    #[test]
    fn the_end_says_where_the_texts_part_and_how_far_they_are_apart() {
        let mut all = events();
        let text = "all 128 positions are taken after 3 tokens".into();
        all.push(Event::Warning(Warning { code: "context_full".into(), block: None, text }));
        all.push(Event::Finished(FinalResults::default()));
        let line = status(&received(&all));
        assert_eq!(
            line,
            "3 tokens; the texts diverge at token 2. Mean KL 1.00 nats. All 128 positions are taken after 3 tokens."
        );
        let same = status(&received(&[opened(), step(0, ["a", "a"], 0.0), Event::Finished(FinalResults::default())]));
        assert!(same.starts_with("1 token, identical") && same.contains("Mean KL 0 nats"), "{same}");
    }

    #[test]
    fn while_it_goes_on_nothing_is_said_anew_with_every_token() {
        let progress = |stage| Event::Progress(Progress { stage, done: 1, total: 3, seconds: 1.0 });
        let measuring = status(&received(&[progress(Stage::Measure)]));
        assert_eq!(
            measuring,
            "The linear maps of this model are measured first; this happens only once: Measuring rows"
        );
        assert_eq!(status(&received(&[progress(Stage::Load)])), "Loading weights");
        let lines: Vec<String> = (1..4).map(|n| status(&received(&events()[..n]))).collect();
        assert!(lines.iter().all(|line| *line == lines[0]), "{lines:?}");
    }

    #[test]
    fn bars_share_a_scale_that_makes_little_look_little() {
        let continuation = received(&events());
        let (steps, top) = (&continuation.transcript().steps, most(continuation.transcript()));
        assert_eq!([bar(&steps[0], top), bar(&steps[1], top), bar(&steps[2], top)], [0.0, 1.0, 0.5]);
        let little = received(&[opened(), step(0, ["a", "a"], 0.01)]);
        assert_eq!(most(little.transcript()), LEAST_NATS);
    }

    #[test]
    fn tokens_are_seen_and_heard_for_what_they_are() {
        assert_eq!((shown(" a b"), shown("\n\n"), shown("a\n")), ("␣a␣b".into(), "⏎⏎".into(), "a⏎".into()));
        let continuation = received(&events());
        let steps = &continuation.transcript().steps;
        assert_eq!(label(&steps[0], true), "“a”, token 1: KL 0 nats");
        assert_eq!(label(&steps[1], true), "“ccc”, token 2, where the model has “bb”: KL 2.00 nats");
        assert!(label(&steps[2], false).starts_with("line break, token 3"));
        let [number, after] = place(&continuation, 2, true);
        assert_eq!((number.as_str(), after.as_str()), ("Token 3", "after “A  a ccc”"));
        assert_eq!(place(&continuation, 2, false)[1], "after “A  a bb”");
    }

    #[test]
    fn the_table_and_the_distributions_name_what_was_taken() {
        let continuation = received(&events());
        let table = numbers(continuation.transcript());
        let text = ordered(&continuation);
        assert_eq!(text, "Continuation of “A ”. With linear blocks 1, 2; the most likely token at every step.");
        assert_eq!(table.rows[1], ["2", "␣bb", "␣ccc", "2", "1", "2"]);
        let lines = candidates(&continuation.transcript().steps[1], false);
        assert_eq!(
            (lines[0].token.as_str(), lines[0].is_taken.original, lines[0].is_taken.linear),
            ("␣bb", true, false)
        );
        let mut parted = continuation.transcript().steps[1].clone();
        let mut theirs = parted.candidates.clone();
        theirs[0].id = parted.token.linear.id;
        theirs[0].name = " ccc".into();
        parted.own = theirs;
        let [own, after_the_models] = [true, false].map(|is_own| candidates(&parted, is_own).remove(0));
        assert_eq!((own.token.as_str(), own.is_taken), ("␣ccc", Both { original: false, linear: true }));
        assert_eq!((after_the_models.token.as_str(), after_the_models.is_taken.original), ("␣bb", true));
        assert_eq!(
            (percent(0.123_45), percent(0.0001), percent(0.0)),
            ("12.3 %".into(), "<0.1 %".into(), "0.0 %".into())
        );
    }

    #[test]
    fn texts_say_what_has_changed_since_they_were_ordered() {
        let sides = received(&events());
        let known = BlockList::of_number(4);
        let blocks = Some(Linear::Some([1, 2].into()));
        let same = ContinuationForm { prompt: "A ".into(), blocks, ..ContinuationForm::default() };
        assert_eq!(stale(&sides, &same, &known, Some("m")), None);
        assert_eq!(
            stale(&ContinuationState::default(), &ContinuationForm::default(), &known, None),
            None,
            "there are none"
        );
        let text = |form: ContinuationForm, model| stale(&sides, &form, &known, Some(model)).unwrap();
        assert!(text(same.clone(), "other").contains("the model changed"));
        assert!(text(ContinuationForm { prompt: "B".into(), ..same.clone() }, "m").contains("the prompt changed"));
        assert!(
            text(ContinuationForm { blocks: Some(Linear::All), ..same.clone() }, "m").contains("the blocks changed")
        );
        assert!(text(ContinuationForm { seed: "x".into(), ..same }, "m").contains("tokens or sampling changed"));
    }

    #[test]
    fn headings_speak_of_none_one_and_many() {
        assert_eq!(heading(&[]), "With no blocks linear");
        assert_eq!(heading(&[3]), "With block 3 linear");
        assert_eq!(heading(&[1, 2]), "With linear blocks 1, 2");
    }
}
