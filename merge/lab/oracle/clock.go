package main

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
)

// The field manager reads the time itself. So instead of setting its clock, the oracle moves the request: all
// times in the objects are shifted such that the request's now becomes the present second, and those of the
// response are shifted back. Everything that depends on time (the entry's time, the order of entries, which
// managers are old) then comes out as if the present were now. Only an entry without a time, which counts as
// one of 1970, may change its place among others that the shift moves across that year.

// attempts bounds how often a request is computed again because the second ended meanwhile.
const attempts = 50

// at runs ask as if the present second were now. shift takes an object to the present, and unshift takes one
// back; both return copies. ask may be run several times, and only what its last run did counts.
func at(now time.Time, ask func(shift, unshift func(map[string]any) map[string]any) error) error {
	for range attempts {
		present := time.Now().Unix()
		delta := present - now.Unix()
		err := ask(
			func(object map[string]any) map[string]any { return shifted(object, delta) },
			func(object map[string]any) map[string]any { return shifted(object, -delta) },
		)
		if time.Now().Unix() == present {
			return err
		}
	}
	return refuse(internal, "no attempt of %d ended in the second it began in", attempts)
}

// shifted copies an object, with the times in its managedFields moved by so many seconds and written in UTC.
func shifted(object map[string]any, seconds int64) map[string]any {
	if object == nil {
		return nil
	}
	object = runtime.DeepCopyJSON(object)
	for _, entry := range managedFieldsOf(object) {
		text, ok := entry["time"].(string)
		if !ok {
			continue
		}
		if t, err := time.Parse(time.RFC3339, text); err == nil {
			moved := time.Unix(t.Unix()+seconds, 0)
			entry["time"] = moved.UTC().Format(time.RFC3339)
		}
	}
	return object
}

// managedFieldsOf gives the entries that are maps; others are for the libraries to refuse.
func managedFieldsOf(object map[string]any) []map[string]any {
	metadata, _ := object["metadata"].(map[string]any)
	list, _ := metadata["managedFields"].([]any)
	var entries []map[string]any
	for _, item := range list {
		if entry, ok := item.(map[string]any); ok {
			entries = append(entries, entry)
		}
	}
	return entries
}
