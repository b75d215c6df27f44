package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
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
		if bytes.HasPrefix(entry.FieldsV1, []byte("{")) {
			decoder := json.NewDecoder(bytes.NewReader(entry.FieldsV1))
			if _, err := decoder.Token(); err != nil {
				return nil, err
			}
			if err := writeInItsOrder(buf, decoder); err != nil {
				return nil, err
			}
		} else {
			buf.Write(entry.FieldsV1)
		}
		all = append(all, buf.Bytes())
	}
	return all, nil
}

// writeInItsOrder copies an object whose brace is read already. Only its order is kept: how the server has escaped what
// it stores can't be distinguished from what it serves.
func writeInItsOrder(buf *bytes.Buffer, decoder *json.Decoder) error {
	buf.WriteByte('{')
	for i := 0; decoder.More(); i++ {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		if i > 0 {
			buf.WriteByte(',')
		}
		text, _ := name.(string)
		writeName(buf, text)
		buf.WriteByte(':')
		value, err := decoder.Token()
		if err != nil {
			return err
		}
		if value != json.Delim('{') {
			fmt.Fprintf(buf, "%v", value)
			if value == json.Delim('[') {
				return nil // no field set; nothing that is written is the same
			}
			continue
		}
		if err := writeInItsOrder(buf, decoder); err != nil {
			return err
		}
	}
	buf.WriteByte('}')
	_, err := decoder.Token()
	return err
}

// inOrderOfSet spells the entries of an object in the order of their sets. Reading a set and writing it again would lose
// digits of large integers, so the names are only put in order.
func inOrderOfSet(object map[string]any) (spelling, error) {
	all := spelling{}
	for _, entry := range managedFieldsOf(object) {
		buf := &bytes.Buffer{}
		if fields, ok := entry["fieldsV1"]; ok {
			if err := writeInOrderOfSet(buf, fields); err != nil {
				return nil, err
			}
		}
		all = append(all, buf.Bytes())
	}
	return all, nil
}

func writeInOrderOfSet(buf *bytes.Buffer, fields any) error {
	members, _ := fields.(map[string]any)
	elements := map[string]fieldpath.PathElement{}
	if err := readNames(elements, members); err != nil {
		return err
	}
	writeSorted(buf, members, func(a, b string) int {
		if a == "." || b == "." {
			return cmp.Compare(a, b)
		}
		return elements[a].Compare(elements[b])
	})
	return nil
}

// readNames reads the path elements that an object of objects has as names, at every level.
func readNames(elements map[string]fieldpath.PathElement, members map[string]any) error {
	for name, below := range members {
		if name == "." {
			continue
		}
		element, err := fieldpath.DeserializePathElement(name)
		if err != nil {
			return err
		}
		elements[name] = element
		if below, ok := below.(map[string]any); ok {
			if err := readNames(elements, below); err != nil {
				return err
			}
		}
	}
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
	all := spelling{}
	for _, entry := range managedFieldsOf(object) {
		buf := &bytes.Buffer{}
		writeSorted(buf, entry["fieldsV1"], cmp.Compare[string])
		all = append(all, buf.Bytes())
	}
	return all, nil
}

// writeSorted writes an object of objects with its names in an order.
func writeSorted(buf *bytes.Buffer, fields any, compare func(a, b string) int) {
	members, _ := fields.(map[string]any)
	buf.WriteByte('{')
	for i, name := range slices.SortedFunc(maps.Keys(members), compare) {
		if i > 0 {
			buf.WriteByte(',')
		}
		writeName(buf, name)
		buf.WriteByte(':')
		writeSorted(buf, members[name], compare)
	}
	buf.WriteByte('}')
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
