//! The fields of a struct by name, the main lookup of walks over objects.

use super::TypeId;

/// A named field.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) type_id: TypeId,
    pub(super) default: Option<serde_json::Value>,
}

/// A hash table of fields, made once: a few bytes of a name give its slot, and also show whether the field exists. Only
/// long names are compared.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields {
    fields: Vec<Field>,
    /// A power of two, at least twice as many as `fields`, so that one is always free.
    slots: Vec<Slot>,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    outline: Outline,
    /// The index in `fields`; out of range for a free slot.
    field: u32,
}

impl Slot {
    const FREE: Self = Self { outline: Outline { length: 0, first: 0, last: 0 }, field: u32::MAX };
}

impl Fields {
    /// The table of these fields. Of two with one name the last counts.
    pub(super) fn new(fields: Vec<Field>) -> Self {
        let mut slots = vec![Slot::FREE; (fields.len() * 2).next_power_of_two()];
        for (field, position) in fields.iter().zip(0..) {
            let outline = Outline::of(&field.name);
            let slot = outline.slots(slots.len()).find(|slot| {
                let other = fields.get(slots[*slot].field as usize);
                other.is_none_or(|other| other.name == field.name)
            });
            if let Some(slot) = slot {
                slots[slot] = Slot { outline, field: position };
            }
        }
        Self { fields, slots }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    pub(super) fn get(&self, name: &str) -> Option<&Field> {
        let outline = Outline::of(name);
        for slot in outline.slots(self.slots.len()) {
            let slot = self.slots.get(slot)?;
            let field = self.fields.get(slot.field as usize)?;
            if slot.outline == outline && (outline.is_complete() || field.name == name) {
                return Some(field);
            }
        }
        None
    }
}

/// The length, the first and the last bytes of a name: all of a short one, and different for most fields of a struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Outline {
    length: usize,
    first: u64,
    last: u64,
}

impl Outline {
    fn of(name: &str) -> Self {
        let bytes = name.as_bytes();
        // Both may overlap.
        let (first, last) =
            if let (Some(first), Some(last)) = (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
                (u64::from_le_bytes(*first), u64::from_le_bytes(*last))
            } else if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
                (u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into())
            } else {
                let word = bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
                (word, word)
            };
        Self { length: bytes.len(), first, last }
    }

    /// Whether no other name has this outline.
    fn is_complete(&self) -> bool {
        self.length <= 16
    }

    /// The slots to try in a table whose size is a power of two.
    fn slots(&self, count: usize) -> impl Iterator<Item = usize> + use<> {
        let mixed =
            (self.first ^ self.last.rotate_left(23) ^ self.length as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mask = count.wrapping_sub(1);
        let start = usize::try_from(mixed >> 40).unwrap_or_default();
        (start..).map(move |slot| slot & mask)
    }
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
