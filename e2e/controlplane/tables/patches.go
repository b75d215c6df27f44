package main

import (
	"encoding/json"
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// patchCase is a patch, and what becomes of the object it is for.
type patchCase struct {
	About string `json:"about"`
	// The object, where it isn't the one that all of this sort are for.
	Live  json.RawMessage `json:"live,omitempty"`
	Patch json.RawMessage `json:"patch"`
	Want  json.RawMessage `json:"want,omitempty"`
	Error string          `json:"error,omitempty"`
}

// cases fills in what becomes of the objects.
func cases(input []byte) ([]byte, error) {
	var all struct {
		JSON      []patchCase                `json:"json"`
		Merge     []patchCase                `json:"merge"`
		Strategic []patchCase                `json:"strategic"`
		Live      map[string]json.RawMessage `json:"live"`
	}
	if err := json.Unmarshal(input, &all); err != nil {
		return nil, err
	}
	out := "{\n"
	for _, sort := range []struct {
		name  string
		cases []patchCase
		apply func(live, patch []byte) ([]byte, error)
	}{
		{"json", all.JSON, applyJSON},
		{"merge", all.Merge, jsonpatch.MergePatch},
		{"strategic", all.Strategic, applyStrategic},
	} {
		for i := range sort.cases {
			c := &sort.cases[i]
			live := c.Live
			if live == nil {
				live = all.Live[sort.name]
			}
			c.Want, c.Error = nil, ""
			made, err := sort.apply(live, c.Patch)
			if err != nil {
				c.Error = err.Error()
			} else {
				c.Want = made
			}
		}
		out += fmt.Sprintf(" %q: [\n%s\n ],\n", sort.name, lines(sort.cases, "  "))
	}
	return []byte(out + " \"live\": " + string(encode(all.Live, "")) + "\n}\n"), nil
}

func applyJSON(live, patch []byte) ([]byte, error) {
	operations, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, err
	}
	return operations.Apply(live)
}

// applyStrategic patches a pod as the server does: with integers that stay integers.
func applyStrategic(live, patch []byte) ([]byte, error) {
	var object, change map[string]any
	if err := utiljson.Unmarshal(live, &object); err != nil {
		return nil, err
	}
	if err := utiljson.Unmarshal(patch, &change); err != nil {
		return nil, err
	}
	made, err := strategicpatch.StrategicMergeMapPatch(object, change, &corev1.Pod{})
	if err != nil {
		return nil, err
	}
	return encode(made, ""), nil
}
