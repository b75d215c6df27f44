//! The fields of a struct by name. Walks over objects do little else than look these up.

use super::TypeId;

/// A field that the schema names.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) type_id: TypeId,
    pub(super) default: Option<serde_json::Value>,
}

/// A table of fields, made once and then only read: a slot is found from a few bytes of the name, and one comparison of
/// names tells whether the field is there.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields {
    fields: Vec<Field>,
    /// Positions in `fields` plus one; zero is a free slot. The length is a power of two, at least twice that of `fields`.
    slots: Vec<u16>,
}

impl Fields {
    /// The table of these fields. Of two with one name the last counts.
    pub(super) fn new(fields: Vec<Field>) -> Self {
        let mut table = Self { slots: vec![0; (fields.len() * 2).next_power_of_two()], fields };
        for at in 0..table.fields.len() {
            // No struct has 65,535 fields; what a broken schema has beyond that isn't found.
            let Ok(position) = u16::try_from(at + 1) else { break };
            let slot = table.slot(&table.fields[at].name);
            table.slots[slot] = position;
        }
        table
    }

    pub(super) fn get(&self, name: &str) -> Option<&Field> {
        match self.slots.get(self.slot(name))? {
            0 => None,
            position => self.fields.get(usize::from(*position) - 1),
        }
    }

    /// The slot of the field of this name, or the free one where it would go.
    fn slot(&self, name: &str) -> usize {
        let mask = self.slots.len().wrapping_sub(1);
        let mut slot = hash(name) & mask;
        while let Some(position @ 1..) = self.slots.get(slot) {
            let field = self.fields.get(usize::from(*position) - 1);
            if field.is_some_and(|field| field.name == name) {
                break;
            }
            slot = (slot + 1) & mask;
        }
        slot
    }
}

/// Mixes the length, the first and the last bytes of a name. Fields of one struct differ there.
fn hash(name: &str) -> usize {
    let bytes = name.as_bytes();
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        let length = bytes.len().min(8);
        word[..length].copy_from_slice(&bytes[..length]);
        u64::from_le_bytes(word)
    };
    let (first, last) = (word(bytes), word(&bytes[bytes.len().saturating_sub(8)..]));
    let mixed = (first ^ last.rotate_left(23) ^ bytes.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    usize::try_from(mixed >> 40).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(names: &[String]) -> Fields {
        let field = |(position, name): (usize, &String)| Field {
            name: name.clone(),
            type_id: TypeId::EMPTY,
            default: Some(position.into()),
        };
        Fields::new(names.iter().enumerate().map(field).collect())
    }

    #[test]
    fn every_field_is_found_and_no_other() {
        let names: Vec<_> = (0..300).map(|number| format!("field{number}")).collect();
        let table = table(&names);
        for (position, name) in names.iter().enumerate() {
            assert_eq!(table.get(name).unwrap().default, Some(position.into()));
        }
        assert!(table.get("field300").is_none());
        assert!(table.get("").is_none());
        assert!(Fields::default().get("a").is_none());
        assert!(Fields::new(Vec::new()).get("a").is_none());
    }

    #[test]
    fn of_two_fields_with_one_name_the_last_counts() {
        let table = table(&["a", "b", "a"].map(ToOwned::to_owned));
        assert_eq!(table.get("a").unwrap().default, Some(2.into()));
    }
}
