package main

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// ruleCost is a validation rule, what it costs at most for any object of its schema, and what it costs for the one that is here.
type ruleCost struct {
	Rule     string `json:"rule"`
	Estimate uint64 `json:"estimate"`
	Cost     int64  `json:"cost"`
}

// costs fills in what rules cost.
func costs(input []byte) ([]byte, error) {
	var all struct {
		Schema json.RawMessage `json:"schema"`
		Object json.RawMessage `json:"object"`
		Rules  []ruleCost      `json:"rules"`
	}
	if err := json.Unmarshal(input, &all); err != nil {
		return nil, err
	}
	var object map[string]any
	if err := utiljson.Unmarshal(all.Object, &object); err != nil {
		return nil, err
	}
	for i := range all.Rules {
		if err := all.Rules[i].fill(all.Schema, object); err != nil {
			return nil, fmt.Errorf("%s: %w", all.Rules[i].Rule, err)
		}
	}
	return []byte(fmt.Sprintf("{\n \"schema\": %s,\n \"object\": %s,\n \"rules\": [\n%s\n ]\n}\n",
		encode(all.Schema, ""), encode(all.Object, ""), lines(all.Rules, "  "))), nil
}

func (r *ruleCost) fill(schemaJSON []byte, object map[string]any) error {
	var v1 apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal(schemaJSON, &v1); err != nil {
		return err
	}
	v1.XValidations = apiextensionsv1.ValidationRules{{Rule: r.Rule}}
	var props apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&v1, &props, nil); err != nil {
		return err
	}
	structural, err := schema.NewStructural(&props)
	if err != nil {
		return err
	}
	compiled, err := cel.Compile(structural, model.SchemaDeclType(structural, false), celconfig.PerCallLimit,
		environment.MustBaseEnvSet(version.MajorMinor(1, 36)), cel.NewExpressionsEnvLoader())
	if err != nil {
		return err
	}
	if compiled[0].Error != nil {
		return compiled[0].Error
	}
	r.Estimate = compiled[0].MaxCost
	_, left := cel.NewValidator(structural, false, celconfig.PerCallLimit).
		Validate(context.Background(), nil, structural, object, nil, celconfig.RuntimeCELCostBudget)
	r.Cost = celconfig.RuntimeCELCostBudget - left
	return nil
}
