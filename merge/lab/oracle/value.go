package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// decodeValue reads JSON as the API server does: integers that fit become int64, all other numbers float64,
// and of a member that is there twice the last counts.
func decodeValue(raw json.RawMessage) (any, error) {
	var v any
	if err := utiljson.Unmarshal(raw, &v); err != nil {
		return nil, err
	}
	return v, nil
}

// encodeValue writes JSON. It differs from encoding/json in three points: a float64 stays recognizable as one
// (1.0 doesn't become 1, so both spellings that the protocol distinguishes come back as they went in; other
// spellings, like 1e3, come back as 1000.0), a json.RawMessage is copied byte for byte, and maps with keys of
// type any, which structured-merge-diff may make, are taken.
func encodeValue(buf *bytes.Buffer, v any) error {
	switch v := v.(type) {
	case nil:
		buf.WriteString("null")
	case bool:
		buf.WriteString(strconv.FormatBool(v))
	case int:
		buf.WriteString(strconv.Itoa(v))
	case int64:
		buf.WriteString(strconv.FormatInt(v, 10))
	case float64:
		return encodeFloat(buf, v)
	case string:
		return encodeString(buf, v)
	case json.RawMessage:
		return json.Compact(buf, v)
	case []any:
		return encodeList(buf, v)
	case map[string]any:
		return encodeMap(buf, v)
	case map[any]any:
		named := make(map[string]any, len(v))
		for key, item := range v {
			name, ok := key.(string)
			if !ok {
				return fmt.Errorf("a map has a key of type %T", key)
			}
			named[name] = item
		}
		return encodeMap(buf, named)
	default:
		return fmt.Errorf("a value has type %T, which isn't one of JSON's", v)
	}
	return nil
}

func encodeList(buf *bytes.Buffer, list []any) error {
	buf.WriteByte('[')
	for i, item := range list {
		if i > 0 {
			buf.WriteByte(',')
		}
		if err := encodeValue(buf, item); err != nil {
			return err
		}
	}
	buf.WriteByte(']')
	return nil
}

// encodeMap writes the members sorted as strings, which is also how an API server stores custom resources.
func encodeMap(buf *bytes.Buffer, m map[string]any) error {
	buf.WriteByte('{')
	for i, key := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			buf.WriteByte(',')
		}
		if err := encodeString(buf, key); err != nil {
			return err
		}
		buf.WriteByte(':')
		if err := encodeValue(buf, m[key]); err != nil {
			return err
		}
	}
	buf.WriteByte('}')
	return nil
}

func encodeFloat(buf *bytes.Buffer, f float64) error {
	raw, err := json.Marshal(f)
	if err != nil {
		return err
	}
	buf.Write(raw)
	if f == math.Trunc(f) && !bytes.ContainsAny(raw, ".e") {
		buf.WriteString(".0")
	}
	return nil
}

func encodeString(buf *bytes.Buffer, s string) error {
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return err
	}
	buf.Truncate(buf.Len() - 1) // the newline that Encode ends with
	return nil
}
