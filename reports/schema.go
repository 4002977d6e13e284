package reports

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
)

// Schema is the JSON Schema (2020-12) of what the tool writes for machines: the
// lines of --json under $defs/line, and what [Encode] writes under
// $defs/document.
//
//go:embed schema.json
var Schema []byte

// Valid holds a JSON text against a definition of [Schema]: "line", "document",
// or the type of a line. The error names the place where they part. It knows the
// keywords that Schema uses, and no others.
func Valid(definition string, text []byte) error {
	var s struct {
		Defs map[string]map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal(Schema, &s); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	if s.Defs[definition] == nil {
		return fmt.Errorf("schema: expected one of %s, found %q", strings.Join(slices.Sorted(maps.Keys(s.Defs)), ", "), definition)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return fmt.Errorf("schema: expected JSON: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("schema: expected one JSON value, found more after it")
	}
	return validator(s.Defs).check(s.Defs[definition], value, definition)
}

type validator map[string]map[string]any

func (v validator) check(schema map[string]any, value any, at string) error {
	if ref, ok := schema["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/$defs/")
		return v.check(v[name], value, at)
	}
	if list, ok := schema["oneOf"].([]any); ok {
		return v.one(list, value, at)
	}
	if want, ok := schema["const"]; ok && !reflect.DeepEqual(want, plain(value)) {
		return fmt.Errorf("%s: expected %v, found %v", at, want, value)
	}
	if list, ok := schema["enum"].([]any); ok && !slices.ContainsFunc(list, func(w any) bool { return reflect.DeepEqual(w, plain(value)) }) {
		return fmt.Errorf("%s: expected one of %v, found %v", at, list, value)
	}
	if least, ok := schema["minimum"].(float64); ok {
		if n, ok := plain(value).(float64); ok && n < least {
			return fmt.Errorf("%s: expected at least %v, found %v", at, least, value)
		}
	}
	if err := typed(schema["type"], value, at); err != nil {
		return err
	}
	switch value := value.(type) {
	case map[string]any:
		return v.object(schema, value, at)
	case []any:
		items, _ := schema["items"].(map[string]any)
		for i, item := range value {
			if err := v.check(items, item, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// one checks a value that must fit one schema of several. Where they differ by
// the constant of their type, the error is that of the type's own schema.
func (v validator) one(list []any, value any, at string) error {
	object, _ := value.(map[string]any)
	var names []string
	for _, s := range list {
		name := strings.TrimPrefix(s.(map[string]any)["$ref"].(string), "#/$defs/")
		names = append(names, name)
		if object["type"] == name {
			return v.check(v[name], value, name)
		}
	}
	return fmt.Errorf("%s: expected a type of %s, found %v", at, strings.Join(names, ", "), object["type"])
}

func (v validator) object(schema, value map[string]any, at string) error {
	known, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for _, name := range required {
		if _, ok := value[name.(string)]; !ok {
			return fmt.Errorf("%s: expected a field %q, found none", at, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(value)) {
		s, ok := known[name].(map[string]any)
		if !ok {
			s, ok = schema["additionalProperties"].(map[string]any)
		}
		if !ok {
			return fmt.Errorf("%s: expected no field %q", at, name)
		}
		if err := v.check(s, value[name], at+"."+name); err != nil {
			return err
		}
	}
	return nil
}

// typed says whether a value has the type, or one of the types, of a schema.
func typed(want, value any, at string) error {
	var names []string
	switch want := want.(type) {
	case nil:
		return nil
	case string:
		names = []string{want}
	case []any:
		for _, w := range want {
			names = append(names, w.(string))
		}
	}
	found := "null"
	switch value := value.(type) {
	case string:
		found = "string"
	case bool:
		found = "boolean"
	case []any:
		found = "array"
	case map[string]any:
		found = "object"
	case json.Number:
		found = "number"
		if n, err := value.Float64(); err == nil && n == math.Trunc(n) {
			found = "integer"
		}
	}
	if slices.Contains(names, found) || found == "integer" && slices.Contains(names, "number") {
		return nil
	}
	return fmt.Errorf("%s: expected %s, found %s", at, strings.Join(names, " or "), found)
}

// plain turns a number into what the schema's own numbers are.
func plain(value any) any {
	if n, ok := value.(json.Number); ok {
		f, err := n.Float64()
		if err == nil {
			return f
		}
	}
	return value
}
