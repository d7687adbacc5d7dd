//! Cache of maps from one job for the next, so that a measured model can continue a prompt without another measurement.

use std::collections::BTreeMap;

use crate::event::{Event, MapDump};
use crate::report::{Header, Report};
use crate::solve::AffineMap;

/// Size limit in bytes; maps beyond it are measured again.
const ROOM: usize = 128 << 20;

/// The maps of the last measurement, by block.
#[derive(Debug, Default)]
pub struct MapCache {
    measured: Option<Report>,
    maps: BTreeMap<usize, AffineMap>,
}

impl MapCache {
    /// Updates the cache from an event of any job.
    pub fn receive(&mut self, event: &Event) {
        match event {
            Event::Started(header) if !self.measured.as_ref().is_some_and(|known| known.is_continued_by(header)) => {
                *self = Self { measured: Some(Report::from(Header::clone(header))), maps: BTreeMap::new() };
            }
            Event::Map(map) if self.measured.is_some() && map.healed.is_none() => self.keep(map),
            _ => {}
        }
    }

    fn keep(&mut self, dump: &MapDump) {
        let bytes = |map: &AffineMap| 8 * (map.weight.len() + 2 * map.mean_x.len() + map.mean_y.len());
        let map = AffineMap::from(dump);
        let held: usize = self.maps.values().map(bytes).sum();
        if held + bytes(&map) <= ROOM {
            self.maps.insert(dump.block, map);
        }
    }

    /// The maps of `blocks`, in their order, if they match `header`; `None` if one is missing.
    pub(super) fn of(&self, header: &Header, blocks: &[usize]) -> Option<Vec<(usize, AffineMap)>> {
        self.measured.as_ref().filter(|known| known.is_continued_by(header))?;
        blocks.iter().map(|block| Some((*block, self.maps.get(block)?.clone()))).collect()
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
        kept.receive(&started("b"));
        assert!(kept.of(&header("a"), &[0]).is_none() && kept.of(&header("b"), &[0]).is_none());
    }

    #[test]
    fn no_more_is_kept_than_there_is_room_for() {
        let mut kept = MapCache::default();
        kept.receive(&Event::Started(Box::new(header("a"))));
        // Four numbers of eight bytes per input, and a few.
        for block in 0..3 {
            kept.receive(&map(block, ROOM / 8 / 4 / 2 - 8));
        }
        assert!(kept.of(&header("a"), &[0, 1]).is_some() && kept.of(&header("a"), &[2]).is_none());
    }
}
