package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestEveryLineHasItsAnswerInOrder(t *testing.T) {
	in := "{\"id\":1,\"do\":\"to_set\",\"value\":{}}\nnonsense\n\n{\"id\":\"b\",\"do\":\"to_set\",\"value\":{}}"
	var out bytes.Buffer
	if err := newOracle().serve(strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("there are %d responses:\n%s", len(lines), out.String())
	}
	for i, want := range []string{`"id":1`, `"reason":"BadRequest"`, `"id":"b"`} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("response %d has no %s: %s", i, want, lines[i])
		}
	}
}

func TestUnknownMembersAreRefused(t *testing.T) {
	expectReason(t, `{'do':'to_set','value':{},'live':{}}`, badRequest)
	expectReason(t, `{'do':'apply','live':null,'managers':{'a':{'set':{},'version':'v1','time':1}},'object':{},
		'version':'v1','manager':'m'}`, badRequest)
}

func TestAnotherReleaseIsRefused(t *testing.T) {
	expectReason(t, `{'do':'to_set','value':{},'profile':'1.34'}`, badRequest)
	expect(t, `{'do':'to_set','value':{},'profile':'1.36.3'}`, `{'set':{}}`)
}

func TestDeepNestingEndsNothing(t *testing.T) {
	deep := strings.Repeat(`[`, 20000) + strings.Repeat(`]`, 20000)
	expectReason(t, `{'do':'to_set','value':`+deep+`}`, badRequest)
	legal := strings.Repeat(`{'a':`, 9000) + `1` + strings.Repeat(`}`, 9000)
	answerTo(t, `{'do':'to_set','value':`+legal+`}`)
}

func TestLongLines(t *testing.T) {
	long := strings.Repeat("x", 20<<20)
	if got := answerTo(t, `{'do':'merge','live':'`+long+`','applied':1}`); got != `{"value":1}` {
		t.Errorf("got %.100s", got)
	}
}

func TestNumbersKeepTheirSpelling(t *testing.T) {
	expectText(t, `{'do':'merge','live':{'a':1,'b':1.0},'applied':{'c':9007199254740993}}`,
		`{"a":1,"b":1.0,"c":9007199254740993}`)
}
