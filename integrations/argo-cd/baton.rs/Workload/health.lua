-- Argo CD's health of a Workload of Baton, from its mode and its conditions.
local function verdict(status, message)
  return { status = status, message = message }
end

if obj.metadata.deletionTimestamp ~= nil then
  return verdict("Progressing", "The Workload and its children are being deleted")
end

local status = obj.status or {}
if status.observedGeneration == nil or status.observedGeneration < obj.metadata.generation then
  return verdict("Progressing", "Waiting for Baton to reconcile the latest spec")
end

local conditions = {}
for _, condition in ipairs(status.conditions or {}) do
  conditions[condition.type] = condition
end

-- What the condition says, preceded by its reason.
local function text(condition)
  return condition.reason .. ": " .. condition.message
end

local stalled, reconciling, ready = conditions.Stalled, conditions.Reconciling, conditions.Ready
if stalled ~= nil and stalled.status == "True" then
  return verdict("Degraded", text(stalled))
end

local mode = obj.spec.mode
if mode == "Paused" or mode == "Preview" then
  local applied = conditions.Applied
  return verdict("Suspended", applied ~= nil and text(applied) or "spec.mode is " .. mode)
end

if reconciling ~= nil and reconciling.status == "True" then
  return verdict("Progressing", text(reconciling))
end
if obj.spec.suspend then
  return verdict("Suspended", "spec.suspend is set: no pods are to run")
end
if ready ~= nil and ready.status == "True" then
  return verdict("Healthy", ready.message)
end
return verdict("Progressing", ready ~= nil and text(ready) or "Waiting for the condition Ready")
