package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/yaml"
)

// schemas keeps what was compiled from schemas, OpenAPI documents and CRDs between requests, by content.
type schemas struct {
	parsers   cache[*typed.Parser]
	documents cache[*document]
	crds      cache[*customResource]
	files     map[string]file
}

func newSchemas() *schemas { return &schemas{files: map[string]file{}} }

// kept is how many things of one sort a cache holds before it starts anew: many more than a test run has
// files, and few enough that a fuzzer with a new schema in each request doesn't fill the memory.
const kept = 256

type digest = [sha256.Size]byte

// cache holds results, errors included, by the content they were made from.
type cache[T any] struct {
	entries map[digest]cached[T]
}

type cached[T any] struct {
	value T
	err   error
}

func (c *cache[T]) get(content source, compile func([]byte) (T, error)) (T, error) {
	if hit, ok := c.entries[content.digest]; ok {
		return hit.value, hit.err
	}
	value, err := compile(content.bytes)
	if c.entries == nil || len(c.entries) >= kept {
		c.entries = map[digest]cached[T]{}
	}
	c.entries[content.digest] = cached[T]{value, err}
	return value, err
}

// source is what something is compiled from.
type source struct {
	bytes  []byte
	digest digest
}

func newSource(content []byte) source { return source{content, sha256.Sum256(content)} }

// file is what was read from a path, good for as long as the path's size and time stay.
type file struct {
	info    fs.FileInfo
	content source
}

// content gives the bytes of a member that is either {"file": PATH} or the thing itself.
func (s *schemas) content(r request, member string, inline bool) (source, error) {
	raw := r[member]
	var reference map[string]json.RawMessage
	if err := json.Unmarshal(raw, &reference); err != nil || reference == nil {
		return source{}, refuse(badRequest, "%s: not an object", member)
	}
	path, isFile := reference["file"]
	if !isFile || len(reference) != 1 {
		if inline {
			return newSource(raw), nil
		}
		return source{}, refuse(badRequest, `%s: not {"file": PATH}`, member)
	}
	var name string
	if err := json.Unmarshal(path, &name); err != nil {
		return source{}, refuse(badRequest, "%s: file: %v", member, err)
	}
	content, err := s.read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return source{}, refuse(notFound, "%s: %v", member, err)
	}
	if err != nil {
		return source{}, refuse(badRequest, "%s: %v", member, err)
	}
	return content, nil
}

func (s *schemas) read(name string) (source, error) {
	info, err := os.Stat(name)
	if err != nil {
		return source{}, err
	}
	if !info.Mode().IsRegular() {
		return source{}, fmt.Errorf("%s is no regular file", name)
	}
	if f, ok := s.files[name]; ok && f.info.Size() == info.Size() && f.info.ModTime().Equal(info.ModTime()) {
		return f.content, nil
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return source{}, err
	}
	if len(s.files) >= kept {
		clear(s.files)
	}
	read := file{info, newSource(content)}
	s.files[name] = read
	return read.content, nil
}

// typeOf gives the type that a request of level 1 or 2 names.
func (s *schemas) typeOf(r request) (typed.ParseableType, error) {
	from := ""
	for _, member := range []string{"schema", "openapi", "crd"} {
		if r.has(member) && from != "" {
			return typed.ParseableType{}, refuse(badRequest, "%s: there is %s already", member, from)
		} else if r.has(member) {
			from = member
		}
	}
	if from == "" {
		if r.has("type") {
			return typed.ParseableType{}, refuse(badRequest, "type: there is no schema that it is in")
		}
		return typed.DeducedParseableType, nil
	}
	name, err := r.text("type")
	if err != nil {
		return typed.ParseableType{}, err
	}
	parser, err := s.parser(r, from)
	if err != nil {
		return typed.ParseableType{}, err
	}
	t := parser.Type(name)
	if !t.IsValid() {
		return typed.ParseableType{}, refuse(notFound, "type: the %s has no %q", from, name)
	}
	return t, nil
}

func (s *schemas) parser(r request, from string) (*typed.Parser, error) {
	switch from {
	case "openapi":
		doc, err := s.document(r)
		if err != nil {
			return nil, err
		}
		return doc.parser()
	case "crd":
		cr, err := s.customResource(r)
		if err != nil {
			return nil, err
		}
		return cr.parser()
	default:
		content, err := s.content(r, from, true)
		if err != nil {
			return nil, err
		}
		return s.parsers.get(content, func(content []byte) (*typed.Parser, error) {
			parser, err := typed.NewParser(typed.YAMLObject(content))
			if err != nil {
				return nil, refuse(badRequest, "schema: %v", err)
			}
			return parser, nil
		})
	}
}

// models are the definitions of an OpenAPI document, by name, and what is made from them when first needed.
type models struct {
	definitions           map[string]*spec.Schema
	preserveUnknownFields bool
	compiled              *typed.Parser
	converter             managedfields.TypeConverter
}

// parser converts the definitions to a schema of structured-merge-diff.
func (m *models) parser() (*typed.Parser, error) {
	if m.compiled == nil {
		converted, err := schemaconv.ToSchemaFromOpenAPI(m.definitions, m.preserveUnknownFields)
		if err != nil {
			return nil, refuse(badRequest, "the definitions make no schema: %v", err)
		}
		m.compiled = &typed.Parser{}
		m.compiled.Schema.Types = converted.Types
	}
	return m.compiled, nil
}

// types makes of the definitions what a field manager reads objects with.
func (m *models) types() (managedfields.TypeConverter, error) {
	if m.converter == nil {
		converter, err := managedfields.NewTypeConverter(m.definitions, m.preserveUnknownFields)
		if err != nil {
			return nil, refuse(badRequest, "the definitions make no schema: %v", err)
		}
		m.converter = converter
	}
	return m.converter, nil
}

// document is an OpenAPI v3 document as an API server serves it.
type document struct {
	models
	spec *spec3.OpenAPI
	// custom are the custom resources that the document was once made from, by kind.
	custom    map[schema.GroupKind]*customResource
	resources map[schema.GroupVersionKind]*resource
}

func (s *schemas) document(r request) (*document, error) {
	content, err := s.content(r, "openapi", false)
	if err != nil {
		return nil, err
	}
	return s.documents.get(content, func(content []byte) (*document, error) {
		doc := &document{
			spec:      &spec3.OpenAPI{},
			custom:    map[schema.GroupKind]*customResource{},
			resources: map[schema.GroupVersionKind]*resource{},
		}
		if err := json.Unmarshal(content, doc.spec); err != nil {
			return nil, refuse(badRequest, "openapi: %v", err)
		}
		if doc.spec.Components != nil {
			doc.definitions = doc.spec.Components.Schemas
		}
		return doc, nil
	})
}

// customResource is a CustomResourceDefinition and the OpenAPI definitions an API server merges by.
type customResource struct {
	models
	crd       *apiextensionsv1.CustomResourceDefinition
	resources map[schema.GroupVersionKind]*resource
	// deaf says that the conversion webhook that the CRD names isn't called.
	deaf bool
}

func (s *schemas) customResource(r request) (*customResource, error) {
	content, err := s.content(r, "crd", true)
	if err != nil {
		return nil, err
	}
	return s.crds.get(content, func(content []byte) (*customResource, error) {
		cr, err := compileCRD(content)
		if err != nil {
			return nil, refuse(badRequest, "crd: %v", err)
		}
		return cr, nil
	})
}

func compileCRD(content []byte) (*customResource, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if bytes.HasPrefix(bytes.TrimSpace(content), []byte("{")) {
		if err := utiljson.Unmarshal(content, crd); err != nil {
			return nil, err
		}
	} else if err := yaml.Unmarshal(content, crd); err != nil {
		return nil, err
	}
	if crd.Spec.Names.Kind == "" || len(crd.Spec.Versions) == 0 {
		return nil, fmt.Errorf("it is no CustomResourceDefinition: it names no kind, or has no version")
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(crd)
	definitions, err := openAPIModels(crd)
	if err != nil {
		return nil, err
	}
	cr := &customResource{
		models: models{definitions: definitions, preserveUnknownFields: crd.Spec.PreserveUnknownFields},
		crd:    crd,

		resources: map[schema.GroupVersionKind]*resource{},
	}
	if crd.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter {
		cr.deaf = true
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	}
	return cr, nil
}

// openAPIModels does for a CRD what buildOpenAPIModelsForApply of apiextensions' customresource_handler.go
// does. The API server merges the result into its own static definitions. The builder brings those that a
// custom resource can refer to (ObjectMeta and what is in it) itself, so there is nothing to add here.
func openAPIModels(crd *apiextensionsv1.CustomResourceDefinition) (map[string]*spec.Schema, error) {
	var specs []*spec3.OpenAPI
	for _, version := range crd.Spec.Versions {
		s, err := builder.BuildOpenAPIV3(crd, version.Name, builder.Options{})
		if err != nil {
			return nil, err
		}
		specs = append(specs, s)
	}
	merged, err := builder.MergeSpecsV3(specs...)
	if err != nil {
		return nil, err
	}
	return merged.Components.Schemas, nil
}
