//! Writes a model's card: what it is, its training text, its training and the results.

use crate::recipe::{Family, FineTuning, Recipe, Schedule, Size};
use crate::record::Record;

/// `README.md` of the model `name`.
pub fn card(name: &str, record: &Record) -> String {
    let Recipe { name: run, family, seed, steps, cosine_penalty, mse_penalty, size, schedule, fine_tuning } =
        &record.recipe;
    let Size { vocab_size, hidden_size, num_hidden_layers, num_attention_heads, seq_len, .. } = size;
    let Schedule { windows, learning_rate, final_share, warmup_steps, betas, weight_decay, max_gradient_norm } =
        schedule;
    let (class, parts) = match family {
        Family::Gpt2 => ("GPT-2", "learned positions, LayerNorm, a feed-forward network with GELU"),
        Family::GptNeox => {
            ("GPT-NeoX", "rotary positions, LayerNorm, a feed-forward network with GELU beside the attention")
        }
        Family::Llama => ("Llama", "rotary positions, RMSNorm, a feed-forward network with SwiGLU"),
    };
    let done = record.steps_done();
    let state = if done == *steps {
        "It is at the end of its schedule.".to_owned()
    } else {
        format!("It is a checkpoint: {done} of {steps} steps.")
    };
    let loss = match done {
        0 => "No step has been done: these are its initial weights.".to_owned(),
        _ => format!(
            "Mean loss of the last {} training batches: {:.3} nats per token. Losses of every step are in `training.json`.",
            done.min(50),
            record.recent(50)
        ),
    };
    let regulariser = |lambda: f64, term: &str, over: &str| match lambda {
        0.0 => String::new(),
        lambda => format!(
            "- Regulariser: {lambda} · Σ_ℓ {term} over neighbouring layers' residual streams, averaged over {over} (arXiv 2405.12250).\n"
        ),
    };
    let penalty = regulariser(*cosine_penalty, "(1 − cos(h_ℓ, h_ℓ₋₁))", "tokens")
        + &regulariser(*mse_penalty, "(h_ℓ − h_ℓ₋₁)²", "tokens and features");
    let (texts, start) = match fine_tuning {
        None => (
            "tales, encyclopedia articles and puzzles of one small world, a third of every batch each, all of training \
             seeds, which share"
                .to_owned(),
            format!("Seed {seed} for weights and texts; weights from N(0, {}²), biases 0, norms 1", size.initializer_range),
        ),
        Some(FineTuning { base, domain }) => (
            format!("{domain} alone, of training seeds that no other model read and which share"),
            format!("Fine-tuned from `{base}`, all weights; seed {seed} for texts"),
        ),
    };
    let tokens = record.tokens();
    format!(
        "---\nlicense: [mit, apache-2.0]\nlanguage: en\n---\n\n# {name}\n\n\
         A demonstration model of Straightedge, far too small to be of other use: {class} ({parts}), {num_hidden_layers} \
         blocks of width {hidden_size} with {num_attention_heads} heads, a vocabulary of {vocab_size}, windows of {seq_len} tokens.\n\n\
         {state} {loss}\n\n\
         ## Data\n\n\
         Texts made by the program (`src/corpus/synthetic/`, version {}): {texts} no long sentence with the texts that \
         measurements read. {tokens} tokens were seen, none twice on purpose. The tokenizer is byte-level BPE learned from such texts.\n\n\
         ## Recipe\n\n\
         - {start}; output head tied to the embedding.\n\
         - {windows} windows of {seq_len} tokens per step; AdamW, β {} and {}, weight decay {weight_decay} on matrices, gradients clipped to a norm of {max_gradient_norm}.\n\
         - Learning rate up to {learning_rate} in {warmup_steps} steps, then along a cosine to {final_share} of that at step {steps}.\n\
         {penalty}- Trained in F32 on {} in {:.0} s, stored in F16.\n\n\
         `cargo xtask train {run}` trains it again.\n\n\
         ## Licence\n\n\
         MIT or Apache-2.0, as you like; texts and weights are the project's own.\n",
        record.corpus_version,
        betas.0,
        betas.1,
        devices(record),
        record.seconds,
    )
}

/// The devices in words.
fn devices(record: &Record) -> String {
    let words = |device: &String| match device.as_str() {
        "cpu" => format!("a processor with {} threads", record.threads),
        other => format!("a GPU ({other})"),
    };
    record.devices.iter().map(words).collect::<Vec<_>>().join(", then ")
}
