//! Requests about typed values.

use baton_merge::{
    Arena, Release,
    schema::{Schema, TypeId},
    typed::{Duplicates, Typed},
    value::Value,
};

use crate::{refusal::Refusal, request::Request, response::ResponseLine, sources::Sources};

/// A type of a schema, and the rules for reading values.
#[derive(Clone, Copy)]
pub(crate) struct Type<'a> {
    pub(crate) arena: &'a Arena,
    pub(crate) release: Release,
    pub(crate) schema: &'a Schema,
    pub(crate) id: TypeId,
}

impl<'a> Type<'a> {
    /// A value of this type.
    pub(crate) fn check(
        self,
        name: &str,
        value: Value<'a>,
        duplicates: Duplicates,
    ) -> Result<Typed<'a>, Refusal> {
        Typed::for_release(self.release, self.arena, self.schema, self.id, value, duplicates)
            .map_err(|error| Refusal::invalid(format!("{name}: {error}")))
    }

    /// A member of a request as a value of this type.
    pub(crate) fn member(
        self,
        request: &Request<'a>,
        name: &str,
        duplicates: Duplicates,
    ) -> Result<Typed<'a>, Refusal> {
        self.check(name, request.value(self.arena, name)?, duplicates)
    }
}

pub(crate) fn respond<'a>(
    sources: &'a mut Sources,
    arena: &'a Arena,
    release: Release,
    question: &str,
    request: &'a Request<'a>,
) -> Result<ResponseLine, Refusal> {
    let (schema, id) = sources.type_of(request)?;
    let of = Type { arena, release, schema, id };
    let allowed = Duplicates::Allowed;
    match question {
        "validate" => {
            let duplicates = if request.flag("duplicates")? { allowed } else { Duplicates::Forbidden };
            of.member(request, "value", duplicates)?;
            Ok(ResponseLine::new().with("ok", &true))
        }
        "to_set" => {
            let set = of.member(request, "value", allowed)?.to_set().map_err(Refusal::invalid)?;
            ResponseLine::new().with_set("set", set)
        }
        "merge" => {
            let live = of.member(request, "live", allowed)?;
            let applied = of.member(request, "applied", Duplicates::Forbidden)?;
            let merged = live.merge(&applied).map_err(Refusal::invalid)?;
            Ok(ResponseLine::new().with("value", &merged.value()))
        }
        "compare" => {
            let old = of.member(request, "old", allowed)?;
            let new = of.member(request, "new", allowed)?;
            let comparison = old.compare(&new).map_err(Refusal::invalid)?;
            ResponseLine::new()
                .with_set("added", comparison.added)?
                .with_set("modified", comparison.modified)?
                .with_set("removed", comparison.removed)
        }
        "remove" | "extract" => {
            let value = of.member(request, "value", allowed)?;
            let set = request.set(arena, "set")?;
            let rest = if question == "remove" { value.remove(set) } else { value.extract(set) };
            Ok(ResponseLine::new().with("value", &rest.value()))
        }
        // Reconcile.
        _ => {
            let set = request.set(arena, "set")?;
            // Only the type is checked; null is a value of any type that can be resolved.
            let typed = of.check("type", Value::Null, allowed)?;
            match typed.reconcile(set).map_err(Refusal::invalid)? {
                Some(set) => ResponseLine::new().with_set("set", set),
                None => Ok(ResponseLine::new().with("set", &())),
            }
        }
    }
}
