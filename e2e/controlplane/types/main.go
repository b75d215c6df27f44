// Command types writes what the API server's Go types say and OpenAPI doesn't: how each field of a built-in kind is read and
// written, and which value it has when nobody sets it.
//
//	go run ./types -types ../../apiserver/data/types.json -zeros ../../apply/src/spelling/zeros.json
//
// With -check it only says whether the files are up to date.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/controlplane"
	_ "k8s.io/kubernetes/pkg/controlplane/apiserver"
)

// served are the built-in kinds that a server serves by default and that have metadata, with their Go types.
func served() map[schema.GroupVersionKind]reflect.Type {
	config := controlplane.DefaultAPIResourceConfigSource()
	kinds := map[schema.GroupVersionKind]reflect.Type{}
	for kind, t := range legacyscheme.Scheme.AllKnownTypes() {
		if _, ok := t.FieldByName("ObjectMeta"); ok && config.GroupVersionConfigs[kind.GroupVersion()] {
			kinds[kind] = t
		}
	}
	return kinds
}

// write writes the value as JSON, or compares it with what is there.
func write(path string, value any, check bool) error {
	var made bytes.Buffer
	encoder := json.NewEncoder(&made)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(value); err != nil {
		return err
	}
	if !check {
		return os.WriteFile(path, made.Bytes(), 0o644)
	}
	current, err := os.ReadFile(path)
	if err == nil && !bytes.Equal(current, made.Bytes()) {
		err = fmt.Errorf("%s is stale: run `go run ./types` in e2e/controlplane, as .ci/run does", path)
	}
	return err
}

func run() error {
	types := flag.String("types", "", "the file with the types")
	zeros := flag.String("zeros", "", "the file with the fields of which a zero is the same as none")
	check := flag.Bool("check", false, "fail when a file isn't up to date")
	flag.Parse()
	kinds := served()
	roots := make([]reflect.Type, 0, len(kinds))
	for _, t := range kinds {
		roots = append(roots, t)
	}
	slices.SortFunc(roots, func(a, b reflect.Type) int { return bytes.Compare([]byte(openAPIName(a)), []byte(openAPIName(b))) })
	all := shapes(roots)
	if err := learnDefaults(kinds, all); err != nil {
		return err
	}
	if err := write(*types, all, *check); err != nil {
		return err
	}
	return write(*zeros, zeroFields(all), *check)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
