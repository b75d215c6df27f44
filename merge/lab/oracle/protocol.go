package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime/debug"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// The reasons of an error. Two implementations of the protocol agree on an error when these are equal.
const (
	badRequest = "BadRequest" // the request makes no sense
	invalid    = "Invalid"    // a schema refuses a value
	notFound   = "NotFound"   // a type, a kind or a file isn't there
	internal   = "Internal"   // the libraries failed otherwise, or panicked
)

// refusal is an error that the protocol knows.
type refusal struct {
	reason  string
	message string
}

func (r *refusal) Error() string { return r.reason + ": " + r.message }

func refuse(reason, format string, args ...any) error {
	return &refusal{reason: reason, message: fmt.Sprintf(format, args...)}
}

// answer is what encodeValue makes a line of.
type answer = map[string]any

// members of a request that are allowed for each operation, besides those in everywhere. A request about
// types also takes one of the sources of a type; the two levels of apply and update are distinguished by gvk.
var (
	everywhere = []string{"id", "do", "profile"}
	typeSource = []string{"schema", "openapi", "crd", "type"}
	level1     = map[string][]string{
		"validate":  {"value", "duplicates"},
		"to_set":    {"value"},
		"merge":     {"live", "applied"},
		"compare":   {"old", "new"},
		"remove":    {"value", "set"},
		"extract":   {"value", "set"},
		"reconcile": {"set"},
	}
	level2 = []string{"live", "managers", "object", "version", "manager", "force", "ignored"}
	level3 = []string{
		"openapi", "crd", "gvk", "subresource", "live", "object", "manager", "force", "now",
	}
)

// oracle responds to requests. It isn't safe for concurrent use.
type oracle struct {
	schemas *schemas
}

func newOracle() *oracle { return &oracle{schemas: newSchemas()} }

// serve responds to every line of in on out until in ends. Its error is one of in or out, never one of a request.
func (o *oracle) serve(in io.Reader, out io.Writer) error {
	// Lines have no limit: an object of a test may be tens of megabytes.
	reader := bufio.NewReaderSize(in, 1<<16)
	writer := bufio.NewWriterSize(out, 1<<16)
	for {
		line, err := reader.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			writer.Write(o.line(line))
			writer.WriteByte('\n')
		}
		// A client may wait for this response before the next request; a pipe full of requests is
		// served in larger pieces.
		if reader.Buffered() == 0 || err != nil {
			if err := writer.Flush(); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// line responds to any request with a line of JSON.
func (o *oracle) line(line []byte) []byte {
	var r request
	var a answer
	err := json.Unmarshal(line, &r)
	if err != nil {
		err = refuse(badRequest, "the line is no JSON object: %v", err)
	} else {
		a, err = o.answer(r)
	}
	buf := &bytes.Buffer{}
	if err == nil {
		err = encodeAnswer(buf, r, a)
	}
	if err != nil {
		buf.Reset()
		if err := encodeAnswer(buf, r, errorAnswer(err)); err != nil {
			return []byte(`{"error":{"reason":"Internal","message":"the error can't be written as JSON"}}`)
		}
	}
	return buf.Bytes()
}

func encodeAnswer(buf *bytes.Buffer, r request, a answer) error {
	if id, ok := r["id"]; ok {
		a["id"] = id
	}
	return encodeValue(buf, a)
}

func errorAnswer(err error) answer {
	var r *refusal
	if !errors.As(err, &r) {
		r = &refusal{reason: internal, message: err.Error()}
	}
	return answer{"error": map[string]any{"reason": r.reason, "message": r.message}}
}

// answer asks the level that the request is for. A panic of a library is a response too.
func (o *oracle) answer(r request) (a answer, err error) {
	defer func() {
		if p := recover(); p != nil {
			a, err = nil, refuse(internal, "panic: %v\n%s", p, debug.Stack())
		}
	}()
	do, err := r.text("do")
	if err != nil {
		return nil, err
	}
	if err := r.checkProfile(); err != nil {
		return nil, err
	}
	switch extra, isLevel1 := level1[do]; {
	case isLevel1:
		if err := r.only(everywhere, typeSource, extra); err != nil {
			return nil, err
		}
		return o.level1(do, r)
	case do != "apply" && do != "update":
		return nil, refuse(badRequest, "do: there is no %q", do)
	case r.has("gvk"):
		if err := r.only(everywhere, level3); err != nil {
			return nil, err
		}
		return o.level3(do, r)
	default:
		if err := r.only(everywhere, typeSource, level2); err != nil {
			return nil, err
		}
		return o.level2(do, r)
	}
}

// request is one line. Its methods read members, and say of a wrong one which it is.
type request map[string]json.RawMessage

func (r request) has(member string) bool {
	_, ok := r[member]
	return ok
}

// only refuses members that no list names.
func (r request) only(lists ...[]string) error {
	for _, member := range slices.Sorted(maps.Keys(r)) {
		if !slices.ContainsFunc(lists, func(list []string) bool { return slices.Contains(list, member) }) {
			return refuse(badRequest, "%s: no member of this request", member)
		}
	}
	return nil
}

// checkProfile refuses a release whose libraries aren't these.
func (r request) checkProfile() error {
	if !r.has("profile") {
		return nil
	}
	profile, err := r.text("profile")
	if err != nil {
		return err
	}
	if !answersFor(profile) {
		return refuse(badRequest, "profile: the libraries inside are those of %s, not of %q", release, profile)
	}
	return nil
}

// into reads a member that has to be there.
func (r request) into(member string, target any) error {
	if !r.has(member) {
		return refuse(badRequest, "%s: missing", member)
	}
	return r.optional(member, target)
}

// optional reads a member that may be absent.
func (r request) optional(member string, target any) error {
	raw, ok := r[member]
	if !ok {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(target); err != nil {
		return refuse(badRequest, "%s: %v", member, err)
	}
	return nil
}

func (r request) text(member string) (string, error) {
	var s string
	return s, r.into(member, &s)
}

func (r request) flag(member string) (bool, error) {
	var b bool
	return b, r.optional(member, &b)
}

// value reads a member that is any JSON.
func (r request) value(member string) (any, error) {
	raw, ok := r[member]
	if !ok {
		return nil, refuse(badRequest, "%s: missing", member)
	}
	v, err := decodeValue(raw)
	if err != nil {
		return nil, refuse(badRequest, "%s: %v", member, err)
	}
	return v, nil
}

// set reads a member that is a field set.
func (r request) set(member string) (*fieldpath.Set, error) {
	raw, ok := r[member]
	if !ok {
		return nil, refuse(badRequest, "%s: missing", member)
	}
	return decodeSet(member, raw)
}

func decodeSet(member string, raw json.RawMessage) (*fieldpath.Set, error) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, refuse(badRequest, "%s: a field set is an object", member)
	}
	set := &fieldpath.Set{}
	if err := set.FromJSON(bytes.NewReader(raw)); err != nil {
		return nil, refuse(badRequest, "%s: %v", member, err)
	}
	return set, nil
}

// encodeSet writes a field set exactly as the library does.
func encodeSet(set *fieldpath.Set) (json.RawMessage, error) {
	raw, err := set.ToJSON()
	return raw, err
}
