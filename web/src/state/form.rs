//! The choices of the form, and the order they produce.

use std::collections::BTreeSet;

use straightedge_api::bundled::{Bundled, DefaultText};
use straightedge_api::error::{Error, Result};
use straightedge_api::hub::id::{Endpoint, HubId};
use straightedge_api::job::{BackendChoice, GramMode, Measure, Protocol, ROWS_WINDOW};

use crate::state::bundled::{source, text_source};
use straightedge_api::message::{ModelSource, TextSource};

/// Hub models offered by name, with their display names.
pub const PUBLISHED: [(&str, &str); 3] = [
    ("openai-community/gpt2", "GPT-2"),
    ("EleutherAI/pythia-160m", "Pythia 160M"),
    ("JackFram/llama-160m", "Llama 160M"),
];

/// Texts on the hub: the splits of WikiText-2, the one with published perplexities first.
pub const WIKITEXT: [&str; 3] = ["wikitext-2-test", "wikitext-2-validation", "wikitext-2-train"];

/// Name of a pasted text in reports.
pub(crate) const PASTED_TEXT: &str = "pasted text";

/// All choices of the page. Numbers stay as typed until they are used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// The model.
    pub model: ModelChoice,
    /// The local model, once files are chosen.
    pub local_model: Option<LocalModel>,
    /// The model on the hub whose tokenizer is used in place of the model's own, as typed; empty is the model's own.
    pub tokenizer: String,
    /// The model whose rows the controls feed through the measured one's networks, as typed: a bundled one or one on the
    /// hub; empty is none.
    pub feed: String,
    /// The text.
    pub text: TextChoice,
    /// The text that perplexity is measured on, generated or on the hub; `None` is the held-out windows.
    pub eval: Option<TextChoice>,
    /// The pasted text.
    pub pasted: String,
    /// Name of the local text, once a file is chosen.
    pub local_text: Option<String>,
    /// The file of rows, once chosen: name and bytes.
    pub local_rows: Option<(String, u64)>,
    /// Base URL of a hub mirror as typed; empty is the hub itself.
    pub mirror: String,
    /// `rows` as typed.
    pub rows: String,
    /// `seq_len` as typed.
    pub seq_len: String,
    /// `folds` as typed.
    pub folds: String,
    /// Whether windows are dealt to the folds in turn.
    pub interleaved_folds: bool,
    /// `skip_positions` as typed.
    pub skip_positions: String,
    /// Whether windows begin with a beginning-of-sequence token.
    pub bos: bool,
    /// `piece_chars` as typed.
    pub piece_chars: String,
    /// Precision of second moments on a GPU.
    pub gram: GramMode,
    /// Backend.
    pub backend: BackendChoice,
    /// Measures beyond the fit.
    pub measures: BTreeSet<Measure>,
}

/// Source of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelChoice {
    /// A bundled model by name.
    Bundled(String),
    /// A model on the hub: `ID` or `ID@REVISION` as typed.
    Hub(String),
    /// Files of the user.
    Local,
    /// No model: rows x and y in the user's file.
    Rows,
}

/// Source of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextChoice {
    /// The text of a bundled model, by the model's name.
    Bundled(String),
    /// A generated text, such as `tales:1`.
    Synthetic(String),
    /// A text on the hub, by its name in reports.
    Hub(String),
    /// Text pasted into the form.
    Pasted,
    /// A file of the user.
    File,
}

/// A model in the user's own files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalModel {
    /// Folder name, or a generic name for loose files.
    pub name: String,
    /// Names relative to the folder, in the order of the handles.
    pub files: Vec<String>,
    /// Total bytes.
    pub bytes: u64,
}

impl Default for Form {
    fn default() -> Self {
        let protocol = Protocol::default();
        Self {
            model: ModelChoice::Local,
            local_model: None,
            tokenizer: String::new(),
            feed: String::new(),
            text: TextChoice::Pasted,
            eval: None,
            pasted: String::new(),
            local_text: None,
            local_rows: None,
            mirror: String::new(),
            rows: protocol.rows.to_string(),
            seq_len: protocol.seq_len.to_string(),
            folds: protocol.folds.to_string(),
            interleaved_folds: protocol.interleaved_folds,
            skip_positions: protocol.skip_positions.to_string(),
            bos: protocol.bos,
            piece_chars: protocol.piece_chars.to_string(),
            gram: protocol.gram,
            backend: BackendChoice::default(),
            measures: BTreeSet::new(),
        }
    }
}

impl Form {
    /// Chooses a bundled model together with its text.
    pub fn choose_bundled(&mut self, bundled: &Bundled) {
        self.choose(ModelChoice::Bundled(bundled.name.clone()));
        self.text = match &bundled.text {
            DefaultText::File(_) => TextChoice::Bundled(bundled.name.clone()),
            DefaultText::Corpus(corpus) => TextChoice::Synthetic(corpus.clone()),
        };
    }

    /// Chooses a hub model by its name or the address of its page, and a hub text in place of one bundled with another model.
    pub fn choose_hub(&mut self, id: &str, index: &[Bundled]) {
        if matches!(self.text, TextChoice::Bundled(_)) || self.foreign_text(index).is_none() {
            self.text = TextChoice::Hub(WIKITEXT[0].into());
        }
        // A text that names no model stays as typed, and is refused in the order.
        let found = HubId::pasted(id, &self.endpoint().unwrap_or_default());
        self.choose(ModelChoice::Hub(found.map_or_else(|_| id.into(), |id| id.to_string())));
    }

    /// Chooses a model, or rows, whose default windows are shorter.
    pub fn choose(&mut self, model: ModelChoice) {
        let window = |choice: &ModelChoice| match choice {
            ModelChoice::Rows => ROWS_WINDOW.to_string(),
            _ => Protocol::default().seq_len.to_string(),
        };
        if self.seq_len == window(&self.model) {
            self.seq_len = window(&model);
        }
        if self.model != model {
            self.tokenizer.clear();
            self.feed.clear();
        }
        self.model = model;
    }

    /// The protocol of the survey of arXiv 2606.19379: maps fitted on the train split of WikiText-2, ΔPPL on its test
    /// split.
    pub fn choose_survey(&mut self) {
        let [test, _, train] = WIKITEXT.map(|name| TextChoice::Hub(name.into()));
        (self.text, self.eval) = (train, Some(test));
        self.set_protocol(&Protocol { gram: self.gram, ..Protocol::default() });
        self.measures.insert(Measure::Swap);
    }

    /// Where the tokenizer comes from, if it is not the model's own. A bundled model has its own.
    pub fn tokenizer_source(&self) -> Result<Option<Box<(HubId, Endpoint)>>> {
        match (&self.model, self.tokenizer.trim()) {
            (ModelChoice::Bundled(_) | ModelChoice::Rows, _) | (_, "") => Ok(None),
            (_, typed) => {
                let endpoint = self.endpoint()?;
                Ok(Some(Box::new((HubId::pasted(typed, &endpoint)?, endpoint))))
            }
        }
    }

    /// The model whose rows the controls feed through the measured one's networks, with its name in the report.
    ///
    /// # Errors
    /// It is neither bundled nor the name of a model on the hub.
    pub fn feed_source(&self, index: &[Bundled]) -> Result<Option<Box<(String, ModelSource)>>> {
        let typed = self.feed.trim();
        if typed.is_empty() {
            return Ok(None);
        }
        if let Ok(bundled) = find(index, typed) {
            return Ok(Some(Box::new((bundled.name.clone(), source(bundled)))));
        }
        let endpoint = self.endpoint()?;
        let id = HubId::pasted(typed, &endpoint)?;
        Ok(Some(Box::new((id.name().into(), ModelSource::Hub { id, endpoint }))))
    }

    /// Base URL of the hub or its mirror.
    pub fn endpoint(&self) -> Result<Endpoint> {
        match self.mirror.trim() {
            "" => Ok(Endpoint::default()),
            address => address.parse(),
        }
    }

    /// The protocol as chosen, with unchecked ranges.
    pub fn protocol(&self) -> Result<Protocol> {
        Ok(Protocol {
            rows: number("--rows", &self.rows)?,
            seq_len: number("--seq-len", &self.seq_len)?,
            folds: number("--folds", &self.folds)?,
            interleaved_folds: self.interleaved_folds,
            skip_positions: number("--skip-positions", &self.skip_positions)?,
            bos: self.bos,
            piece_chars: number("--piece-chars", &self.piece_chars)?,
            gram: self.gram,
            ..Protocol::default()
        })
    }

    /// Rows in whole windows, as the report counts them, so that a generated text can be reproduced from it.
    fn whole_rows(&self) -> Result<usize> {
        let Protocol { rows, seq_len, .. } = self.protocol()?;
        Ok(rows - rows % seq_len.max(1))
    }

    pub(super) fn model_source(&self, index: &[Bundled]) -> Result<(String, ModelSource)> {
        match &self.model {
            ModelChoice::Bundled(name) => find(index, name).map(|bundled| (bundled.name.clone(), source(bundled))),
            ModelChoice::Hub(typed) => {
                let id = HubId::model(typed)?;
                Ok((id.name().into(), ModelSource::Hub { id, endpoint: self.endpoint()? }))
            }
            ModelChoice::Local => {
                let hint = "choose the folder of a model in Hugging Face layout, or drop it on the page";
                let local = self.local_model.as_ref().ok_or_else(|| missing("model", hint))?;
                Ok((local.name.clone(), ModelSource::Handles { names: local.files.clone() }))
            }
            ModelChoice::Rows => Err(missing("model", "choose one")),
        }
    }

    pub(super) fn text_source(&self, index: &[Bundled]) -> Result<(String, TextSource)> {
        self.source_of(&self.text, index)
    }

    /// The text that perplexity is measured on, with its name, if it is not the held-out windows.
    pub(super) fn eval_source(&self, index: &[Bundled]) -> Result<Option<Box<(String, TextSource)>>> {
        self.eval.as_ref().map(|text| self.source_of(text, index).map(Box::new)).transpose()
    }

    fn source_of(&self, text: &TextChoice, index: &[Bundled]) -> Result<(String, TextSource)> {
        match text {
            TextChoice::Bundled(name) => Ok(text_source(find(index, name)?, self.whole_rows()?)),
            TextChoice::Hub(name) => {
                Ok((name.clone(), TextSource::Hub { name: name.clone(), endpoint: self.endpoint()? }))
            }
            TextChoice::Synthetic(corpus) => {
                Ok((corpus.clone(), TextSource::Synthetic { corpus: corpus.clone(), rows: self.whole_rows()? }))
            }
            TextChoice::Pasted if self.pasted.trim().is_empty() => Err(Error::EmptyText { corpus: PASTED_TEXT.into() }),
            TextChoice::Pasted => Ok((PASTED_TEXT.into(), TextSource::Pasted { content: self.pasted.clone() })),
            TextChoice::File => {
                let hint = "choose a text file, paste a text or take a bundled one";
                let name = self.local_text.clone().ok_or_else(|| missing("text", hint))?;
                Ok((name, TextSource::Handle))
            }
        }
    }
}

pub(crate) fn missing(file: &str, hint: &str) -> Error {
    Error::MissingFile { file: file.into(), hint: hint.into() }
}

/// The bundled model of this name.
///
/// # Errors
/// No bundled model has this name.
pub fn find<'a>(index: &'a [Bundled], name: &str) -> Result<&'a Bundled> {
    index.iter().find(|bundled| bundled.name == name).ok_or_else(|| Error::UnknownModel {
        name: name.into(),
        known: index.iter().map(|bundled| bundled.name.as_str()).collect::<Vec<_>>().join(", "),
    })
}

fn number(field: &str, typed: &str) -> Result<usize> {
    let digits: String = typed.chars().filter(|c| !c.is_whitespace()).collect();
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    let hint = match digits.strip_prefix('-') {
        Some(digits) if is_number(digits) => "give a whole number, 0 or more",
        None if is_number(&digits) => "give a smaller number",
        _ => "give a whole number",
    };
    digits.parse().map_err(|_| Error::InvalidSetting {
        field: field.into(),
        value: if digits.is_empty() { "nothing".into() } else { typed.chars().take(60).collect() },
        hint: hint.into(),
    })
}

#[cfg(test)]
mod tests {
    use straightedge_api::job::Job;
    use straightedge_api::message::OrderInputs;

    use super::*;
    use crate::state::bundled::sample as index;

    #[test]
    fn a_bundled_model_brings_its_text_and_the_default_protocol() {
        let mut form = Form::default();
        form.choose_bundled(&index()[0]);
        let order = form.order(7, &index()).unwrap();
        assert_eq!(order.run, 7);
        assert_eq!(order.job, Job::new("calibration", "calibration/text.txt"));
        let OrderInputs::Model { text, .. } = order.work else { panic!("rows without a model") };
        assert_eq!(text, TextSource::Bundled { path: "models/calibration/text.txt".into() });
    }

    #[test]
    fn a_model_on_the_hub_brings_a_text_and_keeps_one_of_the_users() {
        let mut form = Form::default();
        form.choose_bundled(&index()[0]);
        form.choose_hub("a/b@step0", &index());
        form.mirror = "http://127.0.0.1:8081".into();
        form.tokenizer = "https://huggingface.co/c/d".into();
        let order = form.order(1, &[]).unwrap();
        let endpoint: Endpoint = "http://127.0.0.1:8081".parse().unwrap();
        let model = ModelSource::Hub { id: HubId::model("a/b@step0").unwrap(), endpoint: endpoint.clone() };
        let text = TextSource::Hub { name: WIKITEXT[0].into(), endpoint: endpoint.clone() };
        let tokenizer = Some(Box::new((HubId::model("c/d").unwrap(), endpoint)));
        assert_eq!(order.job.tokenizer.as_deref(), Some("c/d"));
        assert_eq!(order.job.checkpoint.as_deref(), Some("step0"));
        assert_eq!(
            (order.job.model.as_str(), order.work),
            ("a/b", OrderInputs::Model { model, tokenizer, text, eval: None, feed: None })
        );
        form.text = TextChoice::Synthetic("tales:3".into());
        form.choose_hub("a/c", &index());
        assert_eq!(form.tokenizer, "", "another model has another one");
        assert_eq!(form.text, TextChoice::Synthetic("tales:3".into()));
        form.choose_hub("https://huggingface.co/a/b/tree/step7", &index());
        assert_eq!(form.model, ModelChoice::Hub("a/b@step7".into()));
        form.choose_hub("http://127.0.0.1:8081/a/c/", &index());
        assert_eq!(form.model, ModelChoice::Hub("a/c".into()));
        form.choose_hub("not a name", &index());
        assert!(matches!(form.order(1, &[]), Err(Error::HubId { .. })));
        form.choose_hub("a/b", &[]);
        form.mirror = "ftp://x".into();
        assert!(matches!(form.order(1, &[]), Err(Error::HubEndpoint { .. })));
    }

    #[test]
    fn controls_take_the_rows_of_a_bundled_model_or_one_on_the_hub() {
        let fed = |form: &Form| match form.order(1, &index()).map(|order| order.work) {
            Ok(OrderInputs::Model { feed, .. }) => Ok(feed.map(|feed| *feed)),
            Ok(OrderInputs::Rows) => panic!("a model was chosen"),
            Err(error) => Err(error),
        };
        let mut form = Form { measures: [Measure::Swap].into(), ..Form::default() };
        form.choose_bundled(&index()[0]);
        form.feed = "../x".into();
        assert_eq!(fed(&form).unwrap(), None, "only the controls feed");
        form.measures.insert(Measure::Controls);
        assert!(matches!(fed(&form), Err(Error::HubId { .. })));
        form.feed = " calibration ".into();
        assert_eq!(fed(&form).unwrap(), Some(("calibration".into(), source(&index()[0]))));
        form.feed = "https://huggingface.co/a/b/tree/step7".into();
        let hub = ModelSource::Hub { id: HubId::model("a/b@step7").unwrap(), endpoint: Endpoint::default() };
        assert_eq!(fed(&form).unwrap(), Some(("a/b".into(), hub)));
        form.choose_hub("a/c", &index());
        assert_eq!(fed(&form).unwrap(), None, "another model has another width");
    }

    #[test]
    fn the_survey_fits_on_one_split_and_measures_losses_on_another() {
        let mut form = Form { rows: "64".into(), gram: GramMode::Fast, ..Form::default() };
        form.choose_hub("openai-community/gpt2", &index());
        form.choose_survey();
        let order = form.order(1, &index()).unwrap();
        let OrderInputs::Model { eval, .. } = order.work else { panic!("rows without a model") };
        let test = TextSource::Hub { name: "wikitext-2-test".into(), endpoint: Endpoint::default() };
        assert_eq!(
            (order.job.corpus.as_str(), eval),
            ("wikitext-2-train", Some(("wikitext-2-test".into(), test).into()))
        );
        assert_eq!((order.job.protocol.rows, order.job.protocol.gram), (15_000, GramMode::Fast));
        assert!(order.job.measures.contains(&Measure::Swap));
    }

    #[test]
    fn rows_need_no_text_and_have_windows_of_their_own() {
        let mut form = Form::default();
        form.choose(ModelChoice::Rows);
        assert!(matches!(form.order(1, &[]), Err(Error::MissingFile { file, .. }) if file == "rows"));
        form.local_rows = Some(("r.safetensors".into(), 10));
        let order = form.order(1, &[]).unwrap();
        assert_eq!((order.work, order.job.protocol.seq_len), (OrderInputs::Rows, ROWS_WINDOW));
        form.choose(ModelChoice::Local);
        assert_eq!(form.seq_len, "128");
        form.seq_len = "64".into();
        form.choose(ModelChoice::Rows);
        assert_eq!(form.seq_len, "64", "as typed");
    }

    #[test]
    fn a_look_needs_a_model_and_can_do_without_a_text() {
        let mut form = Form::default();
        assert_eq!(form.preview(1, &[]), None);
        form.text = TextChoice::File;
        form.choose_hub("a/b", &[]);
        let order = form.preview(1, &[]).unwrap();
        assert!(matches!(order.work, OrderInputs::Model { text: TextSource::Missing, .. }));
        form.folds = "1".into();
        assert_eq!(form.preview(1, &[]), None);
    }

    #[test]
    fn a_trained_model_brings_a_made_text_of_whole_windows() {
        let demo = Bundled { name: "demo".into(), text: DefaultText::Corpus("tales:1".into()), ..index().remove(0) };
        let mut form = Form { rows: "1 500".into(), ..Form::default() };
        form.choose_bundled(&demo);
        let order = form.order(1, &[demo]).unwrap();
        assert_eq!(order.job.corpus, "tales:1");
        let OrderInputs::Model { text, .. } = order.work else { panic!("rows without a model") };
        assert_eq!(text, TextSource::Synthetic { corpus: "tales:1".into(), rows: 1408 });
    }

    #[test]
    fn own_files_and_a_pasted_text_are_ordered_by_name() {
        let files = vec!["config.json".to_string()];
        let form = Form {
            local_model: Some(LocalModel { name: "mine".into(), files: files.clone(), bytes: 2 }),
            pasted: "some words".into(),
            rows: "1 500".into(),
            backend: BackendChoice::Cpu,
            ..Form::default()
        };
        let order = form.order(1, &[]).unwrap();
        let text = TextSource::Pasted { content: "some words".into() };
        assert_eq!(
            order.work,
            OrderInputs::Model {
                model: ModelSource::Handles { names: files },
                tokenizer: None,
                text,
                eval: None,
                feed: None
            }
        );
        assert_eq!((order.job.protocol.rows, order.job.backend), (1500, BackendChoice::Cpu));
    }

    #[test]
    fn what_is_missing_or_impossible_is_named() {
        let mut form = Form::default();
        assert!(matches!(form.order(1, &[]), Err(Error::MissingFile { file, .. }) if file == "model"));
        form.choose_bundled(&index()[0]);
        assert!(matches!(form.order(1, &[]), Err(Error::UnknownModel { .. })));
        form.text = TextChoice::File;
        assert!(matches!(form.order(1, &index()), Err(Error::MissingFile { file, .. }) if file == "text"));
        form.text = TextChoice::Pasted;
        assert!(matches!(form.order(1, &index()), Err(Error::EmptyText { .. })));
        form.pasted = "words".into();
        form.folds = "1".into();
        assert!(matches!(form.order(1, &index()), Err(Error::InvalidSetting { field, .. }) if field == "--folds"));
        for (typed, words) in [("-3", "0 or more"), ("18446744073709551616", "smaller"), ("", "a whole number")] {
            form.folds = typed.into();
            assert!(form.order(1, &index()).unwrap_err().to_string().contains(words), "{typed}");
        }
        form.folds = "many".into();
        assert!(matches!(form.order(1, &index()), Err(Error::InvalidSetting { value, .. }) if value == "many"));
    }
}
