//! Runs code of the tokenizers' library and turns its panics into errors of the file.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::error::{Error, Result};

thread_local! {
    /// The file whose tokenizer this thread is running.
    static RUNNING: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// Runs the library's code. Where panics can be caught, those that the check of the file missed become errors too.
pub(super) fn guarded<T, E: ToString>(
    file: &'static str,
    run: impl FnOnce() -> std::result::Result<T, E>,
) -> Result<T> {
    RUNNING.set(Some(file));
    let outcome = catch_unwind(AssertUnwindSafe(run));
    RUNNING.set(None);
    match outcome {
        Ok(outcome) => outcome.map_err(|error| failed(file, &error)),
        Err(_) => Err(broken(file)),
    }
}

/// The error of a panic on this thread, if the tokenizer is running. For a panic hook where panics cannot be caught, as
/// in a browser.
pub fn tokenizer_panic() -> Option<Error> {
    RUNNING.get().map(broken)
}

/// An error of a file of a tokenizer.
pub(super) fn failed(file: &str, why: &dyn ToString) -> Error {
    Error::Tokenizer { why: format!("{file}: {}", why.to_string()) }
}

fn broken(file: &str) -> Error {
    failed(file, &"the crate tokenizers fails on it")
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn a_panic_of_the_tokenizer_is_an_error_of_its_file_also_for_the_hook() {
        static PANICS: Mutex<Vec<Option<Error>>> = Mutex::new(Vec::new());
        let own = std::thread::current().id();
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if std::thread::current().id() != own {
                return before(panic);
            }
            PANICS.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(tokenizer_panic());
        }));
        let result = guarded("vocab.txt", || -> std::result::Result<(), String> { panic!("planted") });
        let other = catch_unwind(|| panic!("elsewhere"));
        let _ = std::panic::take_hook();
        let expected = Error::Tokenizer { why: "vocab.txt: the crate tokenizers fails on it".into() };
        assert_eq!(result, Err(expected.clone()));
        assert!(other.is_err());
        assert_eq!(*PANICS.lock().expect("no panic held it"), [Some(expected), None]);
        assert_eq!(guarded("vocab.txt", || Ok::<_, String>(7)), Ok(7));
    }
}
