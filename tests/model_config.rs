//! `config.json` of real models, and with every value that would change the arithmetic.

mod common;

use serde_json::{Value, json};
use straightedge::backend::Activation;
use straightedge::error::Error;
use straightedge::model::{Architecture, AttentionBias, ModelConfig, Residual, Rope, RopeScaling};

fn gpt2() -> Value {
    json!({
        "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1,
        "bos_token_id": 50256, "embd_pdrop": 0.1, "eos_token_id": 50256, "initializer_range": 0.02,
        "layer_norm_epsilon": 1e-05, "model_type": "gpt2", "n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_layer": 12,
        "n_positions": 1024, "resid_pdrop": 0.1, "summary_activation": null, "summary_first_dropout": 0.1,
        "summary_proj_to_labels": true, "summary_type": "cls_index", "summary_use_proj": true,
        "task_specific_params": {"text-generation": {"do_sample": true, "max_length": 50}}, "vocab_size": 50257
    })
}

fn pythia() -> Value {
    json!({
        "architectures": ["GPTNeoXForCausalLM"], "bos_token_id": 0, "eos_token_id": 0, "hidden_act": "gelu",
        "hidden_size": 768, "initializer_range": 0.02, "intermediate_size": 3072, "layer_norm_eps": 1e-05,
        "max_position_embeddings": 2048, "model_type": "gpt_neox", "num_attention_heads": 12, "num_hidden_layers": 12,
        "rotary_emb_base": 10000, "rotary_pct": 0.25, "tie_word_embeddings": false, "torch_dtype": "float16",
        "transformers_version": "4.24.0", "use_cache": true, "use_parallel_residual": true, "vocab_size": 50304
    })
}

fn llama_160m() -> Value {
    json!({
        "_name_or_path": "", "architectures": ["LlamaForCausalLM"], "bos_token_id": 0, "eos_token_id": 2,
        "hidden_act": "silu", "hidden_size": 768, "initializer_range": 0.02, "intermediate_size": 3072,
        "max_position_embeddings": 2048, "model_type": "llama", "num_attention_heads": 12, "num_hidden_layers": 12,
        "pad_token_id": 1, "rms_norm_eps": 1e-06, "tie_word_embeddings": false, "torch_dtype": "float32",
        "transformers_version": "4.28.1", "use_cache": true, "vocab_size": 32000
    })
}

fn mistral() -> Value {
    json!({
        "architectures": ["MistralForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 1, "eos_token_id": 2,
        "hidden_act": "silu", "hidden_size": 4096, "initializer_range": 0.02, "intermediate_size": 14336,
        "max_position_embeddings": 32768, "model_type": "mistral", "num_attention_heads": 32,
        "num_hidden_layers": 32, "num_key_value_heads": 8, "rms_norm_eps": 1e-05, "rope_theta": 10000.0,
        "sliding_window": 4096, "tie_word_embeddings": false, "torch_dtype": "bfloat16", "vocab_size": 32000
    })
}

fn qwen2() -> Value {
    json!({
        "architectures": ["Qwen2ForCausalLM"], "attention_dropout": 0.0, "bos_token_id": 151643,
        "eos_token_id": 151643, "hidden_act": "silu", "hidden_size": 896, "initializer_range": 0.02,
        "intermediate_size": 4864, "max_position_embeddings": 131072, "max_window_layers": 24, "model_type": "qwen2",
        "num_attention_heads": 14, "num_hidden_layers": 24, "num_key_value_heads": 2, "rms_norm_eps": 1e-06,
        "rope_theta": 1000000.0, "sliding_window": 32768, "tie_word_embeddings": true, "torch_dtype": "bfloat16",
        "use_cache": true, "use_mrope": false, "use_sliding_window": false, "vocab_size": 151936
    })
}

fn bert() -> Value {
    json!({
        "architectures": ["BertForMaskedLM"], "attention_probs_dropout_prob": 0.1, "gradient_checkpointing": false,
        "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": 768, "initializer_range": 0.02,
        "intermediate_size": 3072, "layer_norm_eps": 1e-12, "max_position_embeddings": 512, "model_type": "bert",
        "num_attention_heads": 12, "num_hidden_layers": 12, "pad_token_id": 0, "position_embedding_type": "absolute",
        "transformers_version": "4.6.0.dev0", "type_vocab_size": 2, "use_cache": true, "vocab_size": 30522
    })
}

const FAMILIES: [fn() -> Value; 6] = [gpt2, pythia, llama_160m, mistral, qwen2, bert];

fn read(config: &Value) -> Result<ModelConfig, Error> {
    ModelConfig::from_json(&config.to_string())
}

fn accept(config: &Value) -> ModelConfig {
    read(config).unwrap_or_else(|error| panic!("{error}\n{config}"))
}

/// A configuration with fields replaced; null removes a field.
fn with(base: fn() -> Value, changes: Value) -> Value {
    let mut config = base();
    let fields = config.as_object_mut().expect("an object");
    for (field, value) in changes.as_object().expect("an object") {
        if value.is_null() {
            fields.remove(field);
        } else {
            fields.insert(field.clone(), value.clone());
        }
    }
    config
}

/// Rejected because of this field, in one sentence that names it.
fn refuse(base: fn() -> Value, changes: Value, field: &str) {
    match read(&with(base, changes.clone())) {
        Err(Error::UnsupportedConfig { field: found, hint, .. }) => {
            assert_eq!(found, field, "{changes}");
            assert!(!hint.is_empty() && !hint.contains("; "), "{hint}");
        }
        found => panic!("{changes} gave {found:?}"),
    }
}

#[test]
fn gpt2_as_published() {
    let config = accept(&gpt2());
    assert_eq!(config.architecture, Architecture::Gpt2);
    assert_eq!((config.hidden_size, config.intermediate_size, config.num_hidden_layers), (768, 3072, 12));
    assert_eq!((config.num_attention_heads, config.num_key_value_heads, config.head_dim), (12, 12, 64));
    assert_eq!((config.vocab_size, config.max_position_embeddings), (50257, 1024));
    assert_eq!((config.hidden_act.as_str(), config.activation), ("gelu_new", Activation::GeluTanh));
    assert_eq!((config.norm_eps, config.rope, config.residual), (1e-5, None, Residual::PreNorm));
    assert_eq!((config.causal, config.tie_word_embeddings, config.attention_bias), (true, true, AttentionBias::All));
    assert_eq!(config.ffn_parameters(), 4_722_432);
}

#[test]
fn gpt2_scales_its_scores_as_the_file_says() {
    let scales = |more| {
        let config = accept(&with(gpt2, more));
        [0, 3].map(|layer| config.pattern(layer).scale)
    };
    assert_eq!(scales(json!({})), [0.125, 0.125]);
    assert_eq!(scales(json!({"scale_attn_weights": false})), [1.0, 1.0]);
    let as_trained_by_stanford = json!({"scale_attn_by_inverse_layer_idx": true, "reorder_and_upcast_attn": true});
    assert_eq!(scales(as_trained_by_stanford), [0.125, 0.03125]);
    // A model whose initial weights are 0 is still redrawn from a distribution.
    assert_eq!(accept(&with(gpt2, json!({"initializer_range": 0.0}))).initializer_range, 0.02);
}

#[test]
fn pythia_as_published_and_in_the_new_spelling() {
    let config = accept(&pythia());
    assert_eq!(config.rope, Some(plain_rope(10_000.0, 16)));
    assert_eq!((config.residual, config.activation), (Residual::Parallel, Activation::Gelu));
    assert_eq!((config.attention_bias, config.tie_word_embeddings), (AttentionBias::All, false));
    assert_eq!(config.ffn_parameters(), 4_722_432);
    let new = json!({"rotary_pct": null, "rotary_emb_base": null, "rope_parameters":
        {"partial_rotary_factor": 0.25, "rope_theta": 10000, "rope_type": "default"}});
    assert_eq!(accept(&with(pythia, new)), config);
    // Without values: the family's defaults.
    assert_eq!(accept(&with(pythia, json!({"rotary_pct": null, "rotary_emb_base": null}))), config);
    let other = accept(&with(
        pythia,
        json!({"use_parallel_residual": false, "attention_bias": false,
        "rotary_pct": 1.0, "rotary_emb_base": 20000}),
    ));
    assert_eq!((other.residual, other.attention_bias), (Residual::PreNorm, AttentionBias::None));
    assert_eq!(other.rope, Some(plain_rope(20_000.0, 64)));
}

#[test]
fn llama_and_its_relatives_as_published() {
    let llama = accept(&llama_160m());
    assert_eq!((llama.num_key_value_heads, llama.head_dim, llama.gated_ffn, llama.ffn_bias), (12, 64, true, false));
    assert_eq!((llama.rope, llama.attention_bias), (Some(plain_rope(1e4, 64)), AttentionBias::None));
    assert_eq!((&llama.local, llama.norm_eps), (&None, 1e-6));
    assert_eq!(llama.ffn_parameters(), 7_077_888);
    let biased = accept(&with(llama_160m, json!({"attention_bias": true, "mlp_bias": true, "head_dim": 32})));
    assert_eq!((biased.attention_bias, biased.head_dim), (AttentionBias::All, 32));
    assert_eq!(biased.ffn_parameters(), 7_077_888 + 2 * 3072 + 768);

    let mistral = accept(&mistral());
    assert_eq!((mistral.architecture, mistral.num_key_value_heads), (Architecture::Mistral, 8));
    assert_eq!((reach(&mistral), mistral.head_dim), (Some(4095), 128));
    // Mistral-Nemo: the heads do not add up to the width, and there is no window.
    let mut nemo = with(self::mistral, json!({"hidden_size": 5120, "head_dim": 128}));
    nemo["sliding_window"] = Value::Null;
    assert_eq!((accept(&nemo).head_dim, accept(&nemo).local), (128, None));
    // If missing, the reference assumes a window of 4096; null means none.
    assert_eq!(reach(&accept(&with(self::mistral, json!({"sliding_window": null})))), Some(4095));

    let qwen2 = accept(&qwen2());
    assert_eq!((qwen2.attention_bias, &qwen2.local), (AttentionBias::Inputs, &None));
    assert_eq!((qwen2.rope, qwen2.tie_word_embeddings), (Some(plain_rope(1e6, 64)), true));
    // 24 layers, of which those from `max_window_layers` on are local, unless `layer_types` says otherwise.
    let sliding = |more: Value| {
        let mut config = with(self::qwen2, json!({"use_sliding_window": true, "max_window_layers": 20}));
        config.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        accept(&config).local.map(|local| (local.reach, local.layers.iter().filter(|local| **local).count()))
    };
    assert_eq!(sliding(json!({})), Some((32767, 4)));
    assert_eq!(sliding(json!({"max_window_layers": 0})), Some((32767, 24)));
    let mut types = vec!["full_attention"; 24];
    types[7] = "sliding_attention";
    assert_eq!(sliding(json!({"layer_types": types})), Some((32767, 1)));
}

/// How far every layer sees.
fn reach(config: &ModelConfig) -> Option<usize> {
    config.local.as_ref().filter(|local| local.layers == vec![true; config.num_hidden_layers]).map(|local| local.reach)
}

fn plain_rope(theta: f64, rotary_dim: usize) -> Rope {
    Rope { theta, rotary_dim, scaling: RopeScaling::None }
}

#[test]
fn bert_as_published() {
    let config = accept(&bert());
    assert_eq!((config.causal, config.residual, config.rope), (false, Residual::PostNorm, None));
    assert_eq!((config.type_vocab_size, config.norm_eps, config.activation), (2, 1e-12, Activation::Gelu));
    assert_eq!(config.ffn_parameters(), 4_722_432);
}

#[test]
fn those_of_the_reference_models_are_accepted() {
    for (model, ffn_parameters) in [
        ("tiny-gpt2", 64 * 256 * 2 + 256 + 64),
        ("tiny-gpt_neox", 64 * 256 * 2 + 256 + 64),
        ("tiny-llama", 64 * 168 * 3),
        ("tiny-bert", 64 * 256 * 2 + 256 + 64),
        ("char-llama", 128 * 352 * 3),
    ] {
        let json = std::fs::read_to_string(common::fixture(model).join("config.json")).expect(model);
        let config = ModelConfig::from_json(&json).unwrap_or_else(|error| panic!("{model}: {error}"));
        assert_eq!(config.ffn_parameters(), ffn_parameters, "{model}");
    }
}

#[test]
fn the_class_tells_the_architecture_only_where_model_type_is_absent() {
    for (family, architecture) in FAMILIES.iter().zip(["gpt2", "gpt_neox", "llama", "mistral", "qwen2", "bert"]) {
        let config = accept(&with(*family, json!({"model_type": null})));
        assert_eq!((config.architecture.name(), &config), (architecture, &accept(&family())));
        let misnamed = accept(&with(*family, json!({"architectures": ["GPT2LMHeadModel"]})));
        assert_eq!(misnamed.architecture.name(), architecture);
    }
    let unknown = |changes, found: &str| {
        assert_eq!(read(&with(gpt2, changes)), Err(Error::UnknownArchitecture { found: found.into() }));
    };
    unknown(json!({"model_type": "mamba"}), "mamba");
    unknown(json!({"model_type": "GPT2"}), "GPT2");
    unknown(json!({"model_type": "qwen2_moe"}), "qwen2_moe");
    unknown(json!({"model_type": null, "architectures": ["Qwen2MoeForCausalLM"]}), "Qwen2MoeForCausalLM");
    unknown(json!({"model_type": null, "architectures": ["GPTNeoXJapaneseForCausalLM"]}), "GPTNeoXJapaneseForCausalLM");
    let neither = read(&with(gpt2, json!({"model_type": null, "architectures": []})));
    assert_eq!(neither, Err(Error::MissingField { field: "model_type".into() }));
}

#[test]
fn every_spelling_of_an_activation_is_known_and_no_other() {
    for (name, activation) in [
        ("gelu", Activation::Gelu),
        ("gelu_python", Activation::Gelu),
        ("gelu_new", Activation::GeluTanh),
        ("gelu_fast", Activation::GeluTanh),
        ("gelu_accurate", Activation::GeluTanh),
        ("gelu_pytorch_tanh", Activation::GeluTanh),
        ("gelu_python_tanh", Activation::GeluTanh),
        ("quick_gelu", Activation::QuickGelu),
        ("relu", Activation::Relu),
        ("relu2", Activation::ReluSquared),
        ("silu", Activation::Silu),
        ("swish", Activation::Silu),
        ("tanh", Activation::Tanh),
        ("sigmoid", Activation::Sigmoid),
        ("linear", Activation::Identity),
    ] {
        assert_eq!(accept(&with(gpt2, json!({"activation_function": name}))).activation, activation, "{name}");
        let config = accept(&with(bert, json!({"hidden_act": name})));
        assert_eq!((config.activation, config.hidden_act.as_str()), (activation, name));
    }
    for name in ["gelu_10", "relu6", "leaky_relu", "mish", "laplace", "xielu", "GELU", ""] {
        refuse(gpt2, json!({"activation_function": name}), "activation_function");
        refuse(llama_160m, json!({"hidden_act": name}), "hidden_act");
    }
}

#[test]
fn what_would_change_the_arithmetic_is_refused_by_name() {
    refuse(gpt2, json!({"n_head": 10}), "n_head");
    refuse(gpt2, json!({"head_dim": 32}), "head_dim");
    refuse(pythia, json!({"num_attention_heads": 7}), "num_attention_heads");
    refuse(pythia, json!({"rotary_pct": 0.3}), "partial_rotary_factor");
    refuse(pythia, json!({"rotary_pct": 1.5}), "partial_rotary_factor");
    refuse(pythia, json!({"rotary_pct": 0.01}), "partial_rotary_factor");
    refuse(pythia, json!({"rotary_pct": 0}), "rotary_pct");
    refuse(llama_160m, json!({"num_key_value_heads": 5}), "num_key_value_heads");
    refuse(llama_160m, json!({"num_attention_heads": 7}), "num_attention_heads");
    refuse(llama_160m, json!({"partial_rotary_factor": 0.5}), "partial_rotary_factor");
    refuse(llama_160m, json!({"head_dim": 63}), "partial_rotary_factor");
    refuse(mistral, json!({"attention_bias": true}), "attention_bias");
    refuse(qwen2, json!({"mlp_bias": true}), "mlp_bias");
    refuse(qwen2, json!({"layer_types": ["full_attention", "sliding_attention"]}), "layer_types");
    refuse(qwen2, json!({"layer_types": ["linear_attention"]}), "layer_types");
    refuse(bert, json!({"position_embedding_type": "relative_key_query"}), "position_embedding_type");
    refuse(bert, json!({"is_decoder": true}), "is_decoder");
    for family in FAMILIES {
        refuse(family, json!({"quantization_config": {"bits": 4, "quant_method": "gptq"}}), "quantization_config");
        refuse(family, json!({"pruned_heads": {"0": [1]}}), "pruned_heads");
        refuse(family, json!({"add_cross_attention": true}), "add_cross_attention");
        refuse(family, json!({"is_encoder_decoder": true}), "is_encoder_decoder");
        refuse(family, json!({"attn_logit_softcapping": 50.0}), "attn_logit_softcapping");
        refuse(family, json!({"norm_type": "rms"}), "norm_type");
        refuse(family, json!({"use_mrope": true}), "use_mrope");
        refuse(family, json!({"residual_multiplier": 0.22}), "residual_multiplier");
        // The same fields with values that change nothing.
        accept(&with(family, json!({"pruned_heads": {}, "add_cross_attention": false, "residual_multiplier": 1.0})));
    }
}

#[test]
fn scaled_and_contradicting_rotary_embeddings_are_refused() {
    let scaled = [
        (json!({"type": "yarn", "factor": 2.0}), "rope_type"),
        (json!({"rope_type": "longrope", "short_factor": [1.0]}), "rope_type"),
        (json!({"type": "linear", "factor": 2.0, "beta_fast": 32}), "beta_fast"),
        (json!({"type": "linear", "factor": -2.0}), "factor"),
        (
            json!({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 4.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192}),
            "low_freq_factor",
        ),
        (json!({"rope_type": "default", "factor": 2.0}), "factor"),
    ];
    for family in [pythia, llama_160m, mistral, qwen2] {
        for (scaling, field) in &scaled {
            refuse(family, json!({"rope_scaling": scaling}), &format!("rope_scaling.{field}"));
            refuse(family, json!({"rope_parameters": scaling}), &format!("rope_parameters.{field}"));
        }
        let contradiction = json!({"rope_theta": 10000.0, "rope_parameters": {"rope_theta": 500000.0}});
        assert!(matches!(read(&with(family, contradiction)), Err(Error::UnsupportedConfig { .. })));
        accept(&with(family, json!({"rope_scaling": {"type": "default"}})));
    }
    let new = json!({"rope_parameters": {"rope_type": "default", "rope_theta": 500000.0}});
    assert_eq!(accept(&with(llama_160m, new)).rope.map(|rope| rope.theta), Some(500_000.0));
}

#[test]
fn scaled_rotary_embeddings_are_those_of_the_reference() {
    let scaling = |scaling: Value| accept(&with(llama_160m, json!({"rope_scaling": scaling}))).rope.expect("a rope");
    let linear = scaling(json!({"type": "linear", "factor": 2.0}));
    assert_eq!(linear.scaling, RopeScaling::Linear(2.0));
    assert_eq!(linear.frequency(0), 0.5);
    // Llama 3.2 1B: torch gives these frequencies for θ = 500 000 and heads of 64.
    let published = json!({"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
        "original_max_position_embeddings": 8192, "rope_type": "llama3"});
    let llama3 = accept(&with(llama_160m, json!({"rope_theta": 500_000.0, "rope_scaling": published}))).rope;
    let llama3 = llama3.expect("a rope");
    for (i, expected) in LLAMA3_FREQUENCIES {
        let found = f64::from(llama3.frequency(i));
        assert!((found / expected - 1.0).abs() < 1e-6, "{i}: {found} where {expected} is expected");
    }
    let incomplete = read(&with(llama_160m, json!({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}})));
    assert_eq!(incomplete, Err(Error::MissingField { field: "rope_scaling.low_freq_factor".into() }));
}

#[test]
fn windows_must_fit_positions() {
    let gpt2 = accept(&gpt2());
    assert_eq!(gpt2.check_window(1024), Ok(()));
    assert!(matches!(gpt2.check_window(1025), Err(Error::InvalidSetting { field, .. }) if field == "--seq-len"));
    // Windows may be longer than what a local layer sees.
    assert_eq!(accept(&mistral()).check_window(4097), Ok(()));
    assert_eq!(accept(&qwen2()).check_window(65_536), Ok(()));
    // Dynamic scaling changes nothing up to the windows of training.
    let dynamic = json!({"rope_type": "dynamic", "factor": 2.0, "original_max_position_embeddings": 512});
    let dynamic = accept(&with(llama_160m, json!({"rope_scaling": dynamic})));
    assert_eq!(dynamic.rope, Some(plain_rope(1e4, 64)));
    assert_eq!(dynamic.check_window(512), Ok(()));
    assert!(dynamic.check_window(513).is_err());
}

#[test]
fn absent_sizes_are_named() {
    type Case = (fn() -> Value, &'static [&'static str]);
    let needed: [Case; 6] = [
        (gpt2, &["n_embd", "n_head", "n_layer", "n_positions", "vocab_size"]),
        (pythia, COMMON_SIZES),
        (llama_160m, COMMON_SIZES),
        (mistral, &["num_key_value_heads"]),
        (qwen2, &["num_key_value_heads"]),
        (bert, &["type_vocab_size", "intermediate_size"]),
    ];
    for (family, fields) in needed {
        for field in fields {
            let missing = Err(Error::MissingField { field: (*field).into() });
            assert_eq!(read(&with(family, json!({*field: null}))), missing);
            let mut null = family();
            null[*field] = Value::Null;
            assert!(read(&null) == missing || *field == "num_key_value_heads", "{field}");
        }
    }
}

const COMMON_SIZES: &[&str] = &[
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "max_position_embeddings",
    "vocab_size",
];

#[test]
fn absurd_values_are_refused_before_they_are_used() {
    for field in COMMON_SIZES {
        for value in [json!(0), json!(1u64 << 40), json!(u64::MAX)] {
            refuse(llama_160m, json!({*field: value}), field);
        }
        for value in [json!("768"), json!(768.5), json!(-1), json!([768]), json!(true), json!(1e300)] {
            let found = read(&with(llama_160m, json!({*field: value})));
            let names = |why: &str| why.contains(field);
            assert!(
                matches!(&found, Err(Error::MalformedJson { why, .. }) if names(why)),
                "{field} {value}: {found:?}"
            );
        }
    }
    refuse(llama_160m, json!({"intermediate_size": 1 << 20, "hidden_size": 12 << 14}), "intermediate_size");
    refuse(llama_160m, json!({"head_dim": 1 << 20}), "head_dim");
    refuse(llama_160m, json!({"num_key_value_heads": 0}), "num_key_value_heads");
    refuse(llama_160m, json!({"rope_theta": 0.0}), "rope_theta");
    refuse(llama_160m, json!({"rms_norm_eps": 0.0}), "rms_norm_eps");
    refuse(llama_160m, json!({"rms_norm_eps": 1e-60}), "rms_norm_eps");
    refuse(llama_160m, json!({"initializer_range": -0.02}), "initializer_range");
    refuse(mistral, json!({"sliding_window": 0}), "sliding_window");
    let cases = [
        json!({"rope_parameters": [1]}),
        json!({"rope_theta": "10000"}),
        json!({"hidden_act": 3}),
        json!({"tie_word_embeddings": "yes"}),
        json!({"architectures": "LlamaForCausalLM", "model_type": null}),
        json!({"model_type": 3}),
    ];
    for changes in cases {
        let found = read(&with(llama_160m, changes.clone()));
        assert!(matches!(found, Err(Error::MalformedJson { .. })), "{changes}: {found:?}");
    }
}

#[test]
fn text_that_is_no_json_object_is_malformed() {
    let deep = "[".repeat(100_000);
    let whole = gpt2().to_string();
    let cut = (0..whole.len()).map(|end| &whole[..end]);
    for json in ["[]", "null", "3", "\"gpt2\"", "{\"a\":NaN}", "\u{feff}{}", &deep].into_iter().chain(cut) {
        let found = ModelConfig::from_json(json);
        assert!(matches!(&found, Err(Error::MalformedJson { file, .. }) if file == "config.json"), "{found:?}");
    }
}

/// Frequencies of Llama 3.2 1B as `transformers` 5.23 computes them.
const LLAMA3_FREQUENCIES: [(usize, f64); 8] = [
    (0, 1.0),
    (5, 0.128_687_381_744_384_77),
    (14, 0.003_211_446_106_433_868_4),
    (16, 0.000_429_556_705_057_621),
    (17, 9.708_286_233_944_818e-5),
    (18, 1.946_163_865_795_824_7e-5),
    (20, 8.570_255_886_297_673e-6),
    (31, 9.418_306_490_260_875e-8),
];
