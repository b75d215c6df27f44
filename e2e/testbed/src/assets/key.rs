//! The name of a build: the same sources, Go and platform give the same name, anything else another one.

use std::{
    fs,
    path::{Path, PathBuf},
};

use sha2::{Digest as _, Sha256};

use crate::Error;

/// A key of 16 hexadecimal digits over every Go source and module file below `source`, and over `recipe`: everything else
/// the result depends on.
pub(super) fn key(source: &Path, recipe: &[&str]) -> Result<String, Error> {
    let mut files = Vec::new();
    collect(source, &mut files)?;
    files.sort();
    let mut parts: Vec<Vec<u8>> = recipe.iter().map(|part| part.as_bytes().to_vec()).collect();
    for file in files {
        let content = fs::read(&file).map_err(Error::file("read", &file))?;
        parts.push(file.strip_prefix(source).unwrap_or(&file).as_os_str().as_encoded_bytes().to_vec());
        parts.push(content);
    }
    Ok(of(parts))
}

/// A key of 16 hexadecimal digits over these parts in their order.
pub(crate) fn of<P: AsRef<[u8]>>(parts: impl IntoIterator<Item = P>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        // Each part is preceded by its length, so that no two different lists of parts read the same.
        let part = part.as_ref();
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let digest = hash.finalize();
    let number = digest.iter().take(8).fold(0, |number, byte| (number << 8) | u64::from(*byte));
    format!("{number:016x}")
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    for entry in fs::read_dir(folder).map_err(Error::file("read", folder))? {
        let entry = entry.map_err(Error::file("read", folder))?;
        let path = entry.path();
        if entry.file_type().map_err(Error::file("read", &path))?.is_dir() {
            collect(&path, files)?;
        } else if path
            .extension()
            .is_some_and(|extension| extension == "go" || extension == "mod" || extension == "sum")
        {
            files.push(path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_changes_with_every_source_and_with_the_recipe_and_with_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, content: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        let now = |recipe: &[&str]| key(folder.path(), recipe).unwrap();
        write("go.mod", "module x");
        write("inner/main.go", "package main");
        let first = now(&["go1.26", "linux"]);
        assert_eq!(first.len(), 16);

        write("inner/config/stage.yaml", "kind: Stage");
        assert_eq!(now(&["go1.26", "linux"]), first);

        assert_ne!(now(&["go1.27", "linux"]), first);
        assert_ne!(now(&["go1.26l", "inux"]), first);
        write("inner/main.go", "package main // changed");
        let second = now(&["go1.26", "linux"]);
        assert_ne!(second, first);
        write("inner/go.sum", "");
        assert_ne!(now(&["go1.26", "linux"]), second);
    }
}
