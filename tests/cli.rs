//! The command line as scripts use it: exit statuses, one-line errors, partial results.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use safetensors::SafeTensors;
use straightedge::fields::Field;
use straightedge::report::Report;
use straightedge::run::Text;

mod common;

use common::synthetic::{f32s, safetensors};

fn straightedge(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_straightedge"));
    // Names without a folder would be looked up on the hub, which is offline here.
    command.env("HF_HUB_OFFLINE", "1").env("HF_HOME", env!("CARGO_TARGET_TMPDIR")).env_remove("HF_HUB_CACHE");
    command.args(args).output().expect("the program runs")
}

/// A fresh folder for one test.
fn folder(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a temporary folder");
    folder
}

fn text(path: &std::path::Path) -> String {
    path.display().to_string()
}

/// Exit status 2 and one line `straightedge: WHAT: WHY; WHAT TO DO` that contains every word.
fn assert_complains(args: &[&str], words: &[&str]) {
    let output = straightedge(args);
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    // Drivers may print messages too, for instance about a missing desktop.
    let own = complaint.lines().filter(|line| line.starts_with("straightedge: "));
    let lines: Vec<&str> = own.filter(|line| !line.starts_with("straightedge: warning:")).collect();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {complaint}");
    let [line] = lines[..] else { panic!("{args:?} says more than one line: {complaint}") };
    assert!(!complaint.contains("panicked"), "{complaint}");
    assert!(line["straightedge: ".len()..].contains(": ") && line.contains("; "), "{line}");
    for word in words {
        assert!(line.contains(word), "{args:?}: {line} lacks {word}");
    }
}

#[test]
fn bad_input_is_one_sentence_and_status_2() {
    let folder = folder("bad-input");
    let file = |name: &str, bytes: &[u8]| {
        fs::write(folder.join(name), bytes).expect("a file");
        text(&folder.join(name))
    };
    let (empty, short) = (file("empty.txt", b""), file("short.txt", b"AAAA"));
    let (binary, ids) = (file("binary.txt", b"A\xff\xfe"), file("ids.json", b"[1, 2, 99999]"));
    let (nested, report) = (file("nested.json", b"[[1]]"), file("report.json", b"{\"schema\": 7}"));
    let absent = text(&folder.join("absent"));

    assert_complains(&[], &["arguments"]);
    assert_complains(&["measure"], &["arguments", "MODEL"]);
    assert_complains(&["measure", "calibration", "--no-such"], &["arguments", "--no-such"]);
    assert_complains(&["measure", "calibration", "--rows", "many"], &["arguments", "--rows"]);
    assert_complains(&["measure", "no-such-model"], &["no-such-model", "calibration"]);
    assert_complains(&["measure", "calibration", "--measures", "fit,nonsense"], &["nonsense", "--measures"]);
    assert_complains(&["measure", "calibration", "--text", &absent], &["absent", "cannot be read"]);
    assert_complains(&["measure", "calibration", "--text", &empty], &["empty.txt", "empty"]);
    assert_complains(&["measure", "calibration", "--text", &short], &["short.txt", "windows"]);
    assert_complains(&["measure", "calibration", "--text", &binary], &["binary.txt", "byte 1"]);
    assert_complains(&["measure", "calibration", "--tokens", &ids], &["ids.json", "99999"]);
    assert_complains(&["measure", "calibration", "--tokens", &nested], &["nested.json", "malformed"]);
    let evaluate = ["measure", "calibration", "--backend", "cpu", "--measures", "swap", "--eval-text"];
    assert_complains(&[&evaluate[..], &[&short]].concat(), &["perplexity", "window"]);
    assert_complains(&[&evaluate[..], &[&empty]].concat(), &["empty.txt", "empty"]);
    assert_complains(&["measure", "calibration", "--corpus", "nowhere"], &["--corpus", "nowhere", "puzzles"]);
    assert_complains(&["measure", "calibration", "--corpus", "tales:x"], &["--corpus", "tales:x", "number"]);
    assert_complains(&["measure", "calibration", "--corpus", "tales:1000000"], &["--corpus", "1000000", "training"]);
    assert_complains(&["measure", "calibration", "--blocks", "9"], &["--blocks", "9"]);
    assert_complains(&["measure", "calibration", "--blocks", "3-1"], &["--blocks"]);
    assert_complains(&["measure", "calibration", "--folds", "1"], &["--folds"]);
    assert_complains(&["measure", "calibration", "--skip-positions", "128"], &["--skip-positions"]);
    for field in ["--heal-steps", "--probe-steps", "--baseline-steps"] {
        let endless = ["measure", "calibration", "--measures", "all", field, "18446744073709551615"];
        assert_complains(&endless, &[field, "at most"]);
    }
    assert_complains(
        &["measure", "calibration", "--rows", "640", "--seq-len", "4", "--folds", "161"],
        &["--rows", "161"],
    );
    assert_complains(&["measure", "calibration", "--rows", "48", "--seq-len", "8"], &["training rows"]);
    assert_complains(
        &["measure", "calibration", "--out", &text(&folder.join("no/such/report.json"))],
        &["report.json"],
    );
    assert_complains(&["measure", &text(&folder), "--text", &short], &["config.json", "not found"]);
    assert_complains(&["fit", &absent], &["absent"]);
    assert_complains(&["fit", &binary], &["binary.txt", "safetensors"]);
    let swap = ["measure", "calibration", "--backend", "cpu", "--measures", "swap"];
    assert_complains(&[&swap[..], &["--seq-len", "1"]].concat(), &["perplexity", "windows of 1 tokens", "--seq-len"]);
    assert_complains(&["measure", "calibration", "--folds", "4096"], &["--folds", "4096", "1000"]);
    for steps in ["--probe-steps", "--baseline-steps", "--heal-steps"] {
        assert_complains(&["measure", "calibration", steps, "1000000000000"], &[steps, "1000000"]);
    }
    for tolerance in ["nan", "inf", "-1", "x"] {
        assert_complains(&["compare", &report, &report, &format!("--tolerance={tolerance}")], &["--tolerance"]);
    }
    assert_complains(&["show", &absent], &["absent"]);
    assert_complains(&["show", &report], &["report.json", "schema"]);
    assert_complains(&["compare", &report, &report], &["report.json"]);
}

#[test]
fn captured_rows_are_told_of_as_rows() {
    let folder = folder("rows-told");
    let rows = |name: &str, n: usize, d_out: usize, y: f32| {
        let (x, y): (Vec<f32>, Vec<f32>) = ((0..n * 2).map(|i| (i * i % 7) as f32).collect(), vec![y; n * d_out]);
        let path = folder.join(name);
        fs::write(&path, safetensors(&[f32s("x", &[n, 2], &x), f32s("y", &[n, d_out], &y)])).expect("a file");
        text(&path)
    };
    let (good, nan) = (rows("good.safetensors", 320, 2, 1.0), rows("nan.safetensors", 320, 2, f32::NAN));
    let wide = rows("wide.safetensors", 4, 400_000, 1.0);
    let pointer = text(&folder.join("pointer.safetensors"));
    fs::write(&pointer, "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n").expect("a file");
    let damaged = text(&folder.join("damaged.safetensors"));
    fs::write(&damaged, "{}{}{}{}{}{}").expect("a file");
    let absent = text(&folder.join("absent.safetensors"));
    let refusals = [
        (vec!["fit", &*good, "--window", "0"], &["--window", "row per window"][..]),
        (vec!["fit", &*good, "--window", "100"], &["--window", "capture more rows"]),
        (vec!["fit", &*nan], &["tensor y", "row 0"]),
        (vec!["fit", &*damaged], &["damaged.safetensors", "x (n, d_in)"]),
        (vec!["fit", &*pointer], &["pointer.safetensors", "Git LFS", "git lfs pull"]),
        (vec!["fit", &*absent], &["absent.safetensors", "not found"]),
        (vec!["fit", "."], &[".: ", "folder"]),
        (vec!["fit", &*wide, "--window", "1", "--folds", "2", "--backend", "cpu"], &["400000 outputs", "MB", "folds"]),
    ];
    for (args, words) in refusals {
        assert_complains(&args, words);
        let said = String::from_utf8_lossy(&straightedge(&args).stderr).into_owned();
        for foreign in ["--seq-len", "longer text", "the model", "download it", "weights"] {
            assert!(!said.contains(foreign), "{args:?} says {foreign}: {said}");
        }
    }
}

#[test]
fn nothing_foreign_controls_the_terminal() {
    let folder = folder("foreign");
    let evil = "m\u{1b}[31m\n\u{202e}fake: line\u{7}";
    let output = straightedge(&["measure", "calibration", "--backend", "cpu", "--blocks", "0", "--out", "-"]);
    let json = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut report = Report::from_json("report", &json).expect("a report");
    (report.model.id, report.corpus.id, report.device.adapter) = (evil.into(), evil.into(), Some(evil.into()));
    report.warnings.push(straightedge::report::Warning { code: evil.into(), block: None, text: evil.into() });
    report.blocks[0].delta_ppl.insert(evil.into(), Some(1.0));
    let path = folder.join("report.json");
    fs::write(&path, report.to_json()).expect("a report");
    let other = folder.join("other.json");
    report.blocks[0].delta_ppl.insert(evil.into(), Some(2.0));
    fs::write(&other, report.to_json()).expect("a report");
    let model = folder.join("model");
    fs::create_dir_all(&model).expect("a folder");
    let config = serde_json::json!({ "model_type": evil }).to_string();
    fs::write(model.join("config.json"), config).expect("a file");
    let (path, other, model) = (text(&path), text(&other), text(&model));
    for args in [
        &["show", &path][..],
        &["compare", &path, &other],
        &["show", "a\u{1b}[2J\nb.json"],
        &["measure", &model, "--tokens", &path],
        &["measure", "a\u{9b}b"],
    ] {
        let output = straightedge(args);
        for said in [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()) {
            let foreign = |c: char| c.is_control() && c != '\n' || ('\u{202a}'..='\u{202e}').contains(&c);
            assert!(!said.contains(foreign), "{args:?}: {said:?}");
            assert!(!said.lines().any(|line| line.starts_with("fake") || line.starts_with("b.json")), "{said:?}");
        }
    }
    let shown = String::from_utf8_lossy(&straightedge(&["show", &path]).stdout).into_owned();
    assert!(shown.contains(r"m\u{1b}[31m\n\u{202e}fake"), "{shown}");
}

#[test]
fn what_weights_and_logits_hide_is_told() {
    let folder = folder("hidden");
    let (model, out) = (folder.join("model"), folder.join("report.json"));
    fs::create_dir_all(&model).expect("a folder");
    let original = common::fixture("tiny-gpt2");
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        fs::copy(original.join(file), model.join(file)).expect("a copy");
    }
    let measure = |measures: &str| {
        let encyclopedia = text(&common::encyclopedia());
        let (model, out) = (text(&model), text(&out));
        let args =
            ["measure", &model, "--text", &encyclopedia, "--measures", measures, "--backend", "cpu", "--out", &out];
        let output = straightedge(&args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let report = Report::from_json("report", &fs::read_to_string(&out).expect("a report")).expect("a report");
        (report.warnings.iter().map(|warning| warning.code.clone()).collect::<Vec<_>>(), report)
    };
    assert!(measure("fit").0.is_empty(), "nothing is wrong");

    // A final norm so large that logits overflow.
    let mut weights = fs::read(model.join("model.safetensors")).expect("weights");
    let tensors = SafeTensors::deserialize(&weights).expect("weights");
    let norm = tensors.names().into_iter().find(|name| name.ends_with("ln_f.weight")).expect("a final norm").to_owned();
    let place = tensors.tensor(&norm).expect("a norm").data().as_ptr_range();
    let start = place.start as usize - weights.as_ptr() as usize;
    let end = place.end as usize - weights.as_ptr() as usize;
    weights[start..end].as_chunks_mut().0.iter_mut().for_each(|value| *value = 3e38f32.to_le_bytes());
    fs::write(model.join("model.safetensors"), weights).expect("weights");
    let (codes, report) = measure("swap");
    assert!(report.ppl.is_none() && codes.contains(&"undefined_perplexity".to_owned()), "{codes:?}");

    let config = fs::read_to_string(model.join("config.json")).expect("a configuration");
    let mut config: serde_json::Value = serde_json::from_str(&config).expect("a configuration");
    config["n_layer"] = 2.into();
    fs::write(model.join("config.json"), config.to_string()).expect("a configuration");
    let (codes, report) = measure("fit");
    assert!(report.blocks.len() == 2 && codes.contains(&"unread_blocks".to_owned()), "{codes:?}");
}

#[test]
fn a_report_says_on_which_text_perplexity_was_measured() {
    let folder = folder("eval");
    let evaluated = |name: &str, rows: &str| {
        let (out, tales) = (text(&folder.join(name)), text(&common::tales()));
        let (model, encyclopedia) = (text(&common::fixture("tiny-gpt2")), text(&common::encyclopedia()));
        let args = ["measure", &model, "--text", &encyclopedia, "--eval-text", &tales, "--measures", "swap"];
        let output = straightedge(&[&args[..], &["--rows", rows, "--backend", "cpu", "--out", &out]].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let report = Report::from_json("report", &fs::read_to_string(&out).expect("a report")).expect("a report");
        (out, report)
    };
    let (out, report) = evaluated("tales.json", "1280");
    let eval = report.ordered.and_then(|ordered| ordered.eval).expect("the text");
    assert_eq!((eval.id.as_str(), eval.windows), ("tales.txt", 10));
    assert_eq!(eval.sha256.as_deref(), Some(&*Text::Plain(fs::read(common::tales()).expect("a text")).sha256()));
    assert!(report.warnings.iter().any(|warning| warning.code == "eval_cut"), "{:?}", report.warnings);
    let shown = String::from_utf8_lossy(&straightedge(&["show", &out]).stdout).into_owned();
    assert!(shown.contains("on tales.txt, 10 windows"), "{shown}");
    let mut other: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&out).expect("a report")).expect("a report");
    other["ordered"]["eval"]["sha256"] = "0".into();
    let path = text(&folder.join("other.json"));
    fs::write(&path, other.to_string()).expect("a report");
    let compared = straightedge(&["compare", &out, &path]);
    assert_eq!(compared.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&compared.stdout).contains("perplexity on another text"));
}

#[test]
fn gemma_without_its_first_token_has_a_warning_and_pieces_without_a_window_an_error() {
    let (model, encyclopedia) = (text(&common::fixture("tiny-gemma")), text(&common::encyclopedia()));
    let out = text(&folder("first-token").join("report.json"));
    let args = ["measure", &model, "--text", &encyclopedia, "--rows", "1280", "--backend", "cpu", "--out", &out];
    for (bos, is_warned) in [(&[][..], true), (&["--bos"], false)] {
        let output = straightedge(&[&args[..], bos].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let report = Report::from_json("report", &fs::read_to_string(&out).expect("a report")).expect("a report");
        let codes: Vec<_> = report.warnings.iter().map(|warning| warning.code.as_str()).collect();
        assert_eq!(codes.contains(&"no_bos"), is_warned, "{codes:?}");
    }
    assert_complains(
        &[&args[..], &["--piece-chars", "10"]].concat(),
        &["--piece-chars: 10", "128 tokens", "--seq-len"],
    );
}

#[test]
fn a_model_without_a_tokenizer_borrows_one() {
    let folder = folder("borrowed");
    let (model, out) = (folder.join("model"), text(&folder.join("report.json")));
    fs::create_dir_all(&model).expect("a folder");
    let original = common::fixture("tiny-gpt2");
    for file in ["config.json", "model.safetensors"] {
        fs::copy(original.join(file), model.join(file)).expect("a copy");
    }
    let measure = |model: &Path, more: &[&str]| {
        let (model, encyclopedia) = (text(model), text(&common::encyclopedia()));
        let args = ["measure", &model, "--text", &encyclopedia, "--rows", "1280", "--backend", "cpu", "--out", &out];
        straightedge(&[&args, more].concat())
    };
    let refused = measure(&model, &[]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("--tokenizer"), "{said}");
    let report = || Report::from_json("report", &fs::read_to_string(&out).expect("a report")).expect("a report");
    let r2 = |report: Report| report.blocks.iter().map(|block| block.r2_lin).collect::<Vec<_>>();
    assert!(measure(&original, &[]).status.success());
    let own = report();
    assert_eq!(own.model.tokenizer, None);
    assert!(measure(&model, &["--tokenizer", &text(&original)]).status.success());
    let borrowed = report();
    assert_eq!(borrowed.model.tokenizer.as_deref(), Some("tiny-gpt2"));
    let shown = String::from_utf8_lossy(&straightedge(&["show", &out]).stdout).into_owned();
    assert!(shown.contains("tokenizer of tiny-gpt2"), "{shown}");
    assert!(!own.blocks.is_empty() && r2(borrowed) == r2(own));
}

#[test]
fn a_report_shows_compares_and_carries_its_maps() {
    let folder = folder("report");
    let (path, maps) = (text(&folder.join("report.json")), text(&folder.join("maps.safetensors")));
    let args =
        ["measure", "calibration", "--backend", "cpu", "--blocks", "0,4-5", "--out", &path, "--dump-maps", &maps];
    assert_eq!(straightedge(&args).status.code(), Some(0));

    let json = fs::read_to_string(&path).expect("a report");
    let report = Report::from_json("report", &json).expect("a report");
    assert_eq!(report.blocks.iter().map(|block| block.block).collect::<Vec<_>>(), [0, 4, 5]);
    assert!(!report.partial);
    let shown = straightedge(&["show", &path]);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("1.000000") && shown.contains("calibration"), "{shown}");

    let mut other = report.clone();
    other.blocks[1].r2_lin = other.blocks[1].r2_lin.map(|r2| r2 + 1e-4);
    let changed = text(&folder.join("changed.json"));
    fs::write(&changed, other.to_json()).expect("a report");
    assert_eq!(straightedge(&["compare", &path, &path]).status.code(), Some(0));
    assert_eq!(straightedge(&["compare", &path, &changed]).status.code(), Some(1));
    assert_eq!(straightedge(&["compare", &path, &changed, "--tolerance", "1e-3"]).status.code(), Some(0));
    other.blocks.pop();
    fs::write(&changed, other.to_json()).expect("a report");
    assert_eq!(straightedge(&["compare", &path, &changed, "--tolerance", "1"]).status.code(), Some(1));

    let bytes = fs::read(&maps).expect("maps");
    let maps = SafeTensors::deserialize(&bytes).expect("maps");
    let d = report.model.hidden_size;
    assert_eq!(maps.tensor("blocks.5.weight").expect("a weight").shape(), [d, d]);
    assert_eq!(maps.tensor("blocks.5.bias").expect("a bias").shape(), [d]);
    assert!(maps.tensor("blocks.1.weight").is_err());
}

#[test]
fn a_report_of_the_version_before_opens_as_it_was_and_equals_itself() {
    let path = common::fixture("before/report.json");
    let json = fs::read_to_string(&path).expect("a report");
    let report = Report::from_json("report", &json).expect("a report");
    // Version 0.1.0 wrote the time of second moments, which was always 0, and no date, nor the time of polynomials; it
    // called the order by cost greedy, and had no other.
    let is_old = |line: &&str| {
        ["\"gram\": 0", "\"date\": null", "\"degrees\": 0", "\"by_cost\": ["]
            .iter()
            .all(|new_or_gone| !line.contains(new_or_gone))
    };
    let names = |json: &str| -> Vec<String> {
        let lines = json.lines().filter(is_old).map(|line| line.split(':').next().unwrap_or_default().trim());
        lines.map(|name| if name == "\"greedy\"" { "\"orders\"" } else { name }.into()).collect()
    };
    let (written, read) = (names(&report.to_json()), names(&json));
    let is_named = |line: &&String| line.contains('"');
    assert!(written.iter().filter(is_named).eq(read.iter().filter(is_named)), "fields are lost or gained");
    assert_eq!(written.len(), read.len() + 1, "the end of all orders");
    let of = |field: Field| field.of_block(&report.blocks[3]);
    for (name, found, value) in [
        ("ppl", report.ppl, 1_025.391_582_797_937_6),
        ("r2_lin", of(Field::R2Lin), 0.959_379_245_393_607_1),
        ("rank", of(Field::Rank), 127.0),
        ("delta_ppl", of(Field::DeltaPplLinear), 0.176_784_506_574_904_3),
        ("linearity", Field::Linearity.of_layer(&report.layers[2]), 0.963_204_865_937_763_9),
    ] {
        common::assert_close(name, found, value, 1e-12 * value);
    }

    let (old, other) = (text(&path), text(&folder("before").join("other.json")));
    let same = straightedge(&["compare", &old, &old]);
    let text = String::from_utf8_lossy(&same.stdout).into_owned();
    assert!(same.status.code() == Some(0) && text.contains("block 3: largest difference 0.00e0 of "), "{text}");
    let compared = |change: &dyn Fn(&mut Report)| {
        let mut changed = report.clone();
        change(&mut changed);
        fs::write(&other, changed.to_json()).expect("a report");
        let output = straightedge(&["compare", &old, &other, "--tolerance", "1e-5"]);
        (output.status.code(), String::from_utf8_lossy(&output.stdout).lines().nth(2).unwrap_or_default().to_string())
    };
    let outcome = |status, line: &str| (Some(status), line.to_string());
    assert_eq!(compared(&|report| report.model.sha256 = Some("0".into())), outcome(1, "other weights"));
    assert_eq!(compared(&|report| report.corpus.sha256 = Some("0".into())), outcome(1, "another text"));
    assert_eq!(compared(&|report| report.protocol.seed += 1), outcome(1, "another protocol"));
    assert_eq!(compared(&|report| report.device.backend = "gpu".into()), outcome(0, "another device"));
    assert_eq!(compared(&|report| report.orders.get_mut("by_cost").expect("steps").swap(0, 1)).0, Some(1));
    let nudged = |by: f64| move |report: &mut Report| report.blocks[3].condition = Some(414.108_922_106_295_2 * by);
    assert_eq!((compared(&nudged(1.001)).0, compared(&nudged(1.1)).0), (Some(0), Some(1)));
}

#[test]
fn swapping_the_affine_block_leaves_perplexity_alone() {
    let args = ["measure", "calibration", "--backend", "cpu", "--measures", "swap,rank-swap", "--gram", "fast"];
    let output = straightedge(&[&args[..], &["--out", "-"]].concat());
    let report = Report::from_json("report", &String::from_utf8_lossy(&output.stdout)).expect("a report");
    let ppl = report.ppl.expect("a perplexity");
    let delta = |block: usize, name: &str| report.blocks[block].delta_ppl[name].expect("a change");
    assert!(delta(0, "linear").abs() <= 1e-5 * ppl, "affine block: {}", delta(0, "linear"));
    let d = report.model.hidden_size;
    assert!(delta(0, &format!("rank_{d}")).abs() <= 1e-5 * ppl, "its map of full rank");
    assert!(delta(4, "rank_1").abs() <= 1e-5 * ppl, "rank-1 block: {}", delta(4, "rank_1"));
    assert!(delta(3, "zero").abs() <= 1e-6 * ppl, "the zero block is zero");
    assert_eq!(report.protocol.gram, straightedge::job::GramMode::Fast);
}

#[test]
fn calibration_measures_what_it_was_made_to_be_on_both_backends() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let expected = fs::read_to_string(root.join("web/models/calibration/expected.json")).expect("expected values");
    let expected: serde_json::Value = serde_json::from_str(&expected).expect("expected values");
    for backend in common::backends() {
        let output = straightedge(&["measure", "calibration", "--backend", &backend.to_string(), "--out", "-"]);
        let report = Report::from_json("report", &String::from_utf8_lossy(&output.stdout)).expect("a report");
        let values = expected["r2_lin"].as_array().expect("a list");
        assert_eq!(report.blocks.len(), values.len());
        for (block, expected) in report.blocks.iter().zip(values) {
            let close = match (block.r2_lin, expected.as_f64()) {
                (Some(found), Some(expected)) => (found - expected).abs() <= 1e-6,
                (None, None) => true,
                _ => false,
            };
            assert!(close, "{backend}, block {}: {:?} where {expected} is expected", block.block, block.r2_lin);
        }
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_keeps_what_is_known_and_ends_with_130() {
    let folder = folder("interrupt");
    let (ids, path) = (folder.join("ids.json"), folder.join("report.json"));
    // Far more rows than can be measured before the signal.
    let many: Vec<String> = (0..4_000_000).map(|i| (i % 60).to_string()).collect();
    fs::write(&ids, format!("[{}]", many.join(","))).expect("ids");
    let interrupted_after = |seconds: u64| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_straightedge"))
            .args(["measure", "calibration", "--backend", "cpu", "--rows", "4000000"])
            .args(["--tokens".as_ref(), ids.as_os_str(), "--out".as_ref(), path.as_os_str()])
            .stderr(Stdio::null())
            .spawn()
            .expect("the program runs");
        std::thread::sleep(std::time::Duration::from_secs(seconds));
        let signalled = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill runs");
        assert!(signalled.success());
        let code = child.wait().expect("the program ends").code();
        // Before the measurement has started there is nothing to save.
        let json = fs::read_to_string(&path).ok()?;
        assert_eq!(code, Some(130));
        Some(Report::from_json("report", &json).expect("a report"))
    };
    let report = [1, 3, 10, 30].into_iter().find_map(interrupted_after).expect("a report");
    assert!(report.partial);
    assert_eq!(report.protocol.rows, 4_000_000 / 128 * 128);
}

#[test]
fn a_made_text_is_named_by_its_seed_and_as_long_as_its_rows_need() {
    let model = text(&common::fixture("tiny-gpt2"));
    let measure = |corpus: &str| {
        let args = ["measure", &model, "--backend", "cpu", "--rows", "4000", "--corpus", corpus, "--out", "-"];
        let output = straightedge(&args);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let json = String::from_utf8(output.stdout).expect("UTF-8");
        Report::from_json("standard output", &json).expect("a report")
    };
    let (first, second) = (measure("puzzles"), measure("puzzles:1"));
    assert_eq!((&*first.corpus.id, &*second.corpus.id), ("puzzles:0", "puzzles:1"));
    assert_ne!(first.corpus.sha256, second.corpus.sha256);
    assert_eq!(first.corpus.sha256, measure("puzzles:0").corpus.sha256);
    assert_eq!(first.protocol.windows, 4000 / first.protocol.seq_len);

    // The report alone identifies the text: export regenerates it.
    let folder = folder("made-text");
    let report = text(&folder.join("report.json"));
    std::fs::write(&report, first.to_json()).expect("a report");
    let out = text(&folder.join("linear"));
    let args = ["export", &model, "--report", &report, "--blocks", "0", "--backend", "cpu", "--out", &out, "--corpus"];
    let exported = straightedge(&[&args[..], &["puzzles"]].concat());
    assert_eq!(exported.status.code(), Some(0), "{}", String::from_utf8_lossy(&exported.stderr));
}

#[test]
fn the_version_is_that_of_reports() {
    let output = straightedge(&["--version"]);
    let commit = option_env!("STRAIGHTEDGE_COMMIT").unwrap_or("unknown");
    let expected = format!("straightedge {} (commit {commit})\n", env!("CARGO_PKG_VERSION"));
    assert_eq!((String::from_utf8_lossy(&output.stdout).into_owned(), output.status.code()), (expected, Some(0)));
}
