package console

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/interlude-go/interlude/cmd/internal/terminal"
)

// node is a schema within its document, for references by pointer.
type node struct{ doc, raw json.RawMessage }

// fields is a schema in the form that controls need. It must offer every way to give a value, and
// need not validate: the question checks the value, and each control can be switched to JSON.
type fields struct {
	title, about string
	types        []string   // nil: any
	constants    []constant // nil: any
	preset       json.RawMessage
	members      []property
	required     []string
	items        []node
	more         []node // the schema of members without a name here
	closed       bool   // no other members
	branches     []node // of anyOf and oneOf
}

// constant is a value of an enum, with its title.
type constant struct {
	value json.RawMessage
	title string
}

type property struct {
	name  string
	nodes []node
}

// maxNodes limits the schemas read for one control: references can multiply without end.
const maxNodes = 300

// read combines schemas that all apply.
func read(nodes ...node) fields {
	var f fields
	budget := maxNodes
	for _, n := range nodes {
		f.add(n, &budget)
	}
	f.flatten()
	return f
}

// fieldNames returns the titles of an object's members; empty if the schema names no members.
func fieldNames(schema json.RawMessage) []string {
	f := read(node{schema, schema})
	names := make([]string, len(f.members))
	for i, m := range f.members {
		names[i] = terminal.Name(m.name)
		if title := read(m.nodes...).title; title != "" {
			names[i] = terminal.Line(title)
		}
		if !slices.Contains(f.required, m.name) {
			names[i] += " (optional)"
		}
	}
	return names
}

// with combines a branch with the schema common to all branches.
func (f fields) with(branch node) fields {
	budget := maxNodes
	f.members, f.required = slices.Clone(f.members), slices.Clone(f.required)
	common := f.branches
	f.branches = nil
	own := read(branch)
	if own.title != "" {
		f.title = own.title
	}
	f.add(branch, &budget)
	f.branches = slices.DeleteFunc(f.branches, func(n node) bool { // a branch that refers back to this schema
		return slices.ContainsFunc(common, func(c node) bool { return bytes.Equal(c.raw, n.raw) })
	})
	f.flatten()
	return f
}

// add adds the keywords of a schema, and of its references and allOf. The first of equal keywords
// wins.
func (f *fields) add(n node, budget *int) {
	*budget--
	if *budget < 0 {
		return
	}
	k := keywordsOf(n.raw)
	if f.title == "" {
		f.title = k.text("title")
	}
	if f.about == "" {
		f.about = k.text("description")
	}
	f.limitTypes(k["type"])
	f.addConstants(k.list("enum"), k.texts("enumNames"), k["const"])
	if f.preset == nil {
		f.preset = k["default"]
	}
	f.addMembers(n.doc, k["properties"])
	f.required = append(f.required, k.texts("required")...)
	if k["items"] != nil {
		f.items = append(f.items, node{n.doc, k["items"]})
	}
	more := k["additionalProperties"]
	if f.closed = f.closed || string(more) == "false"; more != nil {
		f.more = append(f.more, node{n.doc, more})
	}
	for _, branch := range slices.Concat(k.list("anyOf"), k.list("oneOf")) {
		f.branches = append(f.branches, node{n.doc, branch})
	}
	if to, found := follow(n.doc, k.text("$ref")); found {
		f.add(node{n.doc, to}, budget)
	}
	for _, part := range k.list("allOf") {
		f.add(node{n.doc, part}, budget)
	}
	for _, part := range append(entriesOf(k["dependentSchemas"]), entry{value: k["then"]}, entry{value: k["else"]}) {
		f.addMembers(n.doc, keywordsOf(part.value)["properties"]) // may apply
	}
}

// keywords of a schema. true and false have none; a keyword of an invalid type is ignored.
type keywords map[string]json.RawMessage

func keywordsOf(schema json.RawMessage) keywords {
	var k keywords
	_ = json.Unmarshal(schema, &k)
	return k
}

func (k keywords) text(name string) string {
	var text string
	_ = json.Unmarshal(k[name], &text)
	return text
}

func (k keywords) texts(name string) []string {
	var texts []string
	_ = json.Unmarshal(k[name], &texts)
	return texts
}

func (k keywords) list(name string) []json.RawMessage {
	var list []json.RawMessage
	_ = json.Unmarshal(k[name], &list)
	return list
}

func (f *fields) limitTypes(raw json.RawMessage) {
	var types []string
	var single string
	if json.Unmarshal(raw, &single) == nil && single != "" {
		types = []string{single}
	} else if json.Unmarshal(raw, &types) != nil || len(types) == 0 {
		return
	}
	if f.types == nil {
		f.types = types
		return
	}
	both := slices.DeleteFunc(slices.Clone(f.types), func(t string) bool {
		return !slices.Contains(types, t) && (t != "integer" || !slices.Contains(types, "number"))
	})
	if slices.Contains(f.types, "number") && slices.Contains(types, "integer") {
		both = append(both, "integer")
	}
	if len(both) > 0 {
		f.types = both
	}
}

func (f *fields) addConstants(enum []json.RawMessage, names []string, single json.RawMessage) {
	if single != nil {
		enum, names = []json.RawMessage{single}, nil
	}
	if f.constants != nil || enum == nil {
		return
	}
	for i, v := range enum {
		c := constant{value: v}
		if len(names) == len(enum) {
			c.title = names[i]
		}
		f.constants = append(f.constants, c)
	}
}

func (f *fields) addMembers(doc, properties json.RawMessage) {
	for _, e := range entriesOf(properties) {
		i := slices.IndexFunc(f.members, func(p property) bool { return p.name == e.name })
		if i < 0 {
			f.members = append(f.members, property{name: e.name, nodes: []node{{doc, e.value}}})
			continue
		}
		f.members[i].nodes = append(slices.Clone(f.members[i].nodes), node{doc, e.value})
	}
}

// flatten turns branches that are constants into an enum, and infers the type of objects and
// arrays.
func (f *fields) flatten() {
	if f.types == nil && f.constants == nil {
		switch {
		case len(f.members) > 0:
			f.types = []string{"object"}
		case len(f.items) > 0:
			f.types = []string{"array"}
		}
	}
	if f.constants != nil || len(f.branches) == 0 {
		return
	}
	var all []constant
	for _, b := range f.branches {
		k := keywordsOf(b.raw)
		switch {
		case k["const"] != nil:
			all = append(all, constant{k["const"], k.text("title")})
		case len(k.list("enum")) > 0:
			for _, v := range k.list("enum") {
				all = append(all, constant{value: v})
			}
		default:
			return
		}
	}
	f.constants, f.branches = all, nil
}

// suits reports whether type and enum permit the default.
func (f *fields) suits(v json.RawMessage) bool {
	if f.constants != nil {
		return slices.ContainsFunc(f.constants, func(c constant) bool { return bytes.Equal(c.value, v) })
	}
	if f.types == nil {
		return true
	}
	kinds := map[byte][]string{'"': {"string"}, '{': {"object"}, '[': {"array"}, 't': {"boolean"}, 'f': {"boolean"},
		'n': {"null"}}[v[0]]
	if kinds == nil {
		kinds = []string{"number", "integer"}
	}
	return slices.ContainsFunc(kinds, func(k string) bool { return slices.Contains(f.types, k) })
}

func (f *fields) member(name string) []node {
	for _, p := range f.members {
		if p.name == name {
			return p.nodes
		}
	}
	return f.more
}

// follow resolves a pointer within the document. Values under other references are given as JSON,
// and checked with the whole value.
func follow(doc json.RawMessage, ref string) (json.RawMessage, bool) {
	if !strings.HasPrefix(ref, "#") || ref != "#" && !strings.HasPrefix(ref, "#/") {
		return nil, false
	}
	at := doc
	for _, name := range strings.Split(ref, "/")[1:] {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(unescape(name))
		var object map[string]json.RawMessage
		var array []json.RawMessage
		if i, err := strconv.Atoi(name); err == nil && json.Unmarshal(at, &array) == nil && i >= 0 && i < len(array) {
			at = array[i]
			continue
		}
		if json.Unmarshal(at, &object) != nil || object[name] == nil {
			return nil, false
		}
		at = object[name]
	}
	return at, true
}

func unescape(name string) string {
	if plain, err := url.PathUnescape(name); err == nil {
		return plain
	}
	return name
}

type entry struct {
	name  string
	value json.RawMessage
}

// entriesOf returns the members of an object in order; nil for any other text.
func entriesOf(object json.RawMessage) []entry {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var all []entry
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return nil
		}
		all = append(all, entry{name.(string), value}) //nolint:forcetypeassert // a name in an object is a string
	}
	return all
}

func objectOf(entries []entry) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, e := range entries {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(quoted(e.name))
		b.WriteByte(':')
		b.Write(e.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

func quoted(text string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string can always be encoded
	return bytes.TrimSpace(b.Bytes())
}
