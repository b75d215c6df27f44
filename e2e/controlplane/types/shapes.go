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
// `[]io.k8s.api.core.v1.Container`, `map[]string`, `v1.Protocol=string`, `@Quantity` for a type that writes itself. Its number
// in protobuf follows: `?*int32 1`, or `?*int32 2.1` for field 1 of the message in field 2, which is inline in JSON.
type aType struct {
	Fields   map[string]field           `json:"fields"`
	Defaults map[string]json.RawMessage `json:"defaults,omitempty"`
}

type field struct {
	shape  string
	number string
}

func (f field) MarshalText() ([]byte, error) {
	if f.number == outside {
		return []byte(f.shape), nil
	}
	return []byte(f.shape + " " + f.number), nil
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
			w.types[name] = &aType{Fields: map[string]field{}}
			w.fields(w.types[name], t, "")
		}
		return name
	case t.String() != t.Kind().String():
		return t.String() + "=" + t.Kind().String()
	default:
		return t.String()
	}
}

func (w *walk) fields(owner *aType, t reflect.Type, message string) {
	for i := range t.NumField() {
		own := t.Field(i)
		name, options, _ := strings.Cut(own.Tag.Get("json"), ",")
		number := number(message, own)
		switch {
		case name == "-" || !own.IsExported():
		case isInline(own):
			if number != outside {
				number += "."
			}
			w.fields(owner, pointee(own.Type), number)
		default:
			mark := ""
			if strings.Contains(options, "omitempty") {
				mark = "?"
			}
			if strings.Contains(options, "omitzero") {
				mark = "!"
			}
			owner.Fields[name] = field{mark + w.shape(own.Type), number}
		}
	}
}

// outside is where the fields are that protobuf doesn't have: the kind of an object, which is said beside it.
const outside = "-"

// number is that of a field in protobuf, after those of the messages around it.
func number(message string, field reflect.StructField) string {
	parts := strings.Split(field.Tag.Get("protobuf"), ",")
	if message == outside || len(parts) < 2 {
		return outside
	}
	return message + parts[1]
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
		for name, field := range t.Fields {
			scalar, ok := strings.CutPrefix(field.shape, "?")
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
