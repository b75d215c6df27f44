package main

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/conversion"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// resource is one kind in one version, as an API server registers it: what its field managers are made of.
type resource struct {
	gvk    schema.GroupVersionKind
	custom bool

	types     managedfields.TypeConverter
	converter runtime.ObjectConvertor
	creater   runtime.ObjectCreater

	// resets are the fields that a write resets, by subresource, the main resource being the empty one.
	// A subresource that isn't there has none of its own.
	resets map[string]resetFields
	// scale is how replicas are found, for a resource with that subresource.
	scale *scalePaths
	// deaf says that the server would call a webhook to convert between versions.
	deaf bool
}

// fieldManager is the one of the main resource, or of a subresource that has the same kind.
func (res *resource) fieldManager(subresource string) (*managedfields.FieldManager, error) {
	return res.newFieldManager(res.gvk, subresource, res.filters(subresource))
}

func (res *resource) newFieldManager(
	kind schema.GroupVersionKind, subresource string, resets map[fieldpath.APIVersion]fieldpath.Filter,
) (*managedfields.FieldManager, error) {
	// A handler for custom resources uses the request's version in memory, also for their scale. Built-in
	// kinds have an internal version there; converting to and fro isn't to be seen, so theirs is the
	// request's too.
	hub := res.gvk.GroupVersion()
	if res.custom {
		return managedfields.NewDefaultCRDFieldManager(
			res.types, res.converter, noDefaults{}, res.creater, kind, hub, subresource, resets)
	}
	return managedfields.NewDefaultFieldManager(
		res.types, res.converter, noDefaults{}, res.creater, kind, hub, subresource, resets)
}

// certainty is the member of that name in the response.
func (res *resource) certainty() string {
	if res.custom {
		return "exact"
	}
	return "modulo-defaulting"
}

// resource finds the kind of a request of level 3.
func (o *oracle) resource(r request, gvk schema.GroupVersionKind) (*resource, error) {
	switch {
	case r.has("crd") && r.has("openapi"):
		return nil, refuse(badRequest, "openapi: there is crd already")
	case r.has("crd"):
		cr, err := o.schemas.customResource(r)
		if err != nil {
			return nil, err
		}
		return cr.resource(gvk)
	case r.has("openapi"):
		doc, err := o.schemas.document(r)
		if err != nil {
			return nil, err
		}
		if !isBuiltin(gvk.Group) {
			return doc.customResource(gvk.GroupKind()).resource(gvk)
		}
		return doc.resource(gvk)
	default:
		return nil, refuse(badRequest, "openapi: missing, as is crd")
	}
}

// resource gives the custom resource in one of its versions.
func (cr *customResource) resource(gvk schema.GroupVersionKind) (*resource, error) {
	if res, ok := cr.resources[gvk]; ok {
		return res, nil
	}
	at := slices.IndexFunc(cr.crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == gvk.Version && v.Served
	})
	if at < 0 || gvk.Group != cr.crd.Spec.Group || gvk.Kind != cr.crd.Spec.Names.Kind {
		return nil, refuse(notFound, "gvk: there is no %v", gvk)
	}
	types, err := cr.types()
	if err != nil {
		return nil, err
	}
	factory, err := conversion.NewCRConverterFactory(nil, nil)
	if err != nil {
		return nil, err
	}
	converter, _, err := factory.NewConverter(cr.crd)
	if err != nil {
		return nil, err
	}
	res := &resource{
		gvk: gvk, custom: true,
		types: types, converter: converter, creater: emptyObjects{},
		resets: customResets(cr.crd, cr.crd.Spec.Versions[at]),
		scale:  customScale(cr.crd, cr.crd.Spec.Versions[at]),
		deaf:   cr.deaf,
	}
	cr.resources[gvk] = res
	return res, nil
}

// resource gives a built-in kind.
func (d *document) resource(gvk schema.GroupVersionKind) (*resource, error) {
	if res, ok := d.resources[gvk]; ok {
		return res, nil
	}
	types, err := d.types()
	if err != nil {
		return nil, err
	}
	res := &resource{
		gvk: gvk, types: types, converter: sameInAllVersions{}, creater: zeroValues{},
		resets: builtinResets(gvk), scale: builtinScale(gvk),
	}
	if !res.hasType(gvk) {
		return nil, refuse(notFound, "gvk: there is no %v", gvk)
	}
	d.resources[gvk] = res
	return res, nil
}

// hasType asks whether the definitions have a kind, by trying.
func (res *resource) hasType(gvk schema.GroupVersionKind) bool {
	empty, _ := emptyObjects{}.New(gvk)
	_, err := res.types.ObjectToTyped(empty)
	return err == nil
}

// customResource reads back, from the document that an API server makes of CRDs, as much of one of them as is
// described there: its versions, and which have a status subresource. Its scale subresource can't be read back,
// since the document doesn't say where the replicas are.
func (d *document) customResource(gk schema.GroupKind) *customResource {
	if cr, ok := d.custom[gk]; ok {
		return cr
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Spec.Group, crd.Spec.Names.Kind = gk.Group, gk.Kind
	for _, definition := range d.definitions {
		for _, gvk := range gvksOf(definition.Extensions) {
			if gvk.GroupKind() == gk {
				crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
					Name: gvk.Version, Served: true, Subresources: d.subresources(gvk),
				})
			}
		}
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(crd)
	cr := &customResource{
		models: d.models, crd: crd, resources: map[schema.GroupVersionKind]*resource{},
	}
	if len(d.custom) >= kept {
		clear(d.custom)
	}
	d.custom[gk] = cr
	return cr
}

func (d *document) subresources(gvk schema.GroupVersionKind) *apiextensionsv1.CustomResourceSubresources {
	if d.spec.Paths == nil {
		return nil
	}
	for path, item := range d.spec.Paths.Paths {
		if item == nil || item.Patch == nil || !strings.HasSuffix(path, "/status") {
			continue
		}
		if slices.Contains(gvksOf(item.Patch.Extensions), gvk) {
			return &apiextensionsv1.CustomResourceSubresources{
				Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
			}
		}
	}
	return nil
}

// gvksOf reads the kinds of a definition, of which it has a list, or of an operation, which has one.
func gvksOf(extensions spec.Extensions) []schema.GroupVersionKind {
	value := extensions["x-kubernetes-group-version-kind"]
	list, isList := value.([]any)
	if !isList {
		list = []any{value}
	}
	var gvks []schema.GroupVersionKind
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			group, _ := m["group"].(string)
			version, _ := m["version"].(string)
			kind, _ := m["kind"].(string)
			gvks = append(gvks, schema.GroupVersionKind{Group: group, Version: version, Kind: kind})
		}
	}
	return gvks
}

// builtin has the Go types of the kinds that an API server serves without a CRD.
var builtin = func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientscheme.AddToScheme(s))
	utilruntime.Must(apiextensionsv1.AddToScheme(s))
	return s
}()

// isBuiltin asks whether a group is Kubernetes' own. The aggregator's is, and is the one whose Go types aren't
// linked here.
func isBuiltin(group string) bool {
	return builtin.IsGroupRegistered(group) || group == "apiregistration.k8s.io"
}

// emptyObjects creates objects that have a kind and nothing else, as apiextensions does.
type emptyObjects struct{}

// New implements runtime.ObjectCreater.
func (emptyObjects) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object, nil
}

// zeroValues creates objects that are the zero value of their Go type: a new built-in object isn't empty, it
// has every struct that isn't a pointer, and null for every list that must be there.
type zeroValues struct{}

// New implements runtime.ObjectCreater.
func (zeroValues) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	typed, err := builtin.New(kind)
	if runtime.IsNotRegisteredError(err) {
		return emptyObjects{}.New(kind)
	}
	if err != nil {
		return nil, err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(kind)
	return object, nil
}

// noDefaults sets none: they aren't the merge's.
type noDefaults struct{}

// Default implements runtime.ObjectDefaulter.
func (noDefaults) Default(runtime.Object) {}

// sameInAllVersions converts a built-in kind within its group by changing its apiVersion. A version whose type
// the definitions lack is found missing afterwards, when the object is typed.
type sameInAllVersions struct{}

var _ runtime.ObjectConvertor = sameInAllVersions{}

// ConvertToVersion implements runtime.ObjectConvertor.
func (sameInAllVersions) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	from := in.GetObjectKind().GroupVersionKind()
	to, ok := target.KindForGroupVersionKinds([]schema.GroupVersionKind{from})
	if !ok {
		return nil, runtime.NewNotRegisteredErrForTarget("oracle", reflect.TypeOf(in), target)
	}
	if to == from {
		return in, nil
	}
	out := in.DeepCopyObject()
	out.GetObjectKind().SetGroupVersionKind(to)
	return out, nil
}

// Convert implements runtime.ObjectConvertor; field managers don't call it.
func (sameInAllVersions) Convert(in, out, _ any) error {
	return fmt.Errorf("%T can't be converted into %T", in, out)
}

// ConvertFieldLabel implements runtime.ObjectConvertor; field managers don't call it.
func (sameInAllVersions) ConvertFieldLabel(kind schema.GroupVersionKind, _, _ string) (string, string, error) {
	return "", "", fmt.Errorf("%v has no field labels here", kind)
}
