package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

var updateYAML = flag.Bool("update-yaml", false, "write what sigs.k8s.io/yaml makes of the texts in the corpus")

// yamlCase is a text and what sigs.k8s.io/yaml makes of it. The merge core's reader is compared with the same file.
type yamlCase struct {
	YAML       string          `json:"yaml"`
	JSON       json.RawMessage `json:"json,omitempty"`
	Duplicates []string        `json:"duplicates,omitempty"`
	Error      string          `json:"error,omitempty"`
}

func TestTheYAMLCorpusIsWhatTheLibraryReads(t *testing.T) {
	const path = "../../tests/data/yaml.jsonl"
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var written bytes.Buffer
	encoder := json.NewEncoder(&written)
	encoder.SetEscapeHTML(false)
	for line := range bytes.Lines(file) {
		var recorded yamlCase
		if err := json.Unmarshal(line, &recorded); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		read := readYAML(recorded.YAML)
		if err := encoder.Encode(read); err != nil {
			t.Fatal(err)
		}
		if !*updateYAML && !reflect.DeepEqual(read, recorded) {
			t.Errorf("%q: the corpus has %+v, the library reads %+v", recorded.YAML, recorded, read)
		}
	}
	if *updateYAML {
		if err := os.WriteFile(path, written.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func readYAML(text string) yamlCase {
	read := yamlCase{YAML: text}
	object, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		read.Error = err.Error()
		return read
	}
	read.JSON = object
	if _, err := yaml.YAMLToJSONStrict([]byte(text)); err != nil {
		for line := range strings.Lines(err.Error()) {
			if line = strings.TrimSpace(line); strings.HasSuffix(line, "already set in map") {
				read.Duplicates = append(read.Duplicates, line)
			}
		}
	}
	return read
}
