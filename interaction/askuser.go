package interaction

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/interlude-go/interlude/fsm"
)

const askUserField = "ask_user"

// errTooLarge is matched by errors about questions over a limit.
var errTooLarge = errors.New("too large")

func tooLarge(err error) bool { return errors.Is(err, errTooLarge) }

// maxNodes limits the number of values in a question.
const maxNodes = 4096

func parseJSON(text string) (any, error) {
	if len(text) > MaxAskUser {
		return nil, fmt.Errorf("question is %w: %d bytes, at most %d", errTooLarge, len(text), MaxAskUser)
	}
	var tree any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber() // keeps numbers as written, like YAML
	if err := decoder.Decode(&tree); err != nil {
		return nil, fmt.Errorf("question is not JSON: %w", err)
	}
	if depth(tree) > MaxDepth {
		return nil, fmt.Errorf("question is %w: nested deeper than %d", errTooLarge, MaxDepth)
	}
	return tree, nil
}

func depth(v any) int {
	deepest := 0
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			deepest = max(deepest, depth(e))
		}
	case []any:
		for _, e := range v {
			deepest = max(deepest, depth(e))
		}
	default:
		return 0
	}
	return deepest + 1
}

// parseYAML parses YAML (or JSON) within the limits, without anchors, aliases, merge keys and tags.
func parseYAML(text string) (any, error) {
	if len(text) > MaxAskUser {
		return nil, fmt.Errorf("question is %w: %d bytes, at most %d", errTooLarge, len(text), MaxAskUser)
	}
	if nestedFlow(text) > MaxDepth {
		return nil, fmt.Errorf("question is %w: nested deeper than %d", errTooLarge, MaxDepth)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, fmt.Errorf("question is not YAML: %w", err)
	}
	if len(doc.Content) != 1 {
		return nil, errors.New("question is empty")
	}
	nodes := 0
	return plainValue(doc.Content[0], 1, &nodes)
}

// nestedFlow returns the nesting depth of brackets. It runs before the parser, which recurses.
func nestedFlow(text string) int {
	now, deepest := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '[', '{':
			now++
			deepest = max(deepest, now)
		case ']', '}':
			now = max(0, now-1)
		}
	}
	return deepest
}

func plainValue(n *yaml.Node, level int, nodes *int) (any, error) {
	if *nodes++; *nodes > maxNodes || level > MaxDepth {
		return nil, fmt.Errorf("question is %w: at most %d values, nested at most %d deep", errTooLarge, maxNodes,
			MaxDepth)
	}
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return nil, fmt.Errorf("line %d: anchors and aliases are not accepted", n.Line)
	}
	switch n.Kind {
	case yaml.MappingNode:
		tree := make(map[string]any)
		for pair := range slices.Chunk(n.Content, 2) {
			key, value := pair[0], pair[1]
			if key.Kind != yaml.ScalarNode || key.Tag == "!!merge" {
				return nil, fmt.Errorf("line %d: keys are plain words", key.Line)
			}
			if _, twice := tree[key.Value]; twice {
				return nil, fmt.Errorf("line %d: key %.40q is given twice", key.Line, key.Value)
			}
			v, err := plainValue(value, level+1, nodes)
			if err != nil {
				return nil, err
			}
			tree[key.Value] = v
		}
		return tree, nil
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, e := range n.Content {
			v, err := plainValue(e, level+1, nodes)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		return list, nil
	}
	return scalar(n)
}

func scalar(n *yaml.Node) (any, error) {
	switch n.Tag {
	case "!!str", "!!timestamp", "!!int", "!!float":
		return n.Value, nil // as written: numbers are answers, not quantities
	case "!!null":
		return nil, nil //nolint:nilnil // null is a value
	case "!!bool":
		return strings.EqualFold(n.Value, "true"), nil
	}
	return nil, fmt.Errorf("line %d: tag %.40q is not accepted", n.Line, n.Tag)
}

// questionsOf reads a question, or a list of up to atMost questions, from a decoded tree, with or
// without an ask_user key around it. A list that is too long or has an unreadable entry is rejected
// as a whole, so that no question disappears unnoticed.
func questionsOf(tree any, atMost int) ([]Question, []Diagnostic, error) {
	what := "question"
	if fields, ok := tree.(map[string]any); ok {
		if inner, ok := fields[askUserField]; ok {
			tree, what = inner, askUserField
		}
	}
	if one, ok := tree.(map[string]any); ok {
		q, odd, err := questionOf(one)
		return []Question{q}, odd, err
	}
	list, ok := tree.([]any)
	switch {
	case atMost <= 1:
		return nil, nil, fmt.Errorf("%s is not a mapping", what)
	case !ok || len(list) == 0:
		return nil, nil, fmt.Errorf("%s is neither a mapping nor a list of them", what)
	case len(list) > atMost:
		return nil, nil, fmt.Errorf("%d questions in one list; at most %d may be asked together", len(list), atMost)
	}
	var all []Question
	var odd []Diagnostic
	for i, entry := range list {
		one, ok := entry.(map[string]any)
		if !ok {
			return nil, nil, fmt.Errorf("question %d of %d is not a mapping", i+1, len(list))
		}
		q, more, err := questionOf(one)
		if err != nil {
			return nil, nil, fmt.Errorf("question %d of %d: %w", i+1, len(list), err)
		}
		for _, d := range more {
			d.Detail = fmt.Sprintf("question %d of %d: %s", i+1, len(list), d.Detail)
			odd = append(odd, d)
		}
		all = append(all, q)
	}
	return all, odd, nil
}

// questionOf reads one question. An invalid optional field is omitted with a diagnostic. Audience,
// wait and subject are ignored in an agent's text: the host decides them.
func questionOf(tree map[string]any) (Question, []Diagnostic, error) {
	var odd []Diagnostic
	leaveOut := func(field, want string) {
		odd = append(odd, Diagnostic{fsm.WarnAskUserMalformed, fmt.Sprintf("%s is left out: want %s", field, want)})
	}
	q := Question{Kind: Kind(scalarText(tree["kind"])), Prompt: scalarText(tree["prompt"]),
		Context: scalarText(tree["context"])}
	if strings.TrimSpace(q.Prompt) == "" {
		return Question{}, nil, errors.New("question has no prompt")
	}
	q.DefaultPolicy = DecisionPolicy(scalarText(tree["default_decision_policy"]))
	if v, ok := tree["options"]; ok && v != nil {
		if q.Options, ok = options(v); !ok {
			leaveOut("options", "a list of texts, or of label and value")
		}
	}
	if v, ok := tree["required_fields"]; ok && v != nil {
		if q.RequiredFields, ok = scalarTexts(v); !ok {
			leaveOut("required_fields", "a list of names")
		}
	}
	if v, ok := tree["ui_hints"]; ok && v != nil {
		if q.UIHints, ok = v.(map[string]any); !ok {
			leaveOut("ui_hints", "a mapping")
		}
	}
	q, more := Normalize(q)
	return q, append(odd, more...), nil
}

func scalarText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return v.String()
	}
	return ""
}

func scalarTexts(v any) ([]string, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	all := make([]string, 0, len(list))
	for _, e := range list {
		w := scalarText(e)
		if w == "" {
			return nil, false
		}
		all = append(all, w)
	}
	return all, true
}

func options(v any) ([]Option, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	all := make([]Option, 0, len(list))
	for _, e := range list {
		o := Option{Label: scalarText(e), Value: scalarText(e)}
		if m, isMap := e.(map[string]any); isMap {
			o = Option{Label: scalarText(m["label"]), Value: scalarText(m["value"])}
		}
		if o.Label == "" && o.Value == "" {
			return nil, false
		}
		all = append(all, o)
	}
	return all, true
}
