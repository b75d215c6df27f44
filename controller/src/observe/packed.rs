//! An object as the caches keep it: as compressed JSON text.
//!
//! As a tree of values it would take about a hundred times as much memory, most of it for `managedFields`, which are nested maps
//! with one entry each. It is parsed again for a pass. The text that it has in common with others of its kind, which is nearly
//! all, is kept once, in a [`Dictionary`].

use std::sync::OnceLock;

use super::digest::Digest;
use lz4_flex::block::{compress_with_dict, decompress_with_dict};

/// How far back an LZ4 block can refer.
const WINDOW: usize = 64 << 10;

/// An object in a cache.
#[derive(Clone, Debug)]
pub(super) struct Packed {
    /// Its `resourceVersion`, by which versions are ordered; 0 if that isn't a number.
    pub(super) version: u64,
    /// Its [digest](super::digest).
    pub(super) digest: Digest,
    length: u32,
    block: Box<[u8]>,
}

/// The text that objects of a kind have in common: the first object.
#[derive(Debug, Default)]
pub(super) struct Dictionary(OnceLock<Box<[u8]>>);

impl Dictionary {
    pub(super) fn pack(&self, text: &str, version: u64, digest: Digest) -> Packed {
        let bytes = text.as_bytes();
        let common = self.0.get_or_init(|| bytes[bytes.len().saturating_sub(WINDOW)..].into());
        Packed {
            version,
            digest,
            length: u32::try_from(bytes.len()).unwrap_or(u32::MAX),
            block: compress_with_dict(bytes, common).into_boxed_slice(),
        }
    }

    /// The text that was packed with this dictionary.
    pub(super) fn unpack(&self, packed: &Packed) -> String {
        let common = self.0.get().map(AsRef::as_ref).unwrap_or_default();
        let text = decompress_with_dict(&packed.block, packed.length as usize, common);
        let text = text.ok().and_then(|text| String::from_utf8(text).ok());
        text.expect("the block was made of a text with this dictionary")
    }
}

impl Packed {
    /// How many bytes its text has.
    pub(super) fn size(&self) -> usize {
        self.length as usize
    }

    /// Whether this version replaces it: it is newer, or the same one from a list. A listed object may differ at the same version,
    /// because the API server returns it by its current CRD.
    pub(super) fn is_older_than(&self, version: u64, is_listed: bool) -> bool {
        version == 0 || version > self.version || (is_listed && version == self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_unpacked_unchanged_whatever_the_first_one_was() {
        let object = |name: &str| {
            format!(r#"{{"name": "{name}", "list": [1, 2.5, 9007199254740993], "text": "🎭 \"\n\u0000"}}"#)
        };
        let dictionary = Dictionary::default();
        let long = "x".repeat(2 * WINDOW);
        let texts = [object("web"), object("a-much-longer-name"), String::new(), long, object("last")];
        let packed: Vec<Packed> =
            texts.iter().map(|text| dictionary.pack(text, 1, Digest::default())).collect();
        let unpacked: Vec<String> = packed.iter().map(|packed| dictionary.unpack(packed)).collect();
        assert_eq!(unpacked, texts);
    }

    #[test]
    fn text_that_objects_have_in_common_takes_no_memory() {
        let dictionary = Dictionary::default();
        let object = |name: u32| {
            format!(r#"{{"name": "{name}", "spec": "{}"}}"#, "abcdefghijklmnopqrstuvwxyz".repeat(40))
        };
        dictionary.pack(&object(1), 1, Digest::default());
        assert!(dictionary.pack(&object(2), 1, Digest::default()).block.len() < 50);
    }
}
