// Command pods is what runs in the pods of the tests' real node: the pause program that holds a pod's namespaces, and a
// small web server. One static binary without dependencies, which is all that their images hold.
//
//	pods pause    waits, and reaps processes that lost their parents
//	pods web 80   serves on port 80
//
// It knows nothing of Baton.
package main

import (
	"fmt"
	"os"
)

func main() {
	var err error
	switch arguments := os.Args[1:]; {
	case len(arguments) == 1 && arguments[0] == "pause":
		err = pause()
	case len(arguments) == 2 && arguments[0] == "web":
		err = web(arguments[1])
	default:
		err = fmt.Errorf("usage: %s pause | web PORT", os.Args[0])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
