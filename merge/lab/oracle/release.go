package main

import (
	"runtime/debug"
	"strings"
)

// release is the release of Kubernetes whose libraries are linked in, such as "1.36.3". It is read from the binary
// itself, so that no build can say another one: go.mod has the libraries of one release, and each file in the folder
// releases those of another.
var release = linkedRelease()

// linkedRelease derives it from the modules that Kubernetes publishes with each release: 1.36.3 has v0.36.3 of them.
func linkedRelease() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "k8s.io/apimachinery" {
				return "1." + strings.TrimPrefix(module.Version, "v0.")
			}
		}
	}
	panic("the binary doesn't say which libraries are linked in")
}

// answersFor reports whether a request that names this release can be served. One without its patch is the latest patch,
// whose rules 1.36.2 doesn't have: 1.36.3 took back how it prunes.
func answersFor(profile string) bool {
	minor := release[:strings.LastIndexByte(release, '.')]
	return profile == release || profile == minor && release != "1.36.2"
}
