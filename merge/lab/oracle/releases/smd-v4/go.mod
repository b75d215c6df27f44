// The names of structured-merge-diff v6 for the types and functions of v4, as far as the oracle uses them: the
// libraries of Kubernetes 1.33 are built on v4. 1.33.mod puts this module in the place of v6.
module sigs.k8s.io/structured-merge-diff/v6

go 1.26.0

require sigs.k8s.io/structured-merge-diff/v4 v4.6.0

require (
	github.com/json-iterator/go v1.1.12 // indirect
	github.com/modern-go/concurrent v0.0.0-20180306012644-bacd9c7ef1dd // indirect
	github.com/modern-go/reflect2 v1.0.2 // indirect
	sigs.k8s.io/yaml v1.4.0 // indirect
)
