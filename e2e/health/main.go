// Command health reads objects, one JSON object a line, and responds to each with a line of JSON: how kstatus and Argo CD judge it,
// and which metrics kube-state-metrics makes of it. Its arguments are Argo CD's health script and the configuration of
// kube-state-metrics.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/kube-state-metrics/v2/pkg/customresourcestate"
	"k8s.io/kube-state-metrics/v2/pkg/metric"
	generator "k8s.io/kube-state-metrics/v2/pkg/metric_generator"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

// The longest line: an object with all its managedFields.
const longest = 4 << 20

type verdict struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

type answer struct {
	Kstatus verdict  `json:"kstatus"`
	ArgoCD  verdict  `json:"argoCD"`
	Metrics []string `json:"metrics"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: health SCRIPT CONFIG")
	}
	script, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	families, err := families(args[1])
	if err != nil {
		return fmt.Errorf("%s: %w", args[1], err)
	}
	answers := json.NewEncoder(os.Stdout)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, longest)
	for lines.Scan() {
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(lines.Bytes()); err != nil {
			return err
		}
		answer, err := judge(object, string(script), families)
		if err != nil {
			return err
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
	return lines.Err()
}

func judge(object *unstructured.Unstructured, script string, families []generator.FamilyGenerator) (answer, error) {
	computed, err := status.Compute(object)
	if err != nil {
		return answer{}, fmt.Errorf("kstatus: %w", err)
	}
	argoCD, err := health(object, script)
	if err != nil {
		return answer{}, fmt.Errorf("the health script: %w", err)
	}
	found := answer{Kstatus: verdict{computed.Status.String(), computed.Message}, ArgoCD: argoCD}
	for _, family := range families {
		text := string(family.Generate(object).ByteSlice())
		for line := range strings.Lines(text) {
			found.Metrics = append(found.Metrics, strings.TrimSpace(line))
		}
	}
	return found, nil
}

// families compiles the configuration as kube-state-metrics does, but for the search of the cluster's CRDs, which the
// configuration doesn't need: it names group, version, kind and plural.
func families(path string) ([]generator.FamilyGenerator, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var config customresourcestate.Metrics
	if err := yaml.NewDecoder(file).Decode(&config); err != nil {
		return nil, err
	}
	var families []generator.FamilyGenerator
	for _, resource := range config.Spec.Resources {
		for i := range resource.Metrics {
			kind := &resource.Metrics[i].Each.Type
			*kind = metric.Type(strings.ToLower(string(*kind)))
		}
		compiled, err := customresourcestate.NewCustomResourceMetrics(resource)
		if err != nil {
			return nil, err
		}
		families = append(families, compiled.MetricFamilyGenerators()...)
	}
	return families, nil
}

// health runs the script in the engine that Argo CD runs it in, with the libraries that a script from argocd-cm gets there. Only
// its library os is left out, of which Argo CD has a reduced one of its own: the script doesn't use it.
func health(object *unstructured.Unstructured, script string) (verdict, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	libraries := []struct {
		name string
		open lua.LGFunction
	}{
		{lua.LoadLibName, lua.OpenPackage},
		{lua.BaseLibName, lua.OpenBase},
		{lua.TabLibName, lua.OpenTable},
	}
	for _, library := range libraries {
		call := lua.P{Fn: state.NewFunction(library.open), Protect: true}
		if err := state.CallByParam(call, lua.LString(library.name)); err != nil {
			return verdict{}, err
		}
	}
	state.SetGlobal("obj", value(state, object.Object))
	if err := state.DoString(script); err != nil {
		return verdict{}, err
	}
	table, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return verdict{}, fmt.Errorf("it returns no table but %s", state.Get(-1).Type())
	}
	return verdict{lua.LVAsString(table.RawGetString("status")), lua.LVAsString(table.RawGetString("message"))}, nil
}

// value makes a Lua value of a decoded JSON value.
func value(state *lua.LState, from any) lua.LValue {
	switch from := from.(type) {
	case bool:
		return lua.LBool(from)
	case int64:
		return lua.LNumber(from)
	case float64:
		return lua.LNumber(from)
	case string:
		return lua.LString(from)
	case []any:
		table := state.NewTable()
		for _, item := range from {
			table.Append(value(state, item))
		}
		return table
	case map[string]any:
		table := state.NewTable()
		for key, item := range from {
			table.RawSetString(key, value(state, item))
		}
		return table
	default:
		return lua.LNil
	}
}
