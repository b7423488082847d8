package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/charmbracelet/huh"

	"github.com/interlude-go/interlude/cmd/internal/terminal"
)

// soFar returns the draft of an object or a list, or else its value so far.
func (c control) soFar() json.RawMessage {
	draft, found := c.drafts["value "+c.path]
	if !found {
		return c.now
	}
	delete(c.drafts, "value "+c.path)
	return json.RawMessage(draft)
}

// retainValue stores a draft of an object or a list that is not empty, if the person leaves.
func (c control) retainValue(err error, v json.RawMessage) {
	if len(v) > len("{}") {
		c.retain(err, "value "+c.path, string(v))
	}
}

// object asks for the members of an object. If the person leaves, the members so far are a draft.
func (c control) object(f fields) (v json.RawMessage, err error) {
	entries := entriesOf(c.soFar())
	defer func() { c.retainValue(err, objectOf(entries)) }()
	set := func(name string, required, inTurn bool) error {
		i := slices.IndexFunc(entries, func(e entry) bool { return e.name == name })
		m := control{asker: c.asker, title: terminal.Name(name), path: c.path + "/" + name, required: required,
			inTurn: inTurn}
		if i >= 0 {
			m.now = entries[i].value
		}
		own := read(f.member(name)...)
		if own.title != "" {
			m.title = fmt.Sprintf("%s (%s)", terminal.Line(own.title), terminal.Name(name))
		}
		if c.path != "" { // a member of a member
			m.title = c.title + ", " + m.title
		}
		v, err := m.value(own)
		switch {
		case errors.Is(err, errLeaveOut) && i >= 0:
			entries = slices.Delete(entries, i, i+1)
		case errors.Is(err, errLeaveOut):
		case err != nil:
			return err
		case i >= 0:
			entries[i].value = v
		default:
			entries = append(entries, entry{name, v})
		}
		return nil
	}
	// edit edits the whole object; it returns a value only if the result is not an object.
	edit := func() (json.RawMessage, error) {
		v, err := c.json(c.path, c.title+", as JSON", objectOf(entries))
		if err != nil || v[0] != '{' {
			return v, err
		}
		entries = entriesOf(v)
		return nil, nil
	}
	for _, name := range f.required {
		if c.now != nil || slices.ContainsFunc(entries, func(e entry) bool { return e.name == name }) {
			continue
		}
		err := set(name, true, c.send != nil || c.inTurn)
		if errors.Is(err, errWhole) && c.send != nil {
			if v, err := edit(); v != nil || err != nil {
				return v, err
			}
			break
		}
		if err != nil {
			return nil, err
		}
	}
	for {
		choice, name, err := c.next(f, entries)
		if err != nil {
			return nil, err
		}
		switch choice {
		case done:
			return objectOf(entries), nil
		case whole:
			if v, err := edit(); v != nil || err != nil {
				return v, err
			}
		case another:
			if name, err = c.name(); err == nil {
				err = set(name, false, false)
			}
		case one:
			err = set(name, slices.Contains(f.required, name), false)
		case none:
			err = errLeaveOut
		case outer:
			err = errWhole
		case drop:
		}
		if err != nil {
			return nil, err
		}
	}
}

type choice int

const (
	done choice = iota
	one
	another
	drop
	whole
	none
	outer // edit the enclosing answer
)

const (
	editWhole = "Edit the whole answer as JSON"
	noAnswer  = "No answer"
)

func (c control) next(f fields, entries []entry) (choice, string, error) {
	c.show(objectOf(entries))
	labels, choices, names := []string{c.doneLabel()}, []choice{done}, []string{""}
	for _, p := range f.members {
		label := terminal.Name(p.name)
		if title := read(p.nodes...).title; title != "" {
			label = fmt.Sprintf("%s (%s)", terminal.Line(title), label)
		}
		have := "no answer"
		if i := slices.IndexFunc(entries, func(e entry) bool { return e.name == p.name }); i >= 0 {
			have = "now " + brief(entries[i].value)
		}
		labels, choices, names = append(labels, label+": "+have), append(choices, one), append(names, p.name)
	}
	for _, e := range entries {
		if !slices.Contains(names, e.name) {
			labels, choices = append(labels, terminal.Name(e.name)+": now "+brief(e.value)), append(choices, one)
			names = append(names, e.name)
		}
	}
	if !f.closed {
		labels, choices, names = append(labels, "Add another member"), append(choices, another), append(names, "")
	}
	labels, choices, names = append(labels, "Edit all of it as JSON"), append(choices, whole), append(names, "")
	if !c.required {
		labels, choices, names = append(labels, noAnswer), append(choices, none), append(names, "")
	}
	if c.inTurn {
		labels, choices, names = append(labels, editWhole), append(choices, outer), append(names, "")
	}
	i, err := c.pick(c.title, labels, 0, "")
	if err != nil {
		return done, "", err
	}
	return choices[i], names[i], nil
}

func brief(v json.RawMessage) string { return cut(terminal.JSON(v), 40) }

func (c control) doneLabel() string {
	if c.send != nil {
		return "Send this"
	}
	return "Done"
}

func (c control) show(v json.RawMessage) {
	c.print(c.title + ":\n" + terminal.JSON(indented(v, "")))
}

func (c control) name() (string, error) {
	var name string
	err := c.run(huh.NewInput().Title("The name of the member").Value(&name))
	return name, err
}

// array asks for the items of a list. If the person leaves, the items so far are a draft.
func (c control) array(f fields) (_ json.RawMessage, err error) {
	items := []json.RawMessage{}
	_ = json.Unmarshal(c.soFar(), &items) // any other value starts an empty list
	defer func() { c.retainValue(err, listOf(items)) }()
	for {
		list := listOf(items)
		c.show(list)
		labels, choices, cursor := []string{c.doneLabel(), "Add an item"}, []choice{done, another}, 0
		if len(items) == 0 {
			cursor = 1
		} else {
			labels, choices = append(labels, "Remove the last item"), append(choices, drop)
		}
		labels, choices = append(labels, "Edit all of it as JSON"), append(choices, whole)
		if !c.required {
			labels, choices = append(labels, noAnswer), append(choices, none)
		}
		if c.inTurn {
			labels, choices = append(labels, editWhole), append(choices, outer)
		}
		i, err := c.pick(c.title, labels, cursor, "")
		if err != nil {
			return nil, err
		}
		switch choices[i] {
		case done:
			return list, nil
		case another:
			item := control{asker: c.asker, title: fmt.Sprintf("%s, item %d", c.title, len(items)+1),
				path: fmt.Sprintf("%s/%d", c.path, len(items))}
			v, err := item.value(read(f.items...))
			if err != nil && !errors.Is(err, errLeaveOut) {
				return nil, err
			}
			if err == nil {
				items = append(items, v)
			}
		case drop:
			items = items[:len(items)-1]
		case whole:
			v, err := c.json(c.path, c.title+", as JSON", list)
			if err != nil {
				return nil, err
			}
			if json.Unmarshal(v, &items) != nil {
				return v, nil
			}
		case none:
			return nil, errLeaveOut
		case outer:
			return nil, errWhole
		case one:
		}
	}
}

func listOf(items []json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('[')
	for i, item := range items {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(item)
	}
	b.WriteByte(']')
	return b.Bytes()
}
