//! The tokenizer of all demo models: byte-level BPE, learned from training texts. \[tokenizers\]

use anyhow::{Result, anyhow};
use straightedge::corpus::synthetic::{Domain, FIRST_TRAINING_SEED, SyntheticText};
use tokenizers::decoders::byte_level::ByteLevel;
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::normalizers::NormalizerWrapper;
use tokenizers::processors::PostProcessorWrapper;
use tokenizers::{DecoderWrapper, TokenizerBuilder};

/// Bytes of text per domain for learning merges.
const BYTES: usize = 2 << 20;

/// `tokenizer.json` with `vocab_size` entries: 256 bytes, the rest merges.
pub fn train(vocab_size: usize) -> Result<String> {
    let failed = |error: tokenizers::Error| anyhow!("tokenizer: {error}");
    let bytes = ByteLevel::new(false, true, true);
    let mut trainer = BpeTrainer::builder()
        .vocab_size(vocab_size)
        .initial_alphabet(ByteLevel::alphabet().into_iter().collect())
        .show_progress(false)
        .build();
    let mut tokenizer =
        TokenizerBuilder::<BPE, NormalizerWrapper, ByteLevel, PostProcessorWrapper, DecoderWrapper>::new()
            .with_model(BPE::default())
            .with_pre_tokenizer(Some(bytes))
            .with_decoder(Some(DecoderWrapper::ByteLevel(bytes)))
            .build()
            .map_err(failed)?;
    let texts = Domain::ALL.map(|domain| SyntheticText { domain, seed: FIRST_TRAINING_SEED }.text(BYTES));
    tokenizer.train(&mut trainer, texts.iter()).map_err(failed)?;
    tokenizer.to_string(true).map_err(failed)
}
