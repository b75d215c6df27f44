// Command oracle serves the merge driver protocol with the genuine Go libraries of a release of Kubernetes, 1.36.3
// unless it is built with one of the module files in releases: structured-merge-diff, the field manager of
// apimachinery, and apiextensions' reading of a CustomResourceDefinition.
//
// It reads one JSON object a line on standard input and writes one a line on standard output, in order:
//
//	echo '{"do":"to_set","value":{"a":{"b":1}}}' | oracle
//	{"set":{"f:a":{"f:b":{}}}}
//
// Nothing here merges. Every file translates between the protocol and one library, and where the libraries
// leave something to their caller (what a write resets, whether it is stored), it does what that caller in
// the API server does, and names it.
//
//   - protocol.go reads requests and writes responses; value.go is their numbers; release.go is whose rules apply
//   - schemas.go turns schemas, OpenAPI documents and CRDs into types, and keeps them
//   - level1.go and level2.go are structured-merge-diff: typed values, and one step of the updater
//   - level3.go is one write to an API server; resource.go, resets.go, scale.go, clock.go and fields.go are
//     its parts
//
// As "oracle zero-values" it prints data that the merge core ships; see zerovalues.go. As "oracle bench" it
// is the Go side of the benchmarks; see bench.go.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

func main() {
	// The libraries log what they also return; standard error is for the oracle's own failures.
	klog.SetLogger(logr.Discard())
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	do := func() error { return newOracle().serve(os.Stdin, os.Stdout) }
	if len(os.Args) == 2 && os.Args[1] == "zero-values" {
		do = func() error { return writeZeroValues(os.Stdout) }
	}
	if len(os.Args) == 2 && os.Args[1] == "bench" {
		do = func() error { return bench(os.Stdin, os.Stdout) }
	}
	if err := do(); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}
