//! Cache of maps from one job for the next, so that a measured model can continue a prompt without another measurement.

use std::collections::BTreeMap;

use crate::error::Error;
use crate::event::{Event, MapDump};
use crate::report::{Header, Report};
use crate::solve::AffineMap;

/// Size limit in bytes, enough for the maps of the smallest GPT-2; maps beyond it are measured again.
const MOST_BYTES: usize = 32 << 20;

/// The maps of the last measurement, by block.
#[derive(Debug, Default)]
pub struct MapCache {
    measured: Option<Report>,
    maps: BTreeMap<usize, CachedMap>,
}

/// A map with the digits that a device takes of it, in half the memory.
#[derive(Debug)]
struct CachedMap {
    /// W ⊙ σ, row-major d_in × d_out.
    scaled: Vec<f32>,
    mean_x: Vec<f64>,
    deviation_x: Vec<f64>,
    mean_y: Vec<f64>,
}

impl CachedMap {
    fn of(MapDump { weight, mean_x, deviation_x, mean_y, .. }: &MapDump) -> Self {
        let mut scaled = Vec::with_capacity(weight.len());
        for (row, deviation) in weight.chunks_exact(mean_y.len()).zip(deviation_x) {
            scaled.extend(row.iter().map(|weight| (weight * deviation) as f32));
        }
        Self { scaled, mean_x: mean_x.clone(), deviation_x: deviation_x.clone(), mean_y: mean_y.clone() }
    }

    fn bytes(&self) -> usize {
        4 * self.scaled.len() + 8 * (2 * self.mean_x.len() + self.mean_y.len())
    }

    /// A map of which a device gets the same numbers.
    fn affine(&self) -> AffineMap {
        let Self { scaled, mean_x, deviation_x, mean_y } = self;
        let mut weight = Vec::with_capacity(scaled.len());
        for (row, deviation) in scaled.chunks_exact(mean_y.len()).zip(deviation_x) {
            weight.extend(row.iter().map(|weight| f64::from(*weight) / deviation));
        }
        let (mean_x, deviation_x, mean_y) = (mean_x.clone(), deviation_x.clone(), mean_y.clone());
        AffineMap { rank: mean_x.len(), weight, mean_x, deviation_x, mean_y }
    }
}

impl MapCache {
    /// Updates the cache from an event of any job.
    pub fn receive(&mut self, event: &Event) {
        match event {
            Event::Started(header) if !self.measured.as_ref().is_some_and(|known| known.is_continued_by(header)) => {
                *self = Self { measured: Some(Report::from(Header::clone(header))), maps: BTreeMap::new() };
            }
            // Maps of damaged weights.
            Event::Failed(Error::DamagedWeights { .. }) => *self = Self::default(),
            Event::Map(map) if self.measured.is_some() && map.healed.is_none() => self.keep(map),
            _ => {}
        }
    }

    fn keep(&mut self, dump: &MapDump) {
        let map = CachedMap::of(dump);
        let held: usize = self.maps.values().map(CachedMap::bytes).sum();
        if held + map.bytes() <= MOST_BYTES {
            self.maps.insert(dump.block, map);
        }
    }

    /// The maps of `blocks`, in their order, if they match `header`; `None` if one is missing.
    pub(super) fn of(&self, header: &Header, blocks: &[usize]) -> Option<Vec<(usize, AffineMap)>> {
        self.measured.as_ref().filter(|known| known.is_continued_by(header))?;
        blocks.iter().map(|block| Some((*block, self.maps.get(block)?.affine()))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Protocol;
    use crate::report::{AppInfo, ModelInfo, ProtocolInfo};

    fn header(model: &str) -> Header {
        Header {
            app: AppInfo::this(),
            model: ModelInfo { id: model.into(), ..ModelInfo::default() },
            corpus: Default::default(),
            protocol: ProtocolInfo::new(&Protocol::default(), 10, 2, 0.0),
            device: Default::default(),
            ordered: Default::default(),
        }
    }

    fn map(block: usize, inputs: usize) -> Event {
        let ones = |len: usize| vec![1.0; len];
        let (weight, bias) = (ones(inputs * 2), ones(2));
        let (mean_x, deviation_x, mean_y) = (ones(inputs), ones(inputs), ones(2));
        Event::Map(Box::new(MapDump { block, healed: None, weight, bias, mean_x, deviation_x, mean_y }))
    }

    #[test]
    fn maps_are_those_of_the_last_thing_that_was_measured() {
        let mut kept = MapCache::default();
        kept.receive(&map(0, 3));
        let started = |model| Event::Started(Box::new(header(model)));
        for event in [started("a"), map(0, 3), started("a"), map(1, 3)] {
            kept.receive(&event);
        }
        let found = kept.of(&header("a"), &[0, 1]).expect("both");
        assert_eq!(found.iter().map(|(block, _)| *block).collect::<Vec<_>>(), [0, 1]);
        assert!(kept.of(&header("a"), &[0, 2]).is_none() && kept.of(&header("b"), &[0]).is_none());
        assert_eq!(kept.of(&header("a"), &[]).map(|maps| maps.len()), Some(0));
        let (found, expected) = (String::new(), String::new());
        let damaged = Error::DamagedWeights { file: "w".into(), kind: "SHA-256".into(), found, expected };
        kept.receive(&Event::Failed(Error::Cancelled));
        assert!(kept.of(&header("a"), &[0, 1]).is_some());
        kept.receive(&Event::Failed(damaged));
        assert!(kept.of(&header("a"), &[0]).is_none(), "maps of damaged weights");
        kept.receive(&started("b"));
        assert!(kept.of(&header("a"), &[0]).is_none() && kept.of(&header("b"), &[0]).is_none());
    }

    #[test]
    fn a_device_gets_the_same_numbers_of_a_cached_map() {
        let mut random = crate::platform::random::Random::new(3);
        let mut some = |len: usize| (0..len).map(|_| random.normal().abs() + 1e-3).collect::<Vec<f64>>();
        let (weight, mean_x, deviation_x, mean_y) = (some(600), some(30), some(30), some(20));
        let dump = MapDump { block: 0, healed: None, weight, bias: some(20), mean_x, deviation_x, mean_y };
        let (map, cached) = (AffineMap::from(&dump), CachedMap::of(&dump).affine());
        let scaled = |map: &AffineMap| -> Vec<f32> {
            let rows = map.weight.chunks_exact(20).zip(&map.deviation_x);
            rows.flat_map(|(row, deviation)| row.iter().map(move |weight| (weight * deviation) as f32)).collect()
        };
        assert_eq!(scaled(&map), scaled(&cached));
        assert_eq!((map.mean_x, map.deviation_x, map.mean_y), (cached.mean_x, cached.deviation_x, cached.mean_y));
    }

    #[test]
    fn no_more_is_kept_than_there_is_room_for() {
        let mut kept = MapCache::default();
        kept.receive(&Event::Started(Box::new(header("a"))));
        // Two numbers of four bytes and two of eight per input, and a few.
        for block in 0..3 {
            kept.receive(&map(block, MOST_BYTES / 24 / 2 - 8));
        }
        assert!(kept.of(&header("a"), &[0, 1]).is_some() && kept.of(&header("a"), &[2]).is_none());
    }
}
