//! Every way a measurement can fail, each as one sentence: `WHAT: WHY; WHAT TO DO`.
//!
//! The type is plain data, so that an error crosses from the worker to the page unchanged.

use serde::{Deserialize, Serialize};

/// The result of anything that can fail here.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure that names the file, tensor, field or row at fault and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Error {
    /// A file that the layout requires is absent.
    #[error("{file}: not found; {hint}")]
    MissingFile {
        /// Name of the file as looked for.
        file: String,
        /// What to do.
        hint: String,
    },
    /// The operating system or browser refused to read a file.
    #[error("{file}: cannot be read ({why}); check that it exists and may be read")]
    UnreadableFile {
        /// Name of the file.
        file: String,
        /// The reason given.
        why: String,
    },
    /// Writing a result failed: full disk, missing folder, no permission.
    #[error("{file}: cannot be written ({why}); choose another place or free some space")]
    UnwritableFile {
        /// Name of the file.
        file: String,
        /// The reason given.
        why: String,
    },
    /// A JSON file does not parse or lacks its structure.
    #[error("{file}: malformed JSON ({why}); replace it with an intact copy")]
    MalformedJson {
        /// Name of the file.
        file: String,
        /// Parser message with line and column.
        why: String,
    },
    /// A safetensors file whose header is truncated, oversized or contradicts the file.
    #[error("{file}: not an intact safetensors file ({why}); download it again")]
    MalformedWeights {
        /// Name of the file.
        file: String,
        /// What contradicts what.
        why: String,
    },
    /// A tensor that the architecture needs is in none of the weight files.
    #[error("tensor {tensor}: missing from the weights; check that config.json and weights belong to the same model")]
    MissingTensor {
        /// Checkpoint name of the tensor.
        tensor: String,
    },
    /// A tensor has another shape than the configuration implies.
    #[error(
        "tensor {tensor}: has shape {found:?} where {expected:?} is needed; config.json and weights do not belong together"
    )]
    TensorShape {
        /// Name of the tensor.
        tensor: String,
        /// Shape in the file.
        found: Vec<usize>,
        /// Shape that the configuration implies.
        expected: Vec<usize>,
    },
    /// A tensor is stored in a format other than F32, F16 or BF16.
    #[error("tensor {tensor}: stored as {dtype}; convert the weights to F32, F16 or BF16")]
    TensorDtype {
        /// Name of the tensor.
        tensor: String,
        /// Format in the file.
        dtype: String,
    },
    /// A tensor holds NaN or infinity.
    #[error("tensor {tensor}: element {index} is not finite; the weights are damaged, download them again")]
    NonFiniteTensor {
        /// Name of the tensor.
        tensor: String,
        /// Flat index of the first such element.
        index: usize,
    },
    /// A configuration field is absent.
    #[error("config.json: field {field} is missing; use the config.json that belongs to the model")]
    MissingField {
        /// Name of the field.
        field: String,
    },
    /// A configuration value that would change the arithmetic and is not supported.
    #[error("config.json: {field} = {value} is not supported; {hint}")]
    UnsupportedConfig {
        /// Name of the field.
        field: String,
        /// Its value.
        value: String,
        /// What is supported.
        hint: String,
    },
    /// `model_type` names an architecture that is not implemented.
    #[error(
        "config.json: architecture {found} is not supported; supported are gpt2, gpt_neox, llama, mistral, qwen2 and bert"
    )]
    UnknownArchitecture {
        /// The `model_type` found.
        found: String,
    },
    /// `tokenizer.json` cannot be used, or fails on this text.
    #[error("tokenizer.json: {why}; use the tokenizer.json that belongs to the model")]
    Tokenizer {
        /// The tokenizer's own message.
        why: String,
    },
    /// A token id beyond the embedding.
    #[error(
        "{corpus}: token {position} is {id}, but the vocabulary ends at {vocab_size}; use the model's own tokenizer"
    )]
    TokenOutOfRange {
        /// Identifier of the text.
        corpus: String,
        /// Position in the token stream.
        position: usize,
        /// The id.
        id: u32,
        /// Size of the embedding.
        vocab_size: usize,
    },
    /// A text without a single token.
    #[error("{corpus}: the text is empty; give a text of at least some thousand words")]
    EmptyText {
        /// Identifier of the text.
        corpus: String,
    },
    /// A text that is not UTF-8.
    #[error("{corpus}: not UTF-8 (byte {byte}); save the text as UTF-8")]
    NotUtf8 {
        /// Identifier of the text.
        corpus: String,
        /// Offset of the first invalid byte.
        byte: usize,
    },
    /// Fewer windows than folds: no split is possible.
    #[error(
        "{corpus}: {tokens} tokens give {windows} windows of {seq_len}, but {folds} folds need at least {folds}; use a longer text, a shorter --seq-len or fewer --folds"
    )]
    TooFewWindows {
        /// Identifier of the text.
        corpus: String,
        /// Tokens (or rows) available.
        tokens: usize,
        /// Whole windows among them.
        windows: usize,
        /// Tokens per window.
        seq_len: usize,
        /// Folds asked for.
        folds: usize,
    },
    /// Fewer training rows than an affine map has parameters per output.
    #[error(
        "{corpus}: {train_rows} training rows cannot determine an affine map of {needed} parameters per output; use a longer text or more --rows"
    )]
    TooFewRows {
        /// Identifier of the text.
        corpus: String,
        /// Rows outside the held-out fold.
        train_rows: usize,
        /// d + 1.
        needed: usize,
    },
    /// Fewer captured rows than an affine map, or folds of them, need.
    #[error("{file}: {rows} rows are too few, where {needed} are needed {what}; capture more rows")]
    TooFewCaptured {
        /// Name of the file.
        file: String,
        /// Rows that there are.
        rows: usize,
        /// The least that is needed.
        needed: usize,
        /// What for.
        what: String,
    },
    /// Captured rows hold NaN or infinity.
    #[error("tensor {tensor}: row {row} of the captured rows holds NaN or infinity; capture the rows without it")]
    NonFiniteRow {
        /// `x` or `y`.
        tensor: String,
        /// Row within the file.
        row: usize,
    },
    /// A setting of the job is out of its range.
    #[error("{field}: {value} is not possible; {hint}")]
    InvalidSetting {
        /// Name of the setting.
        field: String,
        /// Its value.
        value: String,
        /// The range.
        hint: String,
    },
    /// A measure that exists by name and is not built yet.
    #[error("--measures {measure}: not available yet; choose others, see straightedge measure --help")]
    NotAvailable {
        /// Name of the measure.
        measure: String,
    },
    /// A bundled model or text that is not there.
    #[error("{name}: no such model; give a folder in Hugging Face layout or one of: {known}")]
    UnknownModel {
        /// The name asked for.
        name: String,
        /// Comma list of the names that exist.
        known: String,
    },
    /// A name that is neither a folder, a bundled model nor a model on the hub.
    #[error(
        "{name}: no such folder or bundled model, nor one on the hub ({why}); give a folder in Hugging Face layout, OWNER/NAME on the hub, or one of: {known}"
    )]
    NoModel {
        /// The name asked for.
        name: String,
        /// Why it is not on the hub.
        why: String,
        /// Comma list of the bundled models.
        known: String,
    },
    /// No usable GPU adapter.
    #[error("GPU: no adapter ({why}); use --backend cpu")]
    NoAdapter {
        /// What was tried.
        why: String,
    },
    /// The GPU was lost while working.
    #[error("GPU: the device was lost ({why}); blocks measured so far are kept, start again or use the CPU")]
    DeviceLost {
        /// The driver's message.
        why: String,
    },
    /// The adapter has a limit below what every WebGPU device has.
    #[error("GPU: {name} is {limit} where {needed} is needed; use another device or browser, or the CPU")]
    AdapterLimit {
        /// WebGPU's name of the limit.
        name: String,
        /// The least that is needed.
        needed: u64,
        /// What the adapter has.
        limit: u64,
    },
    /// The GPU has no memory left.
    #[error("GPU: no memory is left ({why}); what was measured is kept, close other programs or use the CPU")]
    DeviceMemory {
        /// The driver's message.
        why: String,
    },
    /// The model or batch does not fit the adapter.
    #[error("GPU: {what} needs {needed} bytes where the adapter allows {limit}; use a smaller model or the CPU")]
    DeviceLimit {
        /// Buffer or tensor at fault.
        what: String,
        /// Bytes needed.
        needed: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// The GPU refused an operation.
    #[error("GPU: {what} failed ({why}); use the CPU and report this")]
    Gpu {
        /// Operation.
        what: String,
        /// Message.
        why: String,
    },
    /// The CPU backend refused an operation.
    #[error("CPU: {what} failed ({why}); report this")]
    Cpu {
        /// Operation.
        what: String,
        /// Message.
        why: String,
    },
    /// NaN or infinity came out of a block.
    #[error(
        "block {block}: {site} holds NaN or infinity at row {row}; the weights are damaged or the model overflows in f32"
    )]
    NonFiniteActivation {
        /// Block index.
        block: usize,
        /// `ffn_in` or `ffn_out`.
        site: String,
        /// Row within the corpus.
        row: usize,
    },
    /// NaN or infinity among the logits of the next token.
    #[error(
        "{what}: after {tokens} tokens the next one's logits hold NaN or infinity; make fewer blocks linear, or download the weights again"
    )]
    NonFiniteLogits {
        /// `original model` or `model with linear blocks`.
        what: String,
        /// Tokens read so far.
        tokens: usize,
    },
    /// The eigen-decomposition failed.
    #[error("block {block}: the least squares could not be solved ({why}); report this with the model's name")]
    Solve {
        /// Block index.
        block: usize,
        /// Solver message.
        why: String,
    },
    /// The engine broke down as a whole: a crash, no memory left, a browser that cannot load it.
    #[error("engine: {why}; what was measured so far is kept, reload the page or take fewer rows or a smaller model")]
    Engine {
        /// The reason as far as it is known.
        why: String,
    },
    /// A report that does not follow the schema.
    #[error("{file}: not a Straightedge report of schema 1 ({why}); export it again")]
    MalformedReport {
        /// Name of the file.
        file: String,
        /// What is wrong.
        why: String,
    },
    /// A list of models to measure that is none.
    #[error("{file}: not a list of models to measure ({why}); docs/cli.md tells what it may hold")]
    MalformedList {
        /// Name of the file.
        file: String,
        /// Which model and key are wrong, and what is wrong with them.
        why: String,
    },
    /// A block whose map the model's layout cannot hold.
    #[error("export: {what} cannot hold an affine map ({why}); {hint}")]
    NotLinearisable {
        /// Model, block or configuration value at fault.
        what: String,
        /// What stands in the way.
        why: String,
        /// What to do.
        hint: String,
    },
    /// A model, text or file of maps that is another one than the report speaks of.
    #[error(
        "{what}: not what the report was measured on (SHA-256 {found} where the report has {reported}); give the {what} of the report, or measure this one"
    )]
    NotTheReported {
        /// `model`, `text`, `maps` …
        what: String,
        /// Hash of what was given.
        found: String,
        /// Hash in the report.
        reported: String,
    },
    /// Something that is not the name of a repository on the hub.
    #[error("{id}: not a name on the hub ({why}); write OWNER/NAME or OWNER/NAME@REVISION")]
    HubId {
        /// What was given, shortened.
        id: String,
        /// What is wrong with it.
        why: String,
    },
    /// Something that is not the base address of a hub.
    #[error("{address}: not the address of a hub ({why}); write it as https://HOST or http://HOST:PORT")]
    HubEndpoint {
        /// What was given, shortened.
        address: String,
        /// What is wrong with it.
        why: String,
    },
    /// The hub knows no such repository, revision or file.
    #[error("{what}: the hub has none of this name ({why}); {hint}")]
    HubMissing {
        /// Repository, revision or file.
        what: String,
        /// The hub's answer.
        why: String,
        /// What to do.
        hint: String,
    },
    /// A repository whose owner grants access one by one, or that is private.
    #[error("{what}: access is restricted ({why}); {hint}")]
    HubGated {
        /// Repository.
        what: String,
        /// The hub's answer.
        why: String,
        /// What to do.
        hint: String,
    },
    /// The hub does not want to be asked for some time.
    #[error(
        "{what}: the server asks to wait {minutes} minutes ({why}); what was downloaded is kept, go on then, or give the address of a mirror"
    )]
    HubBusy {
        /// File or repository.
        what: String,
        /// The server's answer.
        why: String,
        /// Rounded up.
        minutes: u64,
    },
    /// No connection, or one that broke again and again.
    #[error("{what}: the connection fails ({why}); what was downloaded is kept, start again to go on")]
    Network {
        /// File or repository.
        what: String,
        /// The last reason given.
        why: String,
    },
    /// The server sent something else than the file: an error page, another range, another size.
    #[error("{what}: the server sent something else ({why}); {hint}")]
    NotTheFile {
        /// File or repository.
        what: String,
        /// What came instead.
        why: String,
        /// What to do.
        hint: String,
    },
    /// A downloaded file that is not what the hub lists.
    #[error(
        "{file}: damaged on its way (SHA-256 {found} where the hub lists {expected}); it was thrown away, download it again"
    )]
    HashMismatch {
        /// Name of the file.
        file: String,
        /// Hash of what came.
        found: String,
        /// Hash in the listing.
        expected: String,
    },
    /// No room to keep what is downloaded.
    #[error("storage: no room ({why}); delete what is not needed any more")]
    StorageFull {
        /// The reason given.
        why: String,
    },
    /// The job was cancelled by its user.
    #[error("cancelled: stopped on request; the blocks finished so far are kept")]
    Cancelled,
}

impl Error {
    /// The same where there is no model and no text, but rows that were captured elsewhere.
    #[must_use]
    pub fn of_rows(self) -> Self {
        match self {
            Self::TooFewWindows { corpus, tokens, seq_len, folds, .. } => Self::TooFewCaptured {
                file: corpus,
                rows: tokens,
                needed: seq_len * folds,
                what: format!("for {folds} folds of windows of {seq_len}"),
            },
            Self::TooFewRows { corpus, train_rows, needed } => Self::TooFewCaptured {
                file: corpus,
                rows: train_rows,
                needed,
                what: "outside the held-out fold to determine an affine map".into(),
            },
            Self::NonFiniteActivation { site, row, .. } => {
                Self::NonFiniteRow { tensor: if site == "ffn_in" { "x".into() } else { "y".into() }, row }
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_captured_rows_speaks_of_rows() {
        let few = Error::TooFewWindows { corpus: "r".into(), tokens: 10, windows: 0, seq_len: 32, folds: 5 };
        let narrow = Error::TooFewRows { corpus: "r".into(), train_rows: 128, needed: 129 };
        let broken = |site: &str| Error::NonFiniteActivation { block: 0, site: site.into(), row: 7 };
        let told = [few, narrow, broken("ffn_in"), broken("ffn_out")].map(|error| error.of_rows().to_string());
        assert!(told[0].starts_with("r: 10 rows are too few, where 160 are needed for 5 folds"), "{}", told[0]);
        assert!(told[1].contains("128 rows") && told[1].contains("129"), "{}", told[1]);
        assert!(told[2].starts_with("tensor x: row 7") && told[3].starts_with("tensor y: row 7"), "{told:?}");
        for text in told {
            assert!(!text.contains("text") && !text.contains("weights"), "{text}");
        }
        assert_eq!(Error::Cancelled.of_rows(), Error::Cancelled);
    }
}
