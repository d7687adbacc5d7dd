//! A loaded checkpoint is stored as the same checkpoint, name by name and bit for bit.

mod common;

use std::rc::Rc;

use futures::executor::block_on;
use straightedge::backend::cpu::CpuBackend;
use straightedge::model::{ModelConfig, ModelParts, checkpoint, load};
use straightedge::weights::{Files, FolderFiles, Weights, read_whole};

/// Fixtures with the prefix that some checkpoints omit.
const DECODERS: [(&str, &str); 3] =
    [("tiny-gpt2", "transformer."), ("tiny-gpt_neox", "gpt_neox."), ("tiny-llama", "model.")];

#[test]
fn a_loaded_model_is_stored_as_the_checkpoint_it_came_from() {
    for (name, prefix) in DECODERS {
        let files: Rc<dyn Files> = Rc::new(FolderFiles::new(common::fixture(name)));
        let backend = CpuBackend::new();
        block_on(async {
            let json = read_whole(&*files, "config.json", "").await.expect("config.json");
            let config = ModelConfig::from_json(&String::from_utf8_lossy(&json)).expect("a configuration");
            let weights = Weights::open(files.clone()).await.expect("weights");
            let model = load(&backend, &config, &weights, ModelParts::WithHead, &|_, _| ()).await.expect("a model");
            let stored = checkpoint(&backend, &model).await.expect("a checkpoint");
            let mut unseen: Vec<String> = weights.names().map(Into::into).collect();
            for (key, tensor) in &stored {
                let key = if weights.has(key) { key } else { key.trim_start_matches(prefix) };
                let original = weights.tensor(key, &tensor.shape).await.expect("a tensor of this name and shape");
                assert!(original == tensor.values, "{name}: {key} differs");
                unseen.retain(|unseen| unseen != key);
            }
            // Masks are not weights, and a tied head equals the embedding.
            unseen.retain(|key| {
                let mask = [".attn.bias", ".masked_bias", ".attention.bias", ".inv_freq"];
                let tied_head =
                    config.tie_word_embeddings && matches!(key.as_str(), "lm_head.weight" | "embed_out.weight");
                !tied_head && !mask.iter().any(|mask| key.ends_with(mask))
            });
            assert!(unseen.is_empty(), "{name}: {unseen:?} are not stored");
        });
    }
}
