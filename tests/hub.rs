//! The hub as a source of models, tested with the mirror: the same results as from a folder, only needed bytes fetched,
//! and a sentence for every failure.

mod common;

use std::cell::RefCell;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use common::fixture;
use futures::StreamExt;
use futures::executor::block_on;
use futures::future::{Either, select};
use serde_json::Value;
use straightedge::error::{Error, Result};
use straightedge::event::{Event, Recorder};
use straightedge::hub::client::Hub;
use straightedge::hub::disk::DiskStore;
use straightedge::hub::files::HubFiles;
use straightedge::hub::id::{Endpoint, HubId};
use straightedge::hub::preflight::Capacity;
use straightedge::hub::store::{MemoryStore, Store};
use straightedge::hub::transport::Transport;
use straightedge::job::{BackendChoice, Job, Measure};
use straightedge::report::Report;
use straightedge::run::{self, Text};
use straightedge::weights::{Files, FolderFiles, Weights};
use straightedge_hub_mirror::synthetic::{self, Shape};
use straightedge_hub_mirror::{Mirror, Options};

/// Larger than a chunk, so that a transfer can break within it.
const SIZE: u64 = 3_000_000;

fn fresh(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("hub").join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a temporary folder");
    folder
}

fn mirror(folder: &Path) -> Mirror {
    Mirror::start(Options::new(folder)).expect("a free port")
}

fn hub(url: &str, store: Rc<dyn Store>) -> Hub {
    let endpoint: Endpoint = url.parse().expect("an address");
    Hub::new(Rc::new(Transport::new(endpoint.clone(), None, false)), store, endpoint)
}

fn open(mirror: &Mirror, store: Rc<dyn Store>, id: &str) -> Result<HubFiles> {
    block_on(hub(mirror.url(), store).open(&HubId::model(id)?))
}

/// A mirror with the model `a/b`, and the arbitrary bytes that serve as its weights.
fn with_bytes(test: &str) -> (Mirror, Vec<u8>) {
    let (folder, bytes) = folder_with_bytes(test);
    (mirror(&folder), bytes)
}

fn folder_with_bytes(test: &str) -> (PathBuf, Vec<u8>) {
    let folder = fresh(test);
    let mut bytes: Vec<u8> = (0..SIZE).map(|at| (at * at % 251) as u8).collect();
    bytes[..8].copy_from_slice(&[9, 0, 0, 0, 0, 0, 0, 0]);
    fs::create_dir_all(folder.join("a/b")).expect("a folder");
    fs::write(folder.join("a/b/model.safetensors"), &bytes).expect("a file");
    fs::write(folder.join("a/b/config.json"), "{}").expect("a file");
    (folder, bytes)
}

fn fetch(files: &HubFiles) -> Result<()> {
    block_on(files.prepare(&[("model.safetensors".into(), 0..SIZE)]))
}

fn measured(job: &Job, files: Rc<dyn Files>, text: &[u8]) -> Result<Report> {
    let (mut recorder, mut failure) = (Recorder::default(), None);
    block_on(async {
        let mut events = run::measure(job.clone(), files, Text::Plain(text.to_vec()));
        while let Some(event) = events.next().await {
            recorder.record(&event);
            if let Event::Failed(error) = event {
                failure = Some(error);
            }
        }
    });
    failure.map_or_else(|| Ok(recorder.into_report().expect("a report")), Err)
}

#[test]
fn a_model_from_the_hub_measures_as_its_folder_does() {
    let mirror = mirror(&fixture(""));
    for (name, text) in common::OWN {
        let text = fs::read(fixture(format!("texts/{text}.txt"))).expect("a text");
        let mut job = Job::new(name, "text");
        (job.backend, job.protocol.rows, job.protocol.seq_len) = (BackendChoice::Cpu, 1280, 64);
        job.measures.insert(Measure::Swap);
        let here = measured(&job, Rc::new(FolderFiles::new(fixture(name))), &text).expect(name);
        let files = open(&mirror, Rc::<MemoryStore>::default(), name).expect(name);
        let commit = files.id().revision().expect("a commit").to_owned();
        let there = measured(&job, Rc::new(files), &text).expect(name);
        assert!(!here.blocks.is_empty(), "{name}");
        let numbers = |report: &Report| {
            let blocks = report.blocks.iter().cloned().map(|mut block| {
                // Times vary between runs.
                block.row_microseconds.clear();
                block
            });
            (report.ppl, blocks.collect::<Vec<_>>(), report.model.sha256.clone(), report.corpus.clone())
        };
        assert_eq!(numbers(&here), numbers(&there), "{name}");
        assert_eq!(there.model.revision, Some(commit), "{name}");
    }
}

#[test]
fn a_hash_is_claimed_until_the_whole_file_was_compared_with_it() {
    let (mirror, cache) = (mirror(&fixture("")), fresh("claimed").join("hub"));
    let text = fs::read(common::encyclopedia()).expect("a text");
    let mut job = Job::new("tiny-gpt2", "text");
    (job.backend, job.protocol.rows, job.protocol.seq_len) = (BackendChoice::Cpu, 1280, 64);
    let is_claimed = |files: Rc<dyn Files>| measured(&job, files, &text).expect("a report").model.sha256_claimed;
    let of_hub = || open(&mirror, Rc::new(DiskStore::new(cache.clone())), "tiny-gpt2").expect("the listing");
    assert!(is_claimed(Rc::new(of_hub())), "weights come in parts while it measures");
    assert!(!is_claimed(Rc::new(FolderFiles::new(fixture("tiny-gpt2")))), "a folder is read to its end");
    let files = of_hub();
    let size = files.repo().files["model.safetensors"].size;
    block_on(files.prepare(&[("model.safetensors".into(), 0..size)])).expect("the whole file");
    assert!(!is_claimed(Rc::new(of_hub())), "the cache holds the whole file, compared with the hash");
}

/// A GPT-2 of twelve blocks on a mirror, its files, and a job for it with a text.
fn twelve_blocks(folder: &Path) -> (Mirror, HubFiles, Job, Vec<u8>) {
    let shape = Shape { width: 64, layers: 12, heads: 4, vocab: 512, positions: 512 };
    synthetic::gpt2(&folder.join("made/gpt2"), shape, 7).expect("a model");
    let mirror = mirror(folder);
    let text: Vec<u8> = (0..6000u32).map(|at| (at * at % 89) as u8 + b' ').collect();
    let mut job = Job::new("made/gpt2", "text");
    (job.backend, job.protocol.rows, job.protocol.seq_len) = (BackendChoice::Cpu, 1280, 64);
    let files = open(&mirror, Rc::<MemoryStore>::default(), "made/gpt2").expect("the listing");
    (mirror, files, job, text)
}

#[test]
fn a_window_of_any_size_has_an_answer_before_the_download() {
    let (_mirror, files, mut job, _) = twelve_blocks(&fresh("vast-window"));
    (job.protocol.seq_len, job.protocol.rows) = (usize::MAX, usize::MAX);
    job.measures.insert(Measure::Swap);
    let preflight = block_on(files.preflight(&job, &Capacity::default())).expect("an answer");
    assert!(!preflight.can_start() && preflight.device_bytes == u64::MAX, "{preflight:?}");
}

#[test]
fn only_needed_tensors_of_a_gpt2_are_fetched_in_few_requests() {
    let folder = fresh("gpt2");
    let (mirror, files, job, text) = twelve_blocks(&folder);
    let preflight = block_on(files.preflight(&common::small_job(), &Capacity::default())).expect("an answer");
    assert!(preflight.can_start(), "{:?}", preflight.problems);
    let sent_before = mirror.stats().file("model.safetensors").bytes;
    let report = measured(&job, Rc::new(files), &text).expect("a report");
    assert_eq!(report.blocks.len(), 12);

    let bytes = fs::read(folder.join("made/gpt2/model.safetensors")).expect("the file");
    let length = u64::from_le_bytes(bytes[..8].try_into().expect("8 bytes"));
    let header: Value = serde_json::from_slice(&bytes[8..8 + length as usize]).expect("a header");
    let tensors = header.as_object().expect("tensors").iter().filter(|(name, _)| !name.ends_with(".attn.bias"));
    let size = |info: &Value| {
        let at = |end: usize| info["data_offsets"][end].as_u64().expect("an offset");
        at(1) - at(0)
    };
    let needed = 8 + length + tensors.map(|(_, info)| size(info)).sum::<u64>();
    let sent = mirror.stats().file("model.safetensors");
    assert!(sent.requests == sent.ranged && sent.ranged <= 20, "{sent:?}");
    assert_eq!(sent.bytes, needed, "of {} in the file", bytes.len());
    let tokenizer = mirror.stats().file("tokenizer.json").bytes;
    assert_eq!(preflight.download_bytes, sent.bytes - sent_before + tokenizer, "as was announced");
    assert_eq!(preflight.requests as u64, sent.requests - 2 + 1, "besides the header's two");
}

#[test]
fn blocks_are_shown_while_the_rest_of_the_weights_is_still_to_come() {
    let folder = fresh("streamed");
    let (mirror, files, job, text) = twelve_blocks(&folder);
    let sent = || mirror.stats().file("model.safetensors").bytes;
    let mut by_then = Vec::new();
    block_on(run::measure(job, Rc::new(files), Text::Plain(text)).for_each(|event| {
        match event {
            Event::Block(block) => by_then.push((block.block, sent())),
            Event::Failed(error) => panic!("{error}"),
            _ => {}
        }
        std::future::ready(())
    }));
    let all = sent() as f64;
    assert_eq!(by_then.iter().map(|(block, _)| *block).collect::<Vec<_>>(), (0..12).collect::<Vec<_>>());
    // The embedding and three of twelve blocks: one being solved, one running, one being fetched.
    let shares: Vec<f64> = by_then.iter().map(|(_, bytes)| *bytes as f64 / all).collect();
    assert!(shares[0] < 0.45 && shares[6] < 0.9, "{shares:?}");
    assert!(shares.is_sorted() && shares[11] <= 1.0, "{shares:?}");
}

#[test]
fn every_fault_has_its_sentence_and_a_later_try_works() {
    let (mirror, bytes) = with_bytes("faults");
    let expected = [
        ("missing:model.safetensors", "not found on the hub"),
        ("gated:model.safetensors", "access is restricted"),
        ("html:model.safetensors", "a web page came"),
        ("json:model.safetensors", "a JSON text came"),
        ("content-range:model.safetensors", "a part came instead of the whole"),
        ("truncated:model.safetensors", "1500000 bytes, but the hub lists 3000000"),
        ("flipped:model.safetensors", "damaged in transit"),
        ("redirects:resolve:99", "redirects without end"),
        ("busy-for-long:@", "wait 60 minutes"),
    ];
    for (fault, words) in expected {
        let store: Rc<dyn Store> = Rc::<MemoryStore>::default();
        let files = open(&mirror, store.clone(), "a/b").expect(fault);
        mirror.faults().add(fault.parse().expect(fault));
        let error = fetch(&files).expect_err(fault).to_string();
        assert!(error.contains(words) && error.contains("; "), "{fault}: {error}");
        assert!(error.contains("model.safetensors"), "{fault}: {error}");
        mirror.faults().clear();
        fetch(&files).expect(fault);
        assert!(block_on(files.read("model.safetensors", 0..SIZE)).expect(fault) == bytes, "{fault}: other bytes");
    }
    // The hub lists git's hash of a small file.
    let files = open(&mirror, Rc::<MemoryStore>::default(), "a/b").expect("the listing");
    mirror.faults().add("flipped:config.json".parse().expect("a fault"));
    let error = block_on(files.read("config.json", 0..2)).expect_err("a flipped bit").to_string();
    assert!(error.contains("config.json: damaged in transit (git SHA-1 "), "{error}");
    assert_eq!(block_on(files.read("config.json", 0..2)).expect("a later try"), b"{}");
}

#[test]
fn wrong_answers_to_a_range_are_refused_too() {
    let (mirror, bytes) = with_bytes("ranges");
    for (fault, words) in [
        ("content-range:model.safetensors", "instead of"),
        ("truncated:model.safetensors", "instead of"),
        ("html:model.safetensors", "a web page came"),
    ] {
        let files = open(&mirror, Rc::<MemoryStore>::default(), "a/b").expect(fault);
        mirror.faults().add(fault.parse().expect(fault));
        let part = [("model.safetensors".to_owned(), 1_000_000..2_000_000)];
        let error = block_on(files.prepare(&part)).expect_err(fault).to_string();
        assert!(error.contains(words), "{fault}: {error}");
        block_on(files.prepare(&part)).expect(fault);
        let read = block_on(files.read("model.safetensors", 1_000_000..2_000_000)).expect(fault);
        assert!(read == bytes[1_000_000..2_000_000], "{fault}: other bytes");
    }
}

#[test]
fn a_broken_connection_goes_on_where_it_broke() {
    let (mirror, bytes) = with_bytes("cut");
    let files = open(&mirror, Rc::<MemoryStore>::default(), "a/b").expect("the listing");
    let waits = Rc::new(RefCell::new(Vec::new()));
    let heard = waits.clone();
    files.listen(Rc::new(move |event| {
        if let Event::Waiting(wait) = event {
            heard.borrow_mut().push(wait.why);
        }
    }));
    mirror.faults().add("cut:model.safetensors:2".parse().expect("a fault"));
    fetch(&files).expect("two breaks are no reason to give up");
    assert!(block_on(files.read("model.safetensors", 0..SIZE)).expect("the file") == bytes);
    let sent = mirror.stats().file("model.safetensors");
    assert_eq!((sent.requests, sent.bytes), (3, SIZE), "nothing is sent twice");
    let waits = waits.borrow();
    assert!(waits.len() == 2 && waits.iter().all(|why| why.contains("broke")), "{waits:?}");
}

#[test]
fn a_closed_program_goes_on_with_what_is_on_disk() {
    let (folder, bytes) = folder_with_bytes("closed");
    let mirror = Mirror::start(Options { throttle: Some(2_000_000), ..Options::new(&folder) }).expect("a free port");
    let cache = fresh("closed-cache").join("hub");
    let files = open(&mirror, Rc::new(DiskStore::new(cache.clone())), "a/b").expect("the listing");
    let (begun, heard) = futures::channel::mpsc::unbounded();
    files.listen(Rc::new(move |event| {
        if let Event::Progress(progress) = event {
            assert!(progress.done > 0 && progress.total == SIZE);
            begun.unbounded_send(()).expect("somebody listens");
        }
    }));
    let parts = [("model.safetensors".to_owned(), 0..SIZE)];
    // Closing or cancelling only drops the future.
    let ended = block_on(select(files.prepare(&parts), heard.into_future()));
    assert!(matches!(ended, Either::Right(_)), "cancelled before its end");
    drop(ended);
    drop(files);

    let store = Rc::new(DiskStore::new(cache.clone()));
    let key =
        open(&mirror, store.clone(), "a/b").expect("the listing").repo().key("model.safetensors").expect("a file");
    let held: u64 = block_on(store.held(&key)).expect("parts").iter().map(|part| part.end - part.start).sum();
    assert!((1..SIZE).contains(&held), "{held}");
    // The first mirror may still be sending.
    let mirror = self::mirror(&folder);
    let files = open(&mirror, store, "a/b").expect("the same commit");
    fetch(&files).expect("the rest");
    let sent = mirror.stats().file("model.safetensors");
    assert_eq!((sent.requests, sent.bytes), (1, SIZE - held), "what was there is not sent again");
    assert!(block_on(files.read("model.safetensors", 0..SIZE)).expect("the file") == bytes);

    // Complete files are where Hugging Face's own tools expect them.
    let repo = cache.join("models--a--b");
    let commit = fs::read_to_string(repo.join("refs/main")).expect("a reference");
    let there = fs::read(repo.join("snapshots").join(&commit).join("model.safetensors")).expect("a snapshot");
    assert!(there == bytes && files.id().revision() == Some(&*commit));
    assert!(repo.join("blobs").join(files.sha256("model.safetensors").expect("a hash")).is_file());
    mirror.stats().reset();
    fetch(&files).expect("all is here");
    assert_eq!(mirror.stats().file("model.safetensors").requests, 0);
}

#[test]
fn a_server_without_ranges_sends_the_whole_once() {
    let (mirror, bytes) = with_bytes("no-ranges");
    let files = open(&mirror, Rc::<MemoryStore>::default(), "a/b").expect("the listing");
    mirror.faults().add("no-ranges:model.safetensors:9".parse().expect("a fault"));
    let parts = [10..20, 1_000_000..1_000_010, 2_500_000..2_900_000];
    let parts: Vec<_> = parts.into_iter().map(|range| ("model.safetensors".to_owned(), range)).collect();
    block_on(files.prepare(&parts)).expect("the parts");
    for (_, range) in parts {
        let read = block_on(files.read("model.safetensors", range.clone())).expect("a part");
        assert!(read == bytes[range.start as usize..range.end as usize], "{range:?}");
    }
    assert_eq!(mirror.stats().file("model.safetensors").requests, 1);
}

#[test]
fn a_busy_server_is_waited_for_and_a_dead_one_is_not() {
    let (mirror, _) = with_bytes("busy");
    let files = open(&mirror, Rc::<MemoryStore>::default(), "a/b").expect("the listing");
    let waits = Rc::new(RefCell::new(Vec::new()));
    let heard = waits.clone();
    files.listen(Rc::new(move |event| {
        if let Event::Waiting(wait) = event {
            heard.borrow_mut().push(wait.seconds);
        }
    }));
    mirror.faults().add("busy:model.safetensors:2".parse().expect("a fault"));
    fetch(&files).expect("it is asked again");
    assert_eq!(*waits.borrow(), [1.0, 1.0], "as long as Retry-After says");

    let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port").port();
    let nowhere = hub(&format!("http://127.0.0.1:{port}"), Rc::<MemoryStore>::default());
    let error = block_on(nowhere.open(&HubId::model("a/b").expect("an id"))).map(|_| ()).expect_err("nobody listens");
    assert!(matches!(error, Error::Network { .. }), "{error}");
}

#[test]
fn hostile_listings_name_nothing_outside_the_repository() {
    let (mirror, _) = with_bytes("listing");
    mirror.faults().add("hostile-listing:tree".parse().expect("a fault"));
    let files = open(&mirror, Rc::<MemoryStore>::default(), "a/b").expect("a listing");
    assert!(files.repo().files.is_empty(), "{:?}", files.repo().files);
    mirror.faults().add("huge-listing:tree".parse().expect("a fault"));
    let error = open(&mirror, Rc::<MemoryStore>::default(), "a/b").map(|_| ()).expect_err("too long");
    assert!(error.to_string().contains("longer than"), "{error}");
    for (id, words) in [("a/nobody", "not found on the hub"), ("a/b@no-such", "not found on the hub")] {
        let error = open(&mirror, Rc::<MemoryStore>::default(), id).map(|_| ()).expect_err(id);
        assert!(error.to_string().contains(words) && error.to_string().contains(id), "{error}");
    }
}

#[test]
fn headers_that_lie_are_refused_before_anything_large_is_fetched() {
    let (mirror, _) = with_bytes("header");
    let files = open(&mirror, Rc::<MemoryStore>::default(), "a/b").expect("a listing");
    let error = block_on(Weights::open(Rc::new(files))).map(|_| ()).expect_err("no header");
    assert!(matches!(error, Error::MalformedWeights { .. }), "{error}");
    assert_eq!(mirror.stats().file("model.safetensors").bytes, 8 + 9);
}

#[test]
fn a_header_damaged_on_its_way_is_not_kept() {
    let mirror = mirror(&fixture(""));
    mirror.faults().add("flipped:model.safetensors".parse().expect("a fault"));
    let files = open(&mirror, Rc::<MemoryStore>::default(), "tiny-gpt2").expect("a listing");
    let error = block_on(Weights::open(Rc::new(files.clone()))).map(|_| ()).expect_err("a flipped bit");
    assert!(matches!(error, Error::MalformedWeights { .. }), "{error}");
    block_on(Weights::open(Rc::new(files))).expect("read once more");
}

#[test]
fn a_token_opens_what_is_restricted_and_is_shown_to_the_hub_alone() {
    let (mirror, _) = with_bytes("token");
    mirror.faults().add("gated::1000".parse().expect("a fault"));
    let files = open(&mirror, Rc::<MemoryStore>::default(), "a/b").expect("its files are listed");
    let error = block_on(files.read("config.json", 0..2)).expect_err("no token");
    assert!(matches!(error, Error::HubGated { .. }), "{error}");
    assert_eq!(mirror.stats().requests("/resolve/"), 0, "told before anything is downloaded");
    mirror.stats().reset();
    let endpoint: Endpoint = mirror.url().parse().expect("an address");
    let client = Transport::new(endpoint.clone(), Some("secret".into()), false);
    let known = Hub::new(Rc::new(client), Rc::<MemoryStore>::default(), endpoint);
    let files = block_on(known.open(&HubId::model("a/b").expect("an id"))).expect("a listing");
    block_on(files.read("model.safetensors", 0..8)).expect("bytes");
    let sent = mirror.stats().file("model.safetensors");
    assert_eq!((sent.requests, sent.tokens), (1, 0), "the files' origin is another");
}

#[test]
fn what_was_listed_once_is_known_without_a_network() {
    let mirror = mirror(&fixture(""));
    let store: Rc<dyn Store> = Rc::<MemoryStore>::default();
    let id = HubId::model("tiny-gpt2").expect("an id");
    let first = block_on(hub(mirror.url(), store.clone()).open(&id)).expect("a listing");
    let config = block_on(first.read("config.json", 0..10)).expect("a file");
    // Nobody listens there.
    let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port").port();
    let (sender, heard) = std::sync::mpsc::channel();
    let closed = hub(&format!("http://127.0.0.1:{port}"), store.clone());
    closed.listen(Rc::new(move |event| sender.send(event).expect("a listener")));
    let again = block_on(closed.open(&id)).expect("as it was last known");
    let known = format!("using the last known state, commit {}", first.id().revision().expect("a commit"));
    let is_sent = matches!(heard.try_iter().last(), Some(Event::Warning(warning)) if warning.text.ends_with(&known));
    assert!(again.id() == first.id() && is_sent);
    // A commit always means the same files: there is nothing to request or warn of.
    block_on(closed.open(first.id())).expect("known");
    assert_eq!(heard.try_iter().count(), 0);
    assert_eq!(block_on(again.read("config.json", 0..10)).expect("a file"), config);
    let endpoint: Endpoint = mirror.url().parse().expect("an address");
    let offline = Hub::new(Rc::new(Transport::new(endpoint.clone(), None, true)), store, endpoint);
    let again = block_on(offline.open(&id)).expect("known");
    let error = block_on(again.read("tokenizer.json", 0..10)).expect_err("not here");
    assert!(error.to_string().contains("HF_HUB_OFFLINE"), "{error}");
}

/// A Parquet file with one optional column `text`, compressed as on the hub.
fn parquet(lines: &[&str]) -> Vec<u8> {
    use parquet::data_type::{ByteArray, ByteArrayType};
    let schema = parquet::schema::parser::parse_message_type("message m { OPTIONAL BYTE_ARRAY text (STRING); }");
    let properties = parquet::file::properties::WriterProperties::builder()
        .set_compression(parquet::basic::Compression::SNAPPY)
        .build();
    let schema = schema.expect("a schema").into();
    let writer = parquet::file::writer::SerializedFileWriter::new(Vec::new(), schema, properties.into());
    let mut writer = writer.expect("a writer");
    let mut group = writer.next_row_group().expect("a group");
    let mut column = group.next_column().expect("a column").expect("one column");
    let values: Vec<ByteArray> = lines.iter().map(|line| ByteArray::from(*line)).collect();
    column.typed::<ByteArrayType>().write_batch(&values, Some(&vec![1; lines.len()]), None).expect("texts");
    column.close().expect("texts");
    group.close().expect("a group");
    writer.into_inner().expect("a file")
}

#[test]
fn the_command_line_measures_a_model_and_a_text_of_the_hub_and_again_without_it() {
    let folder = fresh("program");
    let dataset = folder.join("models/datasets/Salesforce/wikitext/wikitext-2-raw-v1");
    fs::create_dir_all(&dataset).expect("a folder");
    let text = fs::read_to_string(common::encyclopedia()).expect("a text");
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    fs::write(dataset.join("test-00000-of-00001.parquet"), parquet(&lines)).expect("a file");
    let model = folder.join("models/made/tiny@step7");
    fs::create_dir_all(&model).expect("a folder");
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        fs::copy(fixture("tiny-gpt2").join(file), model.join(file)).expect("a file");
    }
    let mirror = mirror(&folder.join("models"));
    let run = |args: &[&str], offline: &str| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_straightedge"))
            .args(args)
            .env("HF_ENDPOINT", mirror.url())
            .env("HF_HOME", folder.join("home"))
            .env("HF_HUB_OFFLINE", offline)
            .env_remove("HF_HUB_CACHE")
            .env_remove("HF_TOKEN")
            .output()
            .expect("the program runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{args:?}: {said}");
        (String::from_utf8(output.stdout).expect("UTF-8"), said)
    };
    let options = ["--backend", "cpu", "--rows", "1280", "--seq-len", "64", "--out", "-"];
    let of_hub = [&["measure", "made/tiny@step7", "--corpus", "wikitext-2"], &options[..]].concat();
    let report = |json: &str| Report::from_json("standard output", json).expect("a report");
    let (first, said) = run(&of_hub, "0");
    let first = report(&first);
    assert!(said.contains("to download") && said.contains("gpt2, 4 blocks"), "{said}");
    assert_eq!((&*first.model.id, &*first.corpus.id), ("made/tiny", "wikitext-2-test"));

    let (local, text) = (fixture("tiny-gpt2"), common::encyclopedia());
    let (local, text) = (local.to_str().expect("UTF-8"), text.to_str().expect("UTF-8"));
    let here = report(&run(&[&["measure", local, "--text", text], &options[..]].concat(), "0").0);
    assert_eq!(here.blocks, first.blocks);
    assert_eq!((here.corpus.sha256, here.model.sha256), (first.corpus.sha256.clone(), first.model.sha256.clone()));

    mirror.stats().reset();
    let (again, _) = run(&of_hub, "1");
    assert_eq!(report(&again).blocks, first.blocks);
    let (list, _) = run(&["models"], "1");
    assert!(list.contains("made/tiny@step7") && list.contains("calibration"), "{list}");
    assert_eq!(mirror.stats().requests(""), 0, "nobody was asked");
}
