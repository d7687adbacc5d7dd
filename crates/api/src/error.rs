//! Errors of a measurement, each as one sentence: `WHAT: WHY; WHAT TO DO`.
//!
//! The type is plain data, so that an error crosses from the worker to the page unchanged.

mod rows;

use crate::sentences::sentences;

/// A result with the error type of this crate by default.
pub type Result<T, E = Error> = std::result::Result<T, E>;

sentences! {
    /// A failure that names the file, tensor, field or row at fault and what to do about it. `file` and `tensor` are names,
    /// `why` is the reason in words, and `hint` says what to do.
    pub enum Error {
        /// A file that the layout requires is absent.
        MissingFile {
            /// Name of the file as requested.
            file: String,
            hint: String,
        } = "{file}: not found; {hint}",
        /// The operating system or browser refused to read a file.
        UnreadableFile { file: String, why: String } =
            "{file}: cannot be read ({why}); check that it exists and is readable",
        /// A file of the site that did not arrive: no connection, an answer of another kind, or too slow.
        SiteFile { file: String, why: String } =
            "{file}: this site does not deliver it ({why}); check the connection and start again",
        /// Values or bytes of a file for which there is no memory.
        NoRoom { what: String } =
            "{what} do not fit into memory; use a smaller file, or a machine with more memory",
        /// A downloaded file that the browser has deleted since.
        Evicted { file: String } =
            "{file}: the browser has deleted its download; start again to fetch it",
        /// Writing a result failed: full disk, missing folder, no permission.
        UnwritableFile { file: String, why: String } =
            "{file}: cannot be written ({why}); choose another location or free some space",
        /// A result that could not be written to its place, and where it is instead.
        ResultElsewhere {
            file: String,
            why: String,
            /// Where the result is.
            place: String,
        } = "{file}: not written ({why}); the result is in {place}",
        /// The program reached a state that its authors thought impossible.
        Crashed { why: String } = "straightedge itself: it failed ({why}); report this, finished blocks are kept",
        /// A JSON file does not parse or lacks its structure.
        MalformedJson { file: String, why: String } = "{file}: malformed JSON ({why}); replace it with an intact copy",
        /// A safetensors file whose header is truncated, oversized or contradicts the file.
        MalformedWeights { file: String, why: String } =
            "{file}: not an intact safetensors file ({why}); download it again",
        /// A PyTorch file that is truncated or contradicts itself.
        MalformedTorch { file: String, why: String } = "{file}: not an intact PyTorch file ({why}); download it again",
        /// A Git LFS pointer in place of a file.
        LfsPointer { file: String } =
            "{file}: a Git LFS pointer, not the file itself; run git lfs pull in its folder, or download the file",
        /// A file of captured rows that is damaged or lacks x or y.
        MalformedRows { file: String, why: String } =
            "{file}: not captured rows ({why}); write them again as safetensors with x (n, d_in) and y (n, d_out)",
        /// A maps file that is damaged or contradicts itself.
        MalformedMaps { file: String, why: String } =
            "{file}: not an intact maps file ({why}); write it again with --dump-maps",
        /// A saved state of a measurement that is cut off or damaged.
        MalformedState { file: String, why: String } =
            "{file}: not an intact saved measurement ({why}); delete it to begin again",
        /// An intact PyTorch file that holds more than plain tensors, or holds them in another way.
        UnsupportedTorch { file: String, why: String } =
            "{file}: not read as weights because {why}; convert it to safetensors, as save_pretrained of transformers does, or choose a revision that has them",
        /// A tensor whose elements do not lie in row-major order.
        TensorStrides {
            tensor: String,
            /// Elements between neighbours, per dimension.
            strides: Vec<u64>,
        } =
            "tensor {tensor}: stored transposed or with gaps (strides {strides}); make it contiguous before saving, or convert the weights to safetensors",
        /// A tensor required by the architecture is in none of the weight files.
        MissingTensor { tensor: String } =
            "tensor {tensor}: missing from the weights; check that config.json and weights belong to the same model",
        /// A tensor's shape differs from the configuration.
        TensorShape {
            tensor: String,
            /// Shape in the file.
            found: Vec<usize>,
            /// Shape implied by the configuration.
            expected: Vec<usize>,
        } = "tensor {tensor}: has shape {found} instead of {expected}; use the config.json and weights of the same model",
        /// A tensor is stored in a format other than F32, F16 or BF16.
        TensorDtype {
            tensor: String,
            /// Format in the file.
            dtype: String,
        } = "tensor {tensor}: stored as {dtype}; convert the weights to F32, F16 or BF16",
        /// A tensor holds NaN or infinity.
        NonFiniteTensor {
            tensor: String,
            /// Flat index of the first such element.
            index: usize,
        } = "tensor {tensor}: element {index} is not finite; the weights are damaged, download them again",
        /// A configuration field is absent.
        MissingField {
            /// Name of the field.
            field: String,
        } = "config.json: field {field} is missing; use the config.json that belongs to the model",
        /// A configuration value that would change the arithmetic and is not supported.
        UnsupportedConfig {
            /// Name of the field.
            field: String,
            /// Its value.
            value: String,
            /// What is supported.
            hint: String,
        } = "config.json: {field} = {value} is not supported; {hint}",
        /// `model_type` names an architecture that is not implemented.
        UnknownArchitecture {
            /// The `model_type` found.
            found: String,
        } =
            "config.json: architecture {found} is not supported; supported are gpt2, gpt_neo, gpt_neox, opt, bloom, llama, mistral, qwen2, qwen3, phi, gemma, gemma2, gemma3_text, bert, roberta, distilbert and modernbert",
        /// A file of the tokenizer cannot be used, or fails on this text.
        Tokenizer { why: String } = "{why}; use the tokenizer that belongs to the model",
        /// A token id beyond the embedding.
        TokenOutOfRange {
            /// Identifier of the text.
            corpus: String,
            /// Position in the token stream.
            position: usize,
            /// The id.
            id: u32,
            /// Size of the embedding.
            vocab_size: usize,
        } = "{corpus}: token {position} is {id}, but the vocabulary ends at {vocab_size}; use the model's own tokenizer",
        /// A text without a single byte.
        EmptyText {
            /// Identifier of the text.
            corpus: String,
        } = "{corpus}: the text is empty; use a text of at least a few thousand words",
        /// A text in which the tokenizer finds no token: of white space alone, or under an empty vocabulary.
        NoTokens {
            /// Identifier of the text.
            corpus: String,
        } = "{corpus}: the tokenizer finds no token in it; use a text with words, and the tokenizer that belongs to the model",
        /// A text that a tokenizer takes as one word, too long for its memory.
        UncutText {
            /// Identifier of the text.
            corpus: String,
            /// Its size from there on.
            megabytes: usize,
        } = "{corpus}: {megabytes} MB without a place to cut; add spaces or line breaks, or give token ids",
        /// A long text for a tokenizer without known places to cut.
        WholeText {
            /// Identifier of the text.
            corpus: String,
            /// Its size.
            megabytes: usize,
            /// The most that is encoded at once.
            most: usize,
        } = "{corpus}: {megabytes} MB, but this tokenizer takes a text as a whole, of at most {most} MB; give a part of it, or token ids",
        /// A text that is not UTF-8.
        NotUtf8 {
            /// Identifier of the text.
            corpus: String,
            /// Offset of the first invalid byte.
            byte: usize,
        } = "{corpus}: not UTF-8 (byte {byte}); save the text as UTF-8",
        /// Fewer windows than folds: no split is possible.
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
        } =
            "{corpus}: {tokens} tokens give {windows} windows of {seq_len}, but {folds} folds need at least {folds}; use a longer text, a shorter --seq-len or fewer --folds",
        /// Fewer training rows than an affine map has parameters per output.
        TooFewRows {
            /// Identifier of the text.
            corpus: String,
            /// Rows outside the held-out fold.
            train_rows: usize,
            /// d + 1.
            needed: usize,
        } =
            "{corpus}: {train_rows} training rows cannot determine an affine map of {needed} parameters per output; use a longer text or more --rows",
        /// Fewer captured rows than an affine map, or folds of them, need.
        TooFewCaptured {
            file: String,
            /// Rows that there are.
            rows: usize,
            /// The least that is needed.
            needed: u64,
            /// What for.
            what: String,
        } =
            "{file}: {rows} rows are too few, where {needed} are needed {what}; capture more rows, or use a smaller --window or fewer --folds",
        /// Captured rows hold NaN or infinity.
        NonFiniteRow {
            tensor: String,
            /// Row within the file.
            row: usize,
        } = "tensor {tensor}: row {row} of the captured rows holds NaN or infinity; capture the rows without it",
        /// A setting of the job is out of its range.
        InvalidSetting {
            /// Name of the setting.
            field: String,
            /// Its value.
            value: String,
            /// The range.
            hint: String,
        } = "{field}: {value} is not possible; {hint}",
        /// An unknown bundled model or text.
        UnknownModel {
            /// The requested name.
            name: String,
            /// Comma list of existing names.
            known: String,
        } = "{name}: no such model; give a folder in Hugging Face layout or one of: {known}",
        /// A name that is neither a folder, a bundled model nor a model on the hub.
        NoModel {
            /// The requested name.
            name: String,
            why: String,
            /// Comma list of the bundled models.
            known: String,
        } =
            "{name}: no such folder or bundled model, and not on the hub ({why}); give a folder in Hugging Face layout, OWNER/NAME on the hub, or one of: {known}",
        /// No usable GPU adapter.
        NoAdapter { why: String } = "GPU: no adapter ({why}); use --backend cpu",
        /// The GPU was lost while working.
        DeviceLost { why: String } =
            "GPU: the device was lost ({why}); measure again or use the CPU, finished blocks are kept",
        /// A limit of the adapter is below WebGPU's guaranteed minimum.
        AdapterLimit {
            /// WebGPU's name of the limit.
            name: String,
            /// The required minimum.
            needed: u64,
            /// The adapter's limit.
            limit: u64,
        } = "GPU: {name} is {limit}, but {needed} is needed; use another device or browser, or the CPU",
        /// The GPU has no memory left.
        DeviceMemory { why: String } =
            "GPU: out of memory ({why}); close other programs or use the CPU, finished blocks are kept",
        /// The model or batch does not fit the adapter.
        DeviceLimit {
            /// Buffer or tensor at fault.
            what: String,
            /// Bytes needed.
            needed: u64,
            /// Bytes allowed.
            limit: u64,
        } = "GPU: {what} needs {needed} bytes, but the adapter allows {limit}; use a smaller model or the CPU",
        /// More memory than there is, known before any is taken.
        NeedsMemory {
            /// What needs it.
            what: String,
            /// Megabytes needed.
            needed: u64,
            /// Megabytes available.
            limit: u64,
        } = "memory: {what} needs about {needed} MB, but {limit} MB are left; use fewer --folds or a narrower network",
        /// More memory for a whole model than there is, known before any is taken.
        ModelMemory {
            /// Megabytes needed.
            needed: u64,
            /// Megabytes available.
            limit: u64,
        } = "memory: the whole model needs about {needed} MB, but {limit} MB are left; continue a text or heal with a smaller model, the other measures take one block at a time",
        /// The GPU refused an operation.
        Gpu {
            /// Operation.
            what: String,
            why: String,
        } = "GPU: {what} failed ({why}); use the CPU and report this",
        /// The CPU backend refused an operation.
        Cpu {
            /// Operation.
            what: String,
            why: String,
        } = "CPU: {what} failed ({why}); report this",
        /// NaN or infinity in a block's input or output.
        NonFiniteActivation {
            /// Block index.
            block: usize,
            /// `ffn_in` or `ffn_out`.
            site: String,
            /// Row within the corpus.
            row: usize,
        } =
            "block {block}: {site} holds NaN or infinity at row {row} (damaged weights, or overflow in f32); download the weights again or use another model",
        /// NaN or infinity in the next-token logits.
        NonFiniteLogits {
            /// `original model` or `model with linear blocks`.
            what: String,
            /// Tokens read so far.
            tokens: usize,
        } =
            "{what}: after {tokens} tokens the logits of the next one hold NaN or infinity; make fewer blocks linear, or download the weights again",
        /// The eigen-decomposition failed.
        Solve {
            /// Block index.
            block: usize,
            why: String,
        } = "block {block}: least squares failed ({why}); report this with the model's name",
        /// The engine crashed, ran out of memory, or cannot be loaded by the browser.
        Engine { why: String } =
            "engine: {why}; reload the page, or use fewer rows or a smaller model, finished blocks are kept",
        /// A report that violates the schema.
        MalformedReport { file: String, why: String } =
            "{file}: not a Straightedge report of schema 1 ({why}); export it again",
        /// A result in a link that cannot be read.
        MalformedLink { why: String } =
            "the result in this link: it cannot be read ({why}); copy the whole link again, or ask its sender for a new one",
        /// An invalid list of models to measure.
        MalformedList { file: String, why: String } =
            "{file}: not a list of models to measure ({why}); see docs/cli.md for the format",
        /// An affine map that the model's layout cannot hold.
        NotLinearisable {
            /// Model, block or configuration value at fault.
            what: String,
            why: String,
            hint: String,
        } = "export: {what} cannot hold an affine map ({why}); {hint}",
        /// A model, text or maps file other than the report's.
        NotTheReported {
            /// `model`, `text`, `maps` …
            what: String,
            /// Hash of the given input.
            found: String,
            /// Hash in the report.
            reported: String,
        } =
            "{what}: not what the report was measured on (SHA-256 {found}, but the report has {reported}); use the {what} of the report, or measure this one",
        /// An invalid repository name.
        HubId {
            /// The given text, shortened.
            id: String,
            why: String,
        } = "{id}: not a name on the hub ({why}); write OWNER/NAME or OWNER/NAME@REVISION",
        /// An invalid base address of a hub.
        HubEndpoint {
            /// The given text, shortened.
            address: String,
            why: String,
        } = "{address}: not the address of a hub ({why}); write it as https://HOST or http://HOST:PORT",
        /// The hub knows no such repository, revision or file.
        HubMissing {
            /// Repository, revision or file.
            what: String,
            why: String,
            hint: String,
        } = "{what}: not found on the hub ({why}); {hint}",
        /// A gated or private repository.
        HubGated {
            /// Repository.
            what: String,
            why: String,
            hint: String,
        } = "{what}: access is restricted ({why}); {hint}",
        /// The hub requests a long wait.
        HubBusy {
            /// File or repository.
            what: String,
            why: String,
            /// Minutes to wait, rounded up.
            minutes: u64,
        } =
            "{what}: the server asks to wait {minutes} minutes ({why}); try again then or use a mirror, the download so far is kept",
        /// No connection, or one that kept breaking.
        Network {
            /// File or repository.
            what: String,
            why: String,
        } = "{what}: the connection failed ({why}); start again to continue, the download so far is kept",
        /// The response is not the file: an error page, another range, another size.
        NotTheFile {
            /// File or repository.
            what: String,
            why: String,
            hint: String,
        } = "{what}: the server sent something else ({why}); {hint}",
        /// A downloaded file with another hash than the hub lists.
        HashMismatch {
            file: String,
            /// The kind of hash.
            kind: String,
            /// Hash of the download.
            found: String,
            /// Hash in the listing.
            expected: String,
        } =
            "{file}: damaged in transit ({kind} {found}, but the hub lists {expected}); it was discarded, download it again",
        /// Weights whose hash differs from the hub's, found after some of their values were used.
        DamagedWeights {
            file: String,
            /// The kind of hash.
            kind: String,
            /// Hash of the download.
            found: String,
            /// Hash in the listing.
            expected: String,
        } =
            "{file}: damaged in transit ({kind} {found}, but the hub lists {expected}); this measurement is discarded, start again to fetch it anew",
        /// No storage left for downloads.
        StorageFull { why: String } = "storage: full ({why}); delete what you no longer need",
        /// A browser without storage for this page: a private window, or a page that is not served over https.
        NoStorage { why: String } = "storage: this browser keeps no files for this page ({why})",
        /// The job was cancelled by its user.
        Cancelled = "cancelled: stopped on request; finished blocks are kept",
    }
}

impl std::error::Error for Error {}

impl Error {
    /// A wrong hash of weights, found after some of their values were used.
    #[must_use]
    pub fn of_used_weights(self) -> Self {
        match self {
            Self::HashMismatch { file, kind, found, expected } => Self::DamagedWeights { file, kind, found, expected },
            other => other,
        }
    }
}
