//! Errors of a measurement, each as one sentence: `WHAT: WHY; WHAT TO DO`.
//!
//! The type is plain data, so that an error crosses from the worker to the page unchanged.

mod rows;

use serde::{Deserialize, Serialize};

/// A result with the error type of this crate by default.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure that names the file, tensor, field or row at fault and what to do about it. `file` and `tensor` are names,
/// `why` is the reason in words, and `hint` says what to do.
#[allow(missing_docs, reason = "these four fields")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Error {
    /// A file that the layout requires is absent.
    #[error("{file}: not found; {hint}")]
    MissingFile {
        /// Name of the file as requested.
        file: String,
        hint: String,
    },
    /// The operating system or browser refused to read a file.
    #[error("{file}: cannot be read ({why}); check that it exists and is readable")]
    UnreadableFile { file: String, why: String },
    /// Writing a result failed: full disk, missing folder, no permission.
    #[error("{file}: cannot be written ({why}); choose another location or free some space")]
    UnwritableFile { file: String, why: String },
    /// A result that could not be written to its place, and where it is instead.
    #[error("{file}: not written ({why}); the result is in {place}")]
    ResultElsewhere {
        file: String,
        why: String,
        /// Where the result is.
        place: String,
    },
    /// The program reached a state that its authors thought impossible.
    #[error("straightedge itself: it failed ({why}); report this, finished blocks are kept")]
    Crashed { why: String },
    /// A JSON file does not parse or lacks its structure.
    #[error("{file}: malformed JSON ({why}); replace it with an intact copy")]
    MalformedJson { file: String, why: String },
    /// A safetensors file whose header is truncated, oversized or contradicts the file.
    #[error("{file}: not an intact safetensors file ({why}); download it again")]
    MalformedWeights { file: String, why: String },
    /// A PyTorch file that is truncated or contradicts itself.
    #[error("{file}: not an intact PyTorch file ({why}); download it again")]
    MalformedTorch { file: String, why: String },
    /// A Git LFS pointer in place of a file.
    #[error("{file}: a Git LFS pointer, not the file itself; run git lfs pull in its folder, or download the file")]
    LfsPointer { file: String },
    /// A file of captured rows that is damaged or lacks x or y.
    #[error("{file}: not captured rows ({why}); write them again as safetensors with x (n, d_in) and y (n, d_out)")]
    MalformedRows { file: String, why: String },
    /// A maps file that is damaged or contradicts itself.
    #[error("{file}: not an intact maps file ({why}); write it again with --dump-maps")]
    MalformedMaps { file: String, why: String },
    /// An intact PyTorch file that holds more than plain tensors, or holds them in another way.
    #[error(
        "{file}: not read as weights because {why}; convert it to safetensors, as save_pretrained of transformers does, or choose a revision that has them"
    )]
    UnsupportedTorch { file: String, why: String },
    /// A tensor whose elements do not lie in row-major order.
    #[error(
        "tensor {tensor}: stored transposed or with gaps (strides {strides:?}); make it contiguous before saving, or convert the weights to safetensors"
    )]
    TensorStrides {
        tensor: String,
        /// Elements between neighbours, per dimension.
        strides: Vec<u64>,
    },
    /// A tensor required by the architecture is in none of the weight files.
    #[error("tensor {tensor}: missing from the weights; check that config.json and weights belong to the same model")]
    MissingTensor { tensor: String },
    /// A tensor's shape differs from the configuration.
    #[error(
        "tensor {tensor}: has shape {found:?} instead of {expected:?}; use the config.json and weights of the same model"
    )]
    TensorShape {
        tensor: String,
        /// Shape in the file.
        found: Vec<usize>,
        /// Shape implied by the configuration.
        expected: Vec<usize>,
    },
    /// A tensor is stored in a format other than F32, F16 or BF16.
    #[error("tensor {tensor}: stored as {dtype}; convert the weights to F32, F16 or BF16")]
    TensorDtype {
        tensor: String,
        /// Format in the file.
        dtype: String,
    },
    /// A tensor holds NaN or infinity.
    #[error("tensor {tensor}: element {index} is not finite; the weights are damaged, download them again")]
    NonFiniteTensor {
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
        "config.json: architecture {found} is not supported; supported are gpt2, gpt_neo, gpt_neox, opt, bloom, llama, \
         mistral, qwen2, qwen3, phi, gemma, gemma2, gemma3_text, bert, roberta, distilbert and modernbert"
    )]
    UnknownArchitecture {
        /// The `model_type` found.
        found: String,
    },
    /// A file of the tokenizer cannot be used, or fails on this text.
    #[error("{why}; use the tokenizer that belongs to the model")]
    Tokenizer { why: String },
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
    #[error("{corpus}: the text is empty, or gives no token; use a text of at least a few thousand words")]
    EmptyText {
        /// Identifier of the text.
        corpus: String,
    },
    /// A text that a tokenizer takes as one word, too long for its memory.
    #[error("{corpus}: {megabytes} MB without a place to cut; add spaces or line breaks, or give token ids")]
    UncutText {
        /// Identifier of the text.
        corpus: String,
        /// Its size from there on.
        megabytes: usize,
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
        /// Requested folds.
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
    #[error(
        "{file}: {rows} rows are too few, where {needed} are needed {what}; capture more rows, or use a smaller --window or fewer --folds"
    )]
    TooFewCaptured {
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
    /// An unknown bundled model or text.
    #[error("{name}: no such model; give a folder in Hugging Face layout or one of: {known}")]
    UnknownModel {
        /// The requested name.
        name: String,
        /// Comma list of existing names.
        known: String,
    },
    /// A name that is neither a folder, a bundled model nor a model on the hub.
    #[error(
        "{name}: no such folder or bundled model, and not on the hub ({why}); give a folder in Hugging Face layout, OWNER/NAME on the hub, or one of: {known}"
    )]
    NoModel {
        /// The requested name.
        name: String,
        why: String,
        /// Comma list of the bundled models.
        known: String,
    },
    /// No usable GPU adapter.
    #[error("GPU: no adapter ({why}); use --backend cpu")]
    NoAdapter { why: String },
    /// The GPU was lost while working.
    #[error("GPU: the device was lost ({why}); measure again or use the CPU, finished blocks are kept")]
    DeviceLost { why: String },
    /// A limit of the adapter is below WebGPU's guaranteed minimum.
    #[error("GPU: {name} is {limit}, but {needed} is needed; use another device or browser, or the CPU")]
    AdapterLimit {
        /// WebGPU's name of the limit.
        name: String,
        /// The required minimum.
        needed: u64,
        /// The adapter's limit.
        limit: u64,
    },
    /// The GPU has no memory left.
    #[error("GPU: out of memory ({why}); close other programs or use the CPU, finished blocks are kept")]
    DeviceMemory { why: String },
    /// The model or batch does not fit the adapter.
    #[error("GPU: {what} needs {needed} bytes, but the adapter allows {limit}; use a smaller model or the CPU")]
    DeviceLimit {
        /// Buffer or tensor at fault.
        what: String,
        /// Bytes needed.
        needed: u64,
        /// Bytes allowed.
        limit: u64,
    },
    /// More memory than there is, known before any is taken.
    #[error("memory: {what} needs about {needed} MB, but {limit} MB are left; use fewer --folds or a narrower network")]
    NeedsMemory {
        /// What needs it.
        what: String,
        /// Megabytes needed.
        needed: u64,
        /// Megabytes available.
        limit: u64,
    },
    /// The GPU refused an operation.
    #[error("GPU: {what} failed ({why}); use the CPU and report this")]
    Gpu {
        /// Operation.
        what: String,
        why: String,
    },
    /// The CPU backend refused an operation.
    #[error("CPU: {what} failed ({why}); report this")]
    Cpu {
        /// Operation.
        what: String,
        why: String,
    },
    /// NaN or infinity in a block's input or output.
    #[error(
        "block {block}: {site} holds NaN or infinity at row {row} (damaged weights, or overflow in f32); download the weights again or use another model"
    )]
    NonFiniteActivation {
        /// Block index.
        block: usize,
        /// `ffn_in` or `ffn_out`.
        site: String,
        /// Row within the corpus.
        row: usize,
    },
    /// NaN or infinity in the next-token logits.
    #[error(
        "{what}: after {tokens} tokens the logits of the next one hold NaN or infinity; make fewer blocks linear, or download the weights again"
    )]
    NonFiniteLogits {
        /// `original model` or `model with linear blocks`.
        what: String,
        /// Tokens read so far.
        tokens: usize,
    },
    /// The eigen-decomposition failed.
    #[error("block {block}: least squares failed ({why}); report this with the model's name")]
    Solve {
        /// Block index.
        block: usize,
        why: String,
    },
    /// The engine crashed, ran out of memory, or cannot be loaded by the browser.
    #[error("engine: {why}; reload the page, or use fewer rows or a smaller model, finished blocks are kept")]
    Engine { why: String },
    /// A report that violates the schema.
    #[error("{file}: not a Straightedge report of schema 1 ({why}); export it again")]
    MalformedReport { file: String, why: String },
    /// A result in a link that cannot be read.
    #[error(
        "the result in this link: it cannot be read ({why}); copy the whole link again, or ask its sender for a new one"
    )]
    MalformedLink { why: String },
    /// An invalid list of models to measure.
    #[error("{file}: not a list of models to measure ({why}); see docs/cli.md for the format")]
    MalformedList { file: String, why: String },
    /// An affine map that the model's layout cannot hold.
    #[error("export: {what} cannot hold an affine map ({why}); {hint}")]
    NotLinearisable {
        /// Model, block or configuration value at fault.
        what: String,
        why: String,
        hint: String,
    },
    /// A model, text or maps file other than the report's.
    #[error(
        "{what}: not what the report was measured on (SHA-256 {found}, but the report has {reported}); use the {what} of the report, or measure this one"
    )]
    NotTheReported {
        /// `model`, `text`, `maps` …
        what: String,
        /// Hash of the given input.
        found: String,
        /// Hash in the report.
        reported: String,
    },
    /// An invalid repository name.
    #[error("{id}: not a name on the hub ({why}); write OWNER/NAME or OWNER/NAME@REVISION")]
    HubId {
        /// The given text, shortened.
        id: String,
        why: String,
    },
    /// An invalid base address of a hub.
    #[error("{address}: not the address of a hub ({why}); write it as https://HOST or http://HOST:PORT")]
    HubEndpoint {
        /// The given text, shortened.
        address: String,
        why: String,
    },
    /// The hub knows no such repository, revision or file.
    #[error("{what}: not found on the hub ({why}); {hint}")]
    HubMissing {
        /// Repository, revision or file.
        what: String,
        why: String,
        hint: String,
    },
    /// A gated or private repository.
    #[error("{what}: access is restricted ({why}); {hint}")]
    HubGated {
        /// Repository.
        what: String,
        why: String,
        hint: String,
    },
    /// The hub requests a long wait.
    #[error(
        "{what}: the server asks to wait {minutes} minutes ({why}); try again then or use a mirror, the download so far is kept"
    )]
    HubBusy {
        /// File or repository.
        what: String,
        why: String,
        /// Minutes to wait, rounded up.
        minutes: u64,
    },
    /// No connection, or one that kept breaking.
    #[error("{what}: the connection failed ({why}); start again to continue, the download so far is kept")]
    Network {
        /// File or repository.
        what: String,
        why: String,
    },
    /// The response is not the file: an error page, another range, another size.
    #[error("{what}: the server sent something else ({why}); {hint}")]
    NotTheFile {
        /// File or repository.
        what: String,
        why: String,
        hint: String,
    },
    /// A downloaded file with another hash than the hub lists.
    #[error(
        "{file}: damaged in transit (SHA-256 {found}, but the hub lists {expected}); it was discarded, download it again"
    )]
    HashMismatch {
        file: String,
        /// Hash of the download.
        found: String,
        /// Hash in the listing.
        expected: String,
    },
    /// No storage left for downloads.
    #[error("storage: full ({why}); delete what you no longer need")]
    StorageFull { why: String },
    /// A browser without storage for this page: a private window, or a page that is not served over https.
    #[error("storage: this browser keeps no files for this page ({why})")]
    NoStorage { why: String },
    /// The job was cancelled by its user.
    #[error("cancelled: stopped on request; finished blocks are kept")]
    Cancelled,
}
