package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/interlude-go/interlude/contract/fcmp"
)

// errNoObject: a lenient reader cannot read the line either; the strict reader's error explains
// why.
var errNoObject = errors.New("no object")

// fitting converts an event of another producer to the contract's form, as far as possible without
// guessing.
type fitting struct {
	marks        []mark
	placeholders []optional // missing members that have their placeholder in the event
}

// readForeign reads a line of a producer that leaves members out, or adds some. A member that the
// line lacks is missing in the event; see Checker.judge. An error means that the line has a fault
// that a lenient reader does not accept.
func readForeign(line []byte) (fcmp.Event, []mark, error) {
	e, strict := fcmp.Verify(line)
	if strict == nil {
		return e, nil, nil
	}
	if !utf8.Valid(line) {
		return e, nil, fmt.Errorf("%w: it is not UTF-8", fcmp.ErrEvent)
	}
	whole, err := object(line)
	if errors.Is(err, errNoObject) {
		return e, nil, strict
	}
	if err != nil {
		return e, nil, err
	}
	var f fitting
	f.envelope(whole)
	typ, _ := whole["type"].(string)
	if payload := schemas()[typ]; typ == "" || payload != nil {
		data, ok := whole["data"].(map[string]any)
		if typ != "" && ok {
			f.fit(payload, data, typ, "")
		}
		e, err = f.event(whole, data)
	} else {
		e, err = f.unknownType(whole, typ)
	}
	if err != nil {
		return e, nil, err
	}
	return e, f.marks, nil
}

// object reads a line with one JSON object, and refuses one that two readers may understand
// differently.
func object(line []byte) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	var whole map[string]any
	if dec.Decode(&whole) != nil || whole == nil || len(bytes.TrimSpace(line[dec.InputOffset():])) > 0 {
		return nil, errNoObject
	}
	if err := fcmp.Unambiguous(line); err != nil {
		return nil, err
	}
	return whole, nil
}

func (f *fitting) envelope(whole map[string]any) {
	if meta := whole[memberMeta]; meta == nil {
		how := Missing
		if _, ok := whole[memberMeta]; ok {
			how = Null
		}
		f.mark("", memberMeta, how)
		whole[memberMeta] = map[string]any{"attempt": json.Number("0"), "local_seq": json.Number("1")}
		f.placeholders = append(f.placeholders, optional{member: memberAttempt}, optional{member: memberLocalSeq})
	}
	f.fit(schemas()[""], whole, "", "")
}

// event validates the completed event against the schemas, and removes the placeholders.
func (f *fitting) event(whole, data map[string]any) (fcmp.Event, error) {
	full, err := json.Marshal(whole)
	if err != nil {
		return fcmp.Event{}, fmt.Errorf("%w: %w", fcmp.ErrEvent, err)
	}
	e, err := fcmp.Verify(full)
	if err != nil {
		return fcmp.Event{}, err
	}
	for _, o := range f.placeholders {
		switch {
		case o.typ != "":
			remove(data, o.path())
		case o.member == memberEngine:
			e.Engine = ""
		case o.member == memberAttempt:
			e.Meta.Attempt = -1
		case o.member == memberLocalSeq:
			e.Meta.LocalSeq = 0
		}
	}
	if e.Data, err = json.Marshal(data); err != nil {
		return fcmp.Event{}, fmt.Errorf("%w: %w", fcmp.ErrEvent, err)
	}
	return e, nil
}

// unknownType reads the envelope of an event whose type is not in the contract.
func (f *fitting) unknownType(whole map[string]any, typ string) (fcmp.Event, error) {
	data := map[string]any{"code": unknownName}
	whole["type"], whole["data"] = fcmp.TypeWarning, data
	e, err := f.event(whole, data)
	e.Type = typ
	f.marks = append(f.marks, mark{typ: typ, how: Foreign})
	return e, err
}

// fit removes the members that the schema does not know or would refuse, unless they are demanded,
// and adds placeholders for missing ones.
func (f *fitting) fit(n *node, value map[string]any, typ, prefix string) {
	for _, name := range slices.Sorted(maps.Keys(value)) {
		path, item := prefix+name, value[name]
		child, known := n.Properties[name]
		switch {
		case !known:
			delete(value, name)
			f.mark(typ, path, Unknown)
		case slices.Contains(demanded[typ], path), essential[[2]string{typ, path}]:
			value[name] = f.fitItem(child, item, typ, path)
		case item == nil:
			delete(value, name)
			f.mark(typ, path, Null)
		default:
			value[name] = f.fitItem(child, item, typ, path)
			if !child.valid(value[name]) && !lacksDemanded(value[name], typ, path+".") {
				delete(value, name)
				f.mark(typ, path, Foreign)
			}
		}
	}
	for _, o := range optionals {
		name, inside := strings.CutPrefix(o.member, prefix)
		if o.typ != typ || !inside || strings.Contains(name, ".") {
			continue
		}
		if _, ok := value[name]; !ok {
			value[name] = o.placeholder // a value that is not changed
			f.placeholders = append(f.placeholders, o)
			f.missing(typ, o.member)
		}
	}
}

// lacksDemanded reports whether an object, or one in it, lacks a demanded member.
func lacksDemanded(item any, typ, prefix string) bool {
	return slices.ContainsFunc(demanded[typ], func(member string) bool {
		inner, inside := strings.CutPrefix(member, prefix)
		return inside && lacks(item, strings.Split(inner, "."))
	})
}

func lacks(item any, path []string) bool {
	object, ok := item.(map[string]any)
	if !ok {
		return false
	}
	inner, there := object[path[0]]
	if len(path) == 1 {
		return !there
	}
	return lacks(inner, path[1:])
}

// fitItem fits a member's content, adds the zone that a time lacks, and accepts a name that is not
// in the contract.
func (f *fitting) fitItem(n *node, item any, typ, path string) any {
	switch v := item.(type) {
	case map[string]any:
		if len(n.Properties) > 0 {
			f.fit(n, v, typ, path+".")
		}
	case []any:
		for _, inner := range v {
			if inner, ok := inner.(map[string]any); ok && n.Items != nil {
				f.fit(n.Items, inner, typ, path+"[].")
			}
		}
	case string:
		if n.Format == "date-time" && naive(v) {
			f.mark(typ, path, Zoneless)
			return v + "Z"
		}
		if named[[2]string{typ, path}] && v != "" && !n.valid(v) {
			f.marks = append(f.marks, mark{typ, path, Foreign, v})
			return standsFor(typ)
		}
	}
	return item
}

// standsFor returns a placeholder for a name that is not in the contract.
func standsFor(typ string) string {
	if typ == fcmp.TypeAutoDecided {
		return "engine_judgement"
	}
	return unknownName
}

// unknownName replaces a name that is not in the contract.
const unknownName = "UNKNOWN"

// naive reports whether a text is a time without a zone, which is read as UTC.
func naive(text string) bool {
	_, err := time.Parse("2006-01-02T15:04:05", text)
	return err == nil
}

func (f *fitting) mark(typ, path, how string) {
	f.marks = append(f.marks, mark{typ: typ, member: path, how: how})
}

// missing notes a member as missing, unless it was removed and noted before.
func (f *fitting) missing(typ, path string) {
	taken := func(m mark) bool { return m.typ == typ && m.member == path && m.how != Zoneless }
	if !slices.ContainsFunc(f.marks, taken) {
		f.mark(typ, path, Missing)
	}
}

func remove(object map[string]any, path []string) {
	for _, name := range path[:len(path)-1] {
		inner, ok := object[name].(map[string]any)
		if !ok {
			return
		}
		object = inner
	}
	delete(object, path[len(path)-1])
}
