//! Blocks solved by somebody else: in whatever order they come, and here where that somebody is lost.

mod common;

use std::cell::Cell;
use std::rc::Rc;

use futures::StreamExt;
use futures::executor::block_on;
use futures::future::{FutureExt, LocalBoxFuture};
use straightedge::crew::{Crew, Folds};
use straightedge::error::Result;
use straightedge::event::Event;
use straightedge::job::{BackendChoice, Job, Protocol};
use straightedge::pause::pause;
use straightedge::report::BlockReport;
use straightedge::run::{Inputs, Text, measure_inputs};
use straightedge::solve::{BlockScore, score_block};
use straightedge::weights::{Files, FolderFiles};

/// Takes the longer, the earlier a block is; loses every block but those of even number.
struct Unsteady {
    asked: Cell<usize>,
}

const BLOCKS: usize = 4;

impl Crew for Unsteady {
    fn score<'a>(&'a self, block: usize, folds: Folds<'a>) -> LocalBoxFuture<'a, Result<Option<BlockScore>>> {
        self.asked.set(self.asked.get() + 1);
        let work = async move {
            let folds = folds.await?;
            for _ in 0..10 * (BLOCKS - block) {
                pause().await;
            }
            if block.is_multiple_of(2) { score_block(block, &folds).map(Some) } else { Ok(None) }
        };
        work.boxed_local()
    }
}

#[test]
fn blocks_come_in_order_and_alike_whoever_solves_them() {
    let measured = |crew: Option<Rc<dyn Crew>>| {
        let files: Rc<dyn Files> = Rc::new(FolderFiles::new(common::fixture("tiny-llama")));
        let text = std::fs::read(common::encyclopedia()).expect("a text");
        let mut inputs = Inputs::new(files, Text::Plain(text));
        if let Some(crew) = crew {
            inputs.crew = crew;
        }
        let mut job = Job::new("tiny-llama", "encyclopedia");
        job.backend = BackendChoice::Cpu;
        job.protocol = Protocol { rows: 1280, ..Protocol::default() };
        let events: Vec<Event> = block_on(measure_inputs(job, inputs).collect());
        let block = |event: Event| match event {
            Event::Block(block) => Some(*block),
            Event::Failed(error) => panic!("{error}"),
            _ => None,
        };
        events.into_iter().filter_map(block).collect::<Vec<BlockReport>>()
    };
    let crew = Rc::new(Unsteady { asked: Cell::new(0) });
    let found = measured(Some(crew.clone()));
    assert_eq!(crew.asked.get(), BLOCKS);
    let order: Vec<usize> = found.iter().map(|block| block.block).collect();
    assert_eq!(order, [0, 1, 2, 3], "as they are solved, once");
    assert!(found.iter().all(|block| block.cosine.is_some() && block.scatter.is_some()), "with their cosines");
    assert_eq!(found, measured(None));
}
