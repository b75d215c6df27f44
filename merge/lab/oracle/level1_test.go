package main

import "testing"

const (
	setOfStrings = `'schema':{'types':[{'name':'s','list':{
		'elementType':{'scalar':'string'},'elementRelationship':'associative'}}]},'type':'s'`
	mapOfPorts = `'schema':{'types':[
		{'name':'l','list':{'elementType':{'namedType':'p'},'elementRelationship':'associative',
			'keys':['port','protocol']}},
		{'name':'p','map':{'fields':[
			{'name':'port','type':{'scalar':'numeric'}},
			{'name':'protocol','type':{'scalar':'string'},'default':'TCP'},
			{'name':'name','type':{'scalar':'string'}}]}}]},'type':'l'`
)

func TestDuplicatesAreValidWhereAllowed(t *testing.T) {
	expectReason(t, `{'do':'validate',`+setOfStrings+`,'value':['a','a']}`, invalid)
	expect(t, `{'do':'validate',`+setOfStrings+`,'value':['a','a'],'duplicates':true}`, `{'ok':true}`)
}

func TestMergeInterleavesTheOrderOfLists(t *testing.T) {
	expect(t, `{'do':'merge',`+setOfStrings+`,'live':['a','b','c'],'applied':['c','a']}`, `{'value':['b','c','a']}`)
}

func TestMissingKeysTakeTheirDefault(t *testing.T) {
	expectText(t, `{'do':'to_set',`+mapOfPorts+`,'value':[{'port':443},{'port':80,'protocol':'UDP'}]}`,
		`{"k:{\"port\":80,\"protocol\":\"UDP\"}":{".":{},"f:port":{},"f:protocol":{}},`+
			`"k:{\"port\":443,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}`)
}

func TestNullIsNotAbsent(t *testing.T) {
	expect(t, `{'do':'compare','old':{'a':1,'b':1},'new':{'a':null}}`,
		`{'added':{},'modified':{'f:a':{}},'removed':{'f:b':{}}}`)
}

func TestNumbersCompareByValue(t *testing.T) {
	expect(t, `{'do':'compare','old':1,'new':1.0}`, `{'added':{},'modified':{},'removed':{}}`)
}

func TestRemoveAndExtractPart(t *testing.T) {
	expect(t, `{'do':'remove',`+mapOfPorts+`,'value':[{'port':1},{'port':2}],
		'set':{'k:{\'port\':1,\'protocol\':\'TCP\'}':{'.':{}}}}`, `{'value':[{'port':2}]}`)
	expect(t, `{'do':'extract','value':{'a':1,'b':2},'set':{'f:b':{}}}`, `{'value':{'b':2}}`)
}

func TestReconcileFollowsAMapThatBecameAtomic(t *testing.T) {
	const atomic = `'schema':{'types':[{'name':'t','map':{'fields':[{'name':'m','type':{'map':{
		'elementType':{'scalar':'string'},'elementRelationship':'atomic'}}}]}}]},'type':'t'`
	expect(t, `{'do':'reconcile',`+atomic+`,'set':{'f:m':{'f:a':{}}}}`, `{'set':{'f:m':{}}}`)
	expect(t, `{'do':'reconcile',`+atomic+`,'set':{'f:m':{}}}`, `{'set':null}`)
}

func TestTypesAreFoundInEverySource(t *testing.T) {
	expect(t, `{'do':'to_set','openapi':{'file':'testdata/apps-v1.json'},'type':'io.k8s.api.apps.v1.DeploymentSpec',
		'value':{'selector':{'matchLabels':{'a':'b'}}}}`, `{'set':{'f:selector':{}}}`)
	expect(t, `{'do':'to_set','crd':{'file':'testdata/widgets.yaml'},'type':'org.example.v1.Widget',
		'value':{'spec':{'ports':[{'port':1}]}}}`,
		`{'set':{'f:spec':{'f:ports':{'k:{\"port\":1}':{'.':{},'f:port':{}}}}}}`)
	expectReason(t, `{'do':'to_set','crd':{'file':'testdata/widgets.yaml'},'type':'Nobody','value':{}}`, notFound)
	expectReason(t, `{'do':'to_set','crd':{'file':'testdata/nothing.yaml'},'type':'Nobody','value':{}}`, notFound)
}
