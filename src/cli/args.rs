//! The arguments, by the names that scripts rely on.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::LazyLock;

use clap::{Args as ClapArgs, Parser, Subcommand};
use straightedge::continuation::Continuation;
use straightedge::error::{Error, Result};
use straightedge::job::{BackendChoice, Blocks, GramMode, Job, Measure, Protocol, ROWS_WINDOW, Ranks, Training};
use straightedge::report::{AppInfo, HealedTogether};

/// Version and commit, as reports name them.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let AppInfo { version, commit, .. } = AppInfo::this();
    format!("{version} (commit {})", commit.as_deref().unwrap_or("unknown"))
});

/// Measures how linear each feed-forward block of a transformer is.
#[derive(Debug, Parser)]
#[command(name = "straightedge", version = VERSION.as_str(), max_term_width = 110)]
pub(super) struct Args {
    #[command(subcommand)]
    pub(super) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Measure a model on a text.
    Measure(Box<MeasureArgs>),
    /// Measure captured rows of any network: tensors x (n, d_in) and y (n, d_out).
    Fit(FitArgs),
    /// Print a report as a table.
    Show {
        /// The report.
        report: PathBuf,
    },
    /// Compare two reports block by block; the exit status is 1 if they differ by more than the tolerance.
    Compare {
        /// The first report.
        a: PathBuf,
        /// The second report.
        b: PathBuf,
        /// Largest difference allowed: absolute up to 1, relative above.
        #[arg(long, default_value_t = 1e-5, value_parser = tolerance)]
        tolerance: f64,
    },
    /// Measure a list of models one after the other; finished reports are kept between runs.
    Atlas(AtlasArgs),
    /// List the bundled models and the downloaded hub models.
    Models,
    /// Write the model with some blocks replaced by their affine maps.
    Export(ExportArgs),
    /// Continue a prompt with the model and with some of its blocks replaced by their affine maps, side by side.
    Continue(Box<ContinueArgs>),
}

/// What `--help` says of `--measures`.
fn measures_help() -> String {
    let names: Vec<_> = Measure::ALL.iter().map(Measure::to_string).collect();
    format!("What to measure, comma-separated: {}, or all", names.join(", "))
}

/// A difference that numbers may have.
fn tolerance(value: &str) -> std::result::Result<f64, String> {
    let found: Option<f64> = value.parse().ok();
    found.filter(|found| found.is_finite() && *found >= 0.0).ok_or_else(|| "give a number of 0 or more".into())
}

/// `measure MODEL`.
#[derive(Debug, ClapArgs)]
pub(super) struct MeasureArgs {
    /// A folder in Hugging Face layout, the name of a bundled model, or a model on the hub as OWNER/NAME[@REVISION].
    pub(super) model: String,
    #[command(flatten)]
    pub(super) text: TextArgs,
    /// Use the tokenizer of another model, named as models are, for instance where this one has none.
    #[arg(long, value_name = "MODEL")]
    pub(super) tokenizer: Option<String>,
    /// Tokens per window.
    #[arg(long, default_value_t = Protocol::default().seq_len)]
    pub(super) seq_len: usize,
    /// Leading positions of every window to leave out of fits and scores.
    #[arg(long, default_value_t = 0)]
    pub(super) skip_positions: usize,
    /// Begin every window with the model's beginning-of-sequence token.
    #[arg(long)]
    pub(super) bos: bool,
    /// Cut the text into pieces of so many characters and tokenise each by itself, with the tokenizer's own special
    /// tokens; a window is the beginning of a piece.
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "bos")]
    pub(super) piece_chars: usize,
    /// Blocks to measure, such as 0,3-5; all by default.
    #[arg(long)]
    pub(super) blocks: Option<Blocks>,
    /// Ranks of rank-swap, such as 1,8,64; 1, 2, 4 … and the width by default.
    #[arg(long)]
    pub(super) ranks: Option<Ranks>,
    /// Text to measure perplexity on, instead of the held-out windows.
    #[arg(long, conflicts_with_all = ["eval_tokens", "eval_corpus"])]
    pub(super) eval_text: Option<PathBuf>,
    /// The same text as token ids.
    #[arg(long, conflicts_with = "eval_corpus")]
    pub(super) eval_tokens: Option<PathBuf>,
    /// The same as a text that --corpus can name.
    #[arg(long, value_name = "NAME")]
    pub(super) eval_corpus: Option<String>,
    /// Write a timeline of the measurement for a browser's trace viewer or Perfetto.
    #[arg(long, value_name = "FILE")]
    pub(super) trace: Option<PathBuf>,
    /// Save the state of the measurement between blocks; if the file exists, continue from it.
    #[arg(long, value_name = "FILE")]
    pub(super) resume: Option<PathBuf>,
    /// A report of the same model, text and protocol: what is measured is added to it, and --out has both.
    #[arg(long, value_name = "REPORT.json")]
    pub(super) add_to: Option<PathBuf>,
    /// Another model whose rows the controls feed through this model's networks: a folder or a bundled name.
    #[arg(long, value_name = "MODEL")]
    pub(super) feed: Option<String>,
    #[command(flatten)]
    pub(super) common: CommonArgs,
}

/// `export MODEL`.
#[derive(Debug, ClapArgs)]
pub(super) struct ExportArgs {
    /// A folder in Hugging Face layout, the name of a bundled model, or a model on the hub as OWNER/NAME[@REVISION].
    pub(super) model: String,
    /// The model's report.
    #[arg(long, value_name = "REPORT.json")]
    pub(super) report: PathBuf,
    /// Blocks to replace by their maps, such as 1,2.
    #[arg(long, required_unless_present_any = ["remove_layers", "healed"])]
    pub(super) blocks: Option<Blocks>,
    /// Whole layers to leave out, such as 3,5.
    #[arg(long, value_name = "LAYERS")]
    pub(super) remove_layers: Option<Blocks>,
    /// Folder to write: new or empty.
    #[arg(long, value_name = "FOLDER")]
    pub(super) out: PathBuf,
    /// Maps that measure --dump-maps wrote; without them the blocks are measured again on the report's text.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["text", "tokens", "corpus"])]
    pub(super) maps: Option<PathBuf>,
    /// Replace all blocks of --maps that heal-together has healed: by the maps that learned streams, or tokens.
    #[arg(long, value_name = "LEARNED", requires = "maps", conflicts_with = "blocks",
        value_parser = [HealedTogether::STREAMS, HealedTogether::TOKENS])]
    pub(super) healed: Option<String>,
    #[command(flatten)]
    pub(super) text: TextArgs,
    /// Where to measure: auto, gpu or cpu.
    #[arg(long, default_value = "auto")]
    pub(super) backend: BackendChoice,
}

/// `continue MODEL`.
#[derive(Debug, ClapArgs)]
pub(super) struct ContinueArgs {
    /// A folder in Hugging Face layout, the name of a bundled model, or a model on the hub as OWNER/NAME[@REVISION].
    pub(super) model: String,
    /// Use the tokenizer of another model, named as models are, for instance where this one has none.
    #[arg(long, value_name = "MODEL")]
    pub(super) tokenizer: Option<String>,
    /// The prompt that both models continue.
    #[arg(long)]
    pub(super) prompt: String,
    /// Blocks to replace, such as 1,2; or all, or none.
    #[arg(long, default_value = "all")]
    pub(super) blocks: LinearBlocks,
    /// Tokens to add.
    #[arg(long, default_value_t = Continuation::new("").tokens)]
    pub(super) tokens: usize,
    /// 0 takes the most likely token at every step; above 0, tokens are drawn.
    #[arg(long, default_value_t = 0.0)]
    pub(super) temperature: f64,
    /// Seed of the draws, the same for both models.
    #[arg(long, default_value_t = 0)]
    pub(super) seed: u64,
    /// Most likely tokens of each distribution to write to --out.
    #[arg(long, default_value_t = Continuation::new("").top)]
    pub(super) top: usize,
    /// Maps that measure --dump-maps wrote; without them the blocks are measured first.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["text", "corpus"])]
    pub(super) maps: Option<PathBuf>,
    /// The UTF-8 text to measure the blocks on.
    #[arg(long, value_name = "FILE", conflicts_with = "corpus")]
    pub(super) text: Option<PathBuf>,
    /// A bundled or generated text, or one from the hub, as in measure --corpus.
    #[arg(long, value_name = "NAME")]
    pub(super) corpus: Option<String>,
    /// Rows to measure on.
    #[arg(long, default_value_t = Protocol::default().rows)]
    pub(super) rows: usize,
    /// Tokens per window.
    #[arg(long, default_value_t = Protocol::default().seq_len)]
    pub(super) seq_len: usize,
    /// Contiguous folds; the last one is held out.
    #[arg(long, default_value_t = Protocol::default().folds)]
    pub(super) folds: usize,
    /// Leading positions of every window to leave out of the fit.
    #[arg(long, default_value_t = 0)]
    pub(super) skip_positions: usize,
    /// Where to compute: auto, gpu or cpu.
    #[arg(long, default_value = "auto")]
    pub(super) backend: BackendChoice,
    /// Precision of second moments: exact or fast.
    #[arg(long, default_value = "exact")]
    pub(super) gram: GramMode,
    /// Write every step with its distributions as JSON; - for standard output. Without it, texts and a table are printed.
    #[arg(long, value_name = "FILE.json")]
    pub(super) out: Option<PathBuf>,
}

/// Blocks to be linear.
#[derive(Clone, Debug)]
pub(super) struct LinearBlocks(Option<Blocks>);

impl FromStr for LinearBlocks {
    type Err = Error;

    fn from_str(list: &str) -> Result<Self> {
        match list {
            "all" => Ok(Self(None)),
            "none" => Ok(Self(Some(Blocks::of([])))),
            list => list.parse().map(Some).map(Self),
        }
    }
}

impl ContinueArgs {
    /// What is to be continued.
    pub(super) fn settings(&self) -> Continuation {
        let Self { prompt, tokens, temperature, seed, top, .. } = self;
        Continuation { prompt: prompt.clone(), tokens: *tokens, temperature: *temperature, seed: *seed, top: *top }
    }

    /// The job whose blocks are linear.
    pub(super) fn job(&self, model: String, corpus: String) -> Job {
        let Self { rows, seq_len, folds, skip_positions, gram, .. } = *self;
        let protocol = Protocol { rows, seq_len, folds, skip_positions, gram, ..Protocol::default() };
        let blocks = self.blocks.0.clone();
        Job { protocol, blocks, backend: self.backend, ..Job::new(model, corpus) }
    }

    /// Whether any block is to be linear.
    pub(super) fn has_linear(&self) -> bool {
        self.blocks.0 != Some(Blocks::of([]))
    }

    /// Where the text comes from.
    pub(super) fn text(&self) -> TextArgs {
        TextArgs { text: self.text.clone(), tokens: None, corpus: self.corpus.clone() }
    }
}

/// Where the text comes from.
#[derive(Debug, ClapArgs)]
#[group(multiple = false)]
pub(super) struct TextArgs {
    /// A UTF-8 text file.
    #[arg(long, value_name = "FILE")]
    pub(super) text: Option<PathBuf>,
    /// Token ids, a flat JSON array.
    #[arg(long, value_name = "IDS.json")]
    pub(super) tokens: Option<PathBuf>,
    /// A bundled text; a generated one: tales, encyclopedia or puzzles, with a seed as in tales:7; or one from the hub:
    /// wikitext-2 (its test split), wikitext-2-validation or wikitext-2-train.
    #[arg(long, value_name = "NAME")]
    pub(super) corpus: Option<String>,
}

/// `fit ROWS.safetensors`.
#[derive(Debug, ClapArgs)]
pub(super) struct FitArgs {
    /// A safetensors file with tensors x (n, d_in) and y (n, d_out).
    pub(super) rows_file: PathBuf,
    /// Rows per window; windows are never split between folds.
    #[arg(long, default_value_t = ROWS_WINDOW)]
    pub(super) window: usize,
    #[command(flatten)]
    pub(super) common: CommonArgs,
}

/// `atlas LIST`.
#[derive(Debug, ClapArgs)]
pub(super) struct AtlasArgs {
    /// The list of models, a TOML file.
    #[arg(value_name = "LIST.toml")]
    pub(super) list: PathBuf,
    /// Folder for the reports and their index; reports in it with the same settings are kept.
    #[arg(long, value_name = "FOLDER", default_value = "atlas")]
    pub(super) out: PathBuf,
}

/// Options of every measurement.
#[derive(Debug, ClapArgs)]
pub(super) struct CommonArgs {
    /// Rows to use.
    #[arg(long, default_value_t = Protocol::default().rows)]
    pub(super) rows: usize,
    /// Folds; the last one is held out.
    #[arg(long, default_value_t = Protocol::default().folds)]
    pub(super) folds: usize,
    /// Deal windows to the folds in turn, instead of cutting the text into contiguous folds.
    #[arg(long)]
    pub(super) interleaved_folds: bool,
    #[arg(long, default_value = "fit", help = measures_help())]
    pub(super) measures: String,
    /// Most training steps of a probe.
    #[arg(long, default_value_t = Training::default().probe_steps)]
    pub(super) probe_steps: usize,
    /// Steps of each training of the affine map by gradient descent.
    #[arg(long, default_value_t = Training::default().baseline_steps)]
    pub(super) baseline_steps: usize,
    /// Fine-tuning steps of healing.
    #[arg(long, default_value_t = Training::default().heal_steps)]
    pub(super) heal_steps: usize,
    /// Seed of everything random.
    #[arg(long, default_value_t = 0)]
    pub(super) seed: u64,
    /// Train every probe and draw every random control with N seeds: --seed and those after it.
    #[arg(long, value_name = "N", default_value_t = Training::default().seeds)]
    pub(super) seeds: usize,
    /// Where to compute: auto, gpu or cpu.
    #[arg(long, default_value = "auto")]
    pub(super) backend: BackendChoice,
    /// Precision of second moments: exact or fast.
    #[arg(long, default_value = "exact")]
    pub(super) gram: GramMode,
    /// Megabytes of rows to hold on the device, and on a GPU as many in memory, before rows go to a temporary file.
    #[arg(long, value_name = "MB")]
    pub(super) row_memory: Option<u64>,
    /// Write the report to a file; - for standard output. Without it, a table is printed.
    #[arg(long, value_name = "REPORT.json")]
    pub(super) out: Option<PathBuf>,
    /// Write W (d_in, d_out) and b of every measured block as safetensors.
    #[arg(long, value_name = "FILE")]
    pub(super) dump_maps: Option<PathBuf>,
}

impl MeasureArgs {
    /// The job that these arguments ask for, but for the names of model and text; the tokenizer is named as given.
    pub(super) fn job(&self) -> Result<Job> {
        Ok(Job {
            protocol: Protocol {
                bos: self.bos,
                piece_chars: self.piece_chars,
                ..self.common.protocol(self.seq_len, self.skip_positions)
            },
            measures: Measure::parse_list(&self.common.measures)?,
            blocks: self.blocks.clone(),
            ranks: self.ranks.clone(),
            training: self.common.training(),
            backend: self.common.backend,
            tokenizer: self.tokenizer.clone(),
            dump_maps: self.common.dump_maps.is_some(),
            row_memory: self.common.row_memory.map(|megabytes| megabytes.saturating_mul(1 << 20)),
            ..Job::new("", "")
        })
    }
}

impl FitArgs {
    /// The job that these arguments ask for.
    pub(super) fn job(&self, name: String) -> Result<Job> {
        Ok(Job {
            protocol: self.common.protocol(self.window, 0),
            measures: Measure::parse_list(&self.common.measures)?,
            training: self.common.training(),
            backend: self.common.backend,
            dump_maps: self.common.dump_maps.is_some(),
            row_memory: self.common.row_memory.map(|megabytes| megabytes.saturating_mul(1 << 20)),
            ..Job::new(name.clone(), name)
        })
    }
}

impl CommonArgs {
    fn protocol(&self, seq_len: usize, skip_positions: usize) -> Protocol {
        let Self { rows, folds, interleaved_folds, gram, seed, .. } = *self;
        Protocol { rows, seq_len, folds, interleaved_folds, skip_positions, gram, seed, ..Protocol::default() }
    }

    /// How long what is trained is trained, and how often.
    pub(super) fn training(&self) -> Training {
        let Self { probe_steps, baseline_steps, heal_steps, seeds, .. } = *self;
        Training { probe_steps, baseline_steps, heal_steps, seeds }
    }
}
