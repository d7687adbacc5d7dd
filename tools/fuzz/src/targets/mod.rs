//! The parsers of untrusted input, each with valid inputs, the errors it documents and what it may take.

mod archive;
mod hub;
mod link;
mod model;
mod report;
mod synthetic;
mod tokenizer;
mod weights;

use crate::mutate::Format;
use crate::target::{Limits, Target};

/// A few milliseconds, and memory of a small multiple of the input.
const SMALL: Limits = Limits { time: (60, 20), memory: (1 << 20, 100) };

/// All targets.
pub fn all() -> &'static [Target] {
    &ALL
}

static ALL: [Target; 16] = [
    Target {
        name: "safetensors",
        about: "header and tensors of a safetensors file",
        format: Format::Safetensors,
        seeds: weights::safetensors_seeds,
        run: weights::safetensors,
        errors: &["malformed_weights", "lfs_pointer", "tensor_dtype", "non_finite_tensor"],
        limits: SMALL,
    },
    Target {
        name: "index",
        about: "the index of a model's shards",
        format: Format::Json,
        seeds: weights::index_seeds,
        run: weights::index,
        errors: &["malformed_json", "malformed_weights", "missing_file", "lfs_pointer"],
        limits: SMALL,
    },
    Target {
        name: "rows",
        about: "captured rows",
        format: Format::Safetensors,
        seeds: weights::rows_seeds,
        run: weights::rows,
        errors: &["malformed_weights", "lfs_pointer", "tensor_dtype", "non_finite_row"],
        limits: SMALL,
    },
    Target {
        name: "maps",
        about: "a maps file",
        format: Format::Safetensors,
        seeds: weights::maps_seeds,
        run: weights::maps,
        errors: &["malformed_maps"],
        limits: SMALL,
    },
    Target {
        name: "torch",
        about: "a PyTorch file: zip directory and pickle",
        format: Format::Torch,
        seeds: archive::torch_seeds,
        run: archive::torch,
        errors: &[
            "malformed_torch",
            "unsupported_torch",
            "lfs_pointer",
            "tensor_strides",
            "tensor_dtype",
            "non_finite_tensor",
        ],
        // A value of the pickle's machine takes up to 48 bytes, one opcode one byte, and its lists grow by doubling.
        limits: Limits { time: (60, 20), memory: (1 << 20, 400) },
    },
    Target {
        name: "parquet",
        about: "a Parquet file with texts",
        format: Format::Parquet,
        seeds: archive::parquet_seeds,
        run: archive::parquet,
        errors: &["parquet"],
        // A text of a dictionary takes 32 bytes in memory and 4 in the page, which is compressed to a twentieth. Pages
        // may repeat it as often as the file's number of rows allows.
        limits: Limits { time: (400, 20), memory: (1 << 24, 800) },
    },
    Target {
        name: "config",
        about: "config.json of every family",
        format: Format::Json,
        seeds: model::config_seeds,
        run: model::config,
        errors: &["missing_field", "unsupported_config", "unknown_architecture", "malformed_json", "lfs_pointer"],
        // A tree of JSON takes up to a hundred times its text, and is copied once.
        limits: Limits { time: (60, 20), memory: (1 << 20, 300) },
    },
    Target {
        name: "tokenizer",
        about: "tokenizer.json with a text",
        format: Format::Json,
        seeds: tokenizer::json_seeds,
        run: tokenizer::json,
        errors: &["tokenizer", "not_utf8", "uncut_text", "whole_text"],
        limits: tokenizer::LIMITS,
    },
    Target {
        name: "vocabulary",
        about: "tokenizer.model, vocab.txt, or vocab.json with merges.txt, with a text",
        format: Format::JsonOrMessage,
        seeds: tokenizer::vocabulary_seeds,
        run: tokenizer::vocabulary,
        errors: &["tokenizer", "malformed_json", "missing_file"],
        limits: tokenizer::LIMITS,
    },
    Target {
        name: "report",
        about: "a report, and all that the page derives from it",
        format: Format::Json,
        seeds: report::report_seeds,
        run: report::report,
        errors: &["malformed_report"],
        limits: Limits { time: (200, 60), memory: (8 << 20, 400) },
    },
    Target {
        name: "fragment",
        about: "a result in a link, and all that the page derives from it",
        format: Format::Fragment,
        seeds: report::fragment_seeds,
        run: report::fragment,
        errors: &["malformed_link"],
        limits: Limits { time: (200, 100), memory: (8 << 20, 2000) },
    },
    Target {
        name: "link",
        about: "the parameters of a link",
        format: Format::Query,
        seeds: link::seeds,
        run: link::link,
        errors: &["invalid_setting", "hub_id", "hub_endpoint"],
        limits: SMALL,
    },
    Target {
        name: "hub",
        about: "listings and answers of the hub",
        format: Format::Json,
        seeds: hub::seeds,
        run: hub::hub,
        errors: &[
            "not_the_file",
            "hub_missing",
            "hub_gated",
            "hub_busy",
            "network",
            "hash_mismatch",
            "unreadable_file",
            "missing_file",
            "storage_full",
        ],
        limits: Limits { time: (100, 50), memory: (4 << 20, 200) },
    },
    Target {
        name: "notes",
        about: "the tuning cache",
        format: Format::Lines,
        seeds: model::notes_seeds,
        run: model::notes,
        errors: &[],
        limits: SMALL,
    },
    Target {
        name: "state",
        about: "the saved state of an interrupted measurement",
        format: Format::State,
        seeds: model::state_seeds,
        run: model::state,
        errors: &["malformed_state"],
        limits: SMALL,
    },
    Target {
        name: "ids",
        about: "token ids, and names and addresses on the hub",
        format: Format::Json,
        seeds: link::ids_seeds,
        run: link::ids,
        errors: &["malformed_json", "hub_id", "hub_endpoint"],
        limits: SMALL,
    },
];
