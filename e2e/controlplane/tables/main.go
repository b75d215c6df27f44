// Command tables writes what the server makes of the examples that the API server inside a process is tested with: the rows
// and columns of its tables, the results of patches, objects as protobuf, and what rules cost.
//
//	go run ./tables -apiserver ../../apiserver
//
// With -check it only says whether the files are up to date.
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// encode writes a value on one line, or on several with an indent.
func encode(value any, indent string) []byte {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	if err := encoder.Encode(value); err != nil {
		panic(err) // They are values that were read or made here.
	}
	return bytes.TrimSpace(out.Bytes())
}

// lines writes a list with an item a line.
func lines[T any](items []T, indent string) string {
	all := make([]string, 0, len(items))
	for _, item := range items {
		all = append(all, indent+string(encode(item, "")))
	}
	return strings.Join(all, ",\n")
}

// write writes a file, or compares it with what is there.
func write(path string, made []byte, check bool) error {
	if !check {
		return os.WriteFile(path, made, 0o644)
	}
	current, err := os.ReadFile(path)
	if err == nil && !bytes.Equal(current, made) {
		err = fmt.Errorf("%s is stale: run `go run ./tables` in e2e/controlplane, as .ci/run does", path)
	}
	return err
}

func run() error {
	folder := flag.String("apiserver", "", "the folder of the crate")
	check := flag.Bool("check", false, "fail when a file isn't up to date")
	flag.Parse()
	for _, job := range []struct {
		input, output string
		make          func([]byte) ([]byte, error)
	}{
		{"src/table/rows.json", "src/table/rows.json", rows},
		{"src/table/rows.json", "data/columns.json", columns},
		{"src/patch/cases.json", "src/patch/cases.json", cases},
		{"src/types/messages.json", "src/types/messages.json", messages},
		{"src/custom/rules/costs.json", "src/custom/rules/costs.json", costs},
	} {
		input, err := os.ReadFile(filepath.Join(*folder, job.input))
		if err != nil {
			return err
		}
		made, err := job.make(input)
		if err != nil {
			return err
		}
		if err := write(filepath.Join(*folder, job.output), made, *check); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
