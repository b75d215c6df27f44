package main

import "testing"

func TestApplyCreates(t *testing.T) {
	expect(t, `{'do':'apply','live':null,'managers':{},'object':{'a':1},'version':'v1','manager':'m'}`,
		`{'object':{'a':1},'managers':{'m':{'set':{'f:a':{}},'version':'v1','applied':true}}}`)
}

func TestApplyOfTheSameValueSharesIt(t *testing.T) {
	expect(t, `{'do':'apply','live':{'a':1},'managers':{'o':{'set':{'f:a':{}},'version':'v1'}},
		'object':{'a':1},'version':'v1','manager':'m'}`,
		`{'object':null,'managers':{
			'm':{'set':{'f:a':{}},'version':'v1','applied':true},
			'o':{'set':{'f:a':{}},'version':'v1','applied':false}}}`)
}

func TestConflictsAreSorted(t *testing.T) {
	expect(t, `{'do':'apply','live':{'a':1,'b':1},'managers':{
			'z':{'set':{'f:a':{}},'version':'v1','applied':true},
			'o':{'set':{'f:b':{},'f:a':{}},'version':'v1','applied':true}},
		'object':{'a':2,'b':2},'version':'v1','manager':'m'}`,
		`{'conflicts':[{'manager':'o','path':'.a'},{'manager':'o','path':'.b'},{'manager':'z','path':'.a'}]}`)
}

func TestForceTakesTheField(t *testing.T) {
	expect(t, `{'do':'apply','force':true,'live':{'a':1},'managers':{
			'o':{'set':{'f:a':{}},'version':'v1','applied':true}},
		'object':{'a':2},'version':'v1','manager':'m'}`,
		`{'object':{'a':2},'managers':{'m':{'set':{'f:a':{}},'version':'v1','applied':true}}}`)
}

func TestAFieldThatIsNoLongerAppliedGoes(t *testing.T) {
	expect(t, `{'do':'apply','live':{'a':1,'b':1},'managers':{
			'm':{'set':{'f:a':{},'f:b':{}},'version':'v1','applied':true}},
		'object':{'a':1},'version':'v1','manager':'m'}`,
		`{'object':{'a':1},'managers':{'m':{'set':{'f:a':{}},'version':'v1','applied':true}}}`)
}

func TestUpdateTakesWhatItChanges(t *testing.T) {
	expect(t, `{'do':'update','live':{'a':1,'b':1},'managers':{
			'o':{'set':{'f:a':{},'f:b':{}},'version':'v1','applied':true}},
		'object':{'a':2,'b':1},'version':'v1','manager':'m'}`,
		`{'object':{'a':2,'b':1},'managers':{
			'm':{'set':{'f:a':{}},'version':'v1','applied':false},
			'o':{'set':{'f:b':{}},'version':'v1','applied':true}}}`)
}

func TestNobodyOwnsIgnoredFields(t *testing.T) {
	const update = `{'do':'update','live':{'a':1},'managers':{},'object':{'a':2},'version':'v1','manager':'m'`
	expect(t, update+`,'ignored':{'v1':{'f:a':{}}}}`, `{'object':{'a':2},'managers':{}}`)
	expect(t, update+`,'ignored':{'v2':{'f:a':{}}}}`,
		`{'object':{'a':2},'managers':{'m':{'set':{'f:a':{}},'version':'v1','applied':false}}}`)
}
