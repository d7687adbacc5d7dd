//! Which file of a crate uses which other file: every path in the code is followed through modules and re-exports to
//! the file that defines the name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, Item, UseTree};

/// Path of a module from the crate's root, such as `["gpu", "tensor"]`.
type Module = Vec<String>;

/// Files, with the files that each uses and the paths that refer to them.
pub(crate) type Imports = BTreeMap<PathBuf, BTreeMap<PathBuf, BTreeSet<String>>>;

/// The modules of one crate.
pub(crate) struct Crate {
    modules: BTreeMap<Module, Source>,
}

/// References of one module to others.
#[derive(Default)]
struct Source {
    file: PathBuf,
    children: BTreeSet<String>,
    /// Names imported by `use`, with their paths.
    names: BTreeMap<String, Vec<String>>,
    /// Modules imported by a glob.
    globs: Vec<Vec<String>>,
    /// Paths with at least two names.
    paths: BTreeSet<Vec<String>>,
}

impl Crate {
    /// Reads the crate whose root is the file `root`.
    pub(crate) fn read(root: &Path) -> Self {
        let mut modules = BTreeMap::new();
        read_file(root, root.parent().expect("a folder"), Vec::new(), &mut modules);
        Self { modules }
    }

    /// Number of files.
    pub(crate) fn len(&self) -> usize {
        self.modules.values().map(|source| &source.file).collect::<BTreeSet<_>>().len()
    }

    /// Every file with the files that it uses.
    pub(crate) fn imports(&self) -> Imports {
        let mut found = Imports::new();
        for (module, source) in &self.modules {
            let uses = found.entry(source.file.clone()).or_default();
            for path in source.names.values().chain(&source.globs).chain(&source.paths) {
                if let Some(file) = self.file_of(module, path).filter(|file| *file != source.file) {
                    uses.entry(file).or_default().insert(path.join("::"));
                }
            }
        }
        found
    }

    /// The file that defines the target of `path` as seen from `module`; `None` outside the crate, and for a module
    /// itself.
    fn file_of(&self, module: &Module, path: &[String]) -> Option<PathBuf> {
        self.resolve(module, path, &mut BTreeSet::new())
    }

    fn resolve(&self, module: &Module, path: &[String], seen: &mut BTreeSet<(Module, String)>) -> Option<PathBuf> {
        let (mut at, mut rest) = (module.clone(), path);
        let mut is_ours = false;
        while let [first, others @ ..] = rest {
            match first.as_str() {
                "crate" => at = Module::new(),
                "super" => drop(at.pop()?),
                "self" => {}
                _ => break,
            }
            (rest, is_ours) = (others, true);
        }
        loop {
            let source = self.modules.get(&at)?;
            let [name, others @ ..] = rest else { return None };
            if source.children.contains(name) {
                at.push(name.clone());
                (rest, is_ours) = (others, true);
                continue;
            }
            if !seen.insert((at.clone(), name.clone())) {
                return None;
            }
            if let Some(stands_for) = source.names.get(name) {
                let whole: Vec<String> = stands_for.iter().chain(others).cloned().collect();
                return self.resolve(&at, &whole, seen);
            }
            let through = source.globs.iter().find_map(|glob| {
                let whole: Vec<String> = glob.iter().chain(rest).cloned().collect();
                self.resolve(&at, &whole, seen).filter(|file| defines(file, name))
            });
            return through.or_else(|| is_ours.then(|| source.file.clone()));
        }
    }
}

/// Whether a file's text contains a definition of that name.
fn defines(file: &Path, name: &str) -> bool {
    let text = fs::read_to_string(file).unwrap_or_default();
    let kinds = ["fn", "struct", "enum", "trait", "type", "const", "static", "mod", "macro_rules!"];
    kinds.iter().any(|kind| text.contains(&format!("{kind} {name}")))
}

fn read_file(file: &Path, folder: &Path, module: Module, modules: &mut BTreeMap<Module, Source>) {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let syntax = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    read_items(syntax.items, file, folder, module, modules);
}

fn read_items(items: Vec<Item>, file: &Path, folder: &Path, module: Module, modules: &mut BTreeMap<Module, Source>) {
    let mut source = Source { file: file.into(), ..Source::default() };
    for item in items {
        match item {
            Item::Mod(inner) if !is_test(&inner.attrs) => {
                let name = inner.ident.to_string();
                let below: Module = module.iter().cloned().chain([name.clone()]).collect();
                match inner.content {
                    Some((_, items)) => read_items(items, file, &folder.join(&name), below, modules),
                    None => {
                        let own = folder.join(format!("{name}.rs"));
                        let own = path_of(&inner.attrs).map(|path| joined(folder, &path)).unwrap_or(own);
                        let own = if own.exists() { own } else { folder.join(&name).join("mod.rs") };
                        read_file(&own, &folder.join(&name), below, modules);
                    }
                }
                source.children.insert(name);
            }
            Item::Use(item) if !is_test(&item.attrs) => read_use(&item.tree, Vec::new(), &mut source),
            Item::Mod(_) | Item::Use(_) => {}
            other => read_paths(other.to_token_stream(), &mut source.paths),
        }
    }
    modules.insert(module, source);
}

fn read_use(tree: &UseTree, before: Vec<String>, source: &mut Source) {
    let with = |name: &dyn ToString| before.iter().cloned().chain([name.to_string()]).collect::<Vec<_>>();
    match tree {
        UseTree::Path(path) => read_use(&path.tree, with(&path.ident), source),
        UseTree::Name(name) if name.ident == "self" => {
            source.names.extend(before.last().cloned().map(|last| (last, before)));
        }
        UseTree::Name(name) => drop(source.names.insert(name.ident.to_string(), with(&name.ident))),
        UseTree::Rename(name) => drop(source.names.insert(name.rename.to_string(), with(&name.ident))),
        UseTree::Glob(_) => source.globs.push(before),
        UseTree::Group(group) => group.items.iter().for_each(|tree| read_use(tree, before.clone(), source)),
    }
}

/// Paths such as `a::b::c` anywhere in the code, including macro arguments.
fn read_paths(tokens: TokenStream, paths: &mut BTreeSet<Vec<String>>) {
    let (mut path, mut colons) = (Vec::new(), 0);
    for token in tokens {
        match token {
            TokenTree::Ident(name) if path.is_empty() || colons == 2 => {
                path.push(name.to_string());
                colons = 0;
                continue;
            }
            TokenTree::Punct(mark) if mark.as_char() == ':' && !path.is_empty() && colons < 2 => {
                colons += 1;
                continue;
            }
            TokenTree::Ident(name) => {
                keep(&mut path, paths);
                (path, colons) = (vec![name.to_string()], 0);
                continue;
            }
            TokenTree::Group(group) => read_paths(group.stream(), paths),
            _ => {}
        }
        keep(&mut path, paths);
        colons = 0;
    }
    keep(&mut path, paths);
}

fn keep(path: &mut Vec<String>, paths: &mut BTreeSet<Vec<String>>) {
    let path = std::mem::take(path);
    if path.len() > 1 {
        paths.insert(path);
    }
}

/// Whether something is compiled for tests alone.
pub(crate) fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg") && attribute.to_token_stream().to_string().replace(' ', "") == "#[cfg(test)]"
    })
}

/// The file that `#[path = "…"]` names.
fn path_of(attributes: &[Attribute]) -> Option<String> {
    let attribute = attributes.iter().find(|attribute| attribute.path().is_ident("path"))?;
    let text = attribute.to_token_stream().to_string();
    text.split('"').nth(1).map(str::to_owned)
}

/// `path` from `folder`, without `..`.
fn joined(folder: &Path, path: &str) -> PathBuf {
    path.split('/').fold(folder.to_owned(), |at, name| match name {
        ".." => at.parent().expect("a folder above").to_owned(),
        name => at.join(name),
    })
}

/// Cycles of files that use each other, each with its files: the strongly connected components of more than one.
pub(crate) fn circles(imports: &Imports) -> Vec<Vec<PathBuf>> {
    let reached: BTreeMap<&PathBuf, BTreeSet<&PathBuf>> =
        imports.keys().map(|file| (file, reached_from(file, imports))).collect();
    let mut found: Vec<Vec<PathBuf>> = Vec::new();
    for (file, reaches) in &reached {
        let back = |other: &&&PathBuf| reached.get(*other).is_some_and(|reaches| reaches.contains(file));
        let circle: Vec<PathBuf> = reaches.iter().filter(back).map(|file| (*file).clone()).collect();
        if reaches.contains(file) && !found.contains(&circle) {
            found.push(circle);
        }
    }
    found
}

fn reached_from<'a>(file: &'a PathBuf, imports: &'a Imports) -> BTreeSet<&'a PathBuf> {
    let (mut found, mut next) = (BTreeSet::new(), vec![file]);
    while let Some(file) = next.pop() {
        next.extend(imports.get(file).into_iter().flat_map(BTreeMap::keys).filter(|other| found.insert(*other)));
    }
    found
}
