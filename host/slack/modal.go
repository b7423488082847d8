package slack

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/slack-go/slack"

	"github.com/interlude-go/interlude/host/front"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

// The ids in a modal. Inputs are numbered from 0, after blockInput.
const (
	viewAnswer = "answer"
	blockInput = "input-"
	actInput   = "value"
)

// maxBlocks is the maximum of a modal.
const maxBlocks = 100

// modal is a question's form as inputs of Slack.
type modal struct {
	form   front.Form
	inputs []input
}

// input is one member of the form.
type input struct {
	name     string
	required bool
	property property
	options  []option // of a choice, else nil
	listed   []string // the options' full labels, if one does not fit
}

// property is the schema of a member.
type property struct {
	Type        string
	Title       string
	Description string
	Format      string
	Enum        []string
	OneOf       []option
	Items       struct {
		Enum  []string
		AnyOf []option
	}
	Default   json.RawMessage
	MaxLength int
	Minimum   json.Number
	Maximum   json.Number
}

// option is an option of a choice.
type option struct {
	Const string
	Title string
}

// modalOf returns the modal of a question. It reports false if Slack cannot express the question's
// form; then people answer on the host's page.
func modalOf(q *lifecycle.Question) (modal, bool) {
	form, ok := front.FormOf(q)
	if !ok {
		return modal{}, false
	}
	m := modal{form: form}
	var schema struct {
		Properties json.RawMessage
		Required   []string
	}
	if json.Unmarshal(form.Schema, &schema) != nil {
		return modal{}, false
	}
	d := json.NewDecoder(bytes.NewReader(schema.Properties))
	if _, err := d.Token(); err != nil {
		return modal{}, false
	}
	for d.More() {
		var in input
		token, err := d.Token()
		if err != nil || d.Decode(&in.property) != nil {
			return modal{}, false
		}
		in.name, _ = token.(string)
		in.required = slices.Contains(schema.Required, in.name)
		if !in.choices() {
			return modal{}, false
		}
		m.inputs = append(m.inputs, in)
	}
	return m, len(m.inputs) > 0 && len(m.view(q, "").Blocks.BlockSet) <= maxBlocks
}

// maxOptions is the maximum of a menu of Slack.
const maxOptions = 100

// choices prepares the options. It reports false if there are too many.
func (in *input) choices() bool {
	p := &in.property
	in.options = append(slices.Clone(p.OneOf), p.Items.AnyOf...)
	for _, value := range append(slices.Clone(p.Enum), p.Items.Enum...) {
		in.options = append(in.options, option{value, interaction.Visible(value)})
	}
	if p.Type == "boolean" {
		in.options = []option{{"true", "Yes"}, {"false", "No"}}
	}
	var labels []string
	for _, o := range in.options {
		labels = append(labels, interaction.VisibleProse(o.Title))
	}
	if !fitting(labels) {
		in.listed = labels
	}
	return len(in.options) <= maxOptions
}

func (in *input) label() string {
	if strings.TrimSpace(in.property.Title) != "" {
		return interaction.VisibleProse(in.property.Title)
	}
	return interaction.Visible(in.name)
}

// view returns the modal with the whole question. Slack returns metadata with the answer.
func (m *modal) view(q *lifecycle.Question, metadata string) sdk.ModalViewRequest {
	var blocks []sdk.Block
	parts := split(textOf(q))
	for _, part := range parts[:min(len(parts), maxSections)] {
		blocks = append(blocks, section(part))
	}
	if len(parts) > maxSections {
		blocks = append(blocks, note("The text is cut here."))
	}
	for i := range m.inputs {
		in := &m.inputs[i]
		if in.listed != nil {
			blocks = append(blocks, in.list()...)
		}
		block := sdk.NewInputBlock(blockInput+strconv.Itoa(i), plain(cut(in.label(), maxHint)), nil, in.element())
		if d := in.property.Description; strings.TrimSpace(d) != "" {
			block.Hint = plain(cut(interaction.VisibleProse(d), maxHint))
		} else if in.property.Format == "date-time" {
			block.Hint = plain("For example 2026-12-01T15:00:00Z")
		}
		blocks = append(blocks, block.WithOptional(!in.required))
	}
	title := "Answer"
	if q.Subject != nil {
		title = "Decide"
	}
	return sdk.ModalViewRequest{Type: sdk.VTModal, CallbackID: viewAnswer, Title: plain(title), Submit: plain("Send"),
		Close: plain("Not now"), Blocks: sdk.Blocks{BlockSet: blocks}, PrivateMetadata: metadata}
}

// list shows the labels that do not fit into a menu, with their numbers in the menu.
func (in *input) list() (blocks []sdk.Block) {
	var lines []string
	for i, label := range in.listed {
		lines = append(lines, strconv.Itoa(i+1)+". "+label)
	}
	for _, part := range split(strings.Join(lines, "\n")) {
		blocks = append(blocks, section(part))
	}
	return blocks
}

// element returns the input's control.
func (in *input) element() sdk.BlockElement {
	p := &in.property
	var initial string
	_ = json.Unmarshal(p.Default, &initial) // other types have no initial value, or set it separately
	if fit(initial, maxInput) < len(initial) {
		initial = ""
	}
	if len(in.options) > 0 {
		return in.menu(initial)
	}
	switch {
	case p.Type == "integer" || p.Type == "number":
		e := sdk.NewNumberInputBlockElement(nil, actInput, p.Type == "number")
		e.MinValue, e.MaxValue, e.InitialValue = plainNumber(p.Minimum), plainNumber(p.Maximum), number(p.Default)
		return e
	case p.Format == "email":
		e := sdk.NewEmailTextInputBlockElement(nil, actInput)
		e.InitialValue = initial
		return e
	case p.Format == "date":
		e := sdk.NewDatePickerBlockElement(actInput)
		e.InitialDate = initial
		return e
	}
	e := sdk.NewPlainTextInputBlockElement(nil, actInput)
	e.InitialValue = initial
	e.Multiline = p.Format == "" && (p.MaxLength == 0 || p.MaxLength > 200)
	if p.MaxLength > 0 && p.MaxLength < maxInput {
		e.MaxLength = p.MaxLength
	}
	return e
}

// menu returns the control of a choice. The values are numbers, because Slack limits their length.
func (in *input) menu(initial string) sdk.BlockElement {
	if in.property.Type == "boolean" {
		initial = string(in.property.Default)
	}
	var all []*sdk.OptionBlockObject
	var chosen *sdk.OptionBlockObject
	for i, o := range in.options {
		label := interaction.VisibleProse(o.Title)
		if in.listed != nil {
			label = strconv.Itoa(i+1) + ". " + label
		}
		all = append(all, sdk.NewOptionBlockObject(strconv.Itoa(i), plain(cut(label, maxButton)), nil))
		if o.Const == initial && initial != "" {
			chosen = all[i]
		}
	}
	if in.property.Type == "array" {
		return sdk.NewOptionsMultiSelectBlockElement(sdk.MultiOptTypeStatic, nil, actInput, all...)
	}
	return sdk.NewOptionsSelectBlockElement(sdk.OptTypeStatic, nil, actInput, all...).WithInitialOption(chosen)
}

// number returns a JSON number as text, or nothing.
func number(raw json.RawMessage) string {
	var n json.Number
	if json.Unmarshal(raw, &n) != nil {
		return ""
	}
	return plainNumber(n)
}

// plainNumber removes notation that Slack may not read, such as exponents.
func plainNumber(n json.Number) string {
	if strings.ContainsAny(n.String(), "eE") {
		return ""
	}
	return n.String()
}

// entered is the value of one input in Slack's state.
type entered struct {
	Value    *string `json:"value"`
	Date     *string `json:"selected_date"`
	Selected *struct {
		Value string `json:"value"`
	} `json:"selected_option"`
	Several []struct {
		Value string `json:"value"`
	} `json:"selected_options"`
}

var errEntered = errors.New("slack: the modal's values do not belong to this question")

// content returns the entered values as the form's object.
func (m *modal) content(state map[string]map[string]entered) (json.RawMessage, error) {
	all := make(map[string]any, len(m.inputs))
	for i := range m.inputs {
		in := &m.inputs[i]
		e, ok := state[blockInput+strconv.Itoa(i)][actInput]
		if !ok {
			continue
		}
		value, err := in.value(&e)
		if err != nil {
			return nil, err
		}
		if value != nil {
			all[in.name] = value
		}
	}
	return json.Marshal(all)
}

// value returns the entered value; nil without one.
func (in *input) value(e *entered) (any, error) {
	switch {
	case in.property.Type == "array":
		values := make([]string, len(e.Several))
		for i, s := range e.Several {
			o, err := in.option(s.Value)
			if err != nil {
				return nil, err
			}
			values[i] = o.Const
		}
		if len(values) == 0 && !in.required {
			return nil, nil //nolint:nilnil // nothing was entered
		}
		return values, nil
	case len(in.options) > 0 && e.Selected != nil:
		o, err := in.option(e.Selected.Value)
		if in.property.Type == "boolean" {
			return o.Const == "true", err
		}
		return o.Const, err
	case e.Date != nil && *e.Date != "":
		return *e.Date, nil
	case e.Value == nil || *e.Value == "":
		return nil, nil //nolint:nilnil // nothing was entered
	case in.property.Type == "integer" || in.property.Type == "number":
		n := json.Number(strings.TrimSpace(*e.Value))
		if raw := json.RawMessage(n); !json.Valid(raw) || !strings.ContainsAny(string(n[:1]), "-0123456789") {
			return *e.Value, nil // not a number: validation refuses it with that reason
		}
		return n, nil
	}
	return *e.Value, nil
}

func (in *input) option(number string) (option, error) {
	i, err := strconv.Atoi(number)
	if err != nil || i < 0 || i >= len(in.options) {
		return option{}, errEntered
	}
	return in.options[i], nil
}
