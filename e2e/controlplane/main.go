// Command controlplane is etcd, the Kubernetes control plane and kubectl in one binary; on Linux also what runs on a node.
//
// One binary instead of seven, because the seven share nearly all of their code: it links once, and takes a
// fifth of the disk. Which of them it is comes from the name it is called by, or else from its first argument:
//
//	controlplane kube-apiserver --etcd-servers=…
//	ln -s controlplane kubectl && ./kubectl get pods
//
// Each component has a file of its own here, which is upstream's main function and nothing more. This
// program knows nothing of how the components are configured or started.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// components are the programs inside. Each takes its arguments from os.Args, as upstream's code does.
var components = map[string]func(){
	"etcd":                    etcd,
	"kube-apiserver":          apiServer,
	"kube-controller-manager": controllerManager,
	"kube-scheduler":          scheduler,
	"kubectl":                 kubectl,
}

func main() {
	if run, ok := components[filepath.Base(os.Args[0])]; ok {
		run()
		return
	}
	if len(os.Args) > 1 {
		if run, ok := components[os.Args[1]]; ok {
			// The components find in os.Args what they would find as programs of their own.
			os.Args = os.Args[1:]
			run()
			return
		}
	}
	fmt.Fprintf(os.Stderr, "usage: %s COMPONENT [ARGUMENT...]\ncomponents: %s\n", os.Args[0], names())
	os.Exit(2)
}

func names() string {
	var all []string
	for name := range components {
		all = append(all, name)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
