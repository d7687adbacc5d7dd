//! Removal, linear and low-rank replacement by thirds of the depth, as plain data.

use std::collections::{BTreeMap, BTreeSet};

use crate::report::{BlockReport, Report, finite};

/// Means over the measured blocks of one third of the depth; `None` if any value, or all, are unknown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Third {
    /// Measured blocks, ascending; block ℓ of L lies in third ⌊3ℓ/L⌋.
    pub blocks: Vec<usize>,
    /// Mean ΔPPL without the network.
    pub removed: Option<f64>,
    /// Mean ΔPPL of the affine map.
    pub linear: Option<f64>,
    /// Mean ΔPPL of the map of rank [`Thirds::rank`].
    pub low_rank: Option<f64>,
    /// Mean over blocks of the network's time divided by the affine map's.
    pub linear_speedup: Option<f64>,
    /// The same of the low-rank map.
    pub low_rank_speedup: Option<f64>,
}

/// The three thirds of a report, from the input to the output.
#[derive(Clone, Debug, PartialEq)]
pub struct Thirds {
    /// The measured rank nearest to an eighth of the width; `None` where none was measured.
    pub rank: Option<usize>,
    /// Lower, middle and upper third.
    pub thirds: [Third; 3],
}

impl Thirds {
    /// Summarises `report`; `None` if no block was swapped.
    pub fn new(report: &Report) -> Option<Self> {
        if report.blocks.iter().all(|block| block.delta_ppl.is_empty()) {
            return None;
        }
        let rank = nearest_rank(report);
        let depth = report.model.num_hidden_layers.max(1);
        let of = |third: usize| {
            let blocks = report.blocks.iter().filter(|block| (3 * block.block / depth).min(2) == third);
            summarise(&blocks.collect::<Vec<_>>(), rank)
        };
        Some(Self { rank, thirds: [of(0), of(1), of(2)] })
    }
}

fn summarise(blocks: &[&BlockReport], rank: Option<usize>) -> Third {
    let low_rank = rank.map(rank_name);
    let delta = |name: &str| mean(blocks.iter().filter_map(|block| block.delta_ppl.get(name).copied()));
    let speedup = |name: &str| mean(blocks.iter().filter_map(|block| speedup(&block.row_microseconds, name)));
    Third {
        blocks: blocks.iter().map(|block| block.block).collect(),
        removed: delta("zero"),
        linear: delta("linear"),
        low_rank: low_rank.as_deref().and_then(delta),
        linear_speedup: speedup("linear"),
        low_rank_speedup: low_rank.as_deref().and_then(speedup),
    }
}

/// The rank nearest to d/8; of two equally near ones the smaller.
fn nearest_rank(report: &Report) -> Option<usize> {
    let names = report.blocks.iter().flat_map(|block| block.delta_ppl.keys());
    let ranks: BTreeSet<usize> = names.filter_map(|name| name.strip_prefix("rank_")?.parse().ok()).collect();
    // Eight times the distance, in integers.
    ranks.into_iter().min_by_key(|rank| rank.saturating_mul(8).abs_diff(report.model.hidden_size))
}

fn rank_name(rank: usize) -> String {
    format!("rank_{rank}")
}

/// `None` if the replacement was not timed, `Some(None)` if its time is unknown.
fn speedup(times: &BTreeMap<String, Option<f64>>, name: &str) -> Option<Option<f64>> {
    let (original, replaced) = (times.get("original")?, times.get(name)?);
    Some(original.zip(*replaced).and_then(|(original, replaced)| finite(original / replaced)))
}

/// The mean; `None` if empty or if any value is unknown, because the mean of the rest would hide the worst block.
fn mean(values: impl Iterator<Item = Option<f64>>) -> Option<f64> {
    let values: Vec<f64> = values.collect::<Option<_>>()?;
    finite(values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{AppInfo, CorpusInfo, DeviceInfo, Header, ModelInfo, ProtocolInfo};

    fn report(depth: usize, blocks: Vec<BlockReport>) -> Report {
        let header = Header {
            app: AppInfo::this(),
            model: ModelInfo { hidden_size: 64, num_hidden_layers: depth, ..ModelInfo::default() },
            corpus: CorpusInfo::default(),
            protocol: ProtocolInfo::new(&crate::job::Protocol::default(), 10, 2, 0.0),
            device: DeviceInfo::default(),
            ordered: Default::default(),
        };
        Report { blocks, ..Report::from(header) }
    }

    fn map(values: &[(&str, Option<f64>)]) -> BTreeMap<String, Option<f64>> {
        values.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    fn block(block: usize, linear: Option<f64>) -> BlockReport {
        BlockReport {
            block,
            delta_ppl: map(&[("linear", linear), ("zero", Some(10.0)), ("rank_4", Some(1.0)), ("rank_16", Some(2.0))]),
            row_microseconds: map(&[("original", Some(8.0)), ("linear", Some(2.0)), ("rank_4", None)]),
            ..BlockReport::default()
        }
    }

    #[test]
    fn blocks_are_shared_out_by_depth_and_averaged() {
        let blocks = [0, 1, 2, 3, 6].map(|index| block(index, Some(index as f64))).to_vec();
        let thirds = Thirds::new(&report(7, blocks)).expect("swaps");
        assert_eq!(thirds.rank, Some(4), "4 is nearer to 8 than 16");
        assert_eq!(thirds.thirds.clone().map(|third| third.blocks), [vec![0, 1, 2], vec![3], vec![6]]);
        assert_eq!(thirds.thirds.clone().map(|third| third.linear), [Some(1.0), Some(3.0), Some(6.0)]);
        assert_eq!(thirds.thirds[0].removed, Some(10.0));
        assert_eq!(thirds.thirds[0].low_rank, Some(1.0));
        assert_eq!(thirds.thirds[0].linear_speedup, Some(4.0));
        assert_eq!(thirds.thirds[0].low_rank_speedup, None, "its time is unknown");
    }

    #[test]
    fn the_unknown_stays_unknown() {
        let thirds = Thirds::new(&report(6, vec![block(0, Some(1.0)), block(1, None)])).expect("swaps");
        assert_eq!(thirds.thirds[0].linear, None);
        assert_eq!(thirds.thirds[1], Third::default());
        assert_eq!(Thirds::new(&report(3, vec![BlockReport::default()])), None);
        assert_eq!(Thirds::new(&report(0, vec![block(5, None)])).expect("swaps").thirds[2].blocks, [5]);
    }
}
