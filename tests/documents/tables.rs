//! Link parameters of the page, their values, and environment variables.

use std::collections::BTreeSet;

use straightedge::atlas::{AtlasEntry, Measured};
use straightedge::fields::Field;
use straightedge::job::Measure;

use crate::markdown::{assert_same, code, files, inline, name_set, read, rows, section, shown};

/// String literals of a piece of source.
fn literals(source: &str) -> BTreeSet<String> {
    source.split('"').skip(1).step_by(2).map(Into::into).collect()
}

/// The source between two markers.
fn between<'a>(source: &'a str, from: &str, to: &str) -> &'a str {
    let rest = source.split_once(from).unwrap_or_else(|| panic!("no {from}")).1;
    rest.split_once(to).unwrap_or_else(|| panic!("no {to} after {from}")).0
}

#[test]
fn every_link_parameter_is_documented_and_read() {
    let address = read("web/src/url/address.rs");
    let there = literals(between(&address, "pub const NAMES", "];"));
    assert!(there.len() >= 30, "{there:?}");
    let document = read("docs/page.md");
    assert_same("link parameters", &name_set(section(&document, "## Links"), "parameter"), &there);
}

/// Words in code spans in the row of a parameter.
fn values(parameter: &str) -> BTreeSet<String> {
    let document = read("docs/page.md");
    let rows = rows(section(&document, "## Links"), "parameter");
    let row = rows.iter().find(|row| inline(row[0]) == [parameter]);
    let row = row.unwrap_or_else(|| panic!("no parameter {parameter}"));
    inline(row[1]).into_iter().map(Into::into).collect()
}

#[test]
fn values_of_link_parameters_are_those_that_are_read() {
    let ids = |file: &str| literals(between(&read(file), "fn id(self) -> &'static str {", "\n    }"));
    assert_same("view", &values("view"), &ids("web/src/state/views.rs"));
    assert_same("compare", &values("compare"), &ids("web/src/comparison/presets.rs"));
    assert_same("metric", &values("metric"), &ids("web/src/comparison/overlay.rs"));
    assert_same("charts", &values("charts"), &Field::charts().map(|quantity| quantity.id().into()).collect());
    let measures = Measure::ALL.iter().filter(|measure| **measure != Measure::Fit);
    assert_same("measures", &values("measures"), &measures.map(ToString::to_string).collect());
    let frame = read("web/src/state/frame.rs");
    let parts = literals(between(&frame, "f.write_str(match self {", "})"));
    let class = read("docs/page.md");
    let named: BTreeSet<String> = section(&class, "## A class").lines().flat_map(inline).map(Into::into).collect();
    assert!(parts.len() >= 6 && parts.is_subset(&named), "docs/page.md: parts of the page {parts:?}");
}

#[test]
fn the_texts_that_a_link_can_name_are_documented() {
    let form = read("web/src/state/form.rs");
    let hub = literals(between(&form, "pub const WIKITEXT", ";\n"));
    let synthetic: BTreeSet<String> = straightedge::bundled::SYNTHETIC_TEXTS.iter().map(ToString::to_string).collect();
    let named = values("text");
    assert!(hub.len() >= 3 && synthetic.len() >= 3);
    assert!(
        hub.union(&synthetic).all(|text| named.contains(text)),
        "docs/page.md: text misses some of {hub:?}, {synthetic:?}"
    );
}

#[test]
fn environment_variables_are_those_that_are_read() {
    let mut there = BTreeSet::new();
    for path in files(&[".rs"]).iter().filter(|path| shown(path).starts_with("src/cli/")) {
        let text = read(path);
        there
            .extend(text.split("variable(\"").skip(1).filter_map(|rest| rest.split('"').next()).map(ToOwned::to_owned));
    }
    assert!(there.len() >= 7, "{there:?}");
    let document = read("docs/hub.md");
    let table = rows(section(&document, "## Environment variables"), "variable");
    let is_name = |name: &&str| name.contains('_') && name.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    let documented = table.iter().flatten().flat_map(|cell| inline(cell)).filter(is_name).map(Into::into).collect();
    assert_same("environment variables", &documented, &there);
}

#[test]
fn keys_of_an_atlas_and_fields_of_its_index_are_documented() {
    let cli = read("docs/cli.md");
    let document = section(&cli, "### atlas");
    let source = read("src/cli/atlas/list.rs");
    let members = between(&source, "struct PlainModel {\n", "\n}").lines();
    let keys: BTreeSet<String> =
        members.filter_map(|line| line.trim().split_once(": ")).map(|(name, _)| name.into()).collect();
    assert_same("keys of a list", &name_set(document, "key"), &keys);
    let example = code(document).filter_map(|line| line.split_once(" = "));
    let unknown: Vec<_> = example.map(|(key, _)| key).filter(|key| !keys.contains(*key)).collect();
    assert!(unknown.is_empty(), "the example has keys {unknown:?}");

    let entry = AtlasEntry { measured: Some(Measured::default()), ..AtlasEntry::default() };
    let entry = serde_json::to_value(entry).expect("plain data");
    let names = |value: &serde_json::Value| value.as_object().expect("members").keys().cloned().collect::<Vec<_>>();
    let measured = names(&entry["measured"]).into_iter().map(|name| format!("measured.{name}"));
    let fields = names(&entry).into_iter().filter(|name| name != "measured").chain(measured).collect();
    assert_same("fields of an index", &name_set(document, "field"), &fields);
}
