//! Command lines in the documents: their subcommands, options and parts exist, and every option is documented.

use std::collections::BTreeSet;
use std::process::Command;

use crate::markdown::{assert_same, code, files, inline, name_set, prose, read, rows, section, shown};

/// The output of `straightedge … --help`.
fn help(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_straightedge")).args(arguments).arg("--help").output();
    let output = output.expect("the program runs");
    assert!(output.status.success(), "straightedge {arguments:?} --help fails");
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn subcommands() -> BTreeSet<String> {
    let help = help(&[]);
    let lines = help.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
    let names = lines.take_while(|line| line.starts_with("  ")).filter(|line| !line.starts_with("    "));
    let names: BTreeSet<String> = names.filter_map(|line| line.split_whitespace().next()).map(Into::into).collect();
    assert!(names.contains("measure"), "{help}");
    names.into_iter().filter(|name| name != "help").collect()
}

fn options(command: &str) -> BTreeSet<String> {
    let help = help(&[command]);
    let lines = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let names = lines.flat_map(|line| line.split([' ', ',', '='])).filter(|word| word.starts_with("--"));
    names.filter(|name| *name != "--help").map(Into::into).collect()
}

/// The long options among the words, without values and punctuation.
fn long_options<'a>(words: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let names = words.filter(|word| word.len() > 2 && word.starts_with("--"));
    names.map(|word| word.split('=').next().unwrap_or(word).trim_end_matches([',', '.', ';'])).collect()
}

/// Command lines of all documents, in code blocks and in text, with their document; comments are skipped.
fn command_lines() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for document in files(&[".md"]) {
        let text = read(&document);
        let blocks = code(&text).filter_map(|line| line.split(" #").next());
        for line in blocks.chain(prose(&text).flat_map(inline)) {
            let line = line.trim().replace("cargo run --release -- ", "straightedge ");
            if line.starts_with("straightedge ") || line.starts_with("cargo xtask ") {
                found.push((shown(&document), line));
            }
        }
    }
    found
}

#[test]
fn commands_of_the_program_exist_with_their_options() {
    let (subcommands, mut checked) = (subcommands(), 0);
    for (document, line) in command_lines() {
        let Some(rest) = line.strip_prefix("straightedge ") else { continue };
        let Some(name) = rest.split_whitespace().next().filter(|name| name.starts_with(char::is_lowercase)) else {
            continue;
        };
        assert!(subcommands.contains(name), "{document}: there is no command {name}: {line}");
        let known = options(name);
        for option in long_options(rest.split_whitespace()) {
            assert!(option == "--help" || known.contains(option), "{document}: {name} has no {option}: {line}");
        }
        checked += 1;
    }
    assert!(checked >= 20, "only {checked} command lines were found");
}

#[test]
fn every_command_and_option_is_documented() {
    let document = read("docs/cli.md");
    let listed = section(&document, "## Commands");
    for name in subcommands() {
        assert!(code(listed).any(|line| line.starts_with(&format!("straightedge {name} "))), "{name} is not listed");
        let known = options(&name);
        let named: BTreeSet<&str> = prose(&document).flat_map(inline).chain(code(&document)).collect();
        for option in &known {
            let is_named = |text: &&&str| text.split_whitespace().any(|word| word == option);
            assert!(named.iter().any(|text| is_named(&text)), "docs/cli.md: {option} of {name} is not documented");
        }
    }
    // The largest table is complete and has no other names.
    let measure = name_set(section(&document, "### measure"), "option");
    let options_of_table = measure.iter().filter_map(|name| name.split_whitespace().next()).map(Into::into).collect();
    assert_same("options of measure", &options_of_table, &options("measure"));
}

#[test]
fn exit_statuses_are_those_of_the_program() {
    let document = read("docs/cli.md");
    let documented = rows(section(&document, "## Exit status"), "status").iter().map(|row| row[0].to_owned()).collect();
    let source = read("src/cli/status.rs");
    let body = source.split("enum Status {").nth(1).and_then(|rest| rest.split('}').next()).expect("enum Status");
    let there = body.lines().filter_map(|line| Some(line.split_once('=')?.1.trim().trim_end_matches(',').to_owned()));
    assert_same("exit status", &documented, &there.collect());
}

/// Names of an enumeration's variants in kebab case, and the text between its braces.
fn variants(source: &str, name: &str) -> BTreeSet<String> {
    let body = source.split(&format!("enum {name} {{\n")).nth(1).and_then(|rest| rest.split("\n}").next());
    let body = body.unwrap_or_else(|| panic!("no enum {name}"));
    let lines = body.lines().filter_map(|line| line.strip_prefix("    "));
    let names = lines.filter(|line| line.starts_with(char::is_uppercase));
    names.map(|line| kebab(line.split(|c: char| !c.is_alphanumeric()).next().unwrap_or(line))).collect()
}

fn kebab(name: &str) -> String {
    let mut kebab = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !kebab.is_empty() {
            kebab.push('-');
        }
        kebab.extend(c.to_lowercase());
    }
    kebab
}

/// Options that the sources in a folder declare: members after an attribute with `long`.
fn declared(folder: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for path in files(&[".rs"]).iter().filter(|path| shown(path).starts_with(folder)) {
        let text = read(path);
        let mut attribute = None;
        for line in text.lines().map(str::trim) {
            if line.starts_with("#[arg(") && line.contains("long") {
                attribute = Some(line);
            } else if let (Some(arg), Some((name, _))) = (attribute, line.split_once(':')) {
                let given = arg.split("long = \"").nth(1).and_then(|rest| rest.split('"').next());
                let name = name.trim_start_matches("pub(crate) ").replace('_', "-");
                found.insert(format!("--{}", given.unwrap_or(&name)));
                attribute = None;
            }
        }
    }
    assert!(found.len() >= 5, "{folder}: {found:?}");
    found
}

#[test]
fn tasks_exist_with_their_options_and_parts() {
    let tasks = variants(&read("xtask/src/main.rs"), "Task");
    let parts = variants(&read("xtask/src/test.rs"), "TestPart");
    assert!(tasks.contains("serve") && parts.contains("engine"), "{tasks:?} {parts:?}");
    let (xtask, bench, fuzz) = (declared("xtask/src/"), declared("tools/bench/src/"), declared("tools/fuzz/src/"));
    let mut checked = 0;
    for (document, line) in command_lines() {
        let Some(rest) = line.strip_prefix("cargo xtask ") else { continue };
        let (own, passed_on) = rest.split_once(" -- ").unwrap_or((rest, ""));
        let mut words = own.split_whitespace();
        let Some(task) = words.next().filter(|task| task.starts_with(char::is_lowercase)) else { continue };
        assert!(tasks.contains(task), "{document}: there is no task {task}: {line}");
        if task == "test" {
            let unknown = words.clone().find(|word| word.starts_with(char::is_lowercase) && !parts.contains(*word));
            assert_eq!(unknown, None, "{document}: {line}");
        }
        let known = if task == "fuzz" { &fuzz } else { &xtask };
        for option in long_options(words) {
            assert!(known.contains(option), "{document}: no task has {option}: {line}");
        }
        for option in long_options(passed_on.split_whitespace()) {
            assert!(option == "--help" || bench.contains(option), "{document}: no benchmark has {option}: {line}");
        }
        checked += 1;
    }
    assert!(checked >= 20, "only {checked} command lines were found");
    let contributing = read("CONTRIBUTING.md");
    assert_same("parts of the tests", &name_set(&contributing, "part"), &parts);
}
