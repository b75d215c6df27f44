package main

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// answerTo sends one request through the whole program, in which ' stands for ".
func answerTo(t *testing.T, request string) string {
	t.Helper()
	line := strings.ReplaceAll(strings.Join(strings.Fields(request), " "), "'", `"`)
	var out bytes.Buffer
	if err := newOracle().serve(strings.NewReader(line+"\n"), &out); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// expect compares the response to a request with the one that it should have, in which ' stands for " too. Members
// are compared without regard to their order.
func expect(t *testing.T, request, want string) {
	t.Helper()
	got := answerTo(t, request)
	var g, w any
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		t.Fatalf("the response is no JSON: %v\n%s", err, got)
	}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(want, "'", `"`)), &w); err != nil {
		t.Fatalf("the expectation is no JSON: %v", err)
	}
	if !reflect.DeepEqual(g, w) {
		wanted, _ := json.Marshal(w)
		t.Errorf("got  %s\nwant %s", got, wanted)
	}
}

// expectReason looks for an error of one sort.
func expectReason(t *testing.T, request, reason string) {
	t.Helper()
	got := answerTo(t, request)
	var a struct{ Error struct{ Reason string } }
	if err := json.Unmarshal([]byte(got), &a); err != nil || a.Error.Reason != reason {
		t.Errorf("got  %s\nwant the reason %s", got, reason)
	}
}

// expectText looks for bytes in the response, where their order matters.
func expectText(t *testing.T, request, text string) {
	t.Helper()
	if got := answerTo(t, request); !strings.Contains(got, text) {
		t.Errorf("got  %s\nwithout %s", got, text)
	}
}
