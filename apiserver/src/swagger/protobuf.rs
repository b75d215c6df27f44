//! OpenAPI v2 in protobuf, by the field numbers of gnostic. Parts that Kubernetes clients don't read are omitted.

use serde_json::Value;

/// A message.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            // The low seven bits, and the flag for more.
            self.0.push(number.to_le_bytes()[0] | 0x80);
            number >>= 7;
        }
        self.0.push(number.to_le_bytes()[0]);
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, field: u64, text: Option<&str>) {
        if let Some(text) = text {
            self.bytes(field, text.as_bytes());
        }
    }

    fn flag(&mut self, field: u64, value: bool) {
        self.varint(field << 3);
        self.varint(value.into());
    }

    fn message(&mut self, field: u64, message: &Self) {
        self.bytes(field, &message.0);
    }
}

pub(super) fn document(document: &Value) -> Vec<u8> {
    let mut info = Message::default();
    info.text(1, document["info"]["title"].as_str());
    info.text(2, document["info"]["version"].as_str());
    let mut whole = Message::default();
    whole.text(1, document["swagger"].as_str());
    whole.message(2, &info);
    whole.message(8, &paths(&document["paths"]));
    whole.message(9, &named(&document["definitions"]));
    whole.0
}

/// The operations at each path.
fn paths(paths: &Value) -> Message {
    const METHODS: [(&str, u64); 5] = [("get", 2), ("put", 3), ("post", 4), ("delete", 5), ("patch", 8)];
    let mut all = Message::default();
    for (path, operations) in paths.as_object().into_iter().flatten() {
        let mut item = Message::default();
        for (method, number) in METHODS {
            if operations[method].is_object() {
                item.message(number, &operation(&operations[method]));
            }
        }
        let mut one = Message::default();
        one.text(1, Some(path));
        one.message(2, &item);
        all.message(2, &one);
    }
    all
}

/// An operation: its description, media types and query parameters.
fn operation(operation: &Value) -> Message {
    let mut message = Message::default();
    texts(&operation["produces"]).for_each(|media| message.text(6, Some(media)));
    texts(&operation["consumes"]).for_each(|media| message.text(7, Some(media)));
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        if parameter["in"] != "query" {
            continue;
        }
        let mut query = Message::default();
        query.text(2, parameter["in"].as_str());
        query.text(4, parameter["name"].as_str());
        query.text(6, parameter["type"].as_str());
        let nested = [3, 2, 1].into_iter().fold(query, |inner, number| {
            let mut outer = Message::default();
            outer.message(number, &inner);
            outer
        });
        message.message(8, &nested);
    }
    extensions(&mut message, 13, operation);
    message
}

fn extensions(message: &mut Message, number: u64, of: &Value) {
    for (name, value) in of.as_object().into_iter().flatten().filter(|(name, _)| name.starts_with("x-")) {
        let mut extension = Message::default();
        extension.text(1, Some(name));
        extension.message(2, &any(value));
        message.message(number, &extension);
    }
}

/// Schemas by name.
fn named(schemas: &Value) -> Message {
    let mut all = Message::default();
    for (name, value) in schemas.as_object().into_iter().flatten() {
        let mut one = Message::default();
        one.text(1, Some(name));
        one.message(2, &schema(value));
        all.message(1, &one);
    }
    all
}

fn schema(schema_: &Value) -> Message {
    let mut message = Message::default();
    for (name, value) in schema_.as_object().into_iter().flatten() {
        match name.as_str() {
            "$ref" => message.text(1, value.as_str()),
            "format" => message.text(2, value.as_str()),
            "title" => message.text(3, value.as_str()),
            "description" => message.text(4, value.as_str()),
            "pattern" => message.text(13, value.as_str()),
            "required" => texts(value).for_each(|text| message.text(19, Some(text))),
            "enum" => {
                for value in value.as_array().into_iter().flatten() {
                    message.message(20, &any(value));
                }
            }
            "additionalProperties" => {
                let mut item = Message::default();
                match value {
                    Value::Bool(value) => item.flag(2, *value),
                    value => item.message(1, &schema(value)),
                }
                message.message(21, &item);
            }
            "type" => {
                let mut item = Message::default();
                item.text(1, value.as_str());
                message.message(22, &item);
            }
            "items" => {
                let mut item = Message::default();
                item.message(1, &schema(value));
                message.message(23, &item);
            }
            "properties" => message.message(25, &named(value)),
            _ => {}
        }
    }
    extensions(&mut message, 31, schema_);
    message
}

fn texts(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// A value as YAML, which includes JSON.
fn any(value: &Value) -> Message {
    let mut message = Message::default();
    message.text(2, Some(&value.to_string()));
    message
}
