//! Files in safetensors: weights, their index, captured rows, maps.

use std::rc::Rc;

use futures::executor::block_on;
use serde_json::{Value, json};
use straightedge::weights::maps::MapsFile;
use straightedge::weights::{MemoryFiles, RowsFile, Weights};

use super::synthetic::{f32s, f64s, safetensors as file};
use crate::target::Refusal;

const FILE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";
const ROWS: &str = "rows.safetensors";

pub(super) fn safetensors_seeds() -> Vec<Vec<u8>> {
    let halves = ("half", "F16", vec![2, 2], vec![0x00, 0x3c, 0x00, 0xc0, 0x01, 0x00, 0xff, 0x7b]);
    let brains = ("brain", "BF16", vec![2], vec![0x80, 0x3f, 0x00, 0xc0]);
    vec![
        include_bytes!("../../../../tests/fixtures/torch/values.safetensors").to_vec(),
        file(&[f32s("a", &[2, 3]), halves, brains, f32s("e", &[0, 5]), f32s("s", &[])], Value::Null),
        file(&[f32s("w", &[1])], json!({"format": "pt"})),
    ]
}

/// Reads every tensor of a file that is in order.
pub(super) fn safetensors(input: &[u8]) -> Result<(), Refusal> {
    let weights = block_on(Weights::open(Rc::new(MemoryFiles::default().with(FILE, input.to_vec()))))?;
    read(&weights)
}

/// Reads every tensor; a refusal counts where nothing can be read.
pub(super) fn read(weights: &Weights) -> Result<(), Refusal> {
    let names: Vec<String> = weights.names().map(str::to_owned).collect();
    let (mut refused, mut elements) = (None, 0);
    for name in &names {
        let shape = weights.shape(name).unwrap_or_default().to_vec();
        match block_on(weights.tensor(name, &shape)) {
            Ok(values) => {
                assert_eq!(values.len(), shape.iter().product::<usize>(), "{name}: elements");
                assert!(values.iter().all(|value| value.is_finite()), "{name} is not finite");
                elements += values.len() as u64;
            }
            Err(error) => {
                let refusal = Refusal::from(error);
                assert!(!refusal.sentence.chars().any(char::is_control), "{name}: {}", refusal.sentence);
                refused = Some(refusal);
            }
        }
        let mut copied = 0;
        let copy = block_on(weights.copy(name, &mut |piece| {
            copied += piece.len() as u64;
            Ok(())
        }));
        assert!(copy.is_err() || copied == weights.bytes(name), "{name}: copied");
    }
    assert!(elements <= weights.total_bytes().saturating_mul(2), "more elements than bytes");
    let _ = (weights.dtype(), weights.is_verified(), weights.parts(&names));
    refused.filter(|_| elements == 0).map_or(Ok(()), Err)
}

pub(super) fn index_seeds() -> Vec<Vec<u8>> {
    let map = json!({"a": "one.safetensors", "b": "two.safetensors", "c": "two.safetensors"});
    [json!({"metadata": {"total_size": 16}, "weight_map": map}), json!({"weight_map": {"a": "one.safetensors"}})]
        .map(|index| index.to_string().into_bytes())
        .to_vec()
}

/// Reads the tensors of two shards that an index places.
pub(super) fn index(input: &[u8]) -> Result<(), Refusal> {
    let files = MemoryFiles::default()
        .with("one.safetensors", file(&[f32s("a", &[2])], Value::Null))
        .with("two.safetensors", file(&[f32s("b", &[1]), f32s("c", &[1])], Value::Null))
        .with(INDEX, input.to_vec());
    read(&block_on(Weights::open(Rc::new(files)))?)
}

pub(super) fn rows_seeds() -> Vec<Vec<u8>> {
    vec![
        file(&[f32s("x", &[5, 3]), f32s("y", &[5, 2])], Value::Null),
        file(&[f32s("x", &[1, 1]), f32s("y", &[1, 1])], json!({"by": "a script"})),
    ]
}

/// Reads captured rows as a whole, one by one, and beyond their end.
pub(super) fn rows(input: &[u8]) -> Result<(), Refusal> {
    let files = MemoryFiles::default().with(ROWS, input.to_vec());
    let rows = block_on(RowsFile::open(Rc::new(files), ROWS))?;
    let all = (block_on(rows.x(0..rows.n)), block_on(rows.y(0..rows.n)));
    assert!(block_on(rows.x(0..rows.n + 1)).is_err(), "a row beyond the end");
    let last = block_on(rows.y(rows.n - 1..rows.n));
    let (x, y) = (all.0?, all.1?);
    assert_eq!((x.len(), y.len(), last?.len()), (rows.n * rows.d_in, rows.n * rows.d_out, rows.d_out));
    Ok(())
}

pub(super) fn maps_seeds() -> Vec<Vec<u8>> {
    let metadata = json!({"model_sha256": "a".repeat(64), "corpus_sha256": "b".repeat(64)});
    let maps = |names: [&'static str; 5]| {
        [
            f64s(names[0], &[2, 1], &[0.5, -2.0]),
            f64s(names[1], &[1], &[3.5]),
            f64s(names[2], &[2], &[1.0, 1.0]),
            f64s(names[3], &[2], &[1.0, 0.25]),
            f64s(names[4], &[1], &[2.0]),
        ]
    };
    let first = ["blocks.0.weight", "blocks.0.bias", "blocks.0.mean_x", "blocks.0.deviation_x", "blocks.0.mean_y"];
    let second = ["blocks.1.weight", "blocks.1.bias", "blocks.1.mean_x", "blocks.1.deviation_x", "blocks.1.mean_y"];
    let healed = [
        "healed.streams.blocks.0.weight",
        "healed.streams.blocks.0.bias",
        "healed.streams.blocks.0.mean_x",
        "healed.streams.blocks.0.deviation_x",
        "healed.streams.blocks.0.mean_y",
    ];
    vec![
        file(&[maps(first), maps(second)].concat(), metadata.clone()),
        file(&[maps(first), maps(healed)].concat(), metadata.clone()),
        file(&maps(first), metadata),
    ]
}

/// Reads the maps of two blocks.
pub(super) fn maps(input: &[u8]) -> Result<(), Refusal> {
    let maps = MapsFile::read("maps.safetensors".into(), input.to_vec())?;
    let first = maps.block(0, None)?;
    assert_eq!(first.weight.len(), first.mean_x.len() * first.mean_y.len(), "the map is whole");
    let _ = maps.block(1, None);
    for block in maps.blocks(Some("streams"))? {
        let _ = maps.block(block, Some("streams"));
    }
    Ok(())
}
