//! Objects as compressed JSON text. The text that objects of a kind have in common, which is nearly all, is kept once.

use std::{
    fmt,
    sync::{Arc, OnceLock},
};

use kube::core::ApiResource;
use lz4_flex::block::{compress_with_dict, decompress_with_dict};

use super::Digest;
use crate::LiveObject;

/// How far back an LZ4 block can refer.
const WINDOW: usize = 64 << 10;

/// Packs the objects of one kind. Clones share the text that these have in common: that of the first object.
#[derive(Clone, Debug)]
pub struct Packer(Arc<Kind>);

#[derive(Debug)]
struct Kind {
    resource: ApiResource,
    common: OnceLock<Box<[u8]>>,
}

/// An object in a cache, as compressed text.
///
/// Two of them are equal if their digests are.
#[derive(Clone)]
pub struct CachedObject {
    digest: Digest,
    length: u32,
    block: Box<[u8]>,
    packer: Packer,
}

impl Packer {
    /// A packer of objects of this kind.
    pub fn new(resource: ApiResource) -> Self {
        Self(Arc::new(Kind { resource, common: OnceLock::new() }))
    }

    /// Packs an object with its digest: that of the whole object ([`Digest::of`]), or of the parts whose changes count.
    pub fn pack(&self, live: &LiveObject, digest: Digest) -> CachedObject {
        let (length, block) = self.compress(live.as_text());
        CachedObject { digest, length, block, packer: self.clone() }
    }

    fn compress(&self, text: &str) -> (u32, Box<[u8]>) {
        let bytes = text.as_bytes();
        let common = self.0.common.get_or_init(|| bytes[bytes.len().saturating_sub(WINDOW)..].into());
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        (length, compress_with_dict(bytes, common).into_boxed_slice())
    }

    fn decompress(&self, length: u32, block: &[u8]) -> String {
        let common = self.0.common.get().map(AsRef::as_ref).unwrap_or_default();
        let text = decompress_with_dict(block, length as usize, common);
        let text = text.ok().and_then(|text| String::from_utf8(text).ok());
        text.expect("the block was made of a text by this packer")
    }
}

impl CachedObject {
    /// The object, unpacked. Its kind and version are filled in if the watch has left them out.
    pub fn live(&self) -> LiveObject {
        let text = self.packer.decompress(self.length, &self.block);
        let mut live = LiveObject::from_text(text).expect("the text is an object's");
        live.fill_in_kind(&self.packer.0.resource);
        live
    }

    /// Its digest.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The length of its text, in bytes.
    pub fn size(&self) -> usize {
        self.length as usize
    }
}

impl PartialEq for CachedObject {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl fmt::Debug for CachedObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedObject")
            .field("kind", &self.packer.0.resource.kind)
            .field("digest", &self.digest)
            .field("size", &self.length)
            .field("packed", &self.block.len())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;

    use super::*;

    fn packer() -> Packer {
        Packer::new(ApiResource::erase::<Pod>(&()))
    }

    #[test]
    fn a_text_is_unpacked_unchanged_whatever_the_first_one_was() {
        let object = |name: &str| {
            format!(r#"{{"name": "{name}", "list": [1, 2.5, 9007199254740993], "text": "🎭 \"\n\u0000"}}"#)
        };
        let packer = packer();
        let long = "x".repeat(2 * WINDOW);
        let texts = [object("web"), object("a-much-longer-name"), String::new(), long, object("last")];
        let blocks: Vec<_> = texts.iter().map(|text| packer.compress(text)).collect();
        let unpacked: Vec<_> =
            blocks.iter().map(|(length, block)| packer.decompress(*length, block)).collect();
        assert_eq!(unpacked, texts);
    }

    #[test]
    fn text_that_objects_have_in_common_takes_no_memory() {
        let packer = packer();
        let object = |name: u32| {
            let metadata = format!(r#"{{"name": "web-{name}"}}"#);
            let spec = "abcdefghijklmnopqrstuvwxyz".repeat(40);
            LiveObject::from_text(format!(r#"{{"metadata": {metadata}, "spec": "{spec}"}}"#)).unwrap()
        };
        let pack = |name| packer.pack(&object(name), Digest::default());
        pack(1);
        let second = pack(2);
        assert!(second.size() > 1000 && second.block.len() < 50, "{second:?}");
        assert!(size_of::<CachedObject>() <= 56, "besides the text");
    }
}
