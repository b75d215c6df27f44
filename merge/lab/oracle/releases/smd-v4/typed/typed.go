// Package typed has the names of v6 for what v4 has.
package typed

import "sigs.k8s.io/structured-merge-diff/v4/typed"

type (
	Comparison        = typed.Comparison
	ParseableType     = typed.ParseableType
	Parser            = typed.Parser
	TypedValue        = typed.TypedValue
	ValidationOptions = typed.ValidationOptions
	YAMLObject        = typed.YAMLObject
)

// AllowDuplicates is the option of that name.
const AllowDuplicates = typed.AllowDuplicates

var (
	AsTypedUnvalidated          = typed.AsTypedUnvalidated
	DeducedParseableType        = typed.DeducedParseableType
	NewParser                   = typed.NewParser
	ReconcileFieldSetWithSchema = typed.ReconcileFieldSetWithSchema
)
