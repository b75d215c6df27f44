// Package fieldpath has the names of v6 for what v4 has.
package fieldpath

import "sigs.k8s.io/structured-merge-diff/v4/fieldpath"

type (
	APIVersion    = fieldpath.APIVersion
	Filter        = fieldpath.Filter
	ManagedFields = fieldpath.ManagedFields
	Path          = fieldpath.Path
	PathElement   = fieldpath.PathElement
	Set           = fieldpath.Set
)

var (
	DeserializePathElement = fieldpath.DeserializePathElement
	NewExcludeFilterSetMap = fieldpath.NewExcludeFilterSetMap
	NewSet                 = fieldpath.NewSet
	NewVersionedSet        = fieldpath.NewVersionedSet
)
