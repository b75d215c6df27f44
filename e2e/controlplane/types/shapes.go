package main

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// aType is a struct of the API: its fields by their JSON name, and what the server fills in.
//
// A field is written as its Go type is, with `?` before it if a zero is left out and `!` if a zero struct is: `?*int32`,
// `[]io.k8s.api.core.v1.Container`, `map[]string`, `v1.Protocol=string`, `@Quantity` for a type that writes itself.
type aType struct {
	Fields   map[string]string          `json:"fields"`
	Defaults map[string]json.RawMessage `json:"defaults,omitempty"`
}

type walk struct {
	types map[string]*aType
}

var marshaler = reflect.TypeFor[json.Marshaler]()

// shapes are all structs in these kinds, by the name of their schema.
func shapes(kinds []kind) map[string]*aType {
	w := walk{types: map[string]*aType{}}
	for _, kind := range kinds {
		w.shape(kind.goType)
	}
	return w.types
}

// openAPIName is the name of the type's schema.
func openAPIName(t reflect.Type) string {
	path := strings.Replace(t.PkgPath(), "k8s.io/", "io.k8s.", 1)
	return strings.ReplaceAll(path, "/", ".") + "." + t.Name()
}

func writesItself(t reflect.Type) bool {
	return t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler)
}

func (w *walk) shape(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Pointer:
		return "*" + w.shape(t.Elem())
	case writesItself(t):
		return "@" + t.Name()
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return "bytes"
	case t.Kind() == reflect.Slice:
		return "[]" + w.shape(t.Elem())
	case t.Kind() == reflect.Map:
		return "map[]" + w.shape(t.Elem())
	case t.Kind() == reflect.Struct:
		name := openAPIName(t)
		if w.types[name] == nil {
			w.types[name] = &aType{Fields: map[string]string{}}
			w.fields(w.types[name], t)
		}
		return name
	case t.String() != t.Kind().String():
		return t.String() + "=" + t.Kind().String()
	default:
		return t.String()
	}
}

func (w *walk) fields(owner *aType, t reflect.Type) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-" || !field.IsExported():
		case isInline(field):
			w.fields(owner, pointee(field.Type))
		default:
			mark := ""
			if strings.Contains(options, "omitempty") {
				mark = "?"
			}
			if strings.Contains(options, "omitzero") {
				mark = "!"
			}
			owner.Fields[name] = mark + w.shape(field.Type)
		}
	}
}

func isInline(field reflect.StructField) bool {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return field.Anonymous && name == ""
}

func pointee(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// zeroFields are, by type, the fields of which a zero is the same as none: scalars that are no pointer and are left out when
// they are zero.
func zeroFields(types map[string]*aType) map[string][]string {
	zeros := map[string][]string{}
	for owner, t := range types {
		for name, shape := range t.Fields {
			scalar, ok := strings.CutPrefix(shape, "?")
			if name, kind, found := strings.Cut(scalar, "="); found && !strings.ContainsAny(name, "*[") {
				scalar = kind
			}
			if ok && slices.Contains([]string{"string", "bool", "int32", "int64", "float64"}, scalar) {
				zeros[owner] = append(zeros[owner], name)
			}
		}
		slices.Sort(zeros[owner])
	}
	return zeros
}
