//! The cache on disk with two programs, after kills, and with damaged files: what is read is what the hub lists.

use std::cell::RefCell;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::rc::Rc;
use std::sync::mpsc;
use std::time::Duration;

use futures::executor::block_on;
use futures::future::{Either, select};
use futures::{FutureExt, StreamExt};
use straightedge::error::{Error, Result};
use straightedge::event::{Event, Stage};
use straightedge::hub::client::Hub;
use straightedge::hub::disk::DiskStore;
use straightedge::hub::files::HubFiles;
use straightedge::hub::id::{Endpoint, HubId};
use straightedge::hub::repo::FileKey;
use straightedge::hub::store::Store;
use straightedge::hub::transport::Transport;
use straightedge::weights::{Files, Weights};
use straightedge_hub_mirror::{Mirror, Options};

const SIZE: u64 = 3_000_000;
const WEIGHTS: &str = "model.safetensors";
const CONFIG: &str = "config.json";
const CONFIG_TEXT: &[u8] = b"{\"model_type\": \"gpt2\"}";

/// A mirror of the model `a/b`, and an empty cache.
struct Scene {
    folder: PathBuf,
    mirror: Mirror,
    bytes: Vec<u8>,
}

/// One program's view of the model.
struct Program {
    files: HubFiles,
    store: Rc<DiskStore>,
    heard: Rc<RefCell<Vec<Event>>>,
}

impl Scene {
    fn new(test: &str, throttle: Option<u64>) -> Self {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cache").join(test);
        let _ = fs::remove_dir_all(&folder);
        let mut bytes: Vec<u8> = (0..SIZE).map(|at| (at * at % 251) as u8).collect();
        bytes[..8].copy_from_slice(&[9, 0, 0, 0, 0, 0, 0, 0]);
        let model = folder.join("mirror/a/b");
        fs::create_dir_all(&model).expect("a folder");
        fs::write(model.join(WEIGHTS), &bytes).expect("a file");
        fs::write(model.join(CONFIG), CONFIG_TEXT).expect("a file");
        let mirror = Mirror::start(Options { throttle, ..Options::new(folder.join("mirror")) }).expect("a free port");
        Self { folder, mirror, bytes }
    }

    fn program(&self) -> Program {
        self.program_of(&self.mirror, false)
    }

    /// A program that asks another mirror of the same files, or that stays offline.
    fn program_of(&self, mirror: &Mirror, is_offline: bool) -> Program {
        let store = Rc::new(DiskStore::new(self.folder.join("hub")));
        let endpoint: Endpoint = mirror.url().parse().expect("an address");
        let hub = Hub::new(Rc::new(Transport::new(endpoint.clone(), None, is_offline)), store.clone(), endpoint);
        let files = block_on(hub.open(&HubId::model("a/b").expect("an id"))).expect("a listing");
        let heard = Rc::<RefCell<Vec<Event>>>::default();
        let hearing = heard.clone();
        files.listen(Rc::new(move |event| hearing.borrow_mut().push(event)));
        Program { files, store, heard }
    }

    /// Requests and bytes of a file that the mirror has sent.
    fn sent(&self, file: &str) -> (u64, u64) {
        let sent = self.mirror.stats().file(file);
        (sent.requests, sent.bytes)
    }

    /// The weights as the cache has them.
    fn snapshot(&self, program: &Program) -> PathBuf {
        let commit = program.files.revision().expect("a commit");
        self.folder.join("hub/models--a--b/snapshots").join(commit).join(WEIGHTS)
    }

    /// The command line's measurement of the model.
    fn measured(&self) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_straightedge"));
        command.args(["measure", "a/b", "--backend", "cpu", "--corpus", "puzzles"]);
        command.env("HF_ENDPOINT", self.mirror.url()).env("HF_HOME", &self.folder).env("HF_HUB_OFFLINE", "0");
        command.env_remove("HF_HUB_CACHE").output().expect("the program runs")
    }

    /// Fails unless a program reads every byte as the hub has it.
    fn assert_read(&self, program: &Program) {
        assert!(block_on(program.files.read(WEIGHTS, 0..SIZE)).expect("the weights") == self.bytes);
        assert_eq!(block_on(program.files.read(CONFIG, 0..4)).expect("the configuration"), CONFIG_TEXT[..4]);
    }
}

impl Program {
    async fn fetch(&self) -> Result<()> {
        self.files.prepare(&[(WEIGHTS.into(), 0..SIZE)]).await
    }

    fn key(&self, file: &str) -> FileKey {
        self.files.repo().key(file).expect("a file")
    }

    /// Stores bytes as a program does that is killed before it verifies them.
    fn leave(&self, file: &str, bytes: &[u8]) {
        block_on(self.store.write(&self.key(file), 0, bytes)).expect("a write");
    }

    fn has_hashed(&self) -> bool {
        let hashes = |event: &Event| matches!(event, Event::Progress(progress) if progress.stage == Stage::Hash);
        self.heard.borrow().iter().any(hashes)
    }

    fn has_waited(&self) -> bool {
        let waits = |event: &Event| matches!(event, Event::Waiting(wait) if wait.why.contains("another program"));
        self.heard.borrow().iter().any(waits)
    }
}

fn damaged(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    bytes
}

/// The folder of a file's parts.
fn parts(scene: &Scene, program: &Program, file: &str) -> PathBuf {
    let commit = program.files.revision().expect("a commit");
    scene.folder.join("straightedge/models--a--b").join(commit).join(format!("{file}.parts"))
}

fn whole(path: &Path) -> Vec<u8> {
    fs::read(path).expect("a file")
}

#[test]
fn a_second_program_waits_for_the_first_and_fetches_only_the_rest() {
    let scene = Scene::new("second", Some(2_000_000));
    // The mirror may still be sending to the first one when the second one begins.
    let other = Mirror::start(Options::new(scene.folder.join("mirror"))).expect("a free port");
    let (first, second) = (scene.program(), scene.program_of(&other, false));
    let (begun, mut progress) = futures::channel::mpsc::unbounded();
    first.files.listen(Rc::new(move |event| drop(begun.unbounded_send(event))));
    let downloading = first.fetch().boxed_local();
    let Either::Right((_, downloading)) = block_on(select(downloading, progress.next())) else {
        panic!("the first one ended at once");
    };
    let (waiting, mut waits) = futures::channel::mpsc::unbounded();
    second.files.listen(Rc::new(move |event| drop(waiting.unbounded_send(event))));
    let fetching = second.fetch().boxed_local();
    let Either::Right((Some(Event::Waiting(wait)), fetching)) = block_on(select(fetching, waits.next())) else {
        panic!("the second one did not wait");
    };
    assert!(wait.why.contains("another program is downloading model.safetensors"), "{}", wait.why);
    // The first one is cancelled in the middle.
    drop(downloading);
    let held: u64 = block_on(first.store.held(&first.key(WEIGHTS))).expect("parts").iter().map(|part| part.end).sum();
    assert!((1..SIZE).contains(&held), "{held}");
    block_on(fetching).expect("the rest");
    scene.assert_read(&second);
    let sent = other.stats().file(WEIGHTS);
    assert_eq!((sent.requests, sent.bytes), (1, SIZE - held), "nothing but the rest");
    assert!(whole(&scene.snapshot(&second)) == scene.bytes);
}

#[test]
fn two_programs_at_once_leave_one_true_file() {
    let scene = Scene::new("at-once", Some(4_000_000));
    let (first, second) = (scene.program(), scene.program());
    let (one, other) = block_on(futures::future::join(first.fetch(), second.fetch()));
    one.and(other).expect("both");
    assert!(first.has_waited() || second.has_waited());
    for program in [&first, &second] {
        scene.assert_read(program);
    }
    assert_eq!(scene.sent(WEIGHTS), (1, SIZE), "fetched once");
    assert!(whole(&scene.snapshot(&first)) == scene.bytes);
}

#[test]
fn a_program_that_waits_for_another_says_so_once_where_no_terminal_is() {
    let scene = Scene::new("told", None);
    let program = scene.program();
    let key = program.key(CONFIG);
    assert!(block_on(program.store.lock(&key)).expect("a lock"));
    let mut waiting = Command::new(env!("CARGO_BIN_EXE_straightedge"))
        .args(["measure", "a/b", "--backend", "cpu", "--corpus", "puzzles"])
        .env("HF_ENDPOINT", scene.mirror.url())
        .env("HF_HOME", &scene.folder)
        .env("HF_HUB_OFFLINE", "0")
        .env_remove("HF_HUB_CACHE")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let said = BufReader::new(waiting.stderr.take().expect("its errors"));
    let (send, lines) = mpsc::channel();
    let reader = std::thread::spawn(move || said.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
    let first = lines.recv_timeout(Duration::from_secs(60));
    // Long enough for it to try twice more.
    std::thread::sleep(Duration::from_millis(2500));
    program.store.unlock(&key);
    waiting.wait().expect("an end");
    reader.join().expect("a reader").expect("a listener");
    let waiting = "waiting: another program is downloading config.json";
    assert_eq!(first.as_deref(), Ok(waiting));
    let rest: Vec<String> = lines.try_iter().collect();
    assert!(!rest.iter().any(|line| line.contains("waiting")), "{rest:?}");
}

#[cfg(unix)]
#[test]
fn a_verified_file_that_cannot_be_used_stays_and_a_link_out_of_the_cache_is_deleted_alone() {
    let scene = Scene::new("unusable", None);
    let program = scene.program();
    block_on(program.fetch()).expect("the weights");
    // Its header is no JSON, and that is how the hub has it.
    let open = |program: &Program| {
        let files: Rc<dyn Files> = Rc::new(program.files.clone());
        block_on(Weights::open(files)).map(drop).expect_err("no weights")
    };
    let (kept, error) = (scene.snapshot(&program), open(&program));
    assert!(matches!(error, Error::MalformedWeights { .. }), "{error}");
    assert!(whole(&kept) == scene.bytes, "another program may use it");
    assert_eq!(scene.sent(WEIGHTS), (1, SIZE), "it is not fetched again");

    let outside = scene.folder.join("own.safetensors");
    fs::write(&outside, damaged(&scene.bytes)).expect("a file");
    fs::remove_file(&kept).expect("a link");
    std::os::unix::fs::symlink(&outside, &kept).expect("a link");
    block_on(scene.program().fetch()).expect("the weights");
    assert!(outside.is_file(), "it is not the cache's");
    assert!(whole(&kept) == scene.bytes);
}

#[test]
fn a_hostile_refusal_is_one_short_line_without_control_characters() {
    let scene = Scene::new("refused", None);
    scene.mirror.faults().add("hostile-refusal::1000".parse().expect("a fault"));
    let refused = scene.measured();
    let said = String::from_utf8(refused.stderr).expect("text");
    let line = said.strip_suffix('\n').expect("a line");
    assert!(
        refused.status.code() == Some(2) && line.starts_with("straightedge: ") && line.contains("first"),
        "{said:?}"
    );
    assert!(line.chars().all(|c| !c.is_control() && c != '\u{202e}') && line.len() < 400, "{said:?}");
}

#[test]
fn a_verified_file_that_was_damaged_since_is_given_up_once_it_makes_no_sense() {
    let scene = Scene::new("damaged-since", None);
    let first = scene.program();
    block_on(first.fetch()).expect("the weights");
    let (path, mut bytes) = (scene.snapshot(&first), scene.bytes.clone());
    let changed = fs::metadata(&path).and_then(|found| found.modified()).expect("a time");
    bytes[7] = 0x7f;
    fs::write(&path, bytes).expect("damage of the same size");
    let file = fs::File::options().write(true).open(&path).expect("the file");
    file.set_modified(changed).expect("the same time");
    let later = scene.program();
    assert!(later.files.is_verified(WEIGHTS), "by size and time nothing has happened");
    block_on(later.files.report_damaged(WEIGHTS)).expect("it is compared");
    assert!(!path.exists(), "and deleted");
    let again = scene.program();
    block_on(again.fetch()).expect("fetched again");
    scene.assert_read(&again);
    // An intact one that makes no sense stays.
    block_on(again.files.report_damaged(WEIGHTS)).expect("it is compared");
    assert!(path.exists());
}

#[test]
fn a_hostile_configuration_is_told_in_lines_of_ours() {
    let scene = Scene::new("hostile-config", None);
    let config = format!(r#"{{"model_type": "x\nstraightedge: all is well\u202e{}"}}"#, "y".repeat(5000));
    fs::write(scene.folder.join("mirror/a/b").join(CONFIG), config).expect("a file");
    let output = scene.measured();
    let said = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(2), "{said:?}");
    assert!(said.matches("all is well").count() >= 2, "the preview and the error name the value: {said:?}");
    for line in said.lines() {
        assert!(!line.starts_with("straightedge: all is well") && line.len() < 600, "{line:?}");
        assert!(line.chars().all(|c| !c.is_control() && c != '\u{202e}'), "{line:?}");
    }
}

#[test]
fn while_one_program_compares_a_damaged_file_another_leaves_it_alone() {
    let scene = Scene::new("compared", None);
    let first = scene.program();
    block_on(first.fetch()).expect("the weights");
    fs::write(scene.snapshot(&first), damaged(&scene.bytes)).expect("damage of the same size");
    scene.mirror.stats().reset();
    let (first, second) = (scene.program(), scene.program());
    let (begun, mut progress) = futures::channel::mpsc::unbounded();
    first.files.listen(Rc::new(move |event| drop(begun.unbounded_send(event))));
    let comparing = first.fetch().boxed_local();
    // It has read the damaged bytes, and not yet said so.
    let Either::Right((_, comparing)) = block_on(select(comparing, progress.next())) else {
        panic!("the first one ended at once");
    };
    let (waiting, mut waits) = futures::channel::mpsc::unbounded();
    second.files.listen(Rc::new(move |event| drop(waiting.unbounded_send(event))));
    let fetching = second.fetch().boxed_local();
    let is_wait = |event: &Event| std::future::ready(matches!(event, Event::Waiting(_)));
    let mut waits = waits.by_ref().filter(is_wait);
    // The first one holds the lock until it is polled again.
    let Either::Right((Some(Event::Waiting(wait)), fetching)) = block_on(select(fetching, waits.next())) else {
        panic!("the second one did not wait");
    };
    assert!(wait.why.contains("another program is downloading model.safetensors"), "{}", wait.why);
    let (one, other) = block_on(futures::future::join(comparing, fetching));
    one.and(other).expect("both");
    assert_eq!(scene.sent(WEIGHTS), (1, SIZE), "fetched again once");
    scene.assert_read(&second);
}

#[test]
fn parts_that_were_damaged_where_they_lay_are_fetched_again() {
    let scene = Scene::new("damaged-part", None);
    let program = scene.program();
    program.leave(WEIGHTS, &damaged(&scene.bytes[..1_000_000]));
    let later = scene.program();
    block_on(later.fetch()).expect("fetched again");
    scene.assert_read(&later);
    assert_eq!(scene.sent(WEIGHTS), (2, SIZE - 1_000_000 + SIZE), "the rest, and then the whole");
}

#[test]
fn the_rest_of_a_file_is_damage_too_if_it_arrives_damaged_again() {
    let scene = Scene::new("damaged-rest", None);
    let program = scene.program();
    program.leave(WEIGHTS, &scene.bytes[..1_000_000]);
    scene.mirror.faults().add("flipped:model.safetensors:9".parse().expect("a fault"));
    // Only the rest is asked for, but both tries are compared with the hash of the whole.
    let rest = block_on(program.files.read(WEIGHTS, 1_000_000..SIZE)).expect_err("damaged");
    assert!(matches!(&rest, Error::HashMismatch { file, .. } if file == WEIGHTS), "{rest}");
}

#[test]
fn what_was_stored_and_not_verified_is_verified_later() {
    for is_damaged in [false, true] {
        let scene = Scene::new(if is_damaged { "unverified-damaged" } else { "unverified" }, None);
        let program = scene.program();
        let bytes = if is_damaged { damaged(&scene.bytes) } else { scene.bytes.clone() };
        program.leave(WEIGHTS, &bytes);
        program.leave(CONFIG, CONFIG_TEXT);
        let later = scene.program();
        block_on(later.fetch()).expect("the weights");
        assert!(later.has_hashed());
        scene.assert_read(&later);
        assert_eq!(scene.sent(WEIGHTS).0, u64::from(is_damaged), "fetched again only if damaged");
        assert!(whole(&scene.snapshot(&later)) == scene.bytes);
    }
}

#[test]
fn a_damaged_file_of_the_cache_is_noticed_and_a_verified_one_is_hashed_once() {
    let scene = Scene::new("cached", None);
    let program = scene.program();
    block_on(program.fetch()).expect("the weights");
    let again = scene.program();
    block_on(again.fetch()).expect("all is here");
    assert!(!again.has_hashed() && again.files.is_verified(WEIGHTS), "verified by the program before");
    let blob = fs::canonicalize(scene.snapshot(&program)).expect("a blob");
    fs::write(&blob, damaged(&scene.bytes)).expect("damage of the same size");
    scene.mirror.stats().reset();
    let later = scene.program();
    assert!(!later.files.is_verified(WEIGHTS), "another time of change");
    block_on(later.fetch()).expect("fetched again");
    scene.assert_read(&later);
    assert_eq!(scene.sent(WEIGHTS), (1, SIZE));
    assert!(whole(&scene.snapshot(&later)) == scene.bytes);
}

#[test]
fn a_damaged_small_file_is_fetched_again() {
    let scene = Scene::new("small", None);
    let program = scene.program();
    program.leave(CONFIG, &damaged(CONFIG_TEXT));
    let later = scene.program();
    assert_eq!(block_on(later.files.read(CONFIG, 0..CONFIG_TEXT.len() as u64)).expect("the text"), CONFIG_TEXT);
    assert_eq!(scene.sent(CONFIG).0, 1);
}

#[test]
fn a_part_longer_than_its_file_is_replaced() {
    let scene = Scene::new("longer", None);
    let program = scene.program();
    let folder = parts(&scene, &program, WEIGHTS);
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("0"), vec![7; SIZE as usize + 1]).expect("a part");
    block_on(program.fetch()).expect("the weights");
    scene.assert_read(&program);
}

#[test]
fn an_incomplete_file_never_gets_into_the_cache() {
    let scene = Scene::new("incomplete", None);
    let program = scene.program();
    program.leave(WEIGHTS, &scene.bytes[..1_000_000]);
    let key = program.key(WEIGHTS);
    let error = block_on(program.store.complete(&key)).expect_err("a third of it");
    assert!(error.to_string().contains("only its first 1000000 of 3000000 bytes are stored"), "{error}");
    block_on(program.store.write(&key, 2_000_000, &scene.bytes[2_000_000..])).expect("a write");
    block_on(program.store.complete(&key)).expect_err("a gap");
    assert!(!scene.snapshot(&program).exists());
    // Bytes that come again leave what is stored after them.
    block_on(program.store.write(&key, 0, &scene.bytes[..1000])).expect("a write");
    assert_eq!(block_on(program.store.held(&key)).expect("parts"), [0..1_000_000, 2_000_000..SIZE]);
    // Overlapping parts make up the file.
    block_on(program.store.write(&key, 900_000, &scene.bytes[900_000..2_100_000])).expect("a write");
    block_on(program.store.complete(&key)).expect("all of it");
    assert!(whole(&scene.snapshot(&program)) == scene.bytes);
}

#[test]
fn where_nothing_can_be_written_the_cache_still_serves_what_it_has() {
    let scene = Scene::new("read-only", None);
    // Without our own notes a model is known by the files of a measurement, of which a tokenizer is one.
    fs::write(scene.folder.join("mirror/a/b/tokenizer.json"), "{}").expect("a file");
    let program = scene.program();
    block_on(program.fetch()).expect("the weights");
    block_on(program.files.read("tokenizer.json", 0..2)).expect("the tokenizer");
    scene.assert_read(&program);
    let own = scene.folder.join("straightedge");
    fs::remove_dir_all(&own).expect("our own folder");
    // A file in its place refuses every folder, also to an administrator.
    fs::write(&own, "").expect("a file");
    for is_offline in [false, true] {
        scene.mirror.stats().reset();
        let later = scene.program_of(&scene.mirror, is_offline);
        block_on(later.fetch()).expect("all is here");
        scene.assert_read(&later);
        assert_eq!(scene.sent(WEIGHTS).0, 0, "offline: {is_offline}");
        assert_eq!(scene.mirror.stats().requests("") == 0, is_offline, "offline: {is_offline}");
    }
}
