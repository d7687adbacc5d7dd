//! A list of steps that continues after a failure and ends with a summary.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::tally::Tally;

/// Steps done so far.
#[derive(Default)]
pub(crate) struct Steps {
    done: Vec<Step>,
    tally: Tally,
}

struct Step {
    name: &'static str,
    failure: Option<String>,
    took: Duration,
}

impl Steps {
    /// Runs one step, prints its failure, and returns its value.
    pub(crate) fn step<T>(&mut self, name: &'static str, work: impl FnOnce() -> Result<T>) -> Option<T> {
        println!("\n== {name}");
        let start = Instant::now();
        let result = work();
        let failure = result.as_ref().err().map(|error| format!("{error:#}"));
        if let Some(failure) = &failure {
            eprintln!("{name}: {failure}");
        }
        self.done.push(Step { name, failure, took: start.elapsed() });
        result.ok()
    }

    /// Runs a step that runs and counts tests, including failing ones.
    pub(crate) fn tests(&mut self, name: &'static str, work: impl FnOnce(&mut Tally) -> Result<()>) {
        let mut tally = Tally::default();
        self.step(name, || work(&mut tally));
        self.tally.merge(tally);
    }

    /// Prints the summary; an error if any step failed.
    pub(crate) fn finish(self) -> Result<()> {
        let Self { done, tally } = self;
        println!("\n== Summary");
        for Step { name, failure, took } in &done {
            let outcome = failure.as_deref().unwrap_or("ok");
            println!("{name:<24} {:>6.0} s  {outcome}", took.as_secs_f64());
        }
        if !tally.skipped.is_empty() {
            println!("\nnot run:");
            tally.skipped.iter().for_each(|line| println!("  {line}"));
        }
        if tally != Tally::default() {
            println!("\n{} passed, {} failed, {} skipped", tally.passed, tally.failed, tally.skipped.len());
        }
        let failed = done.iter().filter(|step| step.failure.is_some()).count();
        if failed > 0 {
            bail!("{failed} of {} steps failed", done.len());
        }
        println!("all {} steps passed", done.len());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn a_failure_neither_stops_the_rest_nor_is_forgotten() {
        let mut steps = Steps::default();
        assert_eq!(steps.step("first", || Err::<(), _>(anyhow!("broken"))), None);
        assert_eq!(steps.step("second", || Ok(2)), Some(2));
        assert_eq!(steps.finish().expect_err("one failed").to_string(), "1 of 2 steps failed");
    }
}
