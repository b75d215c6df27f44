//! Decoding of protobuf, compared with Go's in `messages.json`.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use baton_merge::{Arena, Release, schema::kinds::GroupVersionKind};
use serde_json::Value as Json;

use super::{Decoder, TYPES};

fn messages() -> Vec<(Json, Vec<u8>)> {
    let all: Vec<Json> = serde_json::from_str(include_str!("messages.json")).unwrap();
    all.into_iter()
        .map(|message| {
            (message["object"].clone(), BASE64.decode(message["protobuf"].as_str().unwrap()).unwrap())
        })
        .collect()
}

fn pods() -> GroupVersionKind {
    GroupVersionKind::new("", "v1", "Pod")
}

/// The decoded object as JSON.
fn read(body: &[u8]) -> Result<Json, String> {
    let arena = Arena::new();
    let object =
        TYPES.read_protobuf(&arena, body, &pods()).map_err(|unreadable| unreadable.error.to_string())?;
    let text = |name| object.get(name).and_then(|value| value.as_str()).unwrap_or_default();
    let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
    let of = TYPES.of_kind(&GroupVersionKind::new(group, version, text("kind"))).ok_or("no such kind")?;
    let decoder = Decoder {
        types: &TYPES,
        arena: &arena,
        fills_in: false,
        keeps_empty: false,
        release: Release::LATEST,
    };
    let read = decoder.decode(of, object).map_err(|error| error.to_string())?;
    assert_eq!(read.unknown, Vec::<String>::new());
    Ok(read.object.to_json())
}

#[test]
fn protobuf_says_what_json_says() {
    for (object, message) in messages() {
        assert_eq!(read(&message).as_ref(), Ok(&object), "{}", object["kind"]);
    }
}

#[test]
fn a_broken_message_is_refused_or_another_object() {
    for (_, message) in messages() {
        for end in 0..message.len() {
            let _ = read(&message[..end]);
            let mut changed = message.clone();
            for byte in [0x00, 0x7f, 0x80, 0xff, changed[end] ^ 1] {
                changed[end] = byte;
                let _ = read(&changed);
            }
        }
    }
}

#[test]
fn a_wrong_message_is_reported_as_go_reports_it() {
    let cases: [(&[u8], &str); 10] = [
        (b"", "empty data"),
        (b"k8s\0", "empty body"),
        (b"{}", "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"),
        (b"k8s\0\x0a\x05", "unexpected EOF"),
        (b"k8s\0\x12\x02\x0a\x05", "unexpected EOF"),
        (b"k8s\0\x12\x02\x08\x05", "proto: wrong wireType = 0 for field Metadata"),
        (b"k8s\0\x12\x01\x0f", "proto: illegal wireType 7"),
        (b"k8s\0\x12\x01\x0c", "proto: unexpected end of group"),
        (b"k8s\0\x12\x02\x02\x00", "proto: illegal tag 0 (wire type 2)"),
        (b"k8s\0\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80", "proto: integer overflow"),
    ];
    for (body, message) in cases {
        assert_eq!(read(body), Err(message.to_owned()), "{body:x?}");
    }
}

#[test]
fn a_message_may_come_in_parts_and_with_unknown_fields() {
    // metadata.name, a group, a number of four bytes, metadata.namespace.
    let body = b"k8s\0\x12\x16\x0a\x03\x0a\x01a\x9b\x06\x08\x01\x9c\x06\xa5\x06\0\0\0\0\x0a\x03\x1a\x01b";
    let object = read(body).unwrap();
    assert_eq!(object["metadata"], serde_json::json!({"name": "a", "namespace": "b"}));
}

/// A field of bytes.
fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut message = if number < 16 { vec![number << 3 | 2] } else { vec![number << 3 | 0x82, number >> 4] };
    let mut length = content.len();
    while length >= 0x80 {
        message.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
        length >>= 7;
    }
    message.push(u8::try_from(length).unwrap());
    message.extend_from_slice(content);
    message
}

#[test]
fn a_schema_can_only_be_so_deep() {
    let definition = |depth| {
        // spec.versions[0].schema.openAPIV3Schema.not.not…
        let schema = (0..depth).fold(Vec::new(), |schema: Vec<u8>, _| field(28, &schema));
        let spec = field(2, &field(7, &field(4, &field(1, &schema))));
        let kind = [field(1, b"apiextensions.k8s.io/v1"), field(2, b"CustomResourceDefinition")].concat();
        [b"k8s\0".to_vec(), field(1, &kind), field(2, &spec)].concat()
    };
    assert!(read(&definition(90)).is_ok());
    assert_eq!(read(&definition(2_000)), Err("exceeded max depth".to_owned()));
}
