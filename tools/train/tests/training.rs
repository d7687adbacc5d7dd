//! Tests of training: fused against composed operations, and resumed runs.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use candle_core::Tensor;
use straightedge::backend::Backend;
use straightedge::forward::Forward;
use straightedge_train::backend::TrainingBackend;
use straightedge_train::recipe::{Family, Plan, Recipe};
use straightedge_train::run::{End, Run};
use straightedge_train::text::Batches;
use straightedge_train::tokenizer;
use straightedge_train::trainer::{Losses, Trainer};

const FAMILIES: [Family; 3] = [Family::Gpt2, Family::GptNeox, Family::Llama];

/// A run of the demo set, shrunk so that its steps take no time.
fn small(family: Family, cosine_penalty: f64, mse_penalty: f64) -> Plan {
    let mut plan = Plan::all().swap_remove(0);
    let name = format!("small-{family:?}");
    plan.recipe = Recipe { name, family, cosine_penalty, mse_penalty, steps: 8, ..plan.recipe };
    let (size, schedule) = (&mut plan.recipe.size, &mut plan.recipe.schedule);
    (size.vocab_size, size.hidden_size, size.num_hidden_layers, size.num_attention_heads) = (300, 16, 2, 2);
    (size.seq_len, schedule.windows, schedule.warmup_steps) = (24, 3, 2);
    plan.checkpoints = vec![3];
    plan
}

fn cpu() -> TrainingBackend {
    TrainingBackend::default()
}

fn nll(backend: &TrainingBackend, trainer: &Trainer, ids: &[u32]) -> Tensor {
    let seq_len = trainer.recipe().size.seq_len;
    let forward = Forward::new(backend, trainer.model(), seq_len).expect("a forward pass");
    let last = forward.run(ids, &mut |_| Ok(())).expect("a residual stream");
    let logits = forward.logits(&last).expect("logits");
    let targets: Vec<u32> = ids.iter().skip(1).chain([&0]).copied().collect();
    backend.next_token_nll(&logits, &targets).expect("losses").mean_all().expect("a mean")
}

fn values(tensor: &Tensor) -> Vec<f32> {
    tensor.flatten_all().and_then(|flat| flat.to_vec1()).expect("f32 values")
}

/// Asserts that two vectors agree within `tolerance` times the first one's norm plus some `noise`.
fn assert_close(what: &str, expected: &[f32], found: &[f32], tolerance: f32, noise: f32) {
    assert_eq!(expected.len(), found.len(), "{what}");
    let norm = expected.iter().map(|x| x * x).sum::<f32>().sqrt();
    let off = expected.iter().zip(found).map(|(a, b)| (a - b) * (a - b)).sum::<f32>().sqrt();
    assert!(off <= tolerance * norm + noise, "{what}: off by {off} of {norm}");
}

#[test]
fn a_model_has_the_same_loss_and_gradients_fused_and_composed() {
    let tokenizer = tokenizer::train(300).expect("a tokenizer");
    for family in FAMILIES {
        let plan = small(family, 0.0, 0.0);
        let batches = Batches::new(tokenizer.as_bytes(), &plan.recipe).expect("batches");
        let mut trainer = Trainer::new(plan.recipe.clone(), cpu()).expect("a trainer");
        // Away from the initial weights, where norms and biases are all equal.
        for step in 0..6 {
            trainer.step(&batches.ids(step).expect("ids")).expect("a step");
        }
        let ids = batches.ids(6).expect("ids");
        let [fused, composed] = [cpu(), TrainingBackend::composed()].map(|backend| nll(&backend, &trainer, &ids));
        assert_close(&format!("{family:?}, loss"), &values(&fused), &values(&composed), 1e-6, 0.0);
        let gradients = |loss| trainer.optimiser().gradients(loss).expect("gradients");
        for (index, (fused, composed)) in gradients(&fused).iter().zip(&gradients(&composed)).enumerate() {
            assert_close(&format!("{family:?}, weight {index}"), &values(fused), &values(composed), 1e-5, 1e-8);
        }
    }
}

#[test]
fn a_step_is_the_same_fused_and_composed() {
    let tokenizer = tokenizer::train(300).expect("a tokenizer");
    for family in FAMILIES {
        let plan = small(family, 0.3, 0.3);
        let batches = Batches::new(tokenizer.as_bytes(), &plan.recipe).expect("batches");
        let mut trainer = Trainer::new(plan.recipe.clone(), cpu()).expect("a trainer");
        for step in 0..4 {
            trainer.step(&batches.ids(step).expect("ids")).expect("a step");
        }
        // The same state, restored as if read from disk.
        let mut other = Trainer::new(plan.recipe.clone(), TrainingBackend::composed()).expect("a trainer");
        let copies = |tensors: &mut dyn Iterator<Item = &Tensor>| -> Vec<Tensor> {
            tensors.map(|tensor| tensor.copy().expect("a copy").detach()).collect()
        };
        let before = copies(&mut trainer.optimiser().vars().map(|var| var.as_tensor()));
        let means = copies(&mut trainer.optimiser().moments().map(|(mean, _)| mean));
        let squares = copies(&mut trainer.optimiser().moments().map(|(_, square)| square));
        let moments: Vec<_> = means.into_iter().zip(squares).collect();
        other.resume(trainer.steps_done(), &before, &moments).expect("a state");

        let ids = batches.ids(4).expect("ids");
        let [fused, composed] = [&mut trainer, &mut other].map(|trainer| trainer.step(&ids).expect("a step"));
        let losses =
            |losses: Losses| [losses.nll, losses.cosine, losses.mse, losses.gradient_norm].map(|loss| loss as f32);
        for (index, (fused, composed)) in losses(fused).iter().zip(losses(composed)).enumerate() {
            assert_close(&format!("{family:?}, loss {index}"), &[*fused], &[composed], 1e-5, 0.0);
        }
        let moved = |trainer: &Trainer| -> Vec<Vec<f32>> {
            let pairs = trainer.optimiser().vars().zip(&before);
            pairs.map(|(after, before)| values(&(after.as_tensor() - before).expect("a difference"))).collect()
        };
        for (index, (fused, composed)) in moved(&trainer).iter().zip(&moved(&other)).enumerate() {
            assert!(fused.iter().any(|x| *x != 0.0), "{family:?}: weight {index} did not move");
            // The optimiser divides by small gradient moments. A key bias does not affect attention, so only rounding
            // moves it.
            assert_close(&format!("{family:?}, weight {index}"), fused, composed, 1e-3, 1e-6);
        }
    }
}

#[test]
fn weights_are_moved_by_the_loss_with_its_penalties() {
    let tokenizer = tokenizer::train(300).expect("a tokenizer");
    for (cosine_penalty, mse_penalty) in [(0.0, 0.0), (3.0, 0.0), (0.0, 3.0), (2.0, 5.0)] {
        let plan = small(Family::Gpt2, cosine_penalty, mse_penalty);
        let batches = Batches::new(tokenizer.as_bytes(), &plan.recipe).expect("batches");
        let mut trainer = Trainer::new(plan.recipe.clone(), cpu()).expect("a trainer");
        trainer.step(&batches.ids(0).expect("ids")).expect("a step");
        let ids = batches.ids(1).expect("ids");
        let (nll, cosine, mse) = terms(&trainer, &ids).expect("the terms of the loss");
        let loss = ((&cosine * cosine_penalty).expect("λ·cosine") + (&mse * mse_penalty).expect("λ·MSE"))
            .and_then(|penalties| nll + penalties)
            .expect("a loss");
        let gradients = trainer.optimiser().gradients(&loss).expect("gradients");
        let norm = gradients.iter().flat_map(values).map(|x| x * x).sum::<f32>().sqrt();
        let found = trainer.step(&ids).expect("a step");
        let what = format!("λ of {cosine_penalty} and {mse_penalty}");
        assert_close(&format!("{what}, cosine"), &values(&cosine), &[found.cosine as f32], 1e-5, 0.0);
        assert_close(&format!("{what}, MSE"), &values(&mse), &[found.mse as f32], 1e-5, 0.0);
        assert_close(&format!("{what}, gradients"), &[norm], &[found.gradient_norm as f32], 1e-4, 0.0);
    }
}

/// The language loss and the penalised quantities, by their formulas.
fn terms(trainer: &Trainer, ids: &[u32]) -> candle_core::Result<(Tensor, Tensor, Tensor)> {
    let (backend, seq_len) = (trainer.backend(), trainer.recipe().size.seq_len);
    let forward = Forward::new(backend, trainer.model(), seq_len).expect("a forward pass");
    let mut streams = Vec::new();
    let last = forward.run(ids, &mut |capture| {
        streams.push(capture.hidden);
        Ok(())
    });
    streams.push(last.expect("a residual stream"));
    let logits = forward.logits(&streams[streams.len() - 1]).expect("logits");
    let targets: Vec<u32> = ids.iter().skip(1).chain([&0]).copied().collect();
    // The last token of a window predicts nothing.
    let nll = backend.next_token_nll(&logits, &targets).expect("losses");
    let nll = nll.reshape((ids.len() / seq_len, seq_len))?.narrow(1, 0, seq_len - 1)?.mean_all()?;
    let (mut cosine, mut mse) = (nll.zeros_like()?, nll.zeros_like()?);
    for pair in streams.windows(2) {
        let products = |a: usize, b: usize| (&pair[a] * &pair[b])?.sum(1);
        let cosines = (products(0, 1)? / (products(0, 0)? * products(1, 1)?)?.sqrt()?)?;
        cosine = (cosine + (1.0 - cosines.mean_all()?)?)?;
        let squares = ((products(0, 0)? + products(1, 1)?)? - (products(0, 1)? * 2.0)?)?;
        mse = (mse + (squares.mean_all()? / pair[0].dim(1)? as f64)?)?;
    }
    Ok((nll, cosine, mse))
}

#[test]
fn a_run_that_stops_and_goes_on_is_the_run_that_never_stopped() {
    let tokenizer = tokenizer::train(300).expect("a tokenizer");
    let (plan, go_on) = (small(Family::Llama, 0.3, 0.3), AtomicBool::new(false));
    let (unbroken, parts) = (temporary("resume/whole"), temporary("resume/parts"));
    let mut whole = Run::open(&plan, &unbroken, tokenizer.as_bytes(), cpu()).expect("a run");
    assert_eq!(whole.go(&go_on, usize::MAX).expect("an end"), End::Done);
    let mut first = Run::open(&plan, &parts, tokenizer.as_bytes(), cpu()).expect("a run");
    assert_eq!(first.go(&go_on, 5).expect("an end"), End::Enough);
    drop(first);
    let mut rest = Run::open(&plan, &parts, tokenizer.as_bytes(), cpu()).expect("the run");
    assert_eq!(rest.record().steps_done(), 5);
    assert_eq!(rest.go(&AtomicBool::new(true), usize::MAX).expect("an end"), End::Stopped);
    assert_eq!(rest.record().steps_done(), 5, "nothing is done once it is to stop");
    drop(rest);
    let mut rest = Run::open(&plan, &parts, tokenizer.as_bytes(), cpu()).expect("the run");
    assert_eq!(rest.go(&go_on, usize::MAX).expect("an end"), End::Done);
    assert_eq!(rest.record().losses, whole.record().losses);
    assert_eq!(rest.record().cosine, whole.record().cosine);
    assert_eq!(rest.record().mse, whole.record().mse);
    assert_eq!(rest.record().devices, ["cpu"]);
    let weights = |run: &Path| std::fs::read(run.join("small-Llama/model.safetensors")).expect("a model");
    assert!(weights(&unbroken) == weights(&parts), "the weights differ");
    assert!(parts.join("small-Llama-step3/config.json").exists(), "a checkpoint on the way");
}

#[test]
fn a_state_of_another_recipe_is_refused_and_kept() {
    let tokenizer = tokenizer::train(300).expect("a tokenizer");
    let (mut plan, folder) = (small(Family::Gpt2, 0.0, 0.0), temporary("refused"));
    Run::open(&plan, &folder, tokenizer.as_bytes(), cpu())
        .expect("a run")
        .go(&AtomicBool::new(false), 1)
        .expect("an end");
    plan.recipe.seed += 1;
    let why = Run::open(&plan, &folder, tokenizer.as_bytes(), cpu()).err().expect("a refusal").to_string();
    assert!(why.contains("another recipe"), "{why}");
    plan.recipe.seed -= 1;
    std::fs::write(folder.join("small-Gpt2.state"), b"cut short").expect("a broken file");
    let why = Run::open(&plan, &folder, tokenizer.as_bytes(), cpu()).err().expect("a refusal").to_string();
    assert!(why.contains("no state of a run"), "{why}");
}

fn temporary(name: &str) -> std::path::PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}
