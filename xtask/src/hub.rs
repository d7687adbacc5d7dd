//! `cargo xtask hub`: a mirror of local models for a class or for tests; `cargo xtask made-model`: a model for it.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, Result, anyhow};
use clap::{Args, ValueEnum};
use straightedge_hub_mirror::fault::Fault;
use straightedge_hub_mirror::synthetic::{self, Shape};
use straightedge_hub_mirror::synthetic_llama::{self, LlamaShape};
use straightedge_hub_mirror::{Mirror, Options};

use crate::command::root;
use crate::serve::Site;

/// `hub FOLDER`.
#[derive(Args)]
pub(crate) struct HubArgs {
    /// Folder with OWNER/NAME or NAME for models and datasets/OWNER/NAME for texts; NAME@REVISION for other revisions.
    folder: PathBuf,
    /// Port of the hub.
    #[arg(long, default_value_t = 8090)]
    port: u16,
    /// Port of the second origin, to which file URLs redirect, as on the hub.
    #[arg(long, default_value_t = 8091)]
    cdn_port: u16,
    /// Address to listen on: 0.0.0.0 for everyone on this network.
    #[arg(long, default_value = "127.0.0.1")]
    host: IpAddr,
    /// Port of the page as built in dist/, to serve it too.
    #[arg(long, value_name = "PORT")]
    page: Option<u16>,
    /// Most bytes per second for each response.
    #[arg(long, value_name = "BYTES")]
    throttle: Option<u64>,
    /// Faults to inject, for tests: KIND, KIND:PATH or KIND:PATH:TIMES.
    #[arg(long = "fault", value_name = "FAULT")]
    faults: Vec<Fault>,
}

/// What a browser on another machine denies a page over plain http.
const OPEN: &str = "Over plain http, a browser on another machine gives the page no WebGPU and no storage: it measures on \
                    the CPU and fetches every model again. docs/hub.md says how to serve it over https.";

/// Serves until interrupted.
pub(crate) fn hub(args: HubArgs) -> Result<()> {
    let HubArgs { folder, port, cdn_port, host, page, throttle, faults } = args;
    let mirror =
        Mirror::start(Options { folder, host, port, cdn_port, throttle, faults }).map_err(|why| anyhow!(why))?;
    println!(
        "\n    {}\n\nEnter it in the page as the hub mirror, or set HF_ENDPOINT to it for the command line.",
        mirror.url()
    );
    if let Some(port) = page {
        let page = Site::new(root().join("dist"), "/").at(host).start(port)?;
        println!("\nThe page: {page}?mirror={}", mirror.url());
        if !host.is_loopback() {
            println!("{OPEN}");
        }
    }
    loop {
        thread::park();
    }
}

/// Writes a GPT-2 of this shape.
pub(crate) fn synthetic_model(folder: &Path, shape: Shape, seed: u64) -> Result<()> {
    synthetic::gpt2(folder, shape, seed).with_context(|| format!("{} cannot be written", folder.display()))
}

/// Model whose shape a random Llama copies.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Llama {
    /// TinyLlama: 22 blocks, 2048 wide, 2.2 GB.
    Tiny,
    /// Llama 3 with 8 billion parameters: 32 blocks, 4096 wide, 16 GB.
    EightBillion,
}

/// Writes a Llama with random weights and `blocks` blocks.
pub(crate) fn synthetic_llama(folder: &Path, llama: Llama, blocks: Option<usize>, seed: u64) -> Result<()> {
    let shape = match llama {
        Llama::Tiny => LlamaShape::TINY,
        Llama::EightBillion => LlamaShape::EIGHT_BILLION,
    };
    let shape = LlamaShape { layers: blocks.unwrap_or(shape.layers), ..shape };
    synthetic_llama::llama(folder, shape, seed).with_context(|| format!("{} cannot be written", folder.display()))
}

/// Parses a small shape, `LAYERSxWIDTH`.
pub(crate) fn shape(text: &str) -> std::result::Result<Shape, String> {
    let numbers = text.split_once('x').and_then(|(layers, width)| Some((layers.parse().ok()?, width.parse().ok()?)));
    match numbers {
        Some((layers @ 1.., width)) if width > 0 && width % HEAD == 0 => {
            Ok(Shape { width, layers, heads: width / HEAD, vocab: 256, positions: 128 })
        }
        _ => Err(format!("give LAYERSxWIDTH, the width in multiples of {HEAD}, as in 3x256")),
    }
}

/// Width of an attention head.
const HEAD: usize = 64;
