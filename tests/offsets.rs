//! A weights file beyond 4 GiB: tensors are read at offsets that do not fit in 32 bits.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use futures::executor::block_on;
use futures::future::LocalBoxFuture;
use serde_json::json;
use straightedge::error::Result;
use straightedge::weights::{Files, Weights};

/// Values of the tensor before the others: 6 GiB.
const BEFORE: u64 = 3 << 29;

/// A virtual file: a header, zeros, and position-dependent values.
struct Vast {
    header: Vec<u8>,
    read: RefCell<Vec<Range<u64>>>,
}

impl Vast {
    fn new() -> Self {
        let end = 4 * BEFORE;
        let header = json!({
            "before": {"dtype": "F32", "shape": [BEFORE], "data_offsets": [0, end]},
            "beyond": {"dtype": "F32", "shape": [2, 3], "data_offsets": [end, end + 24]},
        });
        let json = header.to_string().into_bytes();
        Self { header: [&(json.len() as u64).to_le_bytes()[..], &json].concat(), read: RefCell::default() }
    }

    fn len(&self) -> u64 {
        self.header.len() as u64 + 4 * BEFORE + 24
    }

    /// A byte that depends on its position: values count from 1 behind the large tensor, and are 0 within it.
    fn byte(&self, at: u64) -> u8 {
        let head = self.header.len() as u64;
        match at.checked_sub(head) {
            None => self.header[at as usize],
            Some(at) if at < 4 * BEFORE => 0,
            Some(at) => (((at - 4 * BEFORE) / 4 + 1) as f32).to_le_bytes()[(at % 4) as usize],
        }
    }
}

impl Files for Vast {
    fn size<'a>(&'a self, file: &'a str) -> LocalBoxFuture<'a, Result<Option<u64>>> {
        Box::pin(async move { Ok((file == "model.safetensors").then(|| self.len())) })
    }

    fn read<'a>(&'a self, _: &'a str, range: Range<u64>) -> LocalBoxFuture<'a, Result<Vec<u8>>> {
        self.read.borrow_mut().push(range.clone());
        Box::pin(async move { Ok(range.map(|at| self.byte(at)).collect()) })
    }
}

#[test]
fn a_tensor_beyond_4_gib_is_read_from_its_place_alone() {
    let files = Rc::new(Vast::new());
    let weights = block_on(Weights::open(files.clone())).expect("a header");
    assert_eq!(weights.total_bytes(), 4 * BEFORE + 24);
    files.read.borrow_mut().clear();
    let values = block_on(weights.tensor("beyond", &[2, 3])).expect("a tensor");
    assert_eq!(values, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let start = files.header.len() as u64 + 4 * BEFORE;
    assert!(start > u64::from(u32::MAX));
    let read = files.read.borrow();
    assert_eq!(
        (read.first().map(|range| range.start), read.last().map(|range| range.end)),
        (Some(start), Some(start + 24))
    );
}
