package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	deployment = `'openapi':{'file':'testdata/apps-v1.json'},'gvk':{'group':'apps','version':'v1','kind':'Deployment'}`
	widget     = `'crd':{'file':'testdata/widgets.yaml'},
		'gvk':{'group':'example.org','version':'v1','kind':'Widget'}`
	at5 = `'now':'2026-01-02T03:04:05Z'`
)

// aDeployment is one with these members of metadata besides its name, and with these other members.
func aDeployment(metadata, rest string) string {
	return `{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'d'` + metadata + `}` + rest + `}`
}

func aWidget(metadata, rest string) string {
	return `{'apiVersion':'example.org/v1','kind':'Widget','metadata':{'name':'w'` + metadata + `}` + rest + `}`
}

// owned is the metadata of an object that is there, with the managedFields given.
func owned(entries ...string) string {
	return `,'uid':'u','managedFields':[` + strings.Join(entries, ",") + `]`
}

func entry(manager, operation, apiVersion, more, fields string) string {
	return `{'manager':'` + manager + `','operation':'` + operation + `','apiVersion':'` + apiVersion + `'` + more +
		`,'fieldsType':'FieldsV1','fieldsV1':` + fields + `}`
}

const (
	before = `,'time':'2026-01-01T00:00:00Z'`
	now    = `,'time':'2026-01-02T03:04:05Z'`
)

func TestAnApplyCreatesWhatWasApplied(t *testing.T) {
	object := aDeployment("", `,'spec':{'replicas':3},'status':{'replicas':1}`)
	created := aDeployment(`,'managedFields':[`+entry("m", "Apply", "apps/v1", now, `{'f:spec':{'f:replicas':{}}}`)+`]`,
		`,'spec':{'replicas':3}`)
	expect(t, `{'do':'apply',`+deployment+`,'live':null,'object':`+object+`,'manager':'m',`+at5+`}`,
		`{'object':`+created+`,'changed':true,'certainty':'modulo-defaulting'}`)
}

func TestABuiltinObjectIsCreatedFromTheZeroValueOfItsType(t *testing.T) {
	object := aDeployment("", `,'spec':{'strategy':{'type':'Recreate'}}`)
	created := aDeployment(`,'managedFields':[`+entry("m", "Update", "apps/v1", now,
		`{'f:spec':{'f:strategy':{'f:type':{}}}}`)+`]`, `,'spec':{'strategy':{'type':'Recreate'}}`)
	expect(t, `{'do':'update',`+deployment+`,'live':null,'object':`+object+`,'manager':'m',`+at5+`}`,
		`{'object':`+created+`,'changed':true,'certainty':'modulo-defaulting'}`)
}

func TestACustomResourceIsCreatedFromNothing(t *testing.T) {
	created := aWidget(`,'managedFields':[`+entry("m", "Update", "example.org/v1", now,
		`{'f:spec':{'.':{},'f:color':{}}}`)+`]`, `,'spec':{'color':'red'}`)
	expect(t, `{'do':'update',`+widget+`,'live':null,'object':`+aWidget("", `,'spec':{'color':'red'}`)+`,
		'manager':'m',`+at5+`}`, `{'object':`+created+`,'changed':true,'certainty':'exact'}`)
}

func TestTheSameApplyIsNotStored(t *testing.T) {
	live := aDeployment(owned(entry("m", "Apply", "apps/v1", before, `{'f:spec':{'f:replicas':{}}}`)),
		`,'spec':{'replicas':3}`)
	expect(t, `{'do':'apply',`+deployment+`,'live':`+live+`,'object':`+aDeployment("", `,'spec':{'replicas':3}`)+`,
		'manager':'m',`+at5+`}`, `{'object':`+live+`,'changed':false,'certainty':'modulo-defaulting'}`)
}

func TestANewOwnerOfTheSameValueHasNoTime(t *testing.T) {
	o := entry("o", "Apply", "apps/v1", before, `{'f:spec':{'f:replicas':{}}}`)
	live := aDeployment(owned(o), `,'spec':{'replicas':3}`)
	shared := aDeployment(owned(entry("z", "Apply", "apps/v1", "", `{'f:spec':{'f:replicas':{}}}`), o),
		`,'spec':{'replicas':3}`)
	expect(t, `{'do':'apply',`+deployment+`,'live':`+live+`,'object':`+aDeployment("", `,'spec':{'replicas':3}`)+`,
		'manager':'z',`+at5+`}`, `{'object':`+shared+`,'changed':true,'certainty':'modulo-defaulting'}`)
}

func TestConflictsNameTheOwner(t *testing.T) {
	live := aDeployment(owned(
		entry("a \\'b\\'", "Apply", "apps/v1", before, `{'f:spec':{'f:replicas':{}}}`),
		entry("hpa", "Update", "apps/v1", `,'subresource':'scale'`, `{'f:spec':{'f:replicas':{}}}`)),
		`,'spec':{'replicas':3}`)
	expect(t, `{'do':'apply',`+deployment+`,'live':`+live+`,'object':`+aDeployment("", `,'spec':{'replicas':4}`)+`,
		'manager':'m',`+at5+`}`, `{'conflicts':[
		{'manager':'a \'b\'','operation':'Apply','subresource':'','field':'.spec.replicas'},
		{'manager':'hpa','operation':'Update','subresource':'scale','apiVersion':'apps/v1','field':'.spec.replicas'}]}`)
}

func TestRefusals(t *testing.T) {
	apply := func(object string) string {
		return `{'do':'apply',` + deployment + `,'live':null,'object':` + object + `,'manager':'m',` + at5 + `}`
	}
	expectReason(t, apply(aDeployment("", `,'spec':{'nonsense':1}`)), invalid)
	expectReason(t, apply(aDeployment(`,'managedFields':[]`, "")), badRequest)
	expectReason(t, apply(strings.Replace(aDeployment("", ""), "apps/v1", "apps/v2", 1)), badRequest)
	expectReason(t, strings.Replace(apply(aDeployment("", "")), "'kind':'Deployment'}", "'kind':'Nobody'}", 1), notFound)
}

func TestTheStatusSubresourceTakesTheRestFromLive(t *testing.T) {
	spec := entry("m", "Apply", "apps/v1", before, `{'f:spec':{'f:replicas':{}}}`)
	live := aDeployment(owned(spec), `,'spec':{'replicas':3}`)
	object := aDeployment(`,'labels':{'a':'b'},'annotations':{'c':'d'}`, `,'spec':{'replicas':9},'status':{'replicas':1}`)
	status := entry("m", "Apply", "apps/v1", `,'subresource':'status'`+now,
		`{'f:metadata':{'f:annotations':{'f:c':{}}},'f:status':{'f:replicas':{}}}`)
	stored := aDeployment(owned(spec, status)+`,'annotations':{'c':'d'}`,
		`,'spec':{'replicas':3},'status':{'replicas':1}`)
	expect(t, `{'do':'apply',`+deployment+`,'subresource':'status','live':`+live+`,'object':`+object+`,'manager':'m',`+
		at5+`}`, `{'object':`+stored+`,'changed':true,'certainty':'modulo-defaulting'}`)
}

func TestTheStatusOfACustomResourceIsAllThatItsSubresourceWrites(t *testing.T) {
	spec := entry("m", "Apply", "example.org/v1", before, `{'f:spec':{'f:color':{}}}`)
	object := aWidget(`,'uid':'u','annotations':{'c':'d'}`, `,'spec':{'color':'blue'},'status':{'ok':true}`)
	status := entry("s", "Update", "example.org/v1", `,'subresource':'status'`+now, `{'f:status':{'.':{},'f:ok':{}}}`)
	stored := aWidget(owned(spec, status), `,'spec':{'color':'red'},'status':{'ok':true}`)
	expect(t, `{'do':'update',`+widget+`,'subresource':'status','live':`+aWidget(owned(spec), `,'spec':{'color':'red'}`)+`,
		'object':`+object+`,'manager':'s',`+at5+`}`, `{'object':`+stored+`,'changed':true,'certainty':'exact'}`)
}

func TestScalingTakesTheReplicas(t *testing.T) {
	live := aDeployment(owned(entry("m", "Apply", "apps/v1", before, `{'f:spec':{'f:paused':{},'f:replicas':{}}}`)),
		`,'spec':{'paused':true,'replicas':3}`)
	scaled := aDeployment(owned(
		entry("m", "Apply", "apps/v1", before, `{'f:spec':{'f:paused':{}}}`),
		entry("hpa", "Update", "apps/v1", `,'subresource':'scale'`, `{'f:spec':{'f:replicas':{}}}`)),
		`,'spec':{'paused':true,'replicas':5}`)
	expect(t, `{'do':'update',`+deployment+`,'subresource':'scale','live':`+live+`,'manager':'hpa',`+at5+`,
		'object':{'apiVersion':'autoscaling/v1','kind':'Scale','metadata':{'name':'d'},'spec':{'replicas':5}}}`,
		`{'object':`+scaled+`,'changed':true,'certainty':'modulo-defaulting'}`)
}

func TestApplyingTheScaleOfACustomResourceFails(t *testing.T) {
	live := aWidget(owned(entry("m", "Apply", "example.org/v1", before, `{'f:spec':{'f:count':{}}}`)),
		`,'spec':{'count':3}`)
	scale := func(do string) string {
		return `{'do':'` + do + `',` + widget + `,'subresource':'scale','live':` + live + `,'manager':'m','force':true,` +
			`'object':{'apiVersion':'autoscaling/v1','kind':'Scale','metadata':{'name':'w'},'spec':{'replicas':5}}}`
	}
	expectReason(t, scale("apply"), internal)
	expectText(t, scale("update"), `"spec":{"count":5}`)
}

func TestFieldsAreSpelledInTheOrderOfTheSetOrOfStrings(t *testing.T) {
	expectText(t, `{'do':'apply',`+deployment+`,'live':null,'manager':'m','object':`+aDeployment("",
		`,'spec':{'template':{'spec':{'containers':[{'name':'c','ports':[{'containerPort':443},{'containerPort':80}]}]}}}`)+
		`}`, `"f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":`)
	expectText(t, `{'do':'apply',`+widget+`,'live':null,'manager':'m','object':`+
		aWidget("", `,'spec':{'ports':[{'port':80},{'port':443}]}`)+`}`, `"f:ports":{"k:{\"port\":443}":`)
}

func TestManagedFieldsAreResetByAnEmptyEntry(t *testing.T) {
	fields := entry("m", "Apply", "apps/v1", before, `{'f:spec':{'f:replicas':{}}}`)
	for _, list := range []string{"[]", "[{}]"} {
		expect(t, `{'do':'update',`+deployment+`,'manager':'m',`+at5+`,
			'live':`+aDeployment(owned(fields), `,'spec':{'replicas':3}`)+`,
			'object':`+aDeployment(`,'uid':'u','managedFields':`+list, `,'spec':{'replicas':3}`)+`}`,
			`{'object':`+aDeployment(`,'uid':'u'`, `,'spec':{'replicas':3}`)+`,
			'changed':true,'certainty':'modulo-defaulting'}`)
	}
}

func TestAnEmptyListInACustomResourceResetsNothing(t *testing.T) {
	live := aWidget(owned(entry("m", "Apply", "example.org/v1", before, `{'f:spec':{'f:count':{}}}`)), `,'spec':{'count':3}`)
	expect(t, `{'do':'update',`+widget+`,'manager':'m',`+at5+`,'live':`+live+`,
		'object':`+aWidget(`,'uid':'u','managedFields':[]`, `,'spec':{'count':3}`)+`}`,
		`{'object':`+live+`,'changed':false,'certainty':'exact'}`)
}

func TestAnEntryOfAVersionThatACRDLostFailsAnApply(t *testing.T) {
	live := aWidget(owned(entry("o", "Apply", "example.org/v0", before, `{'f:spec':{'f:color':{}}}`)),
		`,'spec':{'color':'red'}`)
	expectReason(t, `{'do':'apply',`+widget+`,'manager':'m','live':`+live+`,
		'object':`+aWidget("", `,'spec':{'count':1}`)+`}`, internal)
}

func TestVersionsOfACustomResourceDifferByNameOnly(t *testing.T) {
	live := aWidget(owned(entry("m", "Apply", "example.org/v1", before, `{'f:spec':{'f:color':{},'f:count':{}}}`)),
		`,'spec':{'color':'red','count':1}`)
	v2 := func(s string) string { return strings.Replace(s, "example.org/v1", "example.org/v2", 1) }
	expect(t, `{'do':'apply','crd':{'file':'testdata/widgets.yaml'},
		'gvk':{'group':'example.org','version':'v2','kind':'Widget'},'manager':'m',`+at5+`,
		'live':`+live+`,'object':`+v2(aWidget("", `,'spec':{'count':1}`))+`}`,
		`{'object':`+v2(aWidget(owned(entry("m", "Apply", "example.org/v2", now, `{'f:spec':{'f:count':{}}}`)),
			`,'spec':{'count':1}`))+`,'changed':true,'certainty':'exact'}`)
}

func TestTheClockIsTheRequests(t *testing.T) {
	// The entry that is there is younger than now, by an hour and by nothing; only the first sorts after.
	for there, want := range map[string]string{
		"2030-01-01T01:00:00Z": `"manager":"z"`,
		"2030-01-01T00:00:00Z": `"manager":"a"`,
	} {
		live := aWidget(owned(entry("a", "Apply", "example.org/v1", `,'time':'`+there+`'`, `{'f:spec':{'f:color':{}}}`)),
			`,'spec':{'color':'red'}`)
		got := answerTo(t, `{'do':'apply',`+widget+`,'manager':'z','now':'2030-01-01T00:00:00.7Z','live':`+live+`,
			'object':`+aWidget("", `,'spec':{'count':1}`)+`}`)
		if !strings.Contains(got, `"time":"`+there+`"`) || !strings.Contains(got, `"time":"2030-01-01T00:00:00Z"`) {
			t.Errorf("a time is wrong: %s", got)
		}
		_, managers, _ := strings.Cut(got, `"manager"`)
		if first := `"manager"` + managers; !strings.HasPrefix(first, want) {
			t.Errorf("the first isn't %s: %s", want, got)
		}
	}
}

func TestAQuestionIsAskedAgainWhenTheSecondEnds(t *testing.T) {
	runs := 0
	err := at(time.Unix(0, 0), func(_, _ func(map[string]any) map[string]any) error {
		runs++
		if runs == 1 {
			time.Sleep(time.Second)
		}
		return nil
	})
	if err != nil || runs < 2 {
		t.Errorf("%d runs, error %v", runs, err)
	}
}

func TestACustomResourceIsReadBackFromItsOpenAPIDocument(t *testing.T) {
	cr, err := newSchemas().customResource(request{"crd": []byte(`{"file":"testdata/widgets.yaml"}`)})
	if err != nil {
		t.Fatal(err)
	}
	document, err := json.Marshal(map[string]any{
		"openapi":    "3.0.0",
		"components": map[string]any{"schemas": cr.definitions},
		"paths": map[string]any{"/apis/example.org/v1/namespaces/{namespace}/widgets/{name}/status": map[string]any{
			"patch": map[string]any{"x-kubernetes-group-version-kind": map[string]any{
				"group": "example.org", "version": "v1", "kind": "Widget",
			}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "widgets.json")
	if err := os.WriteFile(file, document, 0o600); err != nil {
		t.Fatal(err)
	}
	rest := `'gvk':{'group':'example.org','version':'v1','kind':'Widget'},'live':null,'manager':'m',` + at5 + `,
		'object':` + aWidget("", `,'spec':{'ports':[{'port':80},{'port':443}]},'status':{'a':1}`) + `}`
	fromDocument := answerTo(t, `{'do':'apply','openapi':{'file':'`+file+`'},`+rest)
	fromCRD := answerTo(t, `{'do':'apply','crd':{'file':'testdata/widgets.yaml'},`+rest)
	if fromDocument != fromCRD || strings.Contains(fromCRD, "status") {
		t.Errorf("from the document %s\nfrom the CRD      %s", fromDocument, fromCRD)
	}
}

func TestAWriteOfAPartOfAPodOwnsNothingElse(t *testing.T) {
	const pod = `'openapi':{'file':'../../tests/data/openapi/v1.json'},'gvk':{'version':'v1','kind':'Pod'}`
	const named = `'apiVersion':'v1','kind':'Pod','metadata':{'name':'p'`
	for subresource, part := range map[string][2]string{
		"ephemeralcontainers": {
			`'ephemeralContainers':[{'name':'d'}]`,
			`"f:ephemeralContainers":{"k:{\"name\":\"d\"}":{".":{},"f:name":{}}}`,
		},
		"resize": {
			`'containers':[{'name':'c','resources':{'limits':{'cpu':'1'}}}]`,
			`"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:resources":{"f:limits":{"f:cpu":{}}}}}`,
		},
	} {
		spec := `,'spec':{'nodeName':'n',` + part[0] + `}}`
		expectText(t, `{'do':'apply',`+pod+`,'subresource':'`+subresource+`','live':{`+named+`,'uid':'u'}`+spec+
			`,'object':{`+named+`}`+spec+`,'manager':'m',`+at5+`}`, `"fieldsV1":{"f:spec":{`+part[1]+`}},"manager":"m"`)
	}
}

func TestAWebhooksConversionIsNotGuessed(t *testing.T) {
	const crd = `'crd':{'spec':{'group':'example.org','names':{'kind':'Widget','plural':'widgets'},'scope':'Namespaced',
		'conversion':{'strategy':'Webhook'},'versions':[{'name':'v1','served':true,'storage':true,'schema':{
		'openAPIV3Schema':{'type':'object','properties':{'spec':{'type':'object','properties':{
		'color':{'type':'string'}}}}}}}]}},'gvk':{'group':'example.org','version':'v1','kind':'Widget'}`
	for version, certainty := range map[string]string{"v1": `"certainty":"exact"`, "v2": `"certainty":"unknown"`} {
		live := aWidget(owned(entry("o", "Apply", "example.org/"+version, before, `{'f:spec':{'f:color':{}}}`)),
			`,'spec':{'color':'red'}`)
		expectText(t, `{'do':'apply',`+crd+`,'live':`+live+`,'manager':'m','object':`+
			aWidget("", `,'spec':{'color':'red'}`)+`}`, certainty)
	}
}
