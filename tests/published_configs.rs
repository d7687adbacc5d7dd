//! The configurations of published models, typed in as facts: each is read as its model works, or refused with the field
//! that stands in the way.

use serde_json::{Value, json};
use straightedge::backend::Activation::{Gelu, GeluTanh, Relu, Silu};
use straightedge::error::Error;
use straightedge::model::{Architecture, AttentionBias, ModelConfig, Residual};
use straightedge::report::ModelInfo;

fn read(config: &Value) -> ModelConfig {
    let config = ModelConfig::from_json(&config.to_string()).unwrap_or_else(|error| panic!("{error}"));
    let architecture = config.architecture.name().into();
    let is_encoder = ModelInfo { architecture, ..ModelInfo::default() }.is_encoder();
    assert_eq!(is_encoder, !config.causal, "a report knows encoders by their family: {}", config.architecture);
    config
}

/// Weights and biases of all feed-forward networks.
fn ffn_parameters(config: &ModelConfig) -> usize {
    config.num_hidden_layers * config.ffn_parameters()
}

/// Block indices of local layers.
fn local_layers(config: &ModelConfig) -> Vec<usize> {
    let layers = config.local.iter().flat_map(|local| local.layers.iter().enumerate());
    layers.filter(|(_, local)| **local).map(|(layer, _)| layer).collect()
}

#[test]
fn tiny_stories_33m() {
    let config = read(&json!({
        "architectures": ["GPTNeoForCausalLM"], "activation_function": "gelu_new", "attention_dropout": 0,
        "attention_layers": ["global", "local", "global", "local"], "attention_types": [[["global", "local"], 2]],
        "bos_token_id": 50256, "embed_dropout": 0, "eos_token_id": 50256, "gradient_checkpointing": false,
        "hidden_size": 768, "initializer_range": 0.02, "intermediate_size": null, "layer_norm_epsilon": 1e-05,
        "max_position_embeddings": 2048, "model_type": "gpt_neo", "num_heads": 16, "num_layers": 4, "resid_dropout": 0,
        "summary_activation": null, "summary_use_proj": true, "torch_dtype": "float32", "use_cache": true,
        "vocab_size": 50257, "window_size": 256
    }));
    assert_eq!((config.activation, config.attention_scale, config.intermediate_size), (GeluTanh, 1.0, 3072));
    assert_eq!((config.attention_bias, local_layers(&config)), (AttentionBias::Output, vec![1, 3]));
    assert_eq!(config.pattern(1).reach, Some(255));
    assert_eq!((config.pattern(0).reach, config.tie_word_embeddings), (None, true));
}

#[test]
fn opt_125m_and_350m() {
    let opt = |more: Value| {
        let mut config = json!({
            "_remove_final_layer_norm": false, "activation_function": "relu", "architectures": ["OPTForCausalLM"],
            "attention_dropout": 0.0, "bos_token_id": 2, "do_layer_norm_before": true, "dropout": 0.1,
            "eos_token_id": 2, "ffn_dim": 3072, "hidden_size": 768, "init_std": 0.02, "layerdrop": 0.0,
            "max_position_embeddings": 2048, "model_type": "opt", "num_attention_heads": 12, "num_hidden_layers": 12,
            "pad_token_id": 1, "prefix": "</s>", "torch_dtype": "float16", "use_cache": true, "vocab_size": 50272,
            "word_embed_proj_dim": 768
        });
        config.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        read(&config)
    };
    let small = opt(json!({}));
    assert_eq!((small.activation, small.residual, small.position_offset), (Relu, Residual::PreNorm, 2));
    assert_eq!((small.max_position_embeddings, small.embedding_size, small.tie_word_embeddings), (2048, 768, true));
    let larger = opt(json!({
        "do_layer_norm_before": false, "ffn_dim": 4096, "hidden_size": 1024, "num_attention_heads": 16,
        "num_hidden_layers": 24, "word_embed_proj_dim": 512
    }));
    assert_eq!((larger.residual, larger.embedding_size), (Residual::PostNorm, 512));
}

#[test]
fn bloom_560m_in_both_spellings() {
    let new = json!({
        "apply_residual_connection_post_layernorm": false, "architectures": ["BloomForCausalLM"],
        "attention_dropout": 0.0, "attention_softmax_in_fp32": true, "bias_dropout_fusion": true, "bos_token_id": 1,
        "eos_token_id": 2, "hidden_dropout": 0.0, "hidden_size": 1024, "initializer_range": 0.02,
        "layer_norm_epsilon": 1e-05, "masked_softmax_fusion": true, "model_type": "bloom", "n_head": 16, "n_inner": null,
        "n_layer": 24, "offset_alibi": 100, "pad_token_id": 3, "pretraining_tp": 1, "seq_length": 2048,
        "skip_bias_add": true, "skip_bias_add_qkv": false, "slow_but_exact": false, "unk_token_id": 0,
        "use_cache": true, "vocab_size": 250880
    });
    let mut old = new.clone();
    for (field, other) in [("hidden_size", "n_embed"), ("n_head", "num_attention_heads")] {
        let value = old.as_object_mut().expect("an object").remove(field).expect("a field");
        old[other] = value;
    }
    let config = read(&new);
    assert_eq!(config, read(&old));
    assert_eq!((config.alibi, config.activation, config.intermediate_size), (true, GeluTanh, 4096));
    assert_eq!((config.max_position_embeddings, config.attention_bias), (2048, AttentionBias::All));
}

#[test]
fn distilgpt2_and_smollm2_135m() {
    let distilgpt2 = read(&json!({
        "_num_labels": 1, "activation_function": "gelu_new", "architectures": ["GPT2LMHeadModel"], "attn_pdrop": 0.1,
        "bos_token_id": 50256, "embd_pdrop": 0.1, "eos_token_id": 50256, "id2label": {"0": "LABEL_0"},
        "initializer_range": 0.02, "label2id": {"LABEL_0": 0}, "layer_norm_epsilon": 1e-5, "model_type": "gpt2",
        "n_ctx": 1024, "n_embd": 768, "n_head": 12, "n_layer": 6, "n_positions": 1024, "resid_pdrop": 0.1,
        "summary_activation": null, "summary_first_dropout": 0.1, "summary_proj_to_labels": true,
        "summary_type": "cls_index", "summary_use_proj": true, "vocab_size": 50257,
    }));
    assert_eq!((distilgpt2.num_hidden_layers, distilgpt2.intermediate_size), (6, 3072));
    let smollm2 = read(&json!({
        "architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 0,
        "eos_token_id": 0, "hidden_act": "silu", "hidden_size": 576, "initializer_range": 0.041666666666666664,
        "intermediate_size": 1536, "is_llama_config": true, "max_position_embeddings": 8192, "mlp_bias": false,
        "model_type": "llama", "num_attention_heads": 9, "num_hidden_layers": 30, "num_key_value_heads": 3,
        "pretraining_tp": 1, "rms_norm_eps": 1e-5, "rope_interleaved": false, "rope_scaling": null,
        "rope_theta": 100000, "tie_word_embeddings": true, "torch_dtype": "bfloat16", "use_cache": true,
        "vocab_size": 49152,
    }));
    assert_eq!(ffn_parameters(&smollm2), 30 * 3 * 576 * 1536);
    assert_eq!((smollm2.head_dim, smollm2.num_key_value_heads, smollm2.tie_word_embeddings), (64, 3, true));
}

#[test]
fn qwen3_600m() {
    let config = read(&json!({
        "architectures": ["Qwen3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
        "bos_token_id": 151643, "eos_token_id": 151645, "head_dim": 128, "hidden_act": "silu", "hidden_size": 1024,
        "initializer_range": 0.02, "intermediate_size": 3072, "max_position_embeddings": 40960,
        "max_window_layers": 28, "model_type": "qwen3", "num_attention_heads": 16, "num_hidden_layers": 28,
        "num_key_value_heads": 8, "rms_norm_eps": 1e-06, "rope_scaling": null, "rope_theta": 1000000,
        "sliding_window": null, "tie_word_embeddings": true, "torch_dtype": "bfloat16", "use_cache": true,
        "use_sliding_window": false, "vocab_size": 151936
    }));
    assert_eq!((config.head_dim, config.attention_bias, &config.local), (128, AttentionBias::None, &None));
    assert_eq!((config.activation, ffn_parameters(&config)), (Silu, 28 * 3 * 1024 * 3072));
}

#[test]
fn llama_3_2_1b() {
    let config = read(&json!({
        "architectures": ["LlamaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
        "bos_token_id": 128000, "eos_token_id": 128001, "head_dim": 64, "hidden_act": "silu", "hidden_size": 2048,
        "initializer_range": 0.02, "intermediate_size": 8192, "max_position_embeddings": 131072, "mlp_bias": false,
        "model_type": "llama", "num_attention_heads": 32, "num_hidden_layers": 16, "num_key_value_heads": 8,
        "pretraining_tp": 1, "rms_norm_eps": 1e-05,
        "rope_scaling": {"factor": 32.0, "high_freq_factor": 4.0, "low_freq_factor": 1.0,
            "original_max_position_embeddings": 8192, "rope_type": "llama3"},
        "rope_theta": 500000.0, "tie_word_embeddings": true, "torch_dtype": "bfloat16", "use_cache": true,
        "vocab_size": 128256
    }));
    assert_eq!((config.max_position_embeddings, config.num_key_value_heads), (131_072, 8));
}

#[test]
fn phi_1_5_and_2() {
    for (width, layers, heads, partial) in [(2048, 24, 32, 0.5), (2560, 32, 32, 0.4)] {
        let config = read(&json!({
            "architectures": ["PhiForCausalLM"], "attention_dropout": 0.0, "bos_token_id": null, "embd_pdrop": 0.0,
            "eos_token_id": null, "hidden_act": "gelu_new", "hidden_size": width, "initializer_range": 0.02,
            "intermediate_size": 4 * width, "layer_norm_eps": 1e-05, "max_position_embeddings": 2048,
            "model_type": "phi", "num_attention_heads": heads, "num_hidden_layers": layers,
            "num_key_value_heads": null, "partial_rotary_factor": partial, "qk_layernorm": false, "resid_pdrop": 0.0,
            "rope_scaling": null, "rope_theta": 10000.0, "tie_word_embeddings": false, "torch_dtype": "float16",
            "use_cache": true, "vocab_size": 51200
        }));
        assert_eq!((config.residual, config.activation, config.head_bias), (Residual::Parallel, GeluTanh, true));
        assert_eq!(config.rope.map(|rope| rope.rotary_dim), Some(32));
    }
}

#[test]
fn gemma_1_to_3() {
    let gemma = json!({
        "architectures": ["GemmaForCausalLM"], "attention_bias": false, "attention_dropout": 0.0, "bos_token_id": 2,
        "eos_token_id": 1, "head_dim": 256, "hidden_act": "gelu", "hidden_size": 2048, "initializer_range": 0.02,
        "intermediate_size": 16384, "max_position_embeddings": 8192, "model_type": "gemma", "num_attention_heads": 8,
        "num_hidden_layers": 18, "num_key_value_heads": 1, "pad_token_id": 0, "rms_norm_eps": 1e-06,
        "rope_scaling": null, "rope_theta": 10000.0, "torch_dtype": "bfloat16", "use_cache": true,
        "vocab_size": 256000
    });
    let first = read(&gemma);
    // "gelu" in its file stands for the approximation.
    assert_eq!((first.activation, first.tie_word_embeddings), (GeluTanh, true));
    assert_eq!((first.embedding_scale, &first.local), (2048.0_f32.sqrt(), &None));

    let mut second = gemma.clone();
    second.as_object_mut().expect("an object").extend([
        ("model_type".into(), json!("gemma2")),
        ("hidden_activation".into(), json!("gelu_pytorch_tanh")),
        ("attn_logit_softcapping".into(), json!(50.0)),
        ("final_logit_softcapping".into(), json!(30.0)),
        ("query_pre_attn_scalar".into(), json!(256)),
        ("sliding_window".into(), json!(4096)),
        ("num_hidden_layers".into(), json!(26)),
        ("cache_implementation".into(), json!("hybrid")),
    ]);
    let second = read(&second);
    assert_eq!((second.attention_softcap, second.logit_softcap), (Some(50.0), Some(30.0)));
    assert_eq!((second.attention_scale, second.pattern(0).reach, second.pattern(1).reach), (0.0625, Some(4095), None));
    assert_eq!(local_layers(&second), (0..26).step_by(2).collect::<Vec<_>>());

    let third = read(&json!({
        "architectures": ["Gemma3ForCausalLM"], "attention_bias": false, "attention_dropout": 0.0,
        "attn_logit_softcapping": null, "bos_token_id": 2, "cache_implementation": "hybrid", "eos_token_id": [1, 106],
        "final_logit_softcapping": null, "head_dim": 256, "hidden_activation": "gelu_pytorch_tanh",
        "hidden_size": 1152, "initializer_range": 0.02, "intermediate_size": 6912, "max_position_embeddings": 32768,
        "model_type": "gemma3_text", "num_attention_heads": 4, "num_hidden_layers": 26, "num_key_value_heads": 1,
        "pad_token_id": 0, "query_pre_attn_scalar": 256, "rms_norm_eps": 1e-06, "rope_local_base_freq": 10000,
        "rope_scaling": null, "rope_theta": 1000000, "sliding_window": 512, "sliding_window_pattern": 6,
        "torch_dtype": "bfloat16", "use_cache": true, "vocab_size": 262144
    }));
    assert_eq!(local_layers(&third), (0..26).filter(|layer| layer % 6 != 5).collect::<Vec<_>>());
    let theta = |layer| third.pattern(layer).rope.map(|rope| rope.theta);
    assert_eq!((theta(0), theta(5), third.pattern(0).reach), (Some(1e4), Some(1e6), Some(511)));
    assert_eq!((third.attention_softcap, third.logit_softcap), (None, None));
}

#[test]
fn encoders() {
    let roberta = read(&json!({
        "architectures": ["RobertaForMaskedLM"], "attention_probs_dropout_prob": 0.1, "bos_token_id": 0,
        "eos_token_id": 2, "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "hidden_size": 768,
        "initializer_range": 0.02, "intermediate_size": 3072, "layer_norm_eps": 1e-05,
        "max_position_embeddings": 514, "model_type": "roberta", "num_attention_heads": 12, "num_hidden_layers": 12,
        "pad_token_id": 1, "type_vocab_size": 1, "vocab_size": 50265
    }));
    assert_eq!((roberta.max_position_embeddings, roberta.position_offset, roberta.norm_eps), (512, 2, 1e-5));
    let distilbert = read(&json!({
        "activation": "gelu", "architectures": ["DistilBertForMaskedLM"], "attention_dropout": 0.1, "dim": 768,
        "dropout": 0.1, "hidden_dim": 3072, "initializer_range": 0.02, "max_position_embeddings": 512,
        "model_type": "distilbert", "n_heads": 12, "n_layers": 6, "pad_token_id": 0, "qa_dropout": 0.1,
        "seq_classif_dropout": 0.2, "sinusoidal_pos_embds": false, "tie_weights_": true, "vocab_size": 30522
    }));
    assert_eq!((distilbert.norm_eps, distilbert.type_vocab_size, distilbert.residual), (1e-12, 0, Residual::PostNorm));
    let modernbert = read(&json!({
        "architectures": ["ModernBertForMaskedLM"], "attention_bias": false, "attention_dropout": 0.0,
        "bos_token_id": 50281, "classifier_activation": "gelu", "classifier_bias": false, "classifier_dropout": 0.0,
        "classifier_pooling": "mean", "cls_token_id": 50281, "decoder_bias": true,
        "deterministic_flash_attn": false, "embedding_dropout": 0.0, "eos_token_id": 50282,
        "global_attn_every_n_layers": 3, "global_rope_theta": 160000.0, "gradient_checkpointing": false,
        "hidden_activation": "gelu", "hidden_size": 768, "initializer_cutoff_factor": 2.0, "initializer_range": 0.02,
        "intermediate_size": 1152, "layer_norm_eps": 1e-05, "local_attention": 128, "local_rope_theta": 10000.0,
        "max_position_embeddings": 8192, "mlp_bias": false, "mlp_dropout": 0.0, "model_type": "modernbert",
        "norm_bias": false, "norm_eps": 1e-05, "num_attention_heads": 12, "num_hidden_layers": 22,
        "pad_token_id": 50283, "position_embedding_type": "absolute", "sep_token_id": 50282,
        "tie_word_embeddings": true, "torch_dtype": "float32", "vocab_size": 50368
    }));
    assert_eq!((modernbert.activation, modernbert.gated_ffn, modernbert.causal), (Gelu, true, false));
    assert_eq!((modernbert.pattern(1).reach, modernbert.pattern(3).reach), (Some(64), None));
    assert_eq!(modernbert.architecture, Architecture::Modernbert);
}

#[test]
fn what_cannot_be_read_is_refused_by_what_stands_in_the_way() {
    // Gemma 3 with images, a mixture of experts, an old Phi, and a family that is not there.
    for (kind, class) in [
        ("gemma3", "Gemma3ForConditionalGeneration"),
        ("qwen3_moe", "Qwen3MoeForCausalLM"),
        ("phi-msft", "PhiForCausalLM"),
        ("falcon", "FalconForCausalLM"),
    ] {
        let refused = ModelConfig::from_json(&json!({"model_type": kind, "architectures": [class]}).to_string());
        assert_eq!(refused, Err(Error::UnknownArchitecture { found: kind.into() }));
    }
    let refused = |config: Value| match ModelConfig::from_json(&config.to_string()) {
        Err(Error::UnsupportedConfig { field, .. }) => field,
        other => panic!("{other:?}"),
    };
    let phi3 = json!({
        "model_type": "llama", "hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 1,
        "num_attention_heads": 2, "vocab_size": 9, "max_position_embeddings": 64,
        "rope_scaling": {"type": "longrope", "short_factor": [1.0], "long_factor": [1.0]}
    });
    assert_eq!(refused(phi3), "rope_scaling.rope_type");
    let bloom = json!({
        "model_type": "bloom", "hidden_size": 64, "n_layer": 1, "n_head": 2, "vocab_size": 9,
        "apply_residual_connection_post_layernorm": true
    });
    assert_eq!(refused(bloom), "apply_residual_connection_post_layernorm");
}
