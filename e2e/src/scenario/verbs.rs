//! The verbs by which a scenario writes to its subject. Each starts a step.

use baton_testbed::{
    Json,
    prediction::{Method, edit::overlaid},
};

use super::{Manager, ScenarioStep, Subject, body, unnamed};

impl Subject {
    /// Server-side apply.
    pub fn apply_as(&mut self, manager: impl Into<Manager>, intent: &str) -> ScenarioStep<'_> {
        self.whole(Method::Apply { force: false }, manager, intent)
    }

    /// A creation: POST.
    pub fn create_as(&mut self, manager: impl Into<Manager>, object: &str) -> ScenarioStep<'_> {
        self.whole(Method::Create, manager, object)
    }

    /// A replacement by this object: PUT, without a read before.
    pub fn replace_as(&mut self, manager: impl Into<Manager>, object: &str) -> ScenarioStep<'_> {
        self.whole(Method::Replace, manager, object)
    }

    /// Read, change, write: PUT of the live object with these changes. Maps are merged, lists are replaced, and null removes.
    pub fn update_as(&mut self, manager: impl Into<Manager>, changes: &str) -> ScenarioStep<'_> {
        let written = body::parse(changes);
        let live = self.live.clone().unwrap_or_else(Json::object);
        let whole = overlaid(&live, &written);
        let mut step = self.step(Method::Replace, manager, whole);
        step.written = Some(written);
        step
    }

    /// An RFC 7396 merge patch.
    pub fn merge_patch_as(&mut self, manager: impl Into<Manager>, patch: &str) -> ScenarioStep<'_> {
        self.step(Method::MergePatch, manager, body::parse(patch))
    }

    /// A strategic merge patch.
    pub fn strategic_patch_as(&mut self, manager: impl Into<Manager>, patch: &str) -> ScenarioStep<'_> {
        self.step(Method::StrategicPatch, manager, body::parse(patch))
    }

    /// An RFC 6902 patch: a list of operations.
    pub fn json_patch_as(&mut self, manager: impl Into<Manager>, operations: &str) -> ScenarioStep<'_> {
        self.step(Method::JsonPatch, manager, body::parse(operations))
    }

    /// A new replica count through the scale subresource, as an autoscaler or `kubectl scale` writes it.
    pub fn scale_as(&mut self, manager: impl Into<Manager>, replicas: i64) -> ScenarioStep<'_> {
        let spec = Json::object().with("replicas", replicas);
        self.step(Method::MergePatch, manager, Json::object().with("spec", spec)).to("scale")
    }

    /// A new status through the status subresource.
    pub fn status_as(&mut self, manager: impl Into<Manager>, patch: &str) -> ScenarioStep<'_> {
        self.merge_patch_as(manager, patch).to("status")
    }

    /// A deletion.
    pub fn delete(&mut self) -> ScenarioStep<'_> {
        let mut step = ScenarioStep::new(self, None, unnamed(), Json::object());
        step.written = None;
        step
    }

    fn whole(&mut self, method: Method, manager: impl Into<Manager>, text: &str) -> ScenarioStep<'_> {
        let written = body::parse(text);
        let whole = body::completed(written.clone(), self.resource(), self.name());
        let mut step = self.step(method, manager, whole);
        step.written = Some(written);
        step
    }

    fn step(&mut self, method: Method, manager: impl Into<Manager>, body: Json) -> ScenarioStep<'_> {
        ScenarioStep::new(self, Some(method), manager.into(), body)
    }
}
