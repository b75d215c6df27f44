//! The memory that the values and field sets of one prediction live in.

use bumpalo::Bump;

/// Memory for the values, field sets and results of one or several operations, freed all at once.
///
/// Everything this crate computes borrows from an arena, from the objects that were passed in and from the schema. One
/// arena a write is the usual measure; a loop that predicts many writes calls [`reset`](Self::reset) between them and
/// uses the same memory again.
///
/// ```
/// use baton_merge::{Arena, value::Value};
///
/// let mut arena = Arena::new();
/// for replicas in 1..3 {
///     let object = serde_json::json!({"spec": {"replicas": replicas}});
///     let value = Value::from_json(&arena, &object)?;
///     assert_eq!(value.get("spec").and_then(|spec| spec.get("replicas")), Some(Value::Int(replicas)));
///     arena.reset();
/// }
/// # Ok::<(), baton_merge::value::ValueError>(())
/// ```
#[derive(Debug, Default)]
pub struct Arena(Bump);

/// A growing list in an arena.
pub(crate) type ArenaVec<'a, T> = bumpalo::collections::Vec<'a, T>;

impl Arena {
    /// An empty arena, which holds no memory yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// An arena that begins with room for this many bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        Self(Bump::with_capacity(bytes))
    }

    /// Frees everything in the arena and keeps its largest chunk for reuse.
    pub fn reset(&mut self) {
        self.0.reset();
    }

    /// The bytes that the arena holds.
    pub fn allocated_bytes(&self) -> usize {
        self.0.allocated_bytes()
    }

    pub(crate) fn vec<T>(&self) -> ArenaVec<'_, T> {
        ArenaVec::new_in(&self.0)
    }

    pub(crate) fn vec_with_capacity<T>(&self, capacity: usize) -> ArenaVec<'_, T> {
        ArenaVec::with_capacity_in(capacity, &self.0)
    }

    /// A copy of a text in the arena.
    pub fn copy_text(&self, text: &str) -> &str {
        self.0.alloc_str(text)
    }

    pub(crate) fn slice<T: Copy>(&self, items: &[T]) -> &[T] {
        self.0.alloc_slice_copy(items)
    }

    /// A slice in the arena, such as that of a [list](crate::value::Value::List).
    pub fn list<T: Copy>(&self, items: impl IntoIterator<Item = T>) -> &[T] {
        let mut list = self.vec();
        list.extend(items);
        list.into_bump_slice()
    }
}
