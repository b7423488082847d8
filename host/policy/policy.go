package policy

import (
	"context"
	"fmt"
	"os"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"github.com/interlude-go/interlude/interaction"
)

const (
	// MaxFile limits a file, in bytes.
	MaxFile = 1 << 20
	// MaxRules limits the rules of a file.
	MaxRules = 1000
	// MaxCost limits the evaluation of one condition, in CEL's units of cost.
	MaxCost = 100_000
)

// Rules are the rules of a file. They are immutable, and safe for concurrent use.
type Rules struct {
	version string
	rules   []rule
}

type rule struct {
	name      string
	line      int
	condition cel.Program
	ruling    interaction.Ruling
}

// Version returns the file's version.
func (r *Rules) Version() string { return r.version }

// Names returns the names of the rules, in the file's order.
func (r *Rules) Names() []string {
	names := make([]string, len(r.rules))
	for i := range r.rules {
		names[i] = r.rules[i].name
	}
	return names
}

// Load reads a file of rules. An error about its content is an *Error.
func Load(file string) (*Rules, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	if info.Size() > MaxFile {
		return nil, fmt.Errorf("policy: %s has %d bytes; at most %d are allowed", file, info.Size(), MaxFile)
	}
	body, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	return Parse(body)
}

// Decide implements interaction.Policy: the first rule whose condition holds decides. An error names
// the rule that cannot be evaluated.
func (r *Rules) Decide(ctx context.Context, p interaction.Proposal) (interaction.Ruling, error) {
	v, err := variables(&p)
	if err != nil {
		return interaction.Ruling{}, fmt.Errorf("policy: %w", err)
	}
	for i := range r.rules {
		rule := &r.rules[i]
		v["rulings"] = func() any {
			n, err := p.Rulings(ctx, rule.name)
			if err != nil {
				return types.WrapErr(err)
			}
			return n
		}
		out, _, err := rule.condition.ContextEval(ctx, v)
		if err != nil {
			return interaction.Ruling{}, fmt.Errorf("policy: rule %s: %w", rule.name, err)
		}
		if out == types.True {
			ruling := rule.ruling
			ruling.To = ruling.To.Clone()
			return ruling, nil
		}
	}
	return interaction.Ruling{}, nil
}

var environment = []cel.EnvOption{
	cel.CrossTypeNumericComparisons(true),
	cel.Variable("tool", cel.StringType), cel.Variable("title", cel.StringType), cel.Variable("risk", cel.StringType),
	cel.Variable("arguments", cel.DynType), cel.Variable("labels", cel.MapType(cel.StringType, cel.StringType)),
	cel.Variable("engine", cel.StringType), cel.Variable("pool", cel.StringType), cel.Variable("key", cel.StringType),
	cel.Variable("run", cel.StringType), cel.Variable("submitter", cel.StringType),
	cel.Variable("asked", cel.TimestampType), cel.Variable("rulings", cel.IntType),
}

func variables(p *interaction.Proposal) (map[string]any, error) {
	s := p.Question.Subject
	if s == nil {
		return nil, fmt.Errorf("question %d of run %s is not an approval", p.Question.ID, p.RunID)
	}
	arguments, err := exact(s.Arguments)
	if err != nil {
		return nil, err
	}
	labels := p.Labels
	if labels == nil {
		labels = map[string]string{}
	}
	return map[string]any{
		"tool": s.Tool, "title": s.Title, "risk": s.Risk, "arguments": arguments, "labels": labels, "engine": p.Engine,
		"pool": p.Pool, "key": p.Key, "run": p.RunID, "submitter": p.Submitter,
		"asked": p.Question.AskedAt.In(time.UTC),
	}, nil
}
