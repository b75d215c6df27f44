// Writes, by type of the API, the fields of which a zero value is the same as none: those whose Go type is no pointer and
// that aren't written when they are zero. OpenAPI doesn't tell. Run it as `go run . ../../apply/src/spelling/zeros.json`; with
// `-check` it only says whether the file is up to date.
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

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

type walk struct {
	zeros map[string][]string
	seen  map[reflect.Type]bool
}

var marshaler = reflect.TypeFor[json.Marshaler]()

func (w *walk) visit(t reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		w.visit(t.Elem())
	case reflect.Struct:
		// A quantity or a time is one value.
		if w.seen[t] || t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler) {
			return
		}
		w.seen[t] = true
		w.fields(openAPIName(t), t)
	}
}

// openAPIName is the name of the type's schema.
func openAPIName(t reflect.Type) string {
	path := strings.Replace(t.PkgPath(), "k8s.io/", "io.k8s.", 1)
	return strings.ReplaceAll(path, "/", ".") + "." + t.Name()
}

func (w *walk) fields(owner string, t reflect.Type) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case field.Anonymous && name == "":
			inner := field.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			w.fields(owner, inner)
		case isScalar(field.Type.Kind()):
			if strings.Contains(options, "omitempty") {
				w.zeros[owner] = append(w.zeros[owner], name)
			}
		default:
			w.visit(field.Type)
		}
	}
}

func isScalar(kind reflect.Kind) bool {
	return kind == reflect.String || kind >= reflect.Bool && kind <= reflect.Float64
}

func zeros() ([]byte, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		admissionregistrationv1.AddToScheme, appsv1.AddToScheme, autoscalingv1.AddToScheme, autoscalingv2.AddToScheme,
		batchv1.AddToScheme, coordinationv1.AddToScheme, corev1.AddToScheme, discoveryv1.AddToScheme,
		networkingv1.AddToScheme, nodev1.AddToScheme, policyv1.AddToScheme, rbacv1.AddToScheme,
		schedulingv1.AddToScheme, storagev1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	w := walk{zeros: map[string][]string{}, seen: map[reflect.Type]bool{}}
	for kind, t := range scheme.AllKnownTypes() {
		if _, ok := t.FieldByName("ObjectMeta"); ok && kind.Version != runtime.APIVersionInternal {
			w.visit(t)
		}
	}
	for _, names := range w.zeros {
		slices.Sort(names)
	}
	out, err := json.MarshalIndent(w.zeros, "", "  ")
	return append(out, '\n'), err
}

func run() error {
	check := flag.Bool("check", false, "fail when the file isn't up to date")
	flag.Parse()
	path := flag.Arg(0)
	made, err := zeros()
	if err != nil {
		return err
	}
	if !*check {
		return os.WriteFile(path, made, 0o644)
	}
	current, err := os.ReadFile(path)
	if err == nil && !bytes.Equal(current, made) {
		err = fmt.Errorf("%s is stale: run `go run . FILE` in e2e/zeros", path)
	}
	return err
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
