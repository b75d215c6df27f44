package main

import (
	"encoding/json"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// scalePaths is how a scale subresource finds the replicas of its parent.
type scalePaths struct {
	mappings       managedfields.ResourcePathMappings
	specReplicas   []string
	statusReplicas []string
}

// scaleKind is what the subresource reads and writes.
var scaleKind = autoscalingv1.SchemeGroupVersion.WithKind("Scale")

// unsetReplicas is what the custom resource storage takes an absent number for, so that any number written
// differs from it.
const unsetReplicas = -1 << 31

// builtinScale has the mappings of the storages in k8s.io/kubernetes pkg/registry.
func builtinScale(gvk schema.GroupVersionKind) *scalePaths {
	versions := map[schema.GroupKind][]string{
		{Group: "apps", Kind: "Deployment"}:  {"apps/v1beta1", "apps/v1beta2", "apps/v1"},
		{Group: "apps", Kind: "StatefulSet"}: {"apps/v1beta1", "apps/v1beta2", "apps/v1"},
		{Group: "apps", Kind: "ReplicaSet"}:  {"apps/v1beta2", "apps/v1"},
		{Kind: "ReplicationController"}:      {"v1"},
	}[gvk.GroupKind()]
	if versions == nil {
		return nil
	}
	paths := &scalePaths{
		mappings:       managedfields.ResourcePathMappings{},
		specReplicas:   []string{"spec", "replicas"},
		statusReplicas: []string{"status", "replicas"},
	}
	for _, version := range versions {
		paths.mappings[version] = pathOf(paths.specReplicas)
	}
	return paths
}

// customScale has the mappings that apiextensions' customresource_handler.go makes of a CRD: every version is in
// them, and one without a scale subresource has no path.
func customScale(
	crd *apiextensionsv1.CustomResourceDefinition, version apiextensionsv1.CustomResourceDefinitionVersion,
) *scalePaths {
	if version.Subresources == nil || version.Subresources.Scale == nil {
		return nil
	}
	paths := &scalePaths{
		mappings:       managedfields.ResourcePathMappings{},
		specReplicas:   splitPath(version.Subresources.Scale.SpecReplicasPath),
		statusReplicas: splitPath(version.Subresources.Scale.StatusReplicasPath),
	}
	for _, v := range crd.Spec.Versions {
		var path fieldpath.Path
		if v.Subresources != nil && v.Subresources.Scale != nil {
			path = pathOf(splitPath(v.Subresources.Scale.SpecReplicasPath))
		}
		paths.mappings[schema.GroupVersion{Group: crd.Spec.Group, Version: v.Name}.String()] = path
	}
	return paths
}

func splitPath(path string) []string { return strings.Split(strings.TrimPrefix(path, "."), ".") }

func pathOf(names []string) fieldpath.Path {
	path := fieldpath.Path{}
	for _, name := range names {
		path = append(path, fieldpath.PathElement{FieldName: &name})
	}
	return path
}

// runScale does what scaleUpdatedObjectInfo of the storages does: parent to old scale, old scale to new scale,
// new scale back into the parent.
func (res *resource) runScale(w *write) (*outcome, error) {
	if res.scale == nil || !res.hasType(scaleKind) {
		return nil, refuse(notFound, "subresource: %s has no %q", res.gvk.Kind, w.subresource)
	}
	if w.live == nil {
		return nil, refuse(notFound, "live: there is no object that can be scaled")
	}
	parent := (&unstructured.Unstructured{Object: w.live}).DeepCopy()
	handler := managedfields.NewScaleHandler(
		parent.GetManagedFields(), res.gvk.GroupVersion(), res.scale.mappings)
	before, err := res.scaleOf(parent)
	if err != nil {
		return nil, err
	}
	if before.ManagedFields, err = handler.ToSubresource(); err != nil {
		return nil, err
	}
	after, err := res.writeScale(w, before)
	if err != nil {
		return nil, err
	}
	if after.Spec.Replicas == unsetReplicas {
		return nil, refuse(badRequest, "object: spec.replicas can't be empty")
	}
	if after.Spec.Replicas < 0 {
		return nil, refuse(invalid, "object: spec.replicas is %d", after.Spec.Replicas)
	}
	err = unstructured.SetNestedField(parent.Object, int64(after.Spec.Replicas), res.scale.specReplicas...)
	if err != nil {
		return nil, err
	}
	entries, err := handler.ToParent(after.ManagedFields)
	if err != nil {
		return nil, err
	}
	parent.SetManagedFields(entries)
	out := &outcome{object: parent.Object}
	if !res.custom {
		if out.spelling, err = inOrderOfStrings(parent.Object); err != nil {
			return nil, err
		}
	}
	return out, res.compare(out, w)
}

// scaleOf reads the scale of a parent. Its selector is left out, since no one can write or own it.
func (res *resource) scaleOf(parent *unstructured.Unstructured) (*autoscalingv1.Scale, error) {
	replicas, found, err := unstructured.NestedInt64(parent.Object, res.scale.specReplicas...)
	if err != nil {
		return nil, err
	}
	if !found && res.custom {
		replicas = unsetReplicas
	}
	status, _, err := unstructured.NestedInt64(parent.Object, res.scale.statusReplicas...)
	if err != nil {
		return nil, err
	}
	return &autoscalingv1.Scale{
		TypeMeta: metav1.TypeMeta{APIVersion: scaleKind.GroupVersion().String(), Kind: scaleKind.Kind},
		ObjectMeta: metav1.ObjectMeta{
			Name:              parent.GetName(),
			Namespace:         parent.GetNamespace(),
			UID:               parent.GetUID(),
			ResourceVersion:   parent.GetResourceVersion(),
			CreationTimestamp: parent.GetCreationTimestamp(),
		},
		Spec:   autoscalingv1.ScaleSpec{Replicas: int32(replicas)},
		Status: autoscalingv1.ScaleStatus{Replicas: int32(status)},
	}, nil
}

// writeScale is the write itself, in which the scale is an object of its own. It is a Go type, also for custom
// resources, which is why a number of 0 is owned by no one: the field is omitted when empty.
func (res *resource) writeScale(w *write, before *autoscalingv1.Scale) (*autoscalingv1.Scale, error) {
	scaled := *res
	if !res.custom {
		scaled.gvk, scaled.converter, scaled.creater = scaleKind, builtin, builtin
	}
	manager, err := scaled.newFieldManager(scaleKind, "scale", nil)
	if err != nil {
		return nil, err
	}
	var out runtime.Object
	if w.do == "apply" {
		out, err = manager.Apply(before, &unstructured.Unstructured{Object: w.object}, w.manager, w.force)
		if err != nil {
			return nil, err
		}
	} else {
		after, err := decodeScale(w.object)
		if err != nil {
			return nil, err
		}
		out = manager.UpdateNoErrors(before, after, w.manager)
	}
	scale, ok := out.(*autoscalingv1.Scale)
	if !ok {
		return nil, refuse(internal, "the scale became a %T", out)
	}
	return scale, nil
}

func decodeScale(object map[string]any) (*autoscalingv1.Scale, error) {
	if gvk := (&unstructured.Unstructured{Object: object}).GroupVersionKind(); gvk != scaleKind {
		return nil, refuse(badRequest, "object: is of %v, and not of %v", gvk, scaleKind)
	}
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	scale := &autoscalingv1.Scale{}
	if err := utiljson.Unmarshal(raw, scale); err != nil {
		return nil, refuse(badRequest, "object: %v", err)
	}
	return scale, nil
}
