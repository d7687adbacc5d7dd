//! The exercises: some are checked against the shown report, the others are open questions.

use straightedge_api::report::{BlockReport, Report};

use crate::text::lesson::l;

/// One exercise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exercise {
    /// Number of parameters of an affine map.
    Parameters,
    /// The block where constants matter most.
    Gap,
    /// The block that is cheapest to replace.
    Cheapest,
    /// Number of directions the first block needs.
    Rank,
    /// A high R² that was not learned.
    Early,
    /// A re-initialised gated network.
    Gated,
    /// Blocks replaced together.
    Together,
    /// A fine-tuned model.
    Tuned,
    /// Properties read out of layers.
    Read,
    /// What the linear map misses.
    Degree,
    /// R² fitted on few rows.
    Rows,
    /// A high R² that is meaningful.
    Worth,
}

impl Exercise {
    /// Exercises whose answer the page can check.
    pub const CHECKED: [Self; 4] = [Self::Parameters, Self::Gap, Self::Cheapest, Self::Rank];
    /// Open questions.
    pub const OPEN: [Self; 8] =
        [Self::Early, Self::Gated, Self::Together, Self::Tuned, Self::Read, Self::Degree, Self::Rows, Self::Worth];

    /// Stable short name, for tests.
    pub fn id(self) -> &'static str {
        match self {
            Self::Parameters => "parameters",
            Self::Gap => "gap",
            Self::Cheapest => "cheapest",
            Self::Rank => "rank",
            Self::Early => "early",
            Self::Gated => "gated",
            Self::Together => "together",
            Self::Tuned => "tuned",
            Self::Read => "read",
            Self::Degree => "degree",
            Self::Rows => "rows",
            Self::Worth => "worth",
        }
    }

    /// The question, and the topic of its answer.
    pub fn texts(self) -> [&'static str; 2] {
        let l = l();
        match self {
            Self::Parameters => [l.exercise_parameters, l.answer_parameters],
            Self::Gap => [l.exercise_gap, l.answer_gap],
            Self::Cheapest => [l.exercise_cheapest, l.answer_cheapest],
            Self::Rank => [l.exercise_rank, l.answer_rank],
            Self::Early => [l.exercise_early, l.answer_early],
            Self::Gated => [l.exercise_gated, l.answer_gated],
            Self::Together => [l.exercise_together, l.answer_together],
            Self::Tuned => [l.exercise_tuned, l.answer_tuned],
            Self::Read => [l.exercise_read, l.answer_read],
            Self::Degree => [l.exercise_degree, l.answer_degree],
            Self::Rows => [l.exercise_rows, l.answer_rows],
            Self::Worth => [l.exercise_worth, l.answer_worth],
        }
    }

    /// The correct number for a report; `None` if the report does not determine it.
    pub fn solution(self, report: Option<&Report>) -> Option<usize> {
        let report = report.filter(|report| !report.blocks.is_empty())?;
        match self {
            Self::Parameters => Some(report.model.hidden_size * (report.model.hidden_size + 1)),
            Self::Gap => least(report, |block| Some(block.r2_lin? - block.r2_lin_scalar?)),
            Self::Cheapest => least(report, |block| block.delta_ppl.get("linear").copied().flatten()),
            Self::Rank => report.blocks.iter().find(|block| block.block == 0)?.effective_rank,
            Self::Early | Self::Gated | Self::Together | Self::Tuned | Self::Read | Self::Degree => None,
            Self::Rows | Self::Worth => None,
        }
    }

    /// Whether an answer is correct; `None` if it is empty or the solution is unknown.
    pub fn is_right(self, answer: &str, report: Option<&Report>) -> Option<bool> {
        let solution = self.solution(report)?;
        let answer = answer.trim();
        (!answer.is_empty()).then(|| whole(answer) == Some(solution))
    }
}

/// A whole number, also with thousands separated by spaces, commas, points or apostrophes: "16512", "16,512".
fn whole(text: &str) -> Option<usize> {
    let is_separator = |c: char| c.is_whitespace() || matches!(c, ',' | '.' | '\'' | '’');
    let Some(separator) = text.chars().find(|c| is_separator(*c)) else { return plain(text) };
    let groups: Vec<&str> = text.split(separator).collect();
    // Anything but groups of three would be a decimal point or a slip of the finger.
    let is_grouped = (1..=3).contains(&groups[0].len()) && groups[1..].iter().all(|group| group.len() == 3);
    if is_grouped { plain(&groups.concat()) } else { None }
}

/// Digits alone; `parse` would also take a sign.
fn plain(digits: &str) -> Option<usize> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// The block with the smallest defined value.
fn least(report: &Report, value: impl Fn(&BlockReport) -> Option<f64>) -> Option<usize> {
    let values = report.blocks.iter().filter_map(|block| Some((block.block, value(block)?)));
    values.min_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(block, _)| block)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recorded() -> Report {
        Report::from_json("demo-gpt2.json", include_str!("../../data/recorded/demo-gpt2.json")).unwrap()
    }

    #[test]
    fn solutions_are_read_off_the_report() {
        let report = recorded();
        // 128 · 128 + 128; the rest as in docs/models.md and the report.
        let known = [
            (Exercise::Parameters, 16_512),
            (Exercise::Gap, 5),
            (Exercise::Cheapest, 2),
            (Exercise::Rank, report.blocks[0].effective_rank.unwrap()),
        ];
        for (exercise, expected) in known {
            assert_eq!(exercise.solution(Some(&report)), Some(expected), "{exercise:?}");
        }
        assert!(Exercise::OPEN.iter().all(|exercise| exercise.solution(Some(&report)).is_none()));
        assert!(Exercise::CHECKED.iter().all(|exercise| exercise.solution(None).is_none()));
    }

    #[test]
    fn answers_are_right_wrong_or_none() {
        let report = recorded();
        let is_right = |answer| Exercise::Parameters.is_right(answer, Some(&report));
        for right in ["16512 ", "16 512", "16\u{202f}512", "16\u{a0}512", "16,512", "16.512", "16'512", "16’512"] {
            assert_eq!(is_right(right), Some(true), "{right}");
        }
        let wrong = [
            "16384",
            "x",
            "-1",
            "+16512",
            "1e9",
            "99999999999999999999999",
            "16,51,2",
            "1651.2",
            "16512.0",
            "16,,512",
            ",512",
            "16,512.000",
        ];
        for wrong in wrong {
            assert_eq!(is_right(wrong), Some(false), "{wrong}");
        }
        assert_eq!([is_right(""), is_right("  ")], [None; 2]);
        assert_eq!(Exercise::Parameters.is_right("16512", None), None);
        let unswapped = Report { blocks: vec![BlockReport::default()], ..report };
        assert_eq!(Exercise::Cheapest.is_right("0", Some(&unswapped)), None, "no block was swapped");
    }
}
