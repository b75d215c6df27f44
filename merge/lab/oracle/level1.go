package main

import (
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// level1 computes requests about typed values: the package typed of structured-merge-diff and nothing else.
func (o *oracle) level1(do string, r request) (answer, error) {
	t, err := o.schemas.typeOf(r)
	if err != nil {
		return nil, err
	}
	switch do {
	case "validate":
		return validate(t, r)
	case "to_set":
		return toSet(t, r)
	case "merge":
		return merged(t, r)
	case "compare":
		return compare(t, r)
	case "remove":
		return items(t, r, (*typed.TypedValue).RemoveItems)
	case "extract":
		return items(t, r, func(v *typed.TypedValue, set *fieldpath.Set) *typed.TypedValue {
			return v.ExtractItems(set)
		})
	default:
		return reconcile(t, r)
	}
}

func validate(t typed.ParseableType, r request) (answer, error) {
	duplicates, err := r.flag("duplicates")
	if err != nil {
		return nil, err
	}
	var opts []typed.ValidationOptions
	if duplicates {
		opts = append(opts, typed.AllowDuplicates)
	}
	if _, err := typedMember(t, r, "value", opts...); err != nil {
		return nil, err
	}
	return answer{"ok": true}, nil
}

func toSet(t typed.ParseableType, r request) (answer, error) {
	v, err := typedMember(t, r, "value", typed.AllowDuplicates)
	if err != nil {
		return nil, err
	}
	set, err := v.ToFieldSet()
	if err != nil {
		return nil, refuse(invalid, "%v", err)
	}
	raw, err := encodeSet(set)
	if err != nil {
		return nil, err
	}
	return answer{"set": raw}, nil
}

func merged(t typed.ParseableType, r request) (answer, error) {
	live, err := typedMember(t, r, "live", typed.AllowDuplicates)
	if err != nil {
		return nil, err
	}
	applied, err := typedMember(t, r, "applied")
	if err != nil {
		return nil, err
	}
	out, err := live.Merge(applied)
	if err != nil {
		return nil, refuse(invalid, "%v", err)
	}
	return answer{"value": plain(out)}, nil
}

func compare(t typed.ParseableType, r request) (answer, error) {
	before, err := typedMember(t, r, "old", typed.AllowDuplicates)
	if err != nil {
		return nil, err
	}
	after, err := typedMember(t, r, "new", typed.AllowDuplicates)
	if err != nil {
		return nil, err
	}
	c, err := before.Compare(after)
	if err != nil {
		return nil, refuse(invalid, "%v", err)
	}
	a := answer{}
	for name, set := range map[string]*fieldpath.Set{
		"added": c.Added, "modified": c.Modified, "removed": c.Removed,
	} {
		if a[name], err = encodeSet(set); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// items computes remove and extract.
func items(
	t typed.ParseableType, r request, pick func(*typed.TypedValue, *fieldpath.Set) *typed.TypedValue,
) (answer, error) {
	v, err := typedMember(t, r, "value", typed.AllowDuplicates)
	if err != nil {
		return nil, err
	}
	set, err := r.set("set")
	if err != nil {
		return nil, err
	}
	return answer{"value": plain(pick(v, set))}, nil
}

func reconcile(t typed.ParseableType, r request) (answer, error) {
	set, err := r.set("set")
	if err != nil {
		return nil, err
	}
	// Only the schema and the type of the value are looked at.
	v := typed.AsTypedUnvalidated(value.NewValueInterface(nil), t.Schema, t.TypeRef)
	out, err := typed.ReconcileFieldSetWithSchema(set, v)
	if err != nil {
		return nil, refuse(invalid, "%v", err)
	}
	if out == nil {
		return answer{"set": nil}, nil
	}
	raw, err := encodeSet(out)
	if err != nil {
		return nil, err
	}
	return answer{"set": raw}, nil
}

// typedMember reads a member as a value of the type.
func typedMember(
	t typed.ParseableType, r request, member string, opts ...typed.ValidationOptions,
) (*typed.TypedValue, error) {
	v, err := r.value(member)
	if err != nil {
		return nil, err
	}
	tv, err := t.FromUnstructured(v, opts...)
	if err != nil {
		return nil, refuse(invalid, "%s: %v", member, err)
	}
	return tv, nil
}

// plain takes the type off a value.
func plain(v *typed.TypedValue) any {
	if v == nil || v.AsValue() == nil {
		return nil
	}
	return v.AsValue().Unstructured()
}
