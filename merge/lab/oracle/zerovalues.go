package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// writeZeroValues prints what a new object of each built-in kind has before anyone set anything: the zero value of its
// Go type as JSON, by "group/version kind", without apiVersion and kind. The merge core ships this as data, since no
// OpenAPI document shows it.
func writeZeroValues(out io.Writer) error {
	all := map[string]any{}
	for gvk := range builtin.AllKnownTypes() {
		if !isObject(gvk) {
			continue
		}
		zero, err := zeroValues{}.New(gvk)
		if err != nil {
			return err
		}
		content := zero.(*unstructured.Unstructured).Object
		delete(content, "apiVersion")
		delete(content, "kind")
		all[gvk.GroupVersion().String()+" "+gvk.Kind] = content
	}
	separator := "{\n"
	for _, name := range slices.Sorted(maps.Keys(all)) {
		zero, err := json.Marshal(all[name])
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%s %q: %s", separator, name, zero); err != nil {
			return err
		}
		separator = ",\n"
	}
	_, err := io.WriteString(out, "\n}\n")
	return err
}

// isObject leaves out lists, options and what else is registered with every version.
func isObject(gvk schema.GroupVersionKind) bool {
	if gvk.Version == "__internal" || strings.HasSuffix(gvk.Kind, "List") || strings.HasSuffix(gvk.Kind, "Options") {
		return false
	}
	zero, err := zeroValues{}.New(gvk)
	if err != nil {
		return false
	}
	_, hasMetadata := zero.(*unstructured.Unstructured).Object["metadata"]
	return hasMetadata
}
