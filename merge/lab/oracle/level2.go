package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/merge"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// managerJSON is a manager of level 2 as the protocol writes it.
type managerJSON struct {
	Set     json.RawMessage      `json:"set"`
	Version fieldpath.APIVersion `json:"version"`
	Applied bool                 `json:"applied"`
}

// level2 computes one step of structured-merge-diff's updater, in which every version has the same type.
func (o *oracle) level2(do string, r request) (answer, error) {
	t, err := o.schemas.typeOf(r)
	if err != nil {
		return nil, err
	}
	// FromUnstructured(nil), which a live null is, is the empty object of upstream's own tests.
	live, err := typedMember(t, r, "live", typed.AllowDuplicates)
	if err != nil {
		return nil, err
	}
	managers, err := r.managers()
	if err != nil {
		return nil, err
	}
	version, err := r.text("version")
	if err != nil {
		return nil, err
	}
	ignored, err := r.ignored(fieldpath.APIVersion(version))
	if err != nil {
		return nil, err
	}
	manager, err := r.text("manager")
	if err != nil {
		return nil, err
	}
	force, err := r.flag("force")
	if err != nil {
		return nil, err
	}
	updater := (&merge.UpdaterBuilder{Converter: identity{}, IgnoredFields: ignored}).BuildUpdater()
	apiVersion := fieldpath.APIVersion(version)
	var out *typed.TypedValue
	if do == "apply" {
		var object *typed.TypedValue
		if object, err = typedMember(t, r, "object"); err != nil {
			return nil, err
		}
		out, managers, err = updater.Apply(live, object, apiVersion, managers, manager, force)
	} else {
		var object *typed.TypedValue
		if object, err = typedMember(t, r, "object", typed.AllowDuplicates); err != nil {
			return nil, err
		}
		out, managers, err = updater.Update(live, object, apiVersion, managers, manager)
	}
	var conflicts merge.Conflicts
	if errors.As(err, &conflicts) {
		return conflictAnswer(conflicts), nil
	}
	if err != nil {
		return nil, refuse(internal, "%v", err)
	}
	return updaterAnswer(out, managers)
}

func (r request) managers() (fieldpath.ManagedFields, error) {
	var in map[string]managerJSON
	if err := r.into("managers", &in); err != nil {
		return nil, err
	}
	managers := fieldpath.ManagedFields{}
	for name, m := range in {
		set, err := decodeSet("managers."+name+".set", m.Set)
		if err != nil {
			return nil, err
		}
		managers[name] = fieldpath.NewVersionedSet(set, m.Version, m.Applied)
	}
	return managers, nil
}

// ignored reads the fields that no manager may own. The updater panics where it has such fields, but none for the
// version of the write, so that version is always in the response.
func (r request) ignored(version fieldpath.APIVersion) (map[fieldpath.APIVersion]*fieldpath.Set, error) {
	if !r.has("ignored") {
		return nil, nil
	}
	var in map[fieldpath.APIVersion]json.RawMessage
	if err := r.into("ignored", &in); err != nil {
		return nil, err
	}
	ignored := map[fieldpath.APIVersion]*fieldpath.Set{version: fieldpath.NewSet()}
	for version, raw := range in {
		set, err := decodeSet("ignored."+string(version), raw)
		if err != nil {
			return nil, err
		}
		ignored[version] = set
	}
	return ignored, nil
}

func updaterAnswer(object *typed.TypedValue, managers fieldpath.ManagedFields) (answer, error) {
	out := map[string]any{}
	for name, m := range managers {
		set, err := encodeSet(m.Set())
		if err != nil {
			return nil, err
		}
		out[name] = map[string]any{
			"set": set, "version": string(m.APIVersion()), "applied": m.Applied(),
		}
	}
	return answer{"object": plain(object), "managers": out}, nil
}

func conflictAnswer(conflicts merge.Conflicts) answer {
	slices.SortFunc(conflicts, func(a, b merge.Conflict) int {
		return cmp.Or(cmp.Compare(a.Manager, b.Manager), cmp.Compare(a.Path.String(), b.Path.String()))
	})
	rows := []any{}
	for _, c := range conflicts {
		rows = append(rows, map[string]any{"manager": c.Manager, "path": c.Path.String()})
	}
	return answer{"conflicts": rows}
}

// identity is a converter between versions that are all alike.
type identity struct{}

var _ merge.Converter = identity{}

// Convert implements merge.Converter.
func (identity) Convert(object *typed.TypedValue, version fieldpath.APIVersion) (*typed.TypedValue, error) {
	if version == "" {
		return nil, fmt.Errorf("there is no version to convert to")
	}
	return object, nil
}

// IsMissingVersionError implements merge.Converter: no version is ever missing.
func (identity) IsMissingVersionError(error) bool { return false }
