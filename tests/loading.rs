//! Models from checkpoints: every tensor by name and shape, in every layout and format, or an error that names it.

mod common;

use std::cell::RefCell;
use std::fs;

use common::fixture;
use common::synthetic::{TestTensor, open, safetensors, single};
use futures::executor::block_on;
use half::{bf16, f16};
use serde_json::Value;
use straightedge::backend::Backend;
use straightedge::backend::cpu::CpuBackend;
use straightedge::error::Error;
use straightedge::model::{Linear, Model, ModelConfig, ModelParts, Norm, load};

const MODELS: [&str; 4] = ["tiny-gpt2", "tiny-gpt_neox", "tiny-llama", "tiny-bert"];

fn config(model: &str) -> Value {
    serde_json::from_slice(&fs::read(fixture(model).join("config.json")).expect(model)).expect(model)
}

/// All tensors of a reference model.
fn tensors(model: &str) -> Vec<TestTensor> {
    let bytes = fs::read(fixture(model).join("model.safetensors")).expect(model);
    let file = safetensors::SafeTensors::deserialize(&bytes).expect(model);
    let tensor = |(name, view): (String, safetensors::tensor::TensorView<'_>)| {
        assert_eq!(view.dtype(), safetensors::Dtype::F32);
        TestTensor { name, dtype: "F32", shape: view.shape().to_vec(), bytes: view.data().to_vec() }
    };
    file.tensors().into_iter().map(tensor).collect()
}

type CpuModel = Model<<CpuBackend as Backend>::Tensor>;

fn load_synthetic(config: &Value, tensors: &[TestTensor], parts: ModelParts) -> Result<CpuModel, Error> {
    let config = ModelConfig::from_json(&config.to_string())?;
    let weights = open(single(safetensors(tensors)))?;
    let heard = RefCell::new(Vec::new());
    let model = block_on(load(&CpuBackend::new(), &config, &weights, parts, &|done, total| {
        heard.borrow_mut().push((done, total));
    }))?;
    let heard = heard.into_inner();
    let total = heard.last().map(|(done, _)| *done);
    assert!(heard.is_sorted() && heard.iter().all(|(_, all)| Some(*all) == total), "{heard:?}");
    assert!(total.is_some_and(|total| total > 0 && total <= weights.total_bytes()), "{heard:?}");
    Ok(model)
}

fn read(tensor: &<CpuBackend as Backend>::Tensor) -> Vec<f32> {
    block_on(CpuBackend::new().read(tensor)).expect("a tensor")
}

/// Every value of a model, in a fixed order.
fn values(model: &CpuModel) -> Vec<f32> {
    fn linear(linear: &Linear<<CpuBackend as Backend>::Tensor>) -> Vec<f32> {
        [read(&linear.weight), linear.bias.as_ref().map(read).unwrap_or_default()].concat()
    }
    fn norm(norm: &Norm<<CpuBackend as Backend>::Tensor>) -> Vec<f32> {
        match norm {
            Norm::Layer { weight, bias, .. } => [read(weight), read(bias)].concat(),
            Norm::Rms { weight, .. } => read(weight),
            Norm::Identity => Vec::new(),
        }
    }
    let mut values = read(&model.embedding.tokens);
    values.extend(model.embedding.positions.as_ref().map(read).unwrap_or_default());
    values.extend(model.embedding.norm.iter().chain(&model.final_norm).flat_map(norm));
    values.extend(model.head.as_ref().map(linear).unwrap_or_default());
    for block in &model.blocks {
        let (attention, ffn) = (&block.attention, &block.ffn);
        values
            .extend([&attention.q, &attention.k, &attention.v, &attention.o, &ffn.up, &ffn.down].map(linear).concat());
        values.extend(ffn.gate.as_ref().map(linear).unwrap_or_default());
        values.extend([&block.attention_norm, &block.ffn_norm].map(norm).concat());
    }
    values
}

#[test]
fn every_tensor_that_a_model_needs_is_missed_by_name() {
    for model in MODELS {
        let (config, whole) = (config(model), tensors(model));
        load_synthetic(&config, &whole, ModelParts::WithHead).expect(model);
        for left_out in whole.iter().filter(|tensor| !tensor.name.starts_with("pooler")) {
            let rest: Vec<TestTensor> = whole.iter().filter(|tensor| tensor.name != left_out.name).cloned().collect();
            let found = load_synthetic(&config, &rest, ModelParts::WithHead).map(|_| "accepted");
            match found {
                Err(Error::MissingTensor { tensor }) if tensor == left_out.name => {}
                // Without its first tensor a prefix is not recognised, so the error's name lacks it.
                Err(Error::MissingTensor { tensor }) if left_out.name.ends_with(&tensor) => {}
                found => panic!("{model} without {}: {found:?}", left_out.name),
            }
        }
    }
}

#[test]
fn every_wrong_shape_is_refused_by_name() {
    for model in MODELS {
        let (config, whole) = (config(model), tensors(model));
        for at in (0..whole.len()).filter(|&at| !whole[at].name.starts_with("pooler")) {
            let mut altered = whole.clone();
            altered[at].shape.reverse();
            if altered[at].shape == whole[at].shape {
                altered[at].shape.insert(0, 1);
            }
            let (tensor, found, expected) =
                (whole[at].name.clone(), altered[at].shape.clone(), whole[at].shape.clone());
            let error = load_synthetic(&config, &altered, ModelParts::WithHead).map(|_| "accepted").expect_err(&tensor);
            assert_eq!(error, Error::TensorShape { tensor, found, expected }, "{model}");
        }
    }
}

#[test]
fn every_damaged_tensor_is_refused_by_name() {
    for model in MODELS {
        let (config, whole) = (config(model), tensors(model));
        for at in (0..whole.len()).filter(|&at| !whole[at].name.starts_with("pooler")) {
            let mut altered = whole.clone();
            let last = altered[at].bytes.len() - 4;
            altered[at].bytes[last..].copy_from_slice(&f32::NAN.to_le_bytes());
            let expected = Error::NonFiniteTensor { tensor: whole[at].name.clone(), index: last / 4 };
            assert_eq!(
                load_synthetic(&config, &altered, ModelParts::WithHead).map(|_| "accepted"),
                Err(expected),
                "{model}"
            );
        }
    }
}

#[test]
fn sizes_of_another_model_are_refused() {
    let changes = [
        ("tiny-gpt2", "n_embd", 32),
        ("tiny-gpt2", "n_inner", 128),
        ("tiny-gpt2", "vocab_size", 513),
        ("tiny-gpt2", "n_positions", 1024),
        ("tiny-gpt_neox", "intermediate_size", 255),
        ("tiny-llama", "num_key_value_heads", 4),
        ("tiny-llama", "head_dim", 32),
        ("tiny-bert", "type_vocab_size", 3),
        ("tiny-bert", "max_position_embeddings", 1 << 28),
    ];
    for (model, field, value) in changes {
        let mut config = config(model);
        config[field] = value.into();
        let found = load_synthetic(&config, &tensors(model), ModelParts::WithHead).map(|_| "accepted");
        assert!(matches!(found, Err(Error::TensorShape { .. })), "{model} {field}: {found:?}");
    }
    for (model, field) in [("tiny-gpt2", "n_layer"), ("tiny-llama", "num_hidden_layers")] {
        let mut config = config(model);
        config[field] = 5.into();
        let found = load_synthetic(&config, &tensors(model), ModelParts::WithHead).map(|_| "accepted");
        assert!(matches!(&found, Err(Error::MissingTensor { tensor }) if tensor.contains(".4.")), "{model}: {found:?}");
    }
    // A model with more blocks than its configuration differs too, but undetectably: fewer blocks are loaded.
    let mut gated = config("tiny-llama");
    gated["attention_bias"] = true.into();
    let found = load_synthetic(&gated, &tensors("tiny-llama"), ModelParts::WithHead).map(|_| "accepted");
    assert!(matches!(&found, Err(Error::MissingTensor { tensor }) if tensor.ends_with("q_proj.bias")), "{found:?}");
}

#[test]
fn prefixes_and_old_names_make_no_difference() {
    let prefixes = [
        ("tiny-gpt2", "transformer."),
        ("tiny-gpt_neox", "gpt_neox."),
        ("tiny-llama", "model."),
        ("tiny-bert", "bert."),
        ("tiny-gpt_neo", "transformer."),
        ("tiny-opt", "model."),
        ("tiny-bloom", "transformer."),
        ("tiny-qwen3", "model."),
        ("tiny-phi", "model."),
        ("tiny-gemma2", "model."),
        ("tiny-roberta", "roberta."),
        ("tiny-distilbert", "distilbert."),
        ("tiny-modernbert", "model."),
    ];
    for (model, prefix) in prefixes {
        let (config, whole) = (config(model), tensors(model));
        // Encoders are stored without their prefix.
        let has_prefix = whole.iter().any(|tensor| tensor.name.starts_with(prefix));
        let renamed = |tensor: &TestTensor| {
            let name = match tensor.name.strip_prefix(prefix) {
                Some(rest) => rest.into(),
                None if !has_prefix => format!("{prefix}{}", tensor.name),
                None => tensor.name.clone(),
            };
            let old = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta");
            TestTensor { name: old, ..tensor.clone() }
        };
        let renamed: Vec<TestTensor> = whole.iter().map(renamed).collect();
        assert!(renamed.iter().zip(&whole).any(|(new, old)| new.name != old.name));
        let [new, old] = [renamed, whole]
            .map(|tensors| values(&load_synthetic(&config, &tensors, ModelParts::WithHead).expect(model)));
        assert!(!new.is_empty() && new == old, "{model}");
    }
}

#[test]
fn each_storage_format_gives_the_same_model_up_to_its_rounding() {
    for model in MODELS {
        let (config, whole) = (config(model), tensors(model));
        let stored = |dtype: &'static str, encode: fn(f32) -> [u8; 2]| -> Vec<TestTensor> {
            let encode = |tensor: &TestTensor| {
                let values = tensor.bytes.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
                TestTensor { dtype, bytes: values.flat_map(encode).collect(), ..tensor.clone() }
            };
            whole.iter().map(encode).collect()
        };
        let exact = values(&load_synthetic(&config, &whole, ModelParts::WithHead).expect(model));
        // Half the spacing of each format, relative, and that of its smallest numbers. BERT's position table is a sum.
        let summands = if model == "tiny-bert" { 0.2 } else { 0.0 };
        for (dtype, encode, relative) in [
            ("F16", (|v| f16::from_f32(v).to_le_bytes()) as fn(f32) -> [u8; 2], 2f32.powi(-11)),
            ("BF16", |v| bf16::from_f32(v).to_le_bytes(), 2f32.powi(-8)),
        ] {
            let rounded = values(&load_synthetic(&config, &stored(dtype, encode), ModelParts::WithHead).expect(model));
            assert_eq!(rounded.len(), exact.len());
            let wrong = exact.iter().zip(&rounded).position(|(exact, rounded)| {
                !((exact - rounded).abs() <= relative * (exact.abs() + summands) + 2f32.powi(-25))
            });
            assert_eq!(wrong, None, "{model} in {dtype}");
            assert!(exact != rounded, "{model} in {dtype} cannot be exact");
        }
    }
}

#[test]
fn a_head_is_there_only_where_it_is_needed() {
    for model in MODELS {
        let (config, whole) = (config(model), tensors(model));
        assert!(load_synthetic(&config, &whole, ModelParts::Body).expect(model).head.is_none());
        let with_head = load_synthetic(&config, &whole, ModelParts::WithHead).expect(model);
        match with_head.head {
            None => assert_eq!(model, "tiny-bert"),
            Some(head) => {
                let tied = read(&head.weight) == read(&with_head.embedding.tokens);
                assert_eq!(tied, config["tie_word_embeddings"] == true, "{model}");
            }
        }
    }
}
