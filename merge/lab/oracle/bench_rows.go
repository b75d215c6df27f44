package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// benchInputs is everything that the ops of an object begin with.
type benchInputs struct {
	res     *resource
	manager *managedfields.FieldManager

	applier, updater            string
	live, intent, next, updated *unstructured.Unstructured

	// The field sets of live's managers, as text and read, and the sets of all of live and of the intent.
	texts        [][]byte
	sets         []*fieldpath.Set
	whole, owned *fieldpath.Set

	typedLive, typedUpdated *typed.TypedValue
}

func newBenchInputs(res *resource, object *benchObject) (*benchInputs, error) {
	b := &benchInputs{res: res, applier: object.Manager, updater: object.Updater}
	var err error
	if b.manager, err = res.fieldManager(""); err != nil {
		return nil, err
	}
	for _, member := range []struct {
		raw  json.RawMessage
		into **unstructured.Unstructured
	}{{object.Live, &b.live}, {object.Intent, &b.intent}, {object.Next, &b.next}, {object.Updated, &b.updated}} {
		decoded, err := decodeValue(member.raw)
		if err != nil {
			return nil, err
		}
		content, ok := decoded.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%.80s is no object", member.raw)
		}
		*member.into = &unstructured.Unstructured{Object: content}
	}
	if b.typedLive, err = b.typed(b.live); err != nil {
		return nil, err
	}
	if b.typedUpdated, err = b.typed(b.updated); err != nil {
		return nil, err
	}
	if b.whole, err = b.typedLive.ToFieldSet(); err != nil {
		return nil, err
	}
	intent, err := b.typed(b.intent)
	if err != nil {
		return nil, err
	}
	if b.owned, err = intent.ToFieldSet(); err != nil {
		return nil, err
	}
	for _, entry := range b.live.GetManagedFields() {
		set := &fieldpath.Set{}
		if err := set.FromJSON(bytes.NewReader(entry.FieldsV1.Raw)); err != nil {
			return nil, err
		}
		// The text as a server writes it, which GetManagedFields doesn't keep.
		text, err := set.ToJSON()
		if err != nil {
			return nil, err
		}
		b.texts, b.sets = append(b.texts, text), append(b.sets, set)
	}
	return b, nil
}

// typed makes a typed value of an object without its managedFields, which isn't part of what these rows are
// about.
func (b *benchInputs) typed(object *unstructured.Unstructured) (*typed.TypedValue, error) {
	object = ownTop(object)
	unstructured.RemoveNestedField(object.Object, "metadata", "managedFields")
	return b.res.types.ObjectToTyped(object, typed.AllowDuplicates)
}

// benchOp is what is measured, and how to show what it led to.
type benchOp struct {
	run    func() error
	result func() (any, error)
}

func (b *benchInputs) row(name string) (benchOp, error) {
	switch name {
	case "create":
		return b.write(func() (*unstructured.Unstructured, error) {
			live, err := emptyObjects{}.New(b.res.gvk)
			if err != nil {
				return nil, err
			}
			return b.apply(live.(*unstructured.Unstructured), b.intent, false)
		}), nil
	case "apply":
		return b.write(func() (*unstructured.Unstructured, error) { return b.apply(b.live, b.next, true) }), nil
	case "apply again", "predict no-op":
		return b.write(func() (*unstructured.Unstructured, error) { return b.apply(b.live, b.intent, true) }), nil
	case "update":
		return b.write(func() (*unstructured.Unstructured, error) {
			out, err := b.manager.Update(b.live, ownTop(b.updated), b.updater)
			if err != nil {
				return nil, err
			}
			return b.finish(out.(*unstructured.Unstructured), true)
		}), nil
	case "compare":
		var out *typed.Comparison
		return benchOp{
			func() (err error) { out, err = b.typedLive.Compare(b.typedUpdated); return err },
			func() (any, error) { return texts(out.Added, out.Modified, out.Removed) },
		}, nil
	case "to_set":
		return b.set(func() (*fieldpath.Set, error) { return b.typedLive.ToFieldSet() }), nil
	case "union":
		return b.set(func() (*fieldpath.Set, error) { return b.whole.Union(b.owned), nil }), nil
	case "difference":
		return b.set(func() (*fieldpath.Set, error) { return b.whole.Difference(b.owned), nil }), nil
	case "field set read":
		return b.read(), nil
	case "field set write":
		return b.written(), nil
	}
	return benchOp{}, fmt.Errorf("row: there is no %q", name)
}

// write is an op that ends with an object.
func (b *benchInputs) write(do func() (*unstructured.Unstructured, error)) benchOp {
	var out *unstructured.Unstructured
	return benchOp{
		func() (err error) { out, err = do(); return err },
		func() (any, error) { return out.Object, nil },
	}
}

func (b *benchInputs) apply(
	live, intent *unstructured.Unstructured, exists bool,
) (*unstructured.Unstructured, error) {
	out, err := b.manager.Apply(live, intent, b.applier, false)
	if err != nil {
		return nil, err
	}
	return b.finish(out.(*unstructured.Unstructured), exists)
}

// finish does what a server does after the field manager: the strategy takes back the status (by reference),
// and time stamps that are the only difference are taken back.
func (b *benchInputs) finish(object *unstructured.Unstructured, exists bool) (*unstructured.Unstructured, error) {
	if len(b.res.resets[""]) > 0 {
		delete(object.Object, "status")
		if status, ok := b.live.Object["status"]; ok && exists {
			object.Object["status"] = status
		}
	}
	if !exists {
		return object, nil
	}
	reverted, err := fieldmanager.IgnoreManagedFieldsTimestampsTransformer(context.Background(), object, b.live)
	if err != nil {
		return nil, err
	}
	return reverted.(*unstructured.Unstructured), nil
}

// ownTop copies as much of an object as writing its managedFields changes.
func ownTop(object *unstructured.Unstructured) *unstructured.Unstructured {
	content := maps.Clone(object.Object)
	if metadata, ok := content["metadata"].(map[string]any); ok {
		content["metadata"] = maps.Clone(metadata)
	}
	return &unstructured.Unstructured{Object: content}
}

// set is an op that ends with a field set.
func (b *benchInputs) set(do func() (*fieldpath.Set, error)) benchOp {
	var out *fieldpath.Set
	return benchOp{
		func() (err error) { out, err = do(); return err },
		func() (any, error) { return texts(out) },
	}
}

// read reads the field sets of all of live's managers.
func (b *benchInputs) read() benchOp {
	out := make([]*fieldpath.Set, len(b.texts))
	return benchOp{
		func() error {
			for i, text := range b.texts {
				out[i] = &fieldpath.Set{}
				if err := out[i].FromJSON(bytes.NewReader(text)); err != nil {
					return err
				}
			}
			return nil
		},
		func() (any, error) { return texts(out...) },
	}
}

// written writes the field sets of all of live's managers into a buffer that is used again.
func (b *benchInputs) written() benchOp {
	buf := &bytes.Buffer{}
	return benchOp{
		func() error {
			buf.Reset()
			for _, set := range b.sets {
				if err := set.ToJSONStream(buf); err != nil {
					return err
				}
			}
			return nil
		},
		func() (any, error) { return []any{buf.String()}, nil },
	}
}

// check runs an op a few times and returns its result, after it checked that the inputs are what they were.
func (b *benchInputs) check(op benchOp) (answer, error) {
	inputs := func() [4]any {
		return [4]any{b.live.DeepCopy(), b.intent.DeepCopy(), b.next.DeepCopy(), b.updated.DeepCopy()}
	}
	before := inputs()
	for range 3 {
		if err := op.run(); err != nil {
			return nil, err
		}
	}
	result, err := op.result()
	if err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(before, inputs()) {
		return nil, fmt.Errorf("the op changes what it works on")
	}
	return answer{"result": result}, nil
}

// texts writes field sets.
func texts(sets ...*fieldpath.Set) (any, error) {
	all := []any{}
	for _, set := range sets {
		text, err := set.ToJSON()
		if err != nil {
			return nil, err
		}
		all = append(all, string(text))
	}
	return all, nil
}
