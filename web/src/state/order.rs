//! The order that the choices of the form produce.

use straightedge_api::bundled::Bundled;
use straightedge_api::error::Result;
use straightedge_api::hub::id::HubId;
use straightedge_api::job::{Job, Measure};
use straightedge_api::message::{Order, OrderInputs, TextSource};

use super::form::{Form, ModelChoice, find, missing};

impl Form {
    /// The order for measurement number `run`, or the first setting that is missing or out of range.
    pub fn order(&self, run: u32, index: &[Bundled]) -> Result<Order> {
        if self.model == ModelChoice::Rows {
            let (name, _) =
                self.local_rows.clone().ok_or_else(|| missing("rows", "choose a safetensors file of rows"))?;
            return self.order_of(run, name.clone(), name, OrderInputs::Rows);
        }
        let (model_id, model) = self.model_source(index)?;
        let (corpus_id, text) = self.text_source(index)?;
        let (tokenizer, eval) = (self.tokenizer_source()?, self.eval_source(index)?);
        let feed = if self.measures.contains(&Measure::Controls) { self.feed_source(index)? } else { None };
        let mut order =
            self.order_of(run, model_id, corpus_id, OrderInputs::Model { model, tokenizer, text, eval, feed })?;
        order.job.checkpoint = self.checkpoint(index);
        Ok(order)
    }

    /// The chosen training checkpoint, if any.
    fn checkpoint(&self, index: &[Bundled]) -> Option<String> {
        match &self.model {
            ModelChoice::Bundled(name) => find(index, name).ok()?.demo.as_ref()?.checkpoint(),
            ModelChoice::Hub(typed) => HubId::model(typed).ok()?.checkpoint().map(Into::into),
            ModelChoice::Local | ModelChoice::Rows => None,
        }
    }

    /// The order as far as it is known, for a preview; `None` without a model or with a setting out of range.
    pub fn preview(&self, run: u32, index: &[Bundled]) -> Option<Order> {
        if let Ok(order) = self.order(run, index) {
            return Some(order);
        }
        let (model_id, model) = self.model_source(index).ok()?;
        let (tokenizer, text) = (self.tokenizer_source().ok()?, TextSource::Missing);
        self.order_of(
            run,
            model_id,
            "text".into(),
            OrderInputs::Model { model, tokenizer, text, eval: None, feed: None },
        )
        .ok()
    }

    fn order_of(&self, run: u32, model: String, corpus: String, work: OrderInputs) -> Result<Order> {
        let mut job = Job { protocol: self.protocol()?, backend: self.backend, ..Job::new(model, corpus) };
        if let OrderInputs::Model { tokenizer: Some(source), .. } = &work {
            job.tokenizer = Some(source.0.to_string());
        }
        job.measures.extend(&self.measures);
        job.check()?;
        Ok(Order { run, result: String::new(), job, work })
    }
}
