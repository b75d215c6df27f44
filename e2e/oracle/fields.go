package main

import (
	"bytes"
	"encoding/json"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// How fieldsV1 is spelled. An API server keeps a built-in kind's as the bytes that the field set was written
// as, in the order of the set. A custom resource is JSON all through, and JSON written by Go has the members
// of every object sorted as strings. So is a built-in parent's after a write of its scale, since its entries
// go through such an object on the way.

// spelling is the fieldsV1 of each entry, in order.
type spelling []json.RawMessage

// spellingOf reads it from an object as it was sent, which is how the server has it stored.
func spellingOf(raw json.RawMessage) (spelling, error) {
	var object struct {
		Metadata struct {
			ManagedFields []json.RawMessage `json:"managedFields"`
		} `json:"metadata"`
	}
	if err := utiljson.Unmarshal(raw, &object); err != nil {
		return nil, err
	}
	var all spelling
	for _, raw := range object.Metadata.ManagedFields {
		if !bytes.HasPrefix(raw, []byte("{")) {
			continue // as managedFieldsOf does
		}
		var entry struct {
			FieldsV1 json.RawMessage `json:"fieldsV1"`
		}
		if err := utiljson.Unmarshal(raw, &entry); err != nil {
			return nil, err
		}
		buf := &bytes.Buffer{}
		if len(entry.FieldsV1) > 0 {
			if err := json.Compact(buf, entry.FieldsV1); err != nil {
				return nil, err
			}
		}
		all = append(all, buf.Bytes())
	}
	return all, nil
}

// inOrderOfSet spells the entries of an object in the order of their sets.
func inOrderOfSet(object map[string]any) (spelling, error) {
	sorted, err := inOrderOfStrings(object)
	if err != nil {
		return nil, err
	}
	for i, raw := range sorted {
		set, err := decodeSet("fieldsV1", raw)
		if err != nil {
			return nil, err
		}
		if sorted[i], err = encodeSet(set); err != nil {
			return nil, err
		}
	}
	return sorted, nil
}

// inOrderOfStrings spells the entries of an object with their members sorted.
func inOrderOfStrings(object map[string]any) (spelling, error) {
	var all spelling
	for _, entry := range managedFieldsOf(object) {
		buf := &bytes.Buffer{}
		if err := encodeValue(buf, entry["fieldsV1"]); err != nil {
			return nil, err
		}
		all = append(all, buf.Bytes())
	}
	return all, nil
}

func (s spelling) equal(other spelling) bool {
	return slices.EqualFunc(s, other, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
}

// spell sets the entries of an object to be written so.
func (s spelling) spell(object map[string]any) {
	for i, entry := range managedFieldsOf(object) {
		if len(s[i]) > 0 {
			entry["fieldsV1"] = s[i]
		}
	}
}
