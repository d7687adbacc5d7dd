//! Models stored in 16 bits on a GPU: half the memory, bit-identical outputs, and all memory freed in the end.
//!
//! A single test, because the counter of device memory is per process.

mod common;

use std::fs;

use common::fixture;
use common::synthetic::{TestTensor, f32s, open, safetensors, single};
use futures::executor::block_on;
use half::{bf16, f16};
use straightedge::backend::Backend;
use straightedge::backend::gpu::{GpuBackend, Memory};
use straightedge::forward::Forward;
use straightedge::model::{ModelConfig, ModelParts, load};

const MODELS: [&str; 4] = ["tiny-gpt2", "tiny-gpt_neox", "tiny-llama", "tiny-bert"];

/// A model's tensors in a 16-bit format, and the same values as F32.
fn stored(model: &str, dtype: &'static str) -> (Vec<TestTensor>, Vec<TestTensor>) {
    let bytes = fs::read(fixture(model).join("model.safetensors")).expect(model);
    let file = ::safetensors::SafeTensors::deserialize(&bytes).expect(model);
    let both = file.tensors().into_iter().map(|(name, view)| {
        let values = view.data().chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().expect("four bytes")));
        let (halves, wide): (Vec<u16>, Vec<f32>) = match dtype {
            "F16" => values.map(f16::from_f32).map(|value| (value.to_bits(), value.to_f32())).unzip(),
            _ => values.map(bf16::from_f32).map(|value| (value.to_bits(), value.to_f32())).unzip(),
        };
        let shape = view.shape().to_vec();
        let bytes = halves.iter().flat_map(|bits| bits.to_le_bytes()).collect();
        let half = TestTensor { name: name.clone(), dtype, shape: shape.clone(), bytes };
        (half, f32s(&name, &shape, &wide))
    });
    both.unzip()
}

/// x and y of every block for some tokens, and the bytes of the loaded model's buffers.
fn measured(gpu: &GpuBackend, model: &str, tensors: &[TestTensor]) -> (Vec<f32>, u64) {
    let json = fs::read_to_string(fixture(model).join("config.json")).expect(model);
    let config = ModelConfig::from_json(&json).expect(model);
    let weights = open(single(safetensors(tensors))).expect(model);
    let before = Memory::now().allocated;
    let loaded = block_on(load(gpu, &config, &weights, ModelParts::Body, &|_, _| {})).expect(model);
    let bytes = Memory::now().allocated - before;
    let forward = Forward::new(gpu, &loaded, 16).expect(model);
    let ids: Vec<u32> = (0..64u32).map(|i| (i * 31) % config.vocab_size as u32).collect();
    let mut captured = Vec::new();
    forward
        .run(&ids, &mut |capture| {
            captured.push((capture.ffn_in, capture.ffn_out));
            Ok(())
        })
        .expect(model);
    let values = captured.iter().flat_map(|(x, y)| [x, y]).flat_map(|tensor| block_on(gpu.read(tensor)).expect(model));
    (values.collect(), bytes)
}

#[test]
fn a_model_in_16_bits_takes_half_the_memory_and_gives_the_same_bits() {
    let Some(gpu) = common::gpu() else { return };
    for model in MODELS {
        for dtype in ["F16", "BF16"] {
            let (halves, wide) = stored(model, dtype);
            let (found, half_bytes) = measured(&gpu, model, &halves);
            let (expected, bytes) = measured(&gpu, model, &wide);
            assert!(!found.is_empty() && found.len() == expected.len(), "{model}: {} rows", found.len());
            for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
                assert!(found.to_bits() == expected.to_bits(), "{model} {dtype}: value {i} is {found}, not {expected}");
            }
            // Biases, norms and BERT's positions stay f32, and every buffer is a multiple of 256 bytes.
            let share = half_bytes as f64 / bytes as f64;
            println!("{model} {dtype}: {half_bytes} of {bytes} bytes");
            assert!((0.5..0.6).contains(&share), "{model} {dtype}: {half_bytes} of {bytes} bytes");
        }
    }
    drop(gpu);
    let left = Memory::now().allocated;
    assert_eq!(left, 0, "bytes of a device that is gone");
}
