//! The modules of a folder stand on floors: each imports only modules on floors below its own, so no imports make a circle.
//!
//! Tests inside the sources count as imports of their module. Comments don't: docs may link to anything. Items of a folder's own
//! `mod.rs` belong to all its modules.

#![allow(missing_docs, clippy::unwrap_used)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use baton_testbed::workspace;

/// The crates whose folders have no circles.
const CRATES: [&str; 4] = ["apply", "controller", "plugin", "runtime"];

/// The modules of a folder by floor, from the top. Each stands as low as its imports allow, so the floors of a folder can only be
/// written in one way.
const FLOORS: [(&str, &str); 11] = [
    (
        "apply/src",
        "applier, as_stored > obstacle, outcome > write > comparison > contention, prediction > effects, \
         leftovers > ownership, spelling > crd, schemas > openapi > error > cache, managed_fields, quoted, \
         repeat, request > object, secrecy > find, patch, path, scratch, spelled, stored_form, types",
    ),
    ("controller/src", "process > reconcile > metrics, observe, report > decide"),
    (
        "controller/src/decide",
        "rehearsal > course > pass > plan > replicas > adoption, snapshot > autoscaler, intent > child, \
         lacking, owners",
    ),
    ("controller/src/observe", "watches > stores > workload > autoscalers, crd"),
    ("controller/src/process", "run > operator > crd, selfcheck > cli, error, gate, passes, view"),
    (
        "controller/src/reconcile",
        "checks > enforce, preview, status > context > records > fingerprint, observer",
    ),
    ("controller/src/report", "events, status > takeovers > conditions > planned > limits, unreadable"),
    (
        "plugin/src",
        "cli > commands > view > write > error > cluster, offline > manifest, model > terminal, text",
    ),
    ("plugin/src/model", "change > owners > path"),
    ("plugin/src/write", "applied, steps > intent, object, report > writer > dry_run, edit"),
    (
        "runtime/src",
        "cluster, secure_metrics > admin, election > lists, pace, readiness > access, clock, lock, logs, \
         metrics, port, signals, telemetry, text, timeout",
    ),
];

#[test]
fn each_module_imports_only_modules_on_floors_below_its_own() {
    let problem = |(folder, floors): (&str, &str)| {
        Some(format!("{folder}: {}", check(&workspace().join(folder), floors).err()?))
    };
    let problems: Vec<String> = FLOORS.into_iter().filter_map(problem).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn no_imports_make_a_circle() {
    for folder in CRATES.iter().flat_map(|name| folders(&workspace().join(name).join("src"))) {
        let imports = Imports::of(&folder);
        assert_eq!(imports.floors().err(), None, "{}", folder.display());
    }
}

#[test]
fn an_import_is_found_however_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let src = folder.path().join("src");
    fs::create_dir_all(src.join("low/inner")).unwrap();
    let write = |file: &str, text: &str| fs::write(src.join(file), text).unwrap();
    write(
        "lib.rs",
        "mod high;\nmod low;\nuse std::{Misuse, x};\npub use high::{Misuse, deep::Thing, Other as Renamed};\n",
    );
    write("high.rs", "");
    write("low.rs", "mod inner;\n");
    for (import, is_found) in [
        ("use crate::high::Thing;", true),
        ("use crate::{\n    low::{a, b},\n    high as h,\n};", true),
        ("use crate::Thing;", true),
        ("use crate::Renamed;", true),
        ("use super::super::high;", true),
        ("use super::{super::high, a};", true),
        ("fn f() { crate::high::g::<u8>() }", true),
        ("use super::high;", false),
        ("// crate::high\nuse crate::low;", false),
        ("#[cfg(test)]\nmod tests {\n    use crate::high;\n}", true),
        ("#[cfg(test)]\nmod tests {\n    use super::super::super::high;\n}", true),
        ("#[cfg(test)]\nmod tests {\n    use super::super::high;\n}", false),
    ] {
        write("low/inner/mod.rs", &format!("{import}\n"));
        let [floors, others] =
            if is_found { ["low > high", "high, low"] } else { ["high, low", "low > high"] };
        assert_eq!(check(&src, floors), Ok(()), "{import}");
        let problem = check(&src, others).unwrap_err();
        assert_eq!(problem.contains("low -> high in "), is_found, "{import}: {problem}");
    }
    write("high.rs", "use crate::low;\n");
    write("low/inner/mod.rs", "use crate::high;\n");
    let circle = Imports::of(&src).floors().unwrap_err();
    assert!(circle.contains("high -> low in ") && circle.contains("low -> high in "), "{circle}");
}

/// Compares the floors of a folder with these.
fn check(folder: &Path, expected: &str) -> Result<(), String> {
    let imports = Imports::of(folder);
    let floors = imports.floors()?;
    if floors == expected {
        return Ok(());
    }
    let floor_of =
        |name: &str| expected.split(" > ").position(|floor| floor.split(", ").any(|module| module == name));
    let imports = imports.list(|module, known| floor_of(module) >= floor_of(known));
    Err(format!("the floors are\n{floors}\nand not\n{expected}\n{imports}"))
}

/// A folder and those below it.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let inside = entries(folder).into_iter().filter(|path| path.is_dir());
    std::iter::once(folder.to_owned()).chain(inside.flat_map(|path| folders(&path))).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
}

/// The modules of a folder, each with those that it imports and a file in which it does.
struct Imports(BTreeMap<String, BTreeMap<String, PathBuf>>);

impl Imports {
    fn of(folder: &Path) -> Self {
        let names =
            entries(folder).into_iter().map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned());
        let is_module = |name: &String| {
            let is_root = ["lib", "main", "mod"].contains(&name.as_str());
            !is_root && !files(&folder.join(name)).is_empty()
        };
        let modules: BTreeSet<String> = names.filter(is_module).collect();
        let roots = [folder.join("lib.rs"), folder.join("mod.rs"), folder.with_extension("rs")];
        let root = roots.iter().find(|root| root.exists()).unwrap();
        let reexports = reexports(&code(root).0, &modules);
        let above = module_of(&folder.join("mod.rs"));
        let imported = |module: &String| {
            let files = files(&folder.join(module)).into_iter();
            let paths =
                files.flat_map(|file| paths_of(&file).into_iter().map(move |path| (path, file.clone())));
            let known = paths.filter_map(|(path, file)| {
                let name = path.strip_prefix(&above[..])?.first()?;
                Some((modules.get(name).or_else(|| reexports.get(name))?.clone(), file))
            });
            known.filter(|(known, _)| known != module).collect()
        };
        Self(modules.iter().map(|module| (module.clone(), imported(module))).collect())
    }

    /// The modules by floor, from the top; or the imports among which there is a circle.
    fn floors(&self) -> Result<String, String> {
        let (mut floors, mut placed) = (Vec::new(), BTreeSet::new());
        while placed.len() < self.0.len() {
            let can_stand = self.0.iter().filter(|(module, imported)| {
                !placed.contains(module.as_str())
                    && imported.keys().all(|known| placed.contains(known.as_str()))
            });
            let floor: Vec<&str> = can_stand.map(|(module, _)| module.as_str()).collect();
            if floor.is_empty() {
                let is_left = |name: &str| !placed.contains(name);
                return Err(format!(
                    "a circle:\n{}",
                    self.list(|module, known| is_left(module) && is_left(known))
                ));
            }
            placed.extend(floor.iter().copied());
            floors.insert(0, floor.join(", "));
        }
        Ok(floors.join(" > "))
    }

    /// Imports of a module by another, one a line.
    fn list(&self, is_listed: impl Fn(&str, &str) -> bool) -> String {
        let all =
            self.0.iter().flat_map(|(module, imported)| imported.iter().map(move |known| (module, known)));
        let listed = all.filter(|(module, (known, _))| is_listed(module, known));
        let lines =
            listed.map(|(module, (known, file))| format!("{module} -> {known} in {}", file.display()));
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// The sources of a module: of its folder, and of the file beside it.
fn files(module: &Path) -> Vec<PathBuf> {
    let inside =
        entries(module).into_iter().flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] });
    inside
        .chain(Some(module.with_extension("rs")).filter(|file| file.is_file()))
        .filter(|file| file.extension().is_some_and(|e| e == "rs"))
        .collect()
}

/// The path of a file's module in its crate.
fn module_of(file: &Path) -> Vec<String> {
    let path = file.with_extension("");
    let names: Vec<String> = path.iter().map(|name| name.to_str().unwrap().to_owned()).collect();
    let start = names.iter().rposition(|name| name == "src").unwrap() + 1;
    names[start..].iter().filter(|name| *name != "mod").cloned().collect()
}

/// A file and its tests, without comments and blanks.
fn code(file: &Path) -> (String, String) {
    let text = fs::read_to_string(file).unwrap();
    let (code, tests) = text.split_once("#[cfg(test)]\nmod tests {").unwrap_or((&text, ""));
    [code, tests]
        .map(|text| {
            let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            // A renamed import is read as a path of one more name.
            lines.collect::<Vec<_>>().join(" ").replace(" as ", "::").split_whitespace().collect()
        })
        .into()
}

/// The names that are imported from the modules to their parent, each with its module.
fn reexports(root: &str, modules: &BTreeSet<String>) -> BTreeMap<String, String> {
    let is_word =
        |at: usize| !root[..at].trim_end_matches("pub").ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let trees =
        root.match_indices("use").filter(|(at, _)| is_word(*at)).map(|(at, word)| &root[at + word.len()..]);
    let paths =
        trees.flat_map(|tree| paths(tree.trim_start_matches("crate::").trim_start_matches("self::")).0);
    paths.filter_map(|path| Some((path.last()?.clone(), modules.get(&path[0])?.clone()))).collect()
}

/// The paths in a file that begin with `crate` or `super`, as paths in the crate.
fn paths_of(file: &Path) -> Vec<Vec<String>> {
    let (module, (code, tests)) = (module_of(file), code(file));
    let inner = [&module[..], &["tests".to_owned()]].concat();
    [paths_in(&code, &module), paths_in(&tests, &inner)].concat()
}

/// Those in the text of this module.
fn paths_in(text: &str, module: &[String]) -> Vec<Vec<String>> {
    let of_crate = text.match_indices("crate::").map(|(at, prefix)| (at + prefix.len(), &module[..0]));
    let of_parents = text.match_indices("super::").filter_map(|(at, prefix)| {
        let start = at + prefix.len();
        let before = text[..start].rsplit("::").skip(1).map(|name| name.trim_end_matches('{'));
        let ups = before.take_while(|name| name.ends_with("super")).count();
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
