//! The types that each crate defines, by their names.

use std::collections::{BTreeMap, BTreeSet};

use syn::Item;

/// Types that `text` defines outside tests, each with the modules around it: a name may stand twice in a module, for two
/// platforms. What a trait's implementation must define has the trait's name for it and is not among them.
fn types(text: &str) -> BTreeSet<(Vec<String>, String)> {
    let items = syn::parse_file(text).map(|file| file.items).unwrap_or_default();
    let mut found = BTreeSet::new();
    collect(items, &[], &mut found);
    found
}

fn collect(items: Vec<Item>, module: &[String], found: &mut BTreeSet<(Vec<String>, String)>) {
    for item in items {
        let name = match item {
            Item::Struct(item) => item.ident,
            Item::Enum(item) => item.ident,
            Item::Trait(item) => item.ident,
            Item::Type(item) => item.ident,
            Item::Mod(item) if !super::imports::is_test(&item.attrs) => {
                let module = [module, &[item.ident.to_string()]].concat();
                collect(item.content.map(|(_, items)| items).unwrap_or_default(), &module, found);
                continue;
            }
            _ => continue,
        };
        found.insert((module.to_vec(), name.to_string()));
    }
}

/// Names of `sources`, by path and text, that more than one module defines, with their files.
pub(crate) fn shared_names<'a>(sources: impl Iterator<Item = (&'a str, &'a str)>) -> BTreeMap<String, Vec<&'a str>> {
    let mut homes: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (path, text) in sources {
        types(text).into_iter().for_each(|(_, name)| homes.entry(name).or_default().push(path));
    }
    homes.retain(|_, homes| homes.len() > 1);
    homes
}
