// Command types writes what the API server's Go types say and OpenAPI doesn't: how each field of a built-in kind is read and
// written, and which value it has when it isn't set.
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
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	aggregator "k8s.io/kube-aggregator/pkg/apiserver/scheme"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/controlplane"
	_ "k8s.io/kubernetes/pkg/controlplane/apiserver"
)

// kind is one that a server serves by default and that has metadata.
type kind struct {
	schema.GroupVersionKind
	goType reflect.Type
	scheme *runtime.Scheme
}

func served() []kind {
	config := controlplane.DefaultAPIResourceConfigSource()
	var kinds []kind
	for _, scheme := range []*runtime.Scheme{legacyscheme.Scheme, apiextensions.Scheme, aggregator.Scheme} {
		for name, t := range scheme.AllKnownTypes() {
			group := name.GroupVersion()
			isServed := config.GroupVersionConfigs[group] || scheme != legacyscheme.Scheme && group.Version == "v1" && group.Group != ""
			if _, ok := t.FieldByName("ObjectMeta"); ok && isServed {
				kinds = append(kinds, kind{name, t, scheme})
			}
		}
	}
	slices.SortFunc(kinds, func(a, b kind) int { return strings.Compare(a.String(), b.String()) })
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
	all := shapes(kinds)
	if err := learnDefaults(kinds, all); err != nil {
		return err
	}
	names := map[string]string{}
	for _, kind := range kinds {
		version, name := kind.ToAPIVersionAndKind()
		names[version+" "+name] = openAPIName(kind.goType)
	}
	if err := write(*types, map[string]any{"kinds": names, "types": all}, *check); err != nil {
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
