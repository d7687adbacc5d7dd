//! `straightedge atlas`: measures a list of models one after the other, against the stand-in for the hub. A failure is
//! a line of the index, and finished results survive a kill and are not measured again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use straightedge::atlas::{AtlasState, Index};
use straightedge::fields::Field;
use straightedge::report::{Report, Seconds};
use straightedge_hub_mirror::synthetic::{self, Shape};
use straightedge_hub_mirror::{Mirror, Options};

/// As many blocks as the smallest GPT-2, so that it is comparable with that model's published values.
const DEEP: Shape = Shape { width: 64, layers: 12, heads: 1, vocab: 256, positions: 64 };
const FLAT: Shape = Shape { layers: 2, ..DEEP };

/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

const LIST: &str = r#"
[defaults]
text = "tales:1"
rows = 640
seq_len = 32
backend = "cpu"

[[model]]
id = "made/one"
title = "The first"
published = { model = "gpt2", corpus = "WikiText-2" }

[[model]]
id = "made/broken"

[[model]]
id = "made/three"
revision = "main"
measures = ["fit", "swap"]
"#;

const SLUGS: [&str; 3] = ["made-one-tales-1", "made-broken-tales-1", "made-three-tales-1"];

fn fresh(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("atlas").join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a temporary folder");
    folder
}

/// A hub with two models, and a third between them whose weights lack a configured block.
fn hub(folder: &Path) -> Mirror {
    let models = folder.join("models/made");
    for (seed, (name, shape)) in [("one", DEEP), ("broken", FLAT), ("three", FLAT)].into_iter().enumerate() {
        synthetic::gpt2(&models.join(name), shape, seed as u64 + 1).expect("a made model");
    }
    let config = models.join("broken/config.json");
    let text = fs::read_to_string(&config).expect("a configuration");
    assert!(text.contains(r#""n_layer":2"#), "{text}");
    fs::write(&config, text.replace(r#""n_layer":2"#, r#""n_layer":3"#)).expect("a configuration");
    Mirror::start(Options::new(folder.join("models"))).expect("a free port")
}

/// `straightedge atlas` on a list, with `home` for downloads.
fn atlas(hub: &str, home: &Path, list: &Path, out: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_straightedge"));
    command.arg("atlas").arg(list).arg("--out").arg(out);
    command.env("HF_ENDPOINT", hub).env("HF_HOME", home).env_remove("HF_HUB_CACHE").env_remove("HF_TOKEN");
    command.env_remove("HF_HUB_OFFLINE").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn written(folder: &Path, list: &str) -> PathBuf {
    let path = folder.join("atlas.toml");
    fs::write(&path, list).expect("a list");
    path
}

/// Runs to the end and returns standard output and error.
fn done(mut command: Command) -> (String, String) {
    let Output { status, stdout, stderr } = command.output().expect("the program runs");
    let [stdout, stderr] = [stdout, stderr].map(|bytes| String::from_utf8(bytes).expect("UTF-8"));
    assert_eq!(status.code(), Some(0), "{stderr}");
    (stdout, stderr)
}

fn index(folder: &Path) -> Index {
    let json = fs::read(folder.join("index.json")).expect("an index");
    serde_json::from_slice(&json).expect("an intact index")
}

fn states(index: &Index) -> Vec<AtlasState> {
    index.models.iter().map(|entry| entry.state).collect()
}

/// A report without times and memory, which vary.
fn numbers(folder: &Path, slug: &str) -> Report {
    let file = format!("{slug}.json");
    let json = fs::read_to_string(folder.join(&file)).expect(slug);
    let mut report = Report::from_json(&file, &json).expect("a report");
    assert!(!report.partial && !report.blocks.is_empty(), "{slug}");
    (report.date, report.seconds, report.peak_memory) = (None, Seconds::default(), None);
    report.blocks.iter_mut().for_each(|block| block.row_microseconds.clear());
    report
}

/// Waits until the second model has failed, while the third is still waiting.
fn two_are_over(child: &mut Child, out: &Path) {
    let begun = Instant::now();
    while !out.join("index.json").exists() || states(&index(out))[1] != AtlasState::Failed {
        assert_eq!(child.try_wait().expect("a status"), None, "it ended before its time");
        assert!(begun.elapsed() < PATIENCE, "nothing came of the first two");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_killed_atlas_goes_on_where_it_was_and_a_model_that_fails_is_a_line() {
    let folder = fresh("killed");
    let mirror = hub(&folder);
    let (list, out, home) = (written(&folder, LIST), folder.join("out"), folder.join("home"));
    mirror.faults().add("stalled:made/three@:9".parse().expect("a fault"));
    let mut child = atlas(mirror.url(), &home, &list, &out).spawn().expect("the program runs");
    two_are_over(&mut child, &out);
    child.kill().expect("killed");
    child.wait().expect("killed");
    assert_eq!(states(&index(&out)), [AtlasState::Measured, AtlasState::Failed, AtlasState::Pending]);
    let first = out.join("made-one-tales-1.json");
    let before = fs::read(&first).expect("the first report");
    let changed = fs::metadata(&first).and_then(|found| found.modified()).expect("a time");

    mirror.faults().clear();
    mirror.stats().reset();
    let (stdout, stderr) = done(atlas(mirror.url(), &home, &list, &out));
    assert!(stderr.contains("model 1 of 3: made/one on tales:1: kept") && stderr.contains("model 2 of 3"), "{stderr}");
    assert!(stdout.contains("3 models: 1 measured, 1 kept, 1 failed"), "{stdout}");
    assert_eq!(mirror.stats().requests("made/one"), 0, "the first was not even looked up");
    assert!(mirror.stats().requests("made/broken") > 0, "what failed is tried again");
    assert!(mirror.stats().requests("made/three") > 0);
    assert!(fs::read(&first).expect("the first report") == before);
    assert_eq!(fs::metadata(&first).and_then(|found| found.modified()).expect("a time"), changed);

    let found = index(&out);
    assert_eq!(states(&found), [AtlasState::Measured, AtlasState::Failed, AtlasState::Measured]);
    assert_eq!(found.models.iter().map(|entry| entry.slug.as_str()).collect::<Vec<_>>(), SLUGS);
    let [one, broken, three] = &found.models[..] else { panic!("{found:?}") };
    assert_eq!((one.title.as_str(), three.title.as_str()), ("The first", "made/three"));
    let error = broken.error.as_deref().expect("a sentence");
    assert!(error.contains("tensor h.2.") && error.contains("missing") && error.contains("; "), "{error}");
    assert!(stdout.contains(error) && broken.measured.is_none(), "{stdout}");

    let undisturbed = folder.join("undisturbed");
    done(atlas(mirror.url(), &folder.join("another-home"), &list, &undisturbed));
    for slug in [SLUGS[0], SLUGS[2]] {
        assert_eq!(numbers(&out, slug), numbers(&undisturbed, slug), "{slug}");
    }
    tells_of_reports(&found, &out);
}

/// The index repeats the reports' values.
fn tells_of_reports(index: &Index, folder: &Path) {
    let measured: Vec<_> = index.models.iter().filter_map(|entry| entry.measured.as_ref()).collect();
    for (measured, slug) in measured.iter().zip([SLUGS[0], SLUGS[2]]) {
        let report = numbers(folder, slug);
        assert_eq!(measured.report, format!("{slug}.json"));
        assert_eq!(measured.commit, report.model.revision);
        assert!(measured.commit.as_deref().is_some_and(straightedge::hub::id::is_commit), "{:?}", measured.commit);
        let curve: Vec<_> = report.blocks.iter().map(|block| block.r2_lin).collect();
        assert_eq!(measured.summary.curve(Field::R2Lin), curve);
        assert!(measured.ended > 1_700_000_000, "{}", measured.ended);
    }
    let [one, three] = measured[..] else { panic!("{measured:?}") };
    assert!(three.published.is_none() && !three.summary.curve(Field::DeltaPplLinear).is_empty());
    let published: serde_json::Value = serde_json::from_str(include_str!("../web/data/published.json")).expect("JSON");
    let published = &published["models"][0]["r2_lin_scalar"]["WikiText-2"];
    let difference = |(block, ours): (usize, &Option<f64>)| {
        (ours.expect("a value") - published[block].as_f64().expect("a number")).abs()
    };
    let most = one.summary.curve(Field::R2LinScalar).iter().enumerate().map(difference).fold(0.0, f64::max);
    let largest = one.published.as_ref().and_then(|published| published.most).expect("a difference");
    assert_eq!(
        (largest.value, difference((largest.block, &one.summary.curve(Field::R2LinScalar)[largest.block]))),
        (most, most)
    );
}

#[cfg(unix)]
#[test]
fn an_interrupted_atlas_keeps_what_is_finished() {
    let folder = fresh("interrupted");
    let mirror = hub(&folder);
    let (list, out) = (written(&folder, LIST), folder.join("out"));
    mirror.faults().add("busy:made/three:2".parse().expect("a fault"));
    let mut child = atlas(mirror.url(), &folder.join("home"), &list, &out).spawn().expect("the program runs");
    two_are_over(&mut child, &out);
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
    assert!(sent.success());
    let Output { status, stderr, .. } = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&stderr).into_owned();
    assert_eq!(status.code(), Some(130), "{said}");
    assert!(said.trim_end().ends_with("finished blocks are kept"), "{said}");
    assert_eq!(states(&index(&out)), [AtlasState::Measured, AtlasState::Failed, AtlasState::Pending]);
    numbers(&out, SLUGS[0]);
    assert!(!out.join("made-three-tales-1.json").exists(), "half a report is none");
}

/// Probes of the second block take long enough to be interrupted after the first.
#[cfg(unix)]
#[test]
fn a_model_that_is_interrupted_keeps_its_finished_blocks() {
    let folder = fresh("interrupted-model");
    synthetic::gpt2(&folder.join("local"), DEEP, 5).expect("a made model");
    let (out, report) = (folder.join("out"), folder.join("out/local-tales-1.json"));
    let list = written(
        &folder,
        "[defaults]\nrows = 15000\nseq_len = 32\nbackend = 'cpu'\nmeasures = ['fit', 'probes']\n[[model]]\nid = 'local'\ntext = 'tales:1'\n",
    );
    let mut child = atlas("http://127.0.0.1:9", &folder.join("home"), &list, &out).spawn().expect("the program runs");
    let begun = Instant::now();
    // Before anything is measured, an empty file is made and removed there.
    while !fs::read(&report).is_ok_and(|report| !report.is_empty()) {
        assert!(begun.elapsed() < PATIENCE && child.try_wait().expect("a child").is_none(), "it ended too soon");
        std::thread::sleep(Duration::from_millis(5));
    }
    let sent = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().expect("kill runs");
    assert!(sent.success());
    let Output { status, stderr, .. } = child.wait_with_output().expect("it ends");
    assert_eq!(status.code(), Some(130), "{}", String::from_utf8_lossy(&stderr));
    let json = fs::read_to_string(&report).expect("a report");
    let kept = Report::from_json("report", &json).expect("a report");
    assert!(kept.partial && !kept.blocks.is_empty(), "{} blocks", kept.blocks.len());
    assert_eq!(states(&index(&out)), [AtlasState::Pending], "it is measured again");
}

#[test]
fn only_what_is_asked_for_anew_is_measured_anew() {
    let folder = fresh("again");
    synthetic::gpt2(&folder.join("local"), FLAT, 5).expect("a made model");
    let text: String = ["A short story of a cook. ", "The river rose. "].concat().repeat(400);
    fs::write(folder.join("story.txt"), &text).expect("a text");
    let out = folder.join("out");
    let run = |list: &str| done(atlas("http://127.0.0.1:9", &folder.join("home"), &written(&folder, list), &out));
    let list = |title: &str, rows: usize| {
        format!(
            "[defaults]\nrows = {rows}\nseq_len = 32\nbackend = 'cpu'\n[[model]]\nid = 'local'\ntext = 'story.txt'\n{title}"
        )
    };
    let is_kept = |(stdout, _): (String, String)| {
        assert!(stdout.contains("1 kept") != stdout.contains("1 measured"), "{stdout}");
        stdout.contains("1 kept")
    };
    assert!(!is_kept(run(&list("", 640))), "the first time");
    let entry = index(&out).models.remove(0);
    let measured = entry.measured.expect("a measurement");
    assert_eq!((measured.report.as_str(), measured.commit, entry.id.as_str()), ("local-story.json", None, "local"));
    assert_eq!(numbers(&out, "local-story").corpus.id, "story.txt");
    assert!(is_kept(run(&list("", 640))));
    assert!(is_kept(run(&list("title = 'Another name'", 640))), "a name is no setting");
    assert_eq!(index(&out).models[0].title, "Another name");
    assert!(!is_kept(run(&list("", 704))), "other rows");
    assert_eq!(numbers(&out, "local-story").protocol.rows, 704);
    fs::write(folder.join("story.txt"), text.to_uppercase()).expect("a text");
    assert!(!is_kept(run(&list("", 704))), "another text");
    let report = out.join("local-story.json");
    let partial = fs::read_to_string(&report).expect("a report").replace("\"partial\": false", "\"partial\": true");
    fs::write(&report, partial).expect("a report");
    assert!(!is_kept(run(&list("", 704))), "half a report");
    fs::remove_file(&report).expect("a report");
    assert!(!is_kept(run(&list("", 704))), "no report");
    assert!(is_kept(run(&list("", 704))));
}

#[test]
fn a_list_that_is_none_is_refused_with_its_model_and_key() {
    let folder = fresh("refused");
    let model = "[[model]]\nid = 'made/one'\ntext = 'tales:1'\n";
    for (list, words) in [
        ("".to_owned(), "it names no model"),
        ("[[model]\n".to_owned(), "line 1"),
        ("[protocol]\nrows = 5\n".to_owned(), "unknown field `protocol`"),
        (format!("[defaults]\nrowz = 5\n{model}"), "rowz"),
        (format!("[defaults]\nid = 'a'\n{model}"), "defaults: id belongs to a model"),
        (format!("{model}rowz = 5"), "model 1 (made/one): unknown field `rowz`"),
        (format!("{model}rows = 'many'"), "model 1 (made/one): invalid type"),
        (format!("{model}measures = ['fit', 'dance']"), "dance"),
        (format!("{model}folds = 1"), "--folds: 1 is not possible"),
        (format!("{model}[[model]]\ntext = 'tales:1'"), "model 2: missing field `id`"),
        (format!("{model}[[model]]\nid = 'made/two'"), "model 2 (made/two): text is missing"),
        (format!("{model}[[model]]\nid = 'a/b'\ntext = 'novels'"), "text: novels is not possible"),
        (format!("{model}{model}"), "model 2 (made/one): it repeats model 1"),
        (format!("{model}published = {{ model = 'gpt5', corpus = 'WikiText-2' }}"), "there is no model gpt5"),
        (format!("{model}published = {{ model = 'gpt2', corpus = 'Emma' }}"), "there is no corpus Emma"),
    ] {
        let out = folder.join("out");
        let output = atlas("http://127.0.0.1:9", &folder, &written(&folder, &list), &out).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{list}: {said}");
        assert!(said.contains("atlas.toml: not a list of models") && said.contains(words), "{list}: {said}");
        assert_eq!(said.lines().count(), 1, "one sentence: {said}");
        assert!(!out.exists(), "nothing is begun: {list}");
    }
    let output = atlas("http://127.0.0.1:9", &folder, &folder.join("absent.toml"), &folder).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn the_projects_own_list_is_one() {
    let folder = fresh("own");
    // Without a hub nothing is measured, but every line is read and listed with its error.
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("atlas.toml");
    let mut command = atlas("http://127.0.0.1:9", &folder.join("home"), &list, &folder.join("out"));
    command.env("HF_HUB_OFFLINE", "1");
    let (stdout, _) = done(command);
    let models = index(&folder.join("out")).models;
    assert!(models.len() >= 6 && stdout.contains(&format!("{} failed", models.len())), "{stdout}");
    let pair = models.windows(2).find(|pair| pair[1].id == format!("{}-Instruct", pair[0].id));
    let pair = pair.expect("a base model and its instruct version");
    assert_eq!(pair[0].text, pair[1].text);
    for (entry, name) in models.iter().zip(["gpt2", "pythia-160m", "llama-160m"]) {
        assert!(entry.id.ends_with(name) && entry.text.as_deref() == Some("wikitext-2-train"), "{entry:?}");
    }
    for entry in &models {
        assert_eq!(entry.state, AtlasState::Failed);
        assert!(entry.error.as_deref().is_some_and(|error| error.contains("HF_HUB_OFFLINE")), "{entry:?}");
        assert!(entry.revision.as_deref().is_some_and(straightedge::hub::id::is_commit), "{entry:?}");
    }
}
