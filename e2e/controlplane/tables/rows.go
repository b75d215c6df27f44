package main

import (
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/admissionregistration/install"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/autoscaling/install"
	_ "k8s.io/kubernetes/pkg/apis/batch/install"
	_ "k8s.io/kubernetes/pkg/apis/certificates/install"
	_ "k8s.io/kubernetes/pkg/apis/coordination/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/discovery/install"
	_ "k8s.io/kubernetes/pkg/apis/events/install"
	_ "k8s.io/kubernetes/pkg/apis/flowcontrol/install"
	_ "k8s.io/kubernetes/pkg/apis/networking/install"
	_ "k8s.io/kubernetes/pkg/apis/node/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/rbac/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	"k8s.io/kubernetes/pkg/printers"
	"k8s.io/kubernetes/pkg/printers/internalversion"
)

// row is an object, and the cells of its row.
type row struct {
	Object json.RawMessage `json:"object"`
	Cells  []any           `json:"cells"`
}

// looked is when the examples are looked at. Printers only know the present, so the times in objects are moved to it.
var looked = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

var timestamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)

// internal is an object in the version that printers take, without defaults.
func internal(object []byte) (runtime.Object, metav1.TypeMeta, error) {
	moved := time.Now().Truncate(time.Second).Sub(looked)
	object = timestamp.ReplaceAllFunc(object, func(text []byte) []byte {
		layout := time.RFC3339
		if strings.Contains(string(text), ".") {
			layout = metav1.RFC3339Micro
		}
		found, err := time.Parse(layout, string(text))
		if err != nil {
			return text
		}
		return []byte(found.Add(moved).Format(layout))
	})
	var meta metav1.TypeMeta
	if err := json.Unmarshal(object, &meta); err != nil {
		return nil, meta, err
	}
	typed, err := legacyscheme.Scheme.New(meta.GroupVersionKind())
	if err != nil {
		return nil, meta, err
	}
	if err := json.Unmarshal(object, typed); err != nil {
		return nil, meta, err
	}
	made, err := legacyscheme.Scheme.UnsafeConvertToVersion(typed, runtime.InternalGroupVersioner)
	return made, meta, err
}

// rows fills in the cells.
func rows(input []byte) ([]byte, error) {
	var all []row
	if err := json.Unmarshal(input, &all); err != nil {
		return nil, err
	}
	generator := printers.NewTableGenerator().With(internalversion.AddHandlers)
	for i := 0; i < len(all); {
		began := time.Now().Truncate(time.Second)
		object, _, err := internal(all[i].Object)
		if err != nil {
			return nil, err
		}
		table, err := generator.GenerateTable(object, printers.GenerateOptions{Wide: true})
		if err != nil {
			return nil, err
		}
		// Otherwise the ages may be a second too high.
		if time.Now().Truncate(time.Second).Equal(began) {
			all[i].Cells = table.Rows[0].Cells
			i++
		}
	}
	return []byte("[\n" + lines(all, " ") + "\n]\n"), nil
}

// column is a column without what is empty.
type column struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Format      string `json:"format,omitempty"`
	Description string `json:"description,omitempty"`
	Priority    int32  `json:"priority,omitempty"`
}

// collector takes the columns of each printer, by the type it is for.
type collector map[reflect.Type][]metav1.TableColumnDefinition

func (c collector) TableHandler(columns []metav1.TableColumnDefinition, printer any) error {
	c[reflect.TypeOf(printer).In(0)] = columns
	return nil
}

// columns are those of the kinds that there are examples of. The two that most kinds have are only named.
func columns(input []byte) ([]byte, error) {
	var all []row
	if err := json.Unmarshal(input, &all); err != nil {
		return nil, err
	}
	known := collector{}
	internalversion.AddHandlers(known)
	docs := metav1.ObjectMeta{}.SwaggerDoc()
	usual := map[column]string{
		{Name: "Name", Type: "string", Format: "name", Description: docs["name"]}: "name",
		{Name: "Age", Type: "string", Description: docs["creationTimestamp"]}:     "age",
	}
	kinds := map[string][]any{}
	for _, row := range all {
		object, meta, err := internal(row.Object)
		if err != nil {
			return nil, err
		}
		columns := []any{}
		for _, defined := range known[reflect.TypeOf(object)] {
			column := column(defined)
			if name, ok := usual[column]; ok {
				columns = append(columns, name)
			} else {
				columns = append(columns, column)
			}
		}
		kinds[meta.GroupVersionKind().GroupKind().String()] = columns
	}
	return append(encode(kinds, " "), '\n'), nil
}
