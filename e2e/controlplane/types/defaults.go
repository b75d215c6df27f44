package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// step is one field on the way from a kind to a struct in it.
type step struct {
	index []int
}

// learnDefaults asks the server's own defaulting what it fills in: for each struct in each kind, in an object that has this
// struct and nothing else. What depends on other fields isn't found by this; apiserver/src/kinds has those rules.
func learnDefaults(kinds []kind, types map[string]*aType) error {
	found := map[string]map[string]map[string]bool{}
	for _, kind := range kinds {
		l := learner{found: found, types: types, root: kind}
		if err := l.visit(kind.goType, nil, nil); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	for owner, fields := range found {
		for name, values := range fields {
			if len(values) != 1 {
				fmt.Fprintf(os.Stderr, "%s.%s depends on where it is: %v\n", owner, name, slices.Collect(maps.Keys(values)))
				continue
			}
			for value := range values {
				if value == "" {
					continue
				}
				if types[owner].Defaults == nil {
					types[owner].Defaults = map[string]json.RawMessage{}
				}
				types[owner].Defaults[name] = json.RawMessage(value)
			}
		}
	}
	return nil
}

type learner struct {
	// By type and field: what it is filled with; "" is nothing.
	found map[string]map[string]map[string]bool
	types map[string]*aType
	root  kind
}

// visit learns about the struct at the end of the path, and then about those in it.
func (l *learner) visit(t reflect.Type, path []step, above []reflect.Type) error {
	if slices.Contains(above, t) {
		return nil
	}
	above = append(slices.Clone(above), t)
	if err := l.learn(t, path); err != nil {
		return err
	}
	return l.inside(t, t, path, nil, above)
}

func (l *learner) inside(owner, t reflect.Type, path []step, prefix []int, above []reflect.Type) error {
	for i := range t.NumField() {
		field := t.Field(i)
		if !field.IsExported() {
			continue
		}
		index := append(slices.Clone(prefix), i)
		inner := field.Type
		if isInline(field) && inner.Kind() == reflect.Struct {
			if err := l.inside(owner, inner, path, index, above); err != nil {
				return err
			}
			continue
		}
		for inner.Kind() == reflect.Pointer || inner.Kind() == reflect.Slice || inner.Kind() == reflect.Map {
			inner = inner.Elem()
		}
		if inner.Kind() != reflect.Struct || writesItself(inner) {
			continue
		}
		if err := l.visit(inner, append(slices.Clone(path), step{index}), above); err != nil {
			return err
		}
	}
	return nil
}

func (l *learner) learn(t reflect.Type, path []step) error {
	object := reflect.New(l.root.goType)
	before, err := fields(populate(object.Elem(), path))
	if err != nil {
		return err
	}
	l.root.scheme.Default(object.Interface().(runtime.Object))
	after, err := fields(populate(object.Elem(), path))
	if err != nil {
		return err
	}
	owner := openAPIName(t)
	if l.found[owner] == nil {
		l.found[owner] = map[string]map[string]bool{}
	}
	for name := range before {
		if l.found[owner][name] == nil {
			l.found[owner][name] = map[string]bool{}
		}
		value := ""
		// The time of day is no default.
		if !bytes.Equal(before[name], after[name]) && !strings.HasSuffix(l.types[owner].Fields[name].shape, "@Time") {
			value = string(after[name])
		}
		l.found[owner][name][value] = true
	}
	return nil
}

// populate makes all that the path leads through, and returns the struct at its end. What is there already it keeps.
func populate(value reflect.Value, path []step) reflect.Value {
	for _, step := range path {
		value = value.FieldByIndex(step.index)
		for value.Kind() != reflect.Struct {
			switch value.Kind() {
			case reflect.Pointer:
				if value.IsNil() {
					value.Set(reflect.New(value.Type().Elem()))
				}
				value = value.Elem()
			case reflect.Slice:
				if value.Len() == 0 {
					value.Set(reflect.MakeSlice(value.Type(), 1, 1))
				}
				value = value.Index(0)
			case reflect.Map:
				// The structs in maps have no defaults.
				return reflect.New(value.Type().Elem()).Elem()
			}
		}
	}
	return value
}

// fields are the fields of a struct that aren't structs themselves, as JSON; "null" where there is nothing.
func fields(value reflect.Value) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	for i := range value.NumField() {
		field := value.Type().Field(i)
		if !field.IsExported() || field.Tag.Get("json") == "-" {
			continue
		}
		if isInline(field) {
			inner := value.Field(i)
			if inner.Kind() != reflect.Struct {
				continue
			}
			nested, err := fields(inner)
			if err != nil {
				return nil, err
			}
			maps.Copy(out, nested)
			continue
		}
		if field.Type.Kind() == reflect.Struct && !writesItself(field.Type) {
			continue
		}
		written, err := json.Marshal(value.Field(i).Interface())
		if err != nil {
			return nil, err
		}
		name, _, _ := bytes.Cut([]byte(field.Tag.Get("json")), []byte(","))
		out[string(name)] = written
	}
	return out, nil
}
