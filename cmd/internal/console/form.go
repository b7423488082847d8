package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/charmbracelet/huh"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

// form asks for the required members of an object one after another. Then a list shows the value
// and its members, each of which can be opened; a member that is never opened is omitted. A default
// is offered, never sent by itself. JSON is the way for values that no control can give.
func (a asker) form(q *lifecycle.Question, r *lifecycle.Reply) error {
	n := node{q.Schema, q.Schema}
	c := control{asker: a, title: "Your answer", required: true, send: func(v json.RawMessage) error {
		r.Value = v
		if err := r.ValidateFor(*q); err != nil {
			return err
		}
		return r.Validate()
	}}
	v, err := c.value(read(n))
	r.Value = v
	return err
}

type control struct {
	asker
	title    string
	path     string // of the value within the answer, for its drafts
	required bool
	now      json.RawMessage               // the value so far, or nil
	inTurn   bool                          // a required member, asked in order
	send     func(v json.RawMessage) error // checks the whole form; nil within it
}

// Choices instead of a member's value: omit the member, or edit the object as a whole.
var (
	errLeaveOut = errors.New("left out")
	errWhole    = errors.New("edited as a whole")
)

// value asks until the form accepts the value.
func (c control) value(f fields) (json.RawMessage, error) {
	for {
		v, err := c.given(f)
		if err != nil || c.send == nil {
			return v, err
		}
		if err = c.send(v); err == nil {
			return v, nil
		}
		c.now = v
		c.print("! " + command.Words(err))
	}
}

type way struct {
	label string
	ask   func() (json.RawMessage, error)
	kind  wayKind
}

type wayKind int

const (
	fixed     wayKind = iota // a value that needs no other control
	byControl                // a control for a text, a number, an object or a list
	extra                    // fixed, and reached through the control for texts
)

// given asks for a value by the controls that the schema permits. If only one control is
// possible, it opens immediately. If it returns no value, the person chooses among all ways to
// answer.
func (c control) given(f fields) (json.RawMessage, error) {
	if f.about != "" {
		c.print(f.about)
	}
	ways := c.ways(f, 0)
	if f.preset != nil && f.suits(f.preset) && f.constants == nil {
		ways = slices.Insert(ways, 0, way{label: "Use the default, " + terminal.JSON(f.preset), ask: just(f.preset)})
	}
	if main := slices.DeleteFunc(slices.Clone(ways), func(w way) bool { return w.kind == extra }); len(main) == 1 &&
		main[0].kind == byControl {
		if v, err := main[0].ask(); v != nil || err != nil {
			return v, err
		}
	}
	ways = append(ways, way{label: "Write it as JSON", ask: c.asJSON})
	if !c.required {
		ways = append(ways, way{label: noAnswer, ask: instead(errLeaveOut)})
	}
	if c.inTurn {
		ways = append(ways, way{label: editWhole, ask: instead(errWhole)})
	}
	labels := make([]string, len(ways))
	for i := range ways {
		labels[i] = ways[i].label
	}
	i, err := c.pick(c.title, labels, unpicked, "")
	if err != nil {
		return nil, err
	}
	v, err := ways[i].ask()
	if v == nil && err == nil { // an empty text, which is a separate choice
		return c.given(f)
	}
	return v, err
}

func just(v json.RawMessage) func() (json.RawMessage, error) {
	return func() (json.RawMessage, error) { return v, nil }
}

func instead(err error) func() (json.RawMessage, error) {
	return func() (json.RawMessage, error) { return nil, err }
}

// Limits of the choices of one control.
const (
	maxWays    = 200
	maxNesting = 3 // of branches within branches
)

// ways are the ways to give a value: the constants, or the ways of each type and branch.
func (c control) ways(f fields, depth int) []way {
	var all []way
	if f.constants != nil {
		return c.constants(f)
	}
	if len(f.branches) > 0 && depth < maxNesting {
		for _, b := range f.branches {
			own := f.with(b)
			for _, w := range c.ways(own, depth+1) {
				if own.title != "" && own.title != f.title {
					w.label = own.title + ": " + w.label
				}
				known := slices.ContainsFunc(all, func(have way) bool { return have.label == w.label })
				if !known && len(all) < maxWays {
					all = append(all, w)
				}
			}
		}
		return all
	}
	types := f.types
	if types == nil {
		types = []string{"string"}
	}
	for _, t := range types {
		switch t {
		case "string":
			all = append(all, way{"Write a text", c.text, byControl},
				way{`Empty text, ""`, just(json.RawMessage(`""`)), extra})
		case "number", "integer":
			all = append(all, way{"Write a number", c.number, byControl})
		case "boolean":
			all = append(all, way{label: "Yes (true)", ask: just(json.RawMessage("true"))},
				way{label: "No (false)", ask: just(json.RawMessage("false"))})
		case "null":
			all = append(all, way{label: "No value (null)", ask: just(json.RawMessage("null"))})
		case "object":
			all = append(all, way{"Fill in its members", func() (json.RawMessage, error) { return c.object(f) },
				byControl})
		case "array":
			all = append(all, way{"Make a list", func() (json.RawMessage, error) { return c.array(f) }, byControl})
		}
	}
	return all
}

// constants are the ways of an enum. Texts are shown without quotes if that is unambiguous.
func (c control) constants(f fields) []way {
	bare := !slices.ContainsFunc(f.constants, func(k constant) bool {
		var s string
		return json.Unmarshal(k.value, &s) != nil || s == "" || terminal.Name(s) != s || strings.TrimSpace(s) != s ||
			string(k.value) == "null"
	})
	all := make([]way, 0, len(f.constants))
	for _, k := range f.constants {
		label := terminal.JSON(k.value)
		if bare {
			_ = json.Unmarshal(k.value, &label) // it is a text
		}
		if k.title != "" && k.title != label {
			label = k.title + " (" + label + ")"
		}
		if f.preset != nil && bytes.Equal(k.value, f.preset) {
			label += ", the default"
		}
		all = append(all, way{label: label, ask: just(k.value)})
	}
	return all
}

func (c control) text() (json.RawMessage, error) {
	var text string
	if json.Unmarshal(c.now, &text) != nil || !typeable(text) {
		text = ""
	}
	field := func() huh.Field {
		return huh.NewText().Title(c.title).Lines(3).Value(&text).
			Description("A text; leave it empty for other values, such as JSON.")
	}
	if err := c.write("text "+c.path, &text, field); err != nil || text == "" {
		return nil, err
	}
	return quoted(text), nil
}

// typeable reports whether a text field keeps this text unchanged, and shows all of it.
func typeable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return r == unicode.ReplacementChar || r == '\t' || interaction.CharacterOf(r)&interaction.Hidden != 0
	})
}

// number asks for a number, which is sent as written; nil if empty.
func (c control) number() (json.RawMessage, error) {
	text := ""
	if c.now != nil && isNumber(string(c.now)) {
		text = string(c.now)
	}
	check := func(text string) error {
		if text = strings.TrimSpace(text); text != "" && !isNumber(text) {
			return errors.New("this is not a number")
		}
		return nil
	}
	field := func() huh.Field {
		return huh.NewInput().Title(c.title).Value(&text).
			Description("A number; leave it empty for other values, such as JSON.").Validate(check)
	}
	if err := c.write("number "+c.path, &text, field); err != nil || strings.TrimSpace(text) == "" {
		return nil, err
	}
	return json.RawMessage(strings.TrimSpace(text)), nil
}

func isNumber(text string) bool {
	return json.Valid([]byte(text)) && strings.ContainsAny(text[:1], "-0123456789")
}

func (c control) asJSON() (json.RawMessage, error) {
	return c.json(c.path, c.title+", as JSON", c.now)
}

// maxLaid limits the lines of a JSON text for editing; the field drops lines after 10,000.
const maxLaid = 5000

// json lets the person edit a JSON text. Characters that the field would drop are escaped.
func (a asker) json(name, title string, now json.RawMessage) (json.RawMessage, error) {
	laid := indented(now, "")
	if bytes.Count(laid, []byte{'\n'}) > maxLaid {
		laid = now
	}
	text := strings.ReplaceAll(terminal.JSON(laid), "\ufffd", `\ufffd`)
	field := func() huh.Field { return huh.NewText().Title(title).Value(&text).Lines(12).Validate(isJSON) }
	if err := a.write("JSON "+name, &text, field); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err := json.Compact(&b, []byte(text))
	return b.Bytes(), err
}
