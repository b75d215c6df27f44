//! The fields that a manager has applied, and the requests that change them.

use baton_apply::{
    LiveObject, Outcome, Prediction, Request,
    ownership::{IntentError, LAST_APPLIED, applied_fields, fields_without_value, reown},
};
use baton_merge::{Arena, fieldpath::FieldSet};
use serde_json::Value as Json;

use super::{DryRunStrategy, Opened, object::ownable, writer::guard};
use crate::{
    error::CommandError,
    model::{FieldChange, FieldQuery, Owners, check_droppable, is_within},
};

/// The fields that a manager has applied in a state of an object.
#[derive(Clone, Copy)]
pub(crate) struct Applied<'o> {
    opened: &'o Opened,
    live: &'o LiveObject,
    manager: &'o str,
}

impl<'o> Applied<'o> {
    pub(crate) fn of(opened: &'o Opened, live: &'o LiveObject, manager: &'o str) -> Self {
        Self { opened, live, manager }
    }

    /// An apply of these fields and of another one as it is.
    pub(crate) fn with(self, query: &FieldQuery) -> Result<Request, CommandError> {
        let (opened, arena) = (self.opened, Arena::new());
        let path = ownable(&opened.owners(&arena, self.live), query)?;
        let more = opened.writer.schemas.fields_at(&arena, &opened.target, self.live, path)?;
        self.own(&arena, applied_fields(&arena, self.live, self.manager).union(&arena, more))
    }

    /// An apply of these fields except one. The manager loses the fields that the server doesn't store, too.
    pub(crate) fn without(self, query: &FieldQuery) -> Result<Request, CommandError> {
        let arena = Arena::new();
        self.reapply(self.fields_without(&arena, query)?)
    }

    /// A request after which the manager doesn't own a field any more. The value stays.
    pub(crate) fn disown(self, query: &FieldQuery) -> Result<Request, CommandError> {
        let arena = Arena::new();
        self.own(&arena, self.fields_without(&arena, query)?)
    }

    /// A request after which the manager also owns these fields as if it had applied them. None of them has a value.
    pub(crate) fn own_as_well(self, fields_v1: &Json) -> Result<Request, CommandError> {
        let arena = Arena::new();
        let fields =
            FieldSet::from_fields_v1(&arena, fields_v1).map_err(CommandError::format("managedFields"))?;
        self.own(&arena, applied_fields(&arena, self.live, self.manager).union(&arena, fields))
    }

    /// The fields except one that have no value, such as a Secret's `stringData`: FieldsV1, or none.
    pub(crate) fn unstored_without(self, query: &FieldQuery) -> Result<Option<Json>, CommandError> {
        let arena = Arena::new();
        let fields = self.fields_without(&arena, query)?;
        let fields = fields_without_value(&arena, self.live, fields).map_err(IntentError::from)?;
        Ok((!fields.is_empty()).then(|| fields.to_fields_v1()))
    }

    /// The values that are removed, or get their defaults, when the manager applies these fields except one: by the server's response to
    /// a dry run, or else by the prediction. Where that is uncertain, only those of the field.
    pub(crate) async fn lost_without(
        self,
        (query, path): (&FieldQuery, &str),
        dry_run: DryRunStrategy,
    ) -> Result<Vec<FieldChange>, CommandError> {
        let Self { opened, live, manager } = self;
        let request = async |live: Option<&LiveObject>| {
            Applied::of(opened, live.ok_or_else(|| opened.is_gone())?, manager).without(query)
        };
        let written = opened.writer.try_out(Some(live.clone()), dry_run, request).await?;
        let mut lost = match &written.outcome {
            Some(Outcome::Stored { object, .. }) => written.other_values(object),
            None => written.changes(),
            // A refusal has no values.
            Some(_) => opened.writer.predict(written.write.request.clone(), Some(live)).changes(),
        };
        let is_uncertain = match (&written.outcome, &written.write.prediction) {
            (None, Ok(Prediction::Stored(stored))) => stored.certainty.doubt().is_some(),
            _ => false,
        };
        lost.retain(|lost| {
            lost.loses_a_value()
                // The server updates this one with what `kubectl` applies.
                && !lost.path.contains(LAST_APPLIED)
                && (!is_uncertain || is_within(&lost.path, path) || is_within(path, &lost.path))
        });
        Ok(lost)
    }

    fn fields_without<'a>(
        &'a self,
        arena: &'a Arena,
        query: &FieldQuery,
    ) -> Result<FieldSet<'a>, CommandError> {
        let path = ownable(&self.opened.owners(arena, self.live), query)?;
        check_droppable(path)?;
        let own = applied_fields(arena, self.live, self.manager);
        Ok(own.recursive_difference(arena, FieldSet::of_paths(arena, [path])))
    }

    /// A request after which the manager owns just these fields as if it had applied them: an apply, or a patch of the manager's entry if
    /// some fields have no value.
    fn own<'a>(&'a self, arena: &'a Arena, fields: FieldSet<'a>) -> Result<Request, CommandError> {
        let Self { opened, live, manager } = self;
        let unstored = fields_without_value(arena, live, fields).map_err(IntentError::from)?;
        if !unstored.is_empty()
            && let Some(request) = reown(&opened.target, live, *manager, &opened.versions(), fields)
        {
            return Ok(request);
        }
        self.reapply(fields)
    }

    /// An apply of these fields as they are, not forced.
    fn reapply(&self, fields: FieldSet<'_>) -> Result<Request, CommandError> {
        let (Self { opened, live, manager }, arena) = (self, Arena::new());
        let target = &opened.target;
        let owners = Owners::of(&arena, live);
        if let Some(own) = owners.managers.iter().find(|own| own.applies() && own.name == *manager) {
            opened.check_version(manager, &own.api_version, |kind, version| {
                let (group, version) = version.split_once('/').unwrap_or(("", version));
                format!("name the object in that version: {kind}.{version}.{group}/{}", target.name)
            })?;
        }
        let intent = opened.writer.schemas.intent(target, live, fields)?;
        Ok(Request::apply(target.clone(), intent, *manager, false, &guard(live, manager)))
    }
}
