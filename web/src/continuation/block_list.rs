//! The blocks that can be made linear, with their known R².

use straightedge_api::report::Report;

/// The blocks of the chosen model with their R², as far as they are known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BlockList {
    /// Index and R²_lin of every block.
    pub blocks: Vec<(usize, Option<f64>)>,
}

impl BlockList {
    /// The blocks of a model of which only the number is known.
    pub fn of_number(blocks: usize) -> Self {
        Self { blocks: (0..blocks).map(|block| (block, None)).collect() }
    }

    /// The blocks of the model of a report.
    pub fn of_report(report: &Report) -> Self {
        let mut known = Self::of_number(report.model.num_hidden_layers);
        for block in &report.blocks {
            if let Some((_, r2)) = known.blocks.get_mut(block.block) {
                *r2 = block.r2_lin;
            }
        }
        known
    }

    /// Whether the model has this block, as far as that is known.
    pub fn may_have(&self, block: usize) -> bool {
        self.blocks.is_empty() || self.blocks.iter().any(|(known, _)| *known == block)
    }

    /// The block with the highest R².
    pub fn most_linear(&self) -> Option<usize> {
        let measured = self.blocks.iter().filter_map(|(block, r2)| Some((*block, (*r2)?)));
        measured.max_by(|a, b| a.1.total_cmp(&b.1)).map(|(block, _)| block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_known_from_a_report_that_may_be_half_done() {
        let mut report = crate::figures::sample_report();
        report.model.num_hidden_layers = 4;
        report.blocks.truncate(2);
        let known = BlockList::of_report(&report);
        assert_eq!(known.blocks.len(), 4);
        assert_eq!(known.blocks[3], (3, None));
        assert_eq!(known.blocks[1].1, report.blocks[1].r2_lin);
        assert!(known.most_linear().is_some_and(|block| block < 2));
        assert_eq!(BlockList::of_number(3).most_linear(), None);
    }
}
