//! Restores earlier choices: those of a link, or those a report was measured with.

use std::collections::BTreeSet;

use straightedge_api::bundled::{Bundled, SYNTHETIC_TEXTS};
use straightedge_api::error::Result;
use straightedge_api::hub::id::HubId;
use straightedge_api::job::{BackendChoice, Job, Measure, Protocol};
use straightedge_api::report::{Ordered, Report};

use crate::state::bundled::text_source;
use crate::state::form::{Form, ModelChoice, PASTED_TEXT, TextChoice, WIKITEXT, find, missing};
use crate::state::views::measured;
use crate::url::address::Address;
use crate::url::values::eval;

/// Measures of a report beyond the fit: those ordered, or those it has if it does not list them.
pub fn measures_of(report: &Report) -> BTreeSet<Measure> {
    let ordered = report.ordered.as_ref().map_or_else(|| measured(report), |ordered| ordered.measures.clone());
    ordered.into_iter().filter(|measure| *measure != Measure::Fit).collect()
}

/// Restores what the form has no field for: a subset of blocks, ranks, training steps, seed and checkpoint.
pub fn copy_settings(job: &mut Job, report: &Report) {
    let Ordered { blocks, ranks, training, .. } = report.ordered.clone().unwrap_or_else(|| guessed(report));
    *job = Job { checkpoint: report.model.checkpoint.clone(), blocks, ranks, training, ..job.clone() };
    job.protocol.seed = report.protocol.seed;
}

/// Reports of earlier versions do not list the ordered blocks: a complete one has them, a partial one lacks some.
fn guessed(report: &Report) -> Ordered {
    let is_some = !report.partial && report.blocks.len() < report.model.num_hidden_layers;
    let blocks = is_some.then(|| report.blocks.iter().map(|block| block.block).collect());
    Ordered { blocks, ..Ordered::default() }
}

impl Form {
    /// Applies an address, except for the model.
    pub fn follow(&mut self, address: &Address) {
        if let Some(text) = &address.text {
            self.text = text.clone();
        }
        // Captured rows have windows of their own, which a link without a protocol leaves alone.
        if self.model != ModelChoice::Rows || address.protocol != Protocol::default() {
            self.set_protocol(&address.protocol);
        }
        self.mirror = address.mirror.as_ref().map(ToString::to_string).unwrap_or_default();
        self.tokenizer = address.tokenizer.as_ref().map(ToString::to_string).unwrap_or_default();
        self.eval = address.eval.clone();
        self.feed = address.feed.clone().unwrap_or_default();
        self.backend = address.backend;
        self.measures = address.measures.clone();
    }

    /// The text, if it is not the chosen model's own.
    pub fn foreign_text(&self, index: &[Bundled]) -> Option<TextChoice> {
        let mut fresh = Self::default();
        match &self.model {
            ModelChoice::Bundled(name) => fresh.choose_bundled(find(index, name).ok()?),
            ModelChoice::Hub(id) => fresh.choose_hub(id, index),
            ModelChoice::Local if !self.pasted.is_empty() => return Some(self.text.clone()),
            ModelChoice::Local => {}
            ModelChoice::Rows => return None,
        }
        (fresh.text != self.text).then(|| self.text.clone())
    }

    /// Restores what a report was measured on; the user's files must be chosen already.
    ///
    /// # Errors
    /// The report names something that is not bundled, not on the hub and not among the chosen files.
    pub fn repeat(&mut self, report: &Report, index: &[Bundled]) -> Result<()> {
        self.repeat_model(report, index)?;
        if self.model != ModelChoice::Rows {
            self.repeat_text(&report.corpus.id, index)?;
        }
        self.eval = match report.ordered.as_ref().and_then(|ordered| ordered.eval.as_ref()) {
            Some(eval) => Some(known_eval(&eval.id)?),
            None => None,
        };
        self.tokenizer = report.model.tokenizer.clone().unwrap_or_default();
        let fed = report.ordered.as_ref().and_then(|ordered| ordered.feed.as_ref()).map(|feed| feed.id.clone());
        // A folder of somebody else's cannot be fed again.
        self.feed = fed.filter(|id| find(index, id).is_ok() || HubId::model(id).is_ok()).unwrap_or_default();
        self.set_protocol(&Protocol::from(&report.protocol));
        // The CPU is always available; the report's GPU may not be here.
        if report.ordered.as_ref().is_some_and(|ordered| ordered.backend == BackendChoice::Cpu) {
            self.backend = BackendChoice::Cpu;
        }
        Ok(())
    }

    /// Whether it measures what a report was measured on, with any measures, on any device.
    pub fn repeats(&self, report: &Report, index: &[Bundled]) -> bool {
        let mut repeated = self.clone();
        // Reports have the rows of whole windows.
        let whole = self.protocol().map(|protocol| protocol.rows - protocol.rows % protocol.seq_len.max(1));
        repeated.repeat(report, index).is_ok() && whole.is_ok_and(|rows| rows == report.protocol.rows) && {
            let Self { rows, feed, backend, measures, .. } = self.clone();
            *self == Self { rows, feed, backend, measures, ..repeated }
        }
    }

    fn repeat_model(&mut self, report: &Report, index: &[Bundled]) -> Result<()> {
        let id = &report.model.id;
        if let Ok(bundled) = find(index, id) {
            self.choose_bundled(bundled);
            return Ok(());
        }
        if let Some(revision) = &report.model.revision {
            let id = HubId::model(&format!("{}@{revision}", id.split('@').next().unwrap_or(id)))?;
            self.choose_hub(&id.to_string(), index);
            return Ok(());
        }
        let is_here = match report.model.architecture.as_str() {
            "rows" => self.local_rows.as_ref().is_some_and(|(name, _)| name == id),
            _ => self.local_model.as_ref().is_some_and(|local| local.name == *id),
        };
        if !is_here {
            return Err(missing(
                id,
                "the report names files of your own: choose them under Model, open the report and replay it",
            ));
        }
        self.choose(if report.model.architecture == "rows" { ModelChoice::Rows } else { ModelChoice::Local });
        Ok(())
    }

    fn repeat_text(&mut self, id: &str, index: &[Bundled]) -> Result<()> {
        let bundled = index.iter().find(|bundled| text_source(bundled, 0).0 == id && !id.contains(':'));
        self.text = if let Some(bundled) = bundled {
            TextChoice::Bundled(bundled.name.clone())
        } else if SYNTHETIC_TEXTS.contains(&id) {
            TextChoice::Synthetic(id.into())
        } else if WIKITEXT.contains(&id) {
            TextChoice::Hub(id.into())
        } else if self.local_text.as_deref() == Some(id) {
            TextChoice::File
        } else if id == PASTED_TEXT && !self.pasted.trim().is_empty() {
            TextChoice::Pasted
        } else {
            return Err(missing(id, "the report names a text of your own: choose it under Text, and replay again"));
        };
        Ok(())
    }

    /// Fills in a protocol.
    pub fn set_protocol(&mut self, protocol: &Protocol) {
        let Protocol { rows, seq_len, folds, interleaved_folds, skip_positions, bos, piece_chars, gram, .. } = protocol;
        self.rows = rows.to_string();
        self.seq_len = seq_len.to_string();
        self.folds = folds.to_string();
        self.interleaved_folds = *interleaved_folds;
        self.skip_positions = skip_positions.to_string();
        self.bos = *bos;
        self.piece_chars = piece_chars.to_string();
        self.gram = *gram;
    }
}

/// A text that perplexity was measured on.
fn known_eval(id: &str) -> Result<TextChoice> {
    eval(id).ok_or_else(|| {
        missing(id, "perplexity was measured on a text of your own; measure again with the command line")
    })
}

#[cfg(test)]
mod tests {
    use straightedge_api::error::Error;
    use straightedge_api::job::{BackendChoice, Training};
    use straightedge_api::report::OtherInput;

    use super::*;
    use crate::state::bundled::sample as index;
    use crate::state::form::LocalModel;

    fn report(model: &str, architecture: &str, corpus: &str) -> Report {
        let mut report = crate::figures::sample_report();
        report.model.id = model.into();
        report.model.architecture = architecture.into();
        report.corpus.id = corpus.into();
        report.protocol.rows = 1280;
        report
    }

    #[test]
    fn a_report_chooses_again_what_it_was_measured_on() {
        let mut form = Form { backend: BackendChoice::Cpu, ..Form::default() };
        form.repeat(&report("calibration", "gpt2", "calibration/text.txt"), &index()).unwrap();
        let order = form.order(1, &index()).unwrap();
        assert_eq!((order.job.corpus.as_str(), order.job.protocol.rows), ("calibration/text.txt", 1280));
        let mut hub = report("a/b", "gpt2", "wikitext-2-test");
        hub.model.revision = Some("0123456789abcdef0123456789abcdef01234567".into());
        form.repeat(&hub, &index()).unwrap();
        let at = ModelChoice::Hub("a/b@0123456789abcdef0123456789abcdef01234567".into());
        assert_eq!((&form.model, &form.text), (&at, &TextChoice::Hub(WIKITEXT[0].into())));
        hub.model.revision = Some("../../x".into());
        assert!(form.repeat(&hub, &index()).is_err(), "a report comes from anybody");
    }

    #[test]
    fn what_the_form_has_no_field_for_is_ordered_again() {
        let mut then = report("calibration", "gpt2", "calibration/text.txt");
        let training = Training { probe_steps: 7, ..Training::default() };
        let blocks = Some("0,2".parse().unwrap());
        then.ordered = Some(Ordered {
            measures: [Measure::Fit, Measure::Probes].into(),
            blocks: blocks.clone(),
            ranks: Some("1,8".parse().unwrap()),
            training,
            backend: BackendChoice::Cpu,
            ..Ordered::default()
        });
        (then.protocol.seed, then.model.checkpoint) = (9, Some("step3000".into()));
        let mut form = Form::default();
        form.repeat(&then, &index()).unwrap();
        form.measures = measures_of(&then);
        let mut job = form.order(1, &index()).unwrap().job;
        copy_settings(&mut job, &then);
        assert_eq!((Ordered::of(&job), job.protocol.seed), (then.ordered.clone().unwrap(), 9));
        assert_eq!(job.checkpoint, then.model.checkpoint);
    }

    #[test]
    fn a_form_repeats_a_report_of_the_same_model_text_and_whole_windows() {
        let then = report("calibration", "gpt2", "calibration/text.txt");
        let mut form = Form::default();
        form.repeat(&then, &index()).unwrap();
        let is = |change: &dyn Fn(&mut Form)| {
            let mut form = form.clone();
            change(&mut form);
            form.repeats(&then, &index())
        };
        assert!(is(&|_| ()) && is(&|form| form.measures = [Measure::Swap].into()));
        let window = then.protocol.seq_len;
        assert!(is(&|form| form.rows = (then.protocol.rows + window - 1).to_string()), "no further window");
        assert!(!is(&|form| form.rows = (then.protocol.rows + window).to_string()));
        assert!(
            !is(&|form| form.folds = "4".into()) && !is(&|form| form.text = TextChoice::Synthetic("tales:1".into()))
        );
        assert!(!is(&|form| form.rows = "many".into()));
    }

    #[test]
    fn perplexity_is_measured_again_on_the_text_of_the_report() {
        let mut then = report("calibration", "gpt2", "calibration/text.txt");
        let of = |id: &str| OtherInput { id: id.into(), ..OtherInput::default() };
        then.ordered = Some(Ordered { eval: Some(of("tales:1")), ..Ordered::default() });
        let mut form = Form::default();
        form.repeat(&then, &index()).unwrap();
        assert_eq!(form.eval, Some(TextChoice::Synthetic("tales:1".into())));
        assert!(form.repeats(&then, &index()) && !Form { eval: None, ..form.clone() }.repeats(&then, &index()));
        for own in ["notes.txt", ":pasted", "../x"] {
            then.ordered = Some(Ordered { eval: Some(of(own)), ..Ordered::default() });
            assert!(matches!(form.repeat(&then, &index()), Err(Error::MissingFile { file, .. }) if file == own));
        }
    }

    #[test]
    fn an_older_report_is_repeated_as_far_as_it_tells() {
        let mut then = report("calibration", "gpt2", "calibration/text.txt");
        then.ordered = None;
        let again = |report: &Report| {
            let mut job = Job::new("m", "t");
            copy_settings(&mut job, report);
            job.blocks
        };
        assert_eq!(measures_of(&then), measured(&then));
        assert_eq!(again(&then), None);
        then.blocks.remove(1);
        assert_eq!(again(&then), Some("0,2".parse().unwrap()));
        then.partial = true;
        assert_eq!(again(&then), None, "more were to come");
    }

    #[test]
    fn a_report_of_ones_own_files_asks_for_them() {
        let mut form = Form::default();
        let mine = report("mine", "gpt2", "text.txt");
        assert!(matches!(form.repeat(&mine, &index()), Err(Error::MissingFile { file, .. }) if file == "mine"));
        form.local_model = Some(LocalModel { name: "mine".into(), files: Vec::new(), bytes: 0 });
        assert!(matches!(form.repeat(&mine, &index()), Err(Error::MissingFile { file, .. }) if file == "text.txt"));
        form.local_text = Some("text.txt".into());
        form.repeat(&mine, &index()).unwrap();
        assert_eq!((&form.model, &form.text), (&ModelChoice::Local, &TextChoice::File));
        form.local_rows = Some(("r.safetensors".into(), 1));
        form.repeat(&report("r.safetensors", "rows", "r.safetensors"), &index()).unwrap();
        assert_eq!(form.model, ModelChoice::Rows);
    }

    #[test]
    fn a_link_says_only_what_the_model_does_not_bring_and_is_followed() {
        let mut form = Form::default();
        form.choose_bundled(&index()[0]);
        assert_eq!(form.foreign_text(&index()), None);
        form.text = TextChoice::Synthetic("tales:1".into());
        assert_eq!(form.foreign_text(&index()), Some(TextChoice::Synthetic("tales:1".into())));
        let protocol = Protocol { rows: 640, folds: 4, ..Protocol::default() };
        let address = Address { protocol, measures: BTreeSet::from([Measure::Swap]), ..Address::default() };
        form.follow(&address);
        let order = form.order(1, &index()).unwrap();
        assert_eq!((order.job.protocol.rows, order.job.protocol.folds), (640, 4));
        assert_eq!(order.job.measures, BTreeSet::from([Measure::Fit, Measure::Swap]));
        let mut hub = Form::default();
        hub.choose_bundled(&index()[0]);
        hub.choose_hub("a/b", &index());
        assert_eq!(hub.foreign_text(&index()), None, "the one that it brings");
    }
}
