package policy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"go.yaml.in/yaml/v3"

	"github.com/interlude-go/interlude/interaction"
)

// Error is a fault in a file of rules.
type Error struct {
	Line int
	Rule string // its name; empty: about the whole file
	Err  error
}

func (e *Error) Error() string {
	about := ""
	if e.Rule != "" {
		about = " rule " + e.Rule + ":"
	}
	return fmt.Sprintf("policy: line %d:%s %v", e.Line, about, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// Parse reads rules in YAML. The error is an *Error for the first fault: a field that is unknown,
// missing or given twice, a value of another type, a name used twice, a condition that CEL refuses
// or that is not true or false.
func Parse(text []byte) (*Rules, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, &Error{Line: lineOf(err), Err: errors.New(strings.TrimPrefix(err.Error(), "yaml: "))}
	}
	if len(doc.Content) == 0 {
		return nil, &Error{Line: 1, Err: errors.New("the file is empty, want version and rules")}
	}
	env, err := cel.NewEnv(environment...)
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	r := new(Rules)
	var list *yaml.Node
	top, err := fields(doc.Content[0], "version", "rules")
	if err != nil {
		return nil, err
	}
	if r.version, err = requiredText(doc.Content[0], top, "version"); err != nil {
		return nil, err
	}
	if list = top["rules"]; list == nil || list.Kind != yaml.SequenceNode {
		return nil, faultf(doc.Content[0], "rules are missing, want a list")
	}
	if len(list.Content) > MaxRules {
		return nil, faultf(list, "%d rules; at most %d are allowed", len(list.Content), MaxRules)
	}
	lines := make(map[string]int)
	for _, node := range list.Content {
		rule, err := parseRule(env, node, r.version)
		if err == nil && lines[rule.name] > 0 {
			err = faultf(node, "the name is also that of the rule in line %d", lines[rule.name])
		}
		if err != nil {
			if fault := (*Error)(nil); errors.As(err, &fault) {
				fault.Rule = rule.name
			}
			return nil, err
		}
		lines[rule.name] = node.Line
		r.rules = append(r.rules, rule)
	}
	return r, nil
}

func lineOf(err error) int {
	_, after, _ := strings.Cut(err.Error(), "line ")
	digits, _, _ := strings.Cut(after, ":")
	line, _ := strconv.Atoi(digits)
	return max(line, 1)
}

func faultf(at *yaml.Node, format string, args ...any) error {
	return &Error{Line: at.Line, Err: fmt.Errorf(format, args...)}
}

// fields returns the values of a mapping by name, of which only these are allowed.
func fields(node *yaml.Node, allowed ...string) (map[string]*yaml.Node, error) {
	if node.Kind != yaml.MappingNode {
		return nil, faultf(node, "want fields: %s", strings.Join(allowed, ", "))
	}
	all := make(map[string]*yaml.Node)
	for i := 0; i < len(node.Content); i += 2 {
		name, value := node.Content[i], node.Content[i+1]
		switch {
		case !slices.Contains(allowed, name.Value):
			return nil, faultf(name, "the field %.80q is unknown, want one of %s", name.Value,
				strings.Join(allowed, ", "))
		case all[name.Value] != nil:
			return nil, faultf(name, "the field %s is given twice", name.Value)
		}
		all[name.Value] = value
	}
	return all, nil
}

func requiredText(in *yaml.Node, all map[string]*yaml.Node, name string) (string, error) {
	node := all[name]
	if node == nil {
		return "", faultf(in, "%s is missing", name)
	}
	if node.Kind != yaml.ScalarNode || node.Tag != "!!str" || strings.TrimSpace(node.Value) == "" {
		return "", faultf(node, "%s is %.80s, want a text in quotation marks", name, node.Value)
	}
	return node.Value, nil
}

func parseRule(env *cel.Env, node *yaml.Node, version string) (rule, error) {
	r := rule{line: node.Line}
	all, err := fields(node, "rule", "when", "do", "reason", "to", "need")
	if err != nil {
		return r, err
	}
	if r.name, err = requiredText(node, all, "rule"); err != nil {
		return r, err
	}
	do, err := requiredText(node, all, "do")
	if err != nil {
		return r, err
	}
	r.ruling = interaction.Ruling{Rule: r.name, Version: version}
	decision, known := map[string]interaction.Decision{"approve": interaction.Approve, "reject": interaction.Reject,
		"ask": ""}[do]
	if !known {
		return r, faultf(all["do"], "do is %.80q, want approve, reject or ask", do)
	}
	r.ruling.Decision = decision
	if all["reason"] != nil {
		if r.ruling.Reason, err = requiredText(node, all, "reason"); err != nil {
			return r, err
		}
		if decision == "" {
			return r, faultf(all["reason"], "only approve and reject have a reason")
		}
	}
	if r.ruling.To, err = parseAudience(all["to"]); err != nil {
		return r, err
	}
	if n := all["need"]; n != nil {
		if r.ruling.Need, err = strconv.Atoi(n.Value); err != nil || n.Tag != "!!int" || r.ruling.Need < 1 {
			return r, faultf(n, "need is %.80q, want a number of people from 1 to %d", n.Value, interaction.MaxNeed)
		}
	}
	if err := r.ruling.Validate(); err != nil {
		return r, faultf(node, "%v", err)
	}
	r.condition, err = parseCondition(env, node, all)
	return r, err
}

// parseAudience reads whom a rule asks; nil: as the question says.
func parseAudience(node *yaml.Node) (*interaction.Audience, error) {
	if node == nil {
		return nil, nil //nolint:nilnil // as the question says
	}
	all, err := fields(node, "everybody", "users", "groups", "except")
	if err != nil {
		return nil, err
	}
	to := new(interaction.Audience)
	for name, into := range map[string]any{"everybody": &to.Everybody, "users": &to.Users, "groups": &to.Groups,
		"except": &to.Except} {
		if value := all[name]; value != nil {
			if err := value.Decode(into); err != nil {
				return nil, faultf(value, "to.%s has another type, want true, false or a list of names", name)
			}
		}
	}
	if !interaction.Enough(1, to) {
		return nil, faultf(node, "to admits no one, want users, groups or everybody: true")
	}
	return to, nil
}

func parseCondition(env *cel.Env, in *yaml.Node, all map[string]*yaml.Node) (cel.Program, error) {
	when, err := requiredText(in, all, "when")
	if err != nil {
		return nil, err
	}
	node := all["when"]
	ast, issues := env.Compile(when)
	if issues.Err() != nil {
		e := issues.Errors()[0]
		line := node.Line
		if node.Style == yaml.LiteralStyle { // its text begins below
			line += e.Location.Line()
		}
		return nil, &Error{Line: line, Err: fmt.Errorf("when: %s (column %d of the condition)", e.Message,
			e.Location.Column()+1)}
	}
	if ast.OutputType() != cel.BoolType {
		return nil, faultf(node, "when is of type %s, want bool: compare it with a value", ast.OutputType())
	}
	return env.Program(ast, cel.CostLimit(MaxCost), cel.InterruptCheckFrequency(100),
		cel.EvalOptions(cel.OptOptimize))
}
