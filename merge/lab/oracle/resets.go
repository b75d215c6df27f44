package main

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// resetFields is what GetResetFields of a strategy returns: the fields that the strategy resets whatever a
// write says, and that the write therefore doesn't own.
type resetFields map[fieldpath.APIVersion]*fieldpath.Set

// builtinStrategies are the reset fields of the strategies in k8s.io/kubernetes 1.36.3 pkg/registry, in
// apiextensions and in the aggregator, by subresource and kind. The strategies have the same fields for every
// version that is served, so versions aren't distinguished here. Kinds that aren't named reset nothing.
var builtinStrategies = map[string]map[schema.GroupKind][]string{
	"": resettable(map[string]string{
		"status": "Pod Service Node Namespace PersistentVolume PersistentVolumeClaim ReplicationController" +
			" ResourceQuota" +
			" Deployment.apps DaemonSet.apps ReplicaSet.apps StatefulSet.apps" +
			" HorizontalPodAutoscaler.autoscaling" +
			" CronJob.batch Job.batch" +
			" PodDisruptionBudget.policy" +
			" Ingress.networking.k8s.io Ingress.extensions ServiceCIDR.networking.k8s.io" +
			" ValidatingAdmissionPolicy.admissionregistration.k8s.io" +
			" StorageVersion.internal.apiserver.k8s.io" +
			" FlowSchema.flowcontrol.apiserver.k8s.io" +
			" PriorityLevelConfiguration.flowcontrol.apiserver.k8s.io" +
			" DeviceTaintRule.resource.k8s.io ResourceClaim.resource.k8s.io" +
			" ResourcePoolStatusRequest.resource.k8s.io" +
			" PodGroup.scheduling.k8s.io VolumeAttachment.storage.k8s.io" +
			" StorageVersionMigration.storagemigration.k8s.io" +
			" CustomResourceDefinition.apiextensions.k8s.io APIService.apiregistration.k8s.io",
		"spec status": "CertificateSigningRequest.certificates.k8s.io",
	}),
	"status": resettable(map[string]string{
		"spec": "Service Node Namespace PersistentVolume PersistentVolumeClaim ReplicationController" +
			" ResourceQuota" +
			" DaemonSet.apps ReplicaSet.apps StatefulSet.apps" +
			" HorizontalPodAutoscaler.autoscaling" +
			" CronJob.batch Job.batch" +
			" PodDisruptionBudget.policy" +
			" Ingress.networking.k8s.io Ingress.extensions" +
			" PodCertificateRequest.certificates.k8s.io",
		"spec metadata.labels": "Deployment.apps",
		"spec metadata.deletionTimestamp metadata.ownerReferences": "Pod",
		"spec status.conditions":                                   "CertificateSigningRequest.certificates.k8s.io",
		"spec metadata": "ServiceCIDR.networking.k8s.io" +
			" ValidatingAdmissionPolicy.admissionregistration.k8s.io" +
			" StorageVersion.internal.apiserver.k8s.io" +
			" FlowSchema.flowcontrol.apiserver.k8s.io" +
			" PriorityLevelConfiguration.flowcontrol.apiserver.k8s.io" +
			" DeviceTaintRule.resource.k8s.io ResourceClaim.resource.k8s.io" +
			" ResourcePoolStatusRequest.resource.k8s.io" +
			" PodGroup.scheduling.k8s.io VolumeAttachment.storage.k8s.io" +
			" StorageVersionMigration.storagemigration.k8s.io" +
			" CustomResourceDefinition.apiextensions.k8s.io APIService.apiregistration.k8s.io",
	}),
	"approval": resettable(map[string]string{
		"spec status.certificate": "CertificateSigningRequest.certificates.k8s.io",
	}),
	"finalize": resettable(map[string]string{
		"status": "Namespace",
	}),
	// These bring all back but their part, which isn't the field manager's.
	"ephemeralcontainers": resettable(map[string]string{"": "Pod"}),
	"resize":              resettable(map[string]string{"": "Pod"}),
}

// podParts are what GetResetFieldsFilter of a pod's strategies returns, by subresource: all that a write there owns.
var podParts = map[string]fieldpath.Filter{
	"ephemeralcontainers": fieldpath.NewIncludeMatcherFilter(
		fieldpath.MakePrefixMatcherOrDie("spec", "ephemeralContainers")),
	"resize": fieldpath.NewIncludeMatcherFilter(
		inContainers("containers", "resources"), inContainers("containers", "resizePolicy"),
		inContainers("initContainers", "resources"), inContainers("initContainers", "resizePolicy")),
}

func inContainers(list, field string) *fieldpath.SetMatcher {
	return fieldpath.MakePrefixMatcherOrDie("spec", list, fieldpath.MatchAnyPathElement(), field)
}

// filters are what a write doesn't own, by version.
func (res *resource) filters(subresource string) map[fieldpath.APIVersion]fieldpath.Filter {
	part, ok := podParts[subresource]
	if ok && !res.custom && res.gvk == (schema.GroupVersionKind{Version: "v1", Kind: "Pod"}) {
		return map[fieldpath.APIVersion]fieldpath.Filter{"v1": part}
	}
	return fieldpath.NewExcludeFilterSetMap(res.resets[subresource])
}

// resettable turns a table by fields into one by kind.
func resettable(byFields map[string]string) map[schema.GroupKind][]string {
	byKind := map[schema.GroupKind][]string{}
	for fields, kinds := range byFields {
		for _, kind := range strings.Fields(kinds) {
			byKind[schema.ParseGroupKind(kind)] = strings.Fields(fields)
		}
	}
	return byKind
}

// builtinResets gives the reset fields of a built-in kind, by subresource.
func builtinResets(gvk schema.GroupVersionKind) map[string]resetFields {
	resets := map[string]resetFields{"": {}}
	versions := append(builtin.VersionsForGroupKind(gvk.GroupKind()), gvk.GroupVersion())
	for subresource, kinds := range builtinStrategies {
		fields, ok := kinds[gvk.GroupKind()]
		if !ok {
			continue
		}
		resets[subresource] = resetFields{}
		for _, version := range versions {
			resets[subresource][fieldpath.APIVersion(version.String())] = setOf(fields)
		}
	}
	return resets
}

func setOf(fields []string) *fieldpath.Set {
	set := fieldpath.NewSet()
	for _, field := range fields {
		var path fieldpath.Path
		for _, name := range strings.Split(field, ".") {
			path = append(path, fieldpath.PathElement{FieldName: &name})
		}
		set.Insert(path)
	}
	return set
}

// customResets gives the reset fields of a custom resource: those of the strategies in apiextensions'
// pkg/registry/customresource. The status subresource knows the fields of all versions, the main resource only
// those of its own.
func customResets(
	crd *apiextensionsv1.CustomResourceDefinition, version apiextensionsv1.CustomResourceDefinitionVersion,
) map[string]resetFields {
	apiVersion := func(name string) fieldpath.APIVersion {
		return fieldpath.APIVersion(schema.GroupVersion{Group: crd.Spec.Group, Version: name}.String())
	}
	resets := map[string]resetFields{"": {}}
	if !hasStatus(version) {
		return resets
	}
	resets[""][apiVersion(version.Name)] = setOf([]string{"status"})
	resets["status"] = resetFields{}
	for _, v := range crd.Spec.Versions {
		if hasStatus(v) && (v.Served || v.Storage) {
			resets["status"][apiVersion(v.Name)] = setOf([]string{"metadata", "spec"})
		}
	}
	return resets
}

func hasStatus(version apiextensionsv1.CustomResourceDefinitionVersion) bool {
	return version.Subresources != nil && version.Subresources.Status != nil
}

// reset does what PrepareForUpdate and PrepareForCreate of the strategies do to these fields: a write of an
// object that is there takes them from live, and a creation drops the status.
func (res *resource) reset(subresource string, object, live *unstructured.Unstructured) {
	fields := res.resets[subresource][fieldpath.APIVersion(res.gvk.GroupVersion().String())]
	if fields == nil {
		return
	}
	if live == nil {
		// A node brings its status along.
		if res.gvk.GroupKind() != (schema.GroupKind{Kind: "Node"}) {
			unstructured.RemoveNestedField(object.Object, "status")
		}
		return
	}
	if res.custom && subresource == "status" {
		keepOnly(object, live, "status")
		return
	}
	fields.Iterate(func(path fieldpath.Path) { takeFrom(live, object, path) })
}

// keepOnly makes object a copy of live but for one field and managedFields, which no write resets.
func keepOnly(object, live *unstructured.Unstructured, field string) {
	kept, ok := object.Object[field]
	managed, hasManaged, _ := unstructured.NestedFieldNoCopy(object.Object, "metadata", "managedFields")
	object.Object = runtime.DeepCopyJSON(live.Object)
	delete(object.Object, field)
	if ok {
		object.Object[field] = kept
	}
	putManagedFields(object, managed, hasManaged)
}

// takeFrom sets one field of object to what it is in live, which may be absent.
func takeFrom(live, object *unstructured.Unstructured, path fieldpath.Path) {
	var names []string
	for _, element := range path {
		names = append(names, *element.FieldName)
	}
	managed, hasManaged, _ := unstructured.NestedFieldNoCopy(object.Object, "metadata", "managedFields")
	value, ok, err := unstructured.NestedFieldCopy(live.Object, names...)
	if err == nil && ok {
		// It fails where a parent is no map, which has nothing to reset then.
		_ = unstructured.SetNestedField(object.Object, value, names...)
	} else {
		unstructured.RemoveNestedField(object.Object, names...)
	}
	if slices.Equal(names, []string{"metadata"}) {
		putManagedFields(object, managed, hasManaged)
	}
}

func putManagedFields(object *unstructured.Unstructured, managed any, ok bool) {
	if !ok {
		unstructured.RemoveNestedField(object.Object, "metadata", "managedFields")
		return
	}
	metadata, isMap := object.Object["metadata"].(map[string]any)
	if !isMap {
		metadata = map[string]any{}
		object.Object["metadata"] = metadata
	}
	metadata["managedFields"] = managed
}
