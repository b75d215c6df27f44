//! The modules of a crate stand on floors: each knows only modules on floors below its own, so no two know each other.

#![allow(missing_docs, clippy::unwrap_used)]

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use baton_testbed::workspace;

/// Modules, by floor: the first is the top.
type Floors<'f> = &'f [&'f [&'f str]];

/// Folders of modules with their floors.
const FOLDERS: [(&str, Floors<'_>); 3] = [
    (
        "plugin/src",
        &[
            &["cli"],
            &["commands"],
            &["view"],
            &["write"],
            &["error"],
            &["cluster", "offline"],
            &["manifest", "model"],
            &["terminal", "text"],
        ],
    ),
    ("plugin/src/model", &[&["change"], &["owners"], &["path"]]),
    ("plugin/src/write", &[&["steps"], &["intent", "object", "report"], &["edit", "writer"], &["dry_run"]]),
];

#[test]
fn each_module_knows_only_modules_on_floors_below_its_own() {
    for (folder, floors) in FOLDERS {
        check(&workspace().join(folder), floors).unwrap_or_else(|problems| panic!("{folder}: {problems}"));
    }
}

#[test]
fn an_arrow_up_or_on_one_floor_is_found_however_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let src = folder.path().join("src");
    fs::create_dir_all(src.join("low/inner")).unwrap();
    let write = |file: &str, text: &str| fs::write(src.join(file), text).unwrap();
    write("lib.rs", "mod high;\nmod low;\npub use high::{deep::Thing, Other as Renamed};\n");
    write("high.rs", "use crate::low;\n");
    write("low/mod.rs", "mod inner;\n");
    for (arrow, is_up) in [
        ("use crate::high::Thing;", true),
        ("use crate::{\n    low::{a, b},\n    high as h,\n};", true),
        ("use crate::Thing;", true),
        ("use crate::Renamed;", true),
        ("use super::super::high;", true),
        ("fn f() { crate::high::g::<u8>() }", true),
        ("use super::high;", false),
        ("// crate::high\nuse crate::low;", false),
        ("#[cfg(test)]\nmod tests {\n    use crate::high;\n}", false),
    ] {
        write("low/inner/mod.rs", &format!("{arrow}\n"));
        for floors in [&[&["high"][..], &["low"]][..], &[&["high", "low"]]] {
            let problems = check(&src, floors).err().unwrap_or_default();
            assert_eq!(problems.contains("low -> high"), is_up, "{arrow}: {problems}");
        }
    }
    assert!(check(&src, &[&["high"]]).unwrap_err().contains("low has no floor"));
}

/// Compares the arrows between the modules of a folder with their floors.
fn check(folder: &Path, floors: Floors<'_>) -> Result<(), String> {
    let floor_of: BTreeMap<&str, usize> = floors
        .iter()
        .zip(0..)
        .flat_map(|(names, floor)| names.iter().map(move |name| (*name, floor)))
        .collect();
    let root = ["lib.rs", "mod.rs"].map(|name| folder.join(name)).into_iter().find(|root| root.exists());
    let root = code(&root.unwrap());
    let modules: Vec<&str> = floor_of.keys().copied().collect();
    let is_module = |name: &&str| folder.join(format!("{name}.rs")).exists() || folder.join(name).is_dir();
    let declared = root.split(';').flat_map(|part| part.match_indices("mod").map(|(at, _)| &part[at + 3..]));
    let unknown = declared.filter(|name| !name.is_empty() && is_module(name) && !floor_of.contains_key(name));
    let mut problems: Vec<String> = unknown.map(|name| format!("{name} has no floor")).collect();
    let reexports = reexports(&root, &modules);
    for module in &modules {
        let files = files(&folder.join(module), &folder.join(format!("{module}.rs")));
        if files.is_empty() {
            problems.push(format!("there is no module {module}"));
        }
        for file in files {
            for path in paths_in(&code(&file), &module_of(&file)) {
                let Some(below) = path.strip_prefix(&module_of(&folder.join("mod.rs"))[..]) else { continue };
                let Some(first) = below.first() else { continue };
                let known = modules.iter().find(|known| **known == first).or_else(|| reexports.get(first));
                if let Some(known) = known.filter(|known| *known != module)
                    && floor_of[known] <= floor_of[module]
                {
                    problems.push(format!("{module} -> {known} in {}", file.display()));
                }
            }
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}

/// The sources of a module: its folder, or its file.
fn files(folder: &Path, file: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    let in_folder = entries.flat_map(|path| files(&path, &path));
    in_folder.chain(file.is_file().then(|| file.to_owned())).collect()
}

/// The path of a file's module in its crate.
fn module_of(file: &Path) -> Vec<String> {
    let path = file.with_extension("");
    let names: Vec<String> = path.iter().map(|name| name.to_str().unwrap().to_owned()).collect();
    let start = names.iter().rposition(|name| name == "src").unwrap() + 1;
    names[start..].iter().filter(|name| *name != "mod").cloned().collect()
}

/// A file without comments, tests and blanks.
fn code(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    // A renamed import is read as a path of one more name.
    lines.collect::<Vec<_>>().join(" ").replace(" as ", "::").split_whitespace().collect()
}

/// The names that are imported from the modules to their parent, each with its module.
fn reexports<'t>(root: &'t str, modules: &[&'t str]) -> BTreeMap<String, &'t str> {
    let trees = root.split("use").skip(1).map(|tree| {
        let tree = tree.strip_prefix("crate::").or_else(|| tree.strip_prefix("self::")).unwrap_or(tree);
        paths(tree).0
    });
    let named = trees.flatten().filter_map(|path| {
        let module = modules.iter().find(|module| **module == path[0])?;
        Some((path.last()?.clone(), *module))
    });
    named.collect()
}

/// The paths in a text that begin with `crate` or `super`, as paths in the crate. `module` is that of the text.
fn paths_in(text: &str, module: &[String]) -> Vec<Vec<String>> {
    let of_crate = text.match_indices("crate::").map(|(at, prefix)| (at + prefix.len(), &module[..0]));
    let of_parents = text.match_indices("super::").filter_map(|(at, prefix)| {
        let start = at + prefix.len();
        let ups = text[..start].rsplit("::").skip(1).take_while(|name| name.ends_with("super")).count();
        (!text[start..].starts_with("super::")).then(|| (start, &module[..module.len().saturating_sub(ups)]))
    });
    let all = of_crate.chain(of_parents);
    all.flat_map(|(start, base)| paths(&text[start..]).0.into_iter().map(move |path| [base, &path].concat()))
        .collect()
}

/// The paths of a tree of imports, and the text after it.
fn paths(text: &str) -> (Vec<Vec<String>>, &str) {
    if let Some(mut rest) = text.strip_prefix('{') {
        let mut all = Vec::new();
        while !rest.is_empty() && !rest.starts_with('}') {
            let (some, after) = paths(rest);
            all.extend(some);
            rest =
                after.strip_prefix(',').unwrap_or_else(|| after.trim_start_matches(|c| c != '}' && c != ','));
        }
        return (all, rest.strip_prefix('}').unwrap_or(rest));
    }
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    if name.is_empty() {
        return (Vec::new(), rest.strip_prefix('*').unwrap_or(rest));
    }
    let (below, rest) = rest.strip_prefix("::").map_or((Vec::new(), rest), paths);
    let path = |below: Vec<String>| [vec![name.to_owned()], below].concat();
    if below.is_empty() {
        (vec![path(Vec::new())], rest)
    } else {
        (below.into_iter().map(path).collect(), rest)
    }
}
