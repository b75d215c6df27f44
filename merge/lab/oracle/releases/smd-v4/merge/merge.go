// Package merge has the names of v6 for what v4 has.
package merge

import "sigs.k8s.io/structured-merge-diff/v4/merge"

type (
	Conflict       = merge.Conflict
	Conflicts      = merge.Conflicts
	Converter      = merge.Converter
	UpdaterBuilder = merge.UpdaterBuilder
)
