// Package value has the names of v6 for what v4 has.
package value

import "sigs.k8s.io/structured-merge-diff/v4/value"

// NewValueInterface is the function of that name.
var NewValueInterface = value.NewValueInterface
