//! Prints the current step of a build and the duration of earlier ones.

use std::time::{Duration, Instant};

/// The steps of one build.
pub(crate) struct Progress {
    steps: usize,
    step: usize,
    start: Instant,
}

impl Progress {
    /// Announces the number of steps; the first may take long.
    pub(crate) fn new(steps: usize) -> Self {
        println!("A first build compiles everything and takes minutes; later ones compile what has changed.");
        Self { steps, step: 0, start: Instant::now() }
    }

    /// Begins the next step.
    pub(crate) fn next(&mut self, what: &str) {
        self.step += 1;
        println!("{}", line(self.step, self.steps, self.start.elapsed(), what));
    }
}

fn line(step: usize, steps: usize, elapsed: Duration, what: &str) -> String {
    let seconds = elapsed.as_secs();
    format!("\n[{step}/{steps}, {} min {:02} s] {what}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_step_time_and_name() {
        assert_eq!(line(2, 5, Duration::from_secs(125), "the engine"), "\n[2/5, 2 min 05 s] the engine");
    }
}
