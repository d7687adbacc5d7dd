//! Weights stored in 16 bits: the results are bit-identical to the same values in f32.

use straightedge::backend::gpu::VARIANTS;
use straightedge::backend::gpu::{GpuBackend, Options, Tensor};
use straightedge::backend::{Backend, Shape, Storage};
use straightedge::platform::random::Random;

use crate::device::{poisoned, upload, with_device};

const FORMATS: [Storage; 2] = [Storage::F16, Storage::Bf16];

/// Random values of a format, including subnormal ones.
fn values(random: &mut Random, count: usize, storage: Storage) -> Vec<f32> {
    (0..count).map(|_| widened(random.bits() as u16, storage)).collect()
}

/// The value of 16 bits, by arithmetic; infinity and NaN become 0.
fn widened(bits: u16, storage: Storage) -> f32 {
    let (exponent_bits, mantissa_bits) = if storage == Storage::F16 { (5, 10) } else { (8, 7) };
    let exponent = i32::from(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
    let mantissa = f64::from(bits & ((1 << mantissa_bits) - 1)) / f64::from(1 << mantissa_bits);
    let bias = (1 << (exponent_bits - 1)) - 1;
    if exponent == (1 << exponent_bits) - 1 {
        return 0.0;
    }
    let size =
        if exponent == 0 { mantissa * 2f64.powi(1 - bias) } else { (1.0 + mantissa) * 2f64.powi(exponent - bias) };
    (if bits >> 15 == 1 { -size } else { size }) as f32
}

fn stored(gpu: &GpuBackend, shape: Shape, values: &[f32], storage: Storage) -> Tensor {
    gpu.upload_stored("test", shape, values, storage).expect("upload")
}

fn assert_same_bits(what: &str, found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len(), "{what}: length");
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!(found.to_bits() == expected.to_bits(), "{what}: element {i} is {found:e} where f32 gives {expected:e}");
    }
}

#[test]
fn every_number_of_both_formats_survives() {
    with_device(poisoned(), async |gpu| {
        for storage in FORMATS {
            let all: Vec<f32> = (0..=u16::MAX).map(|bits| widened(bits, storage)).collect();
            let shape = Shape::new(all.len() / 4, 4);
            let table = stored(gpu, shape, &all, storage);
            let ids: Vec<u32> = (0..shape.rows as u32).collect();
            let found = gpu.read(&gpu.gather(&table, &ids).unwrap()).await.unwrap();
            assert_same_bits(&format!("gathered {storage:?}"), &found, &all);
            assert_same_bits(&format!("read {storage:?}"), &gpu.read(&table).await.unwrap(), &all);
        }
    });
}

#[test]
fn tables_whole_and_split_are_gathered_as_in_f32() {
    for part_bytes in [None, Some(800), Some(4 * 34)] {
        with_device(Options { part_bytes, ..poisoned() }, async |gpu| {
            for storage in FORMATS {
                for (rows, cols, count) in [(1, 1, 1), (1, 2, 3), (100, 7, 3), (40, 34, 1), (63, 2, 16), (300, 10, 3)] {
                    let mut random = Random::new(2);
                    let values = values(&mut random, rows * cols, storage);
                    let ids: Vec<u32> = (0..count).map(|_| random.below(rows) as u32).collect();
                    let table = stored(gpu, Shape::new(rows, cols), &values, storage);
                    let expected = gpu.gather(&upload(gpu, rows, cols, &values), &ids).unwrap();
                    let found = gpu.gather(&table, &ids).unwrap();
                    assert_eq!(gpu.shape(&found), gpu.shape(&expected));
                    let what = format!("{storage:?} {rows} × {cols}");
                    assert_same_bits(&what, &gpu.read(&found).await.unwrap(), &gpu.read(&expected).await.unwrap());
                }
            }
        });
    }
}

#[test]
fn products_are_those_of_f32_bit_by_bit() {
    for variant in VARIANTS {
        for part_bytes in [None, Some(4 * 34 * 50)] {
            let options = Options { matmul: Some(variant), part_bytes, ..poisoned() };
            with_device(options, async |gpu| {
                for storage in FORMATS {
                    for (rows, cols, inner) in
                        [(1, 1, 1), (1, 5, 2), (5, 65, 12), (65, 66, 65), (7, 120, 34), (9, 96, 384)]
                    {
                        if part_bytes.is_some_and(|most| 4 * rows.max(1) as u64 * cols.max(inner) as u64 > most) {
                            continue;
                        }
                        check_linear(gpu, storage, (rows, cols, inner)).await;
                    }
                }
            });
        }
    }
}

async fn check_linear(gpu: &GpuBackend, storage: Storage, (rows, cols, inner): (usize, usize, usize)) {
    let mut random = Random::new(8);
    let x = upload(gpu, rows, inner, &random.values(rows * inner));
    let bias = upload(gpu, 1, cols, &random.values(cols));
    // Sums over bf16's whole range would only reflect the largest number.
    let weight: Vec<f32> =
        random.values(cols * inner).iter().map(|value| f32::from_bits(value.to_bits() & 0xffff_0000)).collect();
    let weight: Vec<f32> =
        if storage == Storage::F16 { weight.iter().map(|w| (w * 64.0).round() / 64.0).collect() } else { weight };
    let expected = gpu.linear(&x, &upload(gpu, cols, inner, &weight), Some(&bias)).unwrap();
    let found = gpu.linear(&x, &stored(gpu, Shape::new(cols, inner), &weight, storage), Some(&bias)).unwrap();
    let what = format!("{storage:?} {rows} × {cols} × {inner}");
    assert_same_bits(&what, &gpu.read(&found).await.unwrap(), &gpu.read(&expected).await.unwrap());
}

#[test]
fn an_operation_on_activations_refuses_a_stored_tensor() {
    with_device(poisoned(), async |gpu| {
        let table = stored(gpu, Shape::new(2, 2), &[1.0; 4], Storage::F16);
        let error = gpu.add(&table, &table).err().expect("an error").to_string();
        assert!(error.contains("stored as F16"), "{error}");
    });
}
