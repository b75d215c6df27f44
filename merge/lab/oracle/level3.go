package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager"
)

// write is one request to an API server.
type write struct {
	do          string
	subresource string
	live        map[string]any // nil where there is no object yet
	stored      spelling       // the fieldsV1 of live
	object      map[string]any
	manager     string
	force       bool
	now         time.Time
}

// level3 computes what an API server makes of one write, from the handler to the storage, without defaulting,
// admission and validation.
func (o *oracle) level3(do string, r request) (answer, error) {
	var kind metav1.GroupVersionKind
	if err := r.into("gvk", &kind); err != nil {
		return nil, err
	}
	res, err := o.resource(r, schema.GroupVersionKind(kind))
	if err != nil {
		return nil, err
	}
	w, err := res.decodeWrite(do, r)
	if err != nil {
		return nil, err
	}
	if reason := res.unknowable(w); reason != "" {
		return answer{"object": orNull(w.live), "changed": false, "certainty": "unknown", "reason": reason}, nil
	}
	var a answer
	err = at(w.now, func(shift, unshift func(map[string]any) map[string]any) error {
		present := *w
		present.live, present.object = shift(w.live), shift(w.object)
		out, err := res.run(&present)
		if err != nil {
			return err
		}
		if !out.changed {
			// Nothing is written, so the object is the one there is.
			object := runtime.DeepCopyJSON(w.live)
			w.stored.spell(object)
			a = answer{"object": object, "changed": false}
			return nil
		}
		object := unshift(out.object)
		if out.spelling != nil {
			out.spelling.spell(object)
		}
		a = answer{"object": object, "changed": true}
		return nil
	})
	if err != nil {
		return writeError(err)
	}
	a["certainty"] = res.certainty()
	return a, nil
}

func (res *resource) decodeWrite(do string, r request) (*write, error) {
	w := &write{do: do, now: time.Now()}
	var err error
	if err := r.optional("subresource", &w.subresource); err != nil {
		return nil, err
	}
	if w.manager, err = r.text("manager"); err != nil {
		return nil, err
	}
	if w.force, err = r.flag("force"); err != nil {
		return nil, err
	}
	if r.has("now") {
		text, err := r.text("now")
		if err != nil {
			return nil, err
		}
		if w.now, err = time.Parse(time.RFC3339, text); err != nil {
			return nil, refuse(badRequest, "now: %v", err)
		}
	}
	if w.live, err = r.object("live"); err != nil {
		return nil, err
	}
	if w.object, err = r.object("object"); err != nil {
		return nil, err
	}
	if w.object == nil {
		return nil, refuse(badRequest, "object: not an object")
	}
	if w.live != nil {
		if w.live, err = res.liveIn(w.live); err != nil {
			return nil, err
		}
		if w.stored, err = spellingOf(r["live"]); err != nil {
			return nil, refuse(badRequest, "live: %v", err)
		}
	}
	return w, nil
}

// object reads a member that is an object or null.
func (r request) object(member string) (map[string]any, error) {
	v, err := r.value(member)
	if err != nil || v == nil {
		return nil, err
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, refuse(badRequest, "%s: not an object", member)
	}
	return object, nil
}

// liveIn takes the live object to the version of the request, as a server does with what it has stored before
// any of this begins.
func (res *resource) liveIn(object map[string]any) (map[string]any, error) {
	live := &unstructured.Unstructured{Object: object}
	gvk := live.GroupVersionKind()
	if gvk == res.gvk {
		return object, nil
	}
	if gvk.GroupKind() != res.gvk.GroupKind() {
		return nil, refuse(badRequest, "live: is of %v, and not of %v", gvk, res.gvk)
	}
	converted, err := res.converter.ConvertToVersion(live, res.gvk.GroupVersion())
	if err != nil {
		return nil, refuse(badRequest, "live: %v", err)
	}
	return converted.(*unstructured.Unstructured).Object, nil
}

// unknowable gives the reason why the result of a write doesn't follow from the request.
func (res *resource) unknowable(w *write) string {
	if !res.deaf {
		return ""
	}
	for _, entry := range append(managedFieldsOf(w.live), managedFieldsOf(w.object)...) {
		if version, _ := entry["apiVersion"].(string); version != "" && version != res.gvk.GroupVersion().String() {
			return "a webhook converts to " + version
		}
	}
	return ""
}

// outcome is what would be stored.
type outcome struct {
	object  map[string]any
	changed bool
	// spelling is set where fieldsV1 isn't written as JSON that Go sorts.
	spelling spelling
}

// run does the write, its times being the present ones.
func (res *resource) run(w *write) (*outcome, error) {
	if w.subresource == "scale" {
		return res.runScale(w)
	}
	if _, ok := res.resets[w.subresource]; !ok {
		return nil, refuse(notFound, "subresource: %s has no %q that is known here", res.gvk.Kind, w.subresource)
	}
	if w.live == nil && w.subresource != "" {
		return nil, refuse(notFound, "live: there is no object whose %s can be written", w.subresource)
	}
	manager, err := res.fieldManager(w.subresource)
	if err != nil {
		return nil, err
	}
	if !res.custom {
		integers(w.live)
		integers(w.object)
	}
	var live *unstructured.Unstructured
	if w.live != nil {
		live = &unstructured.Unstructured{Object: w.live}
	}
	object := &unstructured.Unstructured{Object: w.object}
	if w.do == "apply" {
		object, err = res.apply(manager, w, live, object)
	} else {
		object, err = res.update(manager, w, live, object)
	}
	if err != nil {
		return nil, err
	}
	res.reset(w.subresource, object, live)
	out := &outcome{object: object.Object}
	if !res.custom {
		if out.spelling, err = inOrderOfSet(object.Object); err != nil {
			return nil, err
		}
	}
	return out, res.compare(out, w)
}

// integers makes integers of floats that are, as decoding into the structs of a built-in kind does.
func integers(object map[string]any) {
	var of func(value any) any
	of = func(value any) any {
		switch v := value.(type) {
		case map[string]any:
			for name, member := range v {
				v[name] = of(member)
			}
		case []any:
			for i, item := range v {
				v[i] = of(item)
			}
		case float64:
			isMinusZero := v == 0 && math.Signbit(v)
			if v == math.Trunc(v) && math.Abs(v) < 1<<53 && !isMinusZero {
				return int64(v)
			}
		}
		return value
	}
	of(object)
}

// apply is applyPatcher of the API server's patch.go. What it would create it starts from the zero value of the
// Go type; here it starts from nothing, so that the response has what was applied and no empty structs. The
// field sets are the same.
func (res *resource) apply(
	manager *managedfields.FieldManager, w *write, live, object *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	if live == nil {
		empty, err := emptyObjects{}.New(res.gvk)
		if err != nil {
			return nil, err
		}
		live = empty.(*unstructured.Unstructured)
	}
	out, err := manager.Apply(live.DeepCopy(), object, w.manager, w.force)
	if err != nil {
		return nil, err
	}
	return out.(*unstructured.Unstructured), nil
}

// update is what create.go and update.go of the API server do, and every kind of patch but apply.
func (res *resource) update(
	manager *managedfields.FieldManager, w *write, live, object *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	if gvk := object.GroupVersionKind(); gvk != res.gvk {
		return nil, refuse(badRequest, "object: is of %v, and not of %v", gvk, res.gvk)
	}
	if live == nil {
		zero, err := res.creater.New(res.gvk)
		if err != nil {
			return nil, err
		}
		live = zero.(*unstructured.Unstructured)
	}
	if res.custom {
		dropEmptyManagedFields(object)
	}
	out := manager.UpdateNoErrors(live.DeepCopy(), object, w.manager)
	return out.(*unstructured.Unstructured), nil
}

// dropEmptyManagedFields takes an empty list out of a custom resource, as decoding one does: only [{}] resets
// its managedFields, while for a built-in kind [] does so too.
func dropEmptyManagedFields(object *unstructured.Unstructured) {
	if list := object.GetManagedFields(); list != nil && len(list) == 0 {
		object.SetManagedFields(nil)
	}
}

// compare finds out whether the server would store the outcome: not if it is what there is, after time stamps
// that are the only difference were taken back (as the generic registry does, just before it stores).
func (res *resource) compare(out *outcome, w *write) error {
	if w.live == nil {
		out.changed = true
		return nil
	}
	sameSpelling := true
	if out.spelling != nil {
		sameSpelling = out.spelling.equal(w.stored)
	}
	if sameSpelling {
		reverted, err := fieldmanager.IgnoreManagedFieldsTimestampsTransformer(
			context.Background(),
			&unstructured.Unstructured{Object: out.object}, &unstructured.Unstructured{Object: w.live})
		if err != nil {
			return err
		}
		out.object = reverted.(*unstructured.Unstructured).Object
	}
	// What is stored is JSON, so that is what is compared; 1 and 1.0 are the same there.
	before, err := json.Marshal(w.live)
	if err != nil {
		return err
	}
	after, err := json.Marshal(out.object)
	if err != nil {
		return err
	}
	out.changed = !sameSpelling || !bytes.Equal(before, after)
	return nil
}

// writeError separates conflicts, which are a response, from errors, and gives those a reason.
func writeError(err error) (answer, error) {
	var refused *refusal
	var status *apierrors.StatusError
	switch {
	case errors.As(err, &refused):
		return nil, err
	case errors.As(err, &status) && apierrors.IsConflict(status):
		return answer{"conflicts": conflictRows(status)}, nil
	case apierrors.IsBadRequest(err):
		return nil, refuse(badRequest, "%v", err)
	case schemaRefused(err):
		return nil, refuse(invalid, "%v", err)
	default:
		return nil, refuse(internal, "%v", err)
	}
}

// schemaRefused asks whether an object, applied or live, didn't fit its schema. The field manager has only a text
// for that, and the server makes a 500 of it.
func schemaRefused(err error) bool {
	return strings.HasPrefix(err.Error(), "failed to create typed ") ||
		strings.Contains(err.Error(), " to smd typed: ")
}

// conflictRow is one cause of a 409, read back from the text that the field manager made of it.
type conflictRow struct {
	manager, operation, subresource, apiVersion, field string
}

func conflictRows(status *apierrors.StatusError) []any {
	var rows []conflictRow
	if status.ErrStatus.Details != nil {
		for _, cause := range status.ErrStatus.Details.Causes {
			rows = append(rows, readCause(cause))
		}
	}
	slices.SortFunc(rows, func(a, b conflictRow) int {
		return cmp.Or(
			cmp.Compare(a.manager, b.manager), cmp.Compare(a.field, b.field),
			cmp.Compare(a.operation, b.operation), cmp.Compare(a.subresource, b.subresource),
			cmp.Compare(a.apiVersion, b.apiVersion))
	})
	out := []any{}
	for _, row := range rows {
		m := map[string]any{
			"manager": row.manager, "operation": row.operation, "subresource": row.subresource, "field": row.field,
		}
		if row.apiVersion != "" {
			m["apiVersion"] = row.apiVersion
		}
		out = append(out, m)
	}
	return out
}

// readCause reads: conflict with "manager"[ with subresource "name"][ using apiVersion[ at time]]. Only an
// updater's version is given.
func readCause(cause metav1.StatusCause) conflictRow {
	row := conflictRow{operation: "Apply", field: cause.Field}
	rest := strings.TrimPrefix(cause.Message, "conflict with ")
	row.manager, rest = readQuoted(rest)
	if after, ok := strings.CutPrefix(rest, " with subresource "); ok {
		row.subresource, rest = readQuoted(after)
	}
	if after, ok := strings.CutPrefix(rest, " using "); ok {
		row.operation = "Update"
		row.apiVersion, _, _ = strings.Cut(after, " at ")
	}
	return row
}

func readQuoted(s string) (text, rest string) {
	quoted, err := strconv.QuotedPrefix(s)
	if err != nil {
		return s, ""
	}
	text, err = strconv.Unquote(quoted)
	if err != nil {
		return s, ""
	}
	return text, s[len(quoted):]
}

func orNull(object map[string]any) any {
	if object == nil {
		return nil
	}
	return object
}
