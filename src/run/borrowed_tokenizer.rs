//! A model's files with the tokenizer of another model.

use std::ops::Range;
use std::rc::Rc;

use futures::future::LocalBoxFuture;

use crate::corpus::TOKENIZER_KINDS;
use crate::error::Result;
use crate::report::Warning;
use crate::weights::{FilePart, Files, Listener};

/// A model's files, of which those of the tokenizer come from another model.
pub struct BorrowedTokenizer {
    model: Rc<dyn Files>,
    tokenizer: Rc<dyn Files>,
}

impl BorrowedTokenizer {
    /// The files of `model`, with the tokenizer of `tokenizer`.
    pub fn new(model: Rc<dyn Files>, tokenizer: Rc<dyn Files>) -> Self {
        Self { model, tokenizer }
    }

    fn source(&self, file: &str) -> &dyn Files {
        let is_of_tokenizer = TOKENIZER_KINDS.iter().any(|kind| kind.contains(&file));
        if is_of_tokenizer { &*self.tokenizer } else { &*self.model }
    }
}

impl Files for BorrowedTokenizer {
    fn size<'a>(&'a self, file: &'a str) -> LocalBoxFuture<'a, Result<Option<u64>>> {
        self.source(file).size(file)
    }

    fn read<'a>(&'a self, file: &'a str, range: Range<u64>) -> LocalBoxFuture<'a, Result<Vec<u8>>> {
        self.source(file).read(file, range)
    }

    fn announce<'a>(&'a self, groups: &'a [Vec<FilePart>]) -> LocalBoxFuture<'a, Result<()>> {
        self.model.announce(groups)
    }

    fn prepare<'a>(&'a self, parts: &'a [FilePart]) -> LocalBoxFuture<'a, Result<()>> {
        self.model.prepare(parts)
    }

    fn report_damaged<'a>(&'a self, file: &'a str) -> LocalBoxFuture<'a, Result<()>> {
        self.source(file).report_damaged(file)
    }

    fn discarded<'a>(&'a self, file: &'a str) -> LocalBoxFuture<'a, u64> {
        self.source(file).discarded(file)
    }

    fn listen(&self, listener: Listener) {
        self.model.listen(listener.clone());
        self.tokenizer.listen(listener);
    }

    fn warnings(&self) -> Vec<Warning> {
        self.model.warnings()
    }

    fn revision(&self) -> Option<String> {
        self.model.revision()
    }

    fn sha256(&self, file: &str) -> Option<String> {
        self.source(file).sha256(file)
    }

    fn is_verified(&self, file: &str) -> bool {
        self.source(file).is_verified(file)
    }
}
