package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	jsoniter "github.com/json-iterator/go"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

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

// inOrderOfSet spells the entries of an object in the order of their sets. Reading a set and writing it again would lose
// digits of large integers, so the names are only put in order.
func inOrderOfSet(object map[string]any) (spelling, error) {
	all := spelling{}
	for _, entry := range managedFieldsOf(object) {
		buf := &bytes.Buffer{}
		if err := writeInOrderOfSet(buf, entry["fieldsV1"]); err != nil {
			return nil, err
		}
		all = append(all, buf.Bytes())
	}
	return all, nil
}

func writeInOrderOfSet(buf *bytes.Buffer, fields any) error {
	members, _ := fields.(map[string]any)
	names := slices.Collect(maps.Keys(members))
	elements := map[string]fieldpath.PathElement{}
	for _, name := range names {
		if name == "." {
			continue
		}
		element, err := fieldpath.DeserializePathElement(name)
		if err != nil {
			return err
		}
		elements[name] = element
	}
	slices.SortFunc(names, func(a, b string) int {
		if a == "." || b == "." {
			return cmp.Compare(a, b)
		}
		return elements[a].Compare(elements[b])
	})
	buf.WriteByte('{')
	for i, name := range names {
		if i > 0 {
			buf.WriteByte(',')
		}
		writeName(buf, name)
		buf.WriteByte(':')
		if err := writeInOrderOfSet(buf, members[name]); err != nil {
			return err
		}
	}
	buf.WriteByte('}')
	return nil
}

// writeName writes a name as Set.ToJSON does, which doesn't escape for HTML.
func writeName(buf *bytes.Buffer, name string) {
	stream := jsoniter.NewStream(jsoniter.ConfigDefault, buf, len(name)+2)
	stream.WriteString(name)
	_ = stream.Flush()
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
