package flow

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/interaction"
)

// asking has the questions that the turn asks at one place of the function.
type asking struct {
	path      string
	questions []engine.Question
	rule      engine.Rule
	size      int // of the questions in the run's record, in bytes
}

type answered struct {
	path, name string
	number     int // among the questions asked at its place, from 0
	answer     engine.Answer
}

// refOf is the Ref of a question (engine.Question.Ref). Its answer has the same Ref, which
// identifies the place.
func refOf(path string, number int, name string) string {
	return "flow " + path + " " + strconv.Itoa(number) + " " + name
}

func readRef(a engine.Answer) (answered, error) {
	parts := strings.SplitN(a.Ref, " ", 4)
	if len(parts) == 4 && parts[0] == "flow" {
		if number, err := strconv.Atoi(parts[2]); err == nil {
			return answered{parts[1], parts[3], number, a}, nil
		}
	}
	return answered{}, misfit("the run has an answer to question %d, which this function did not ask", a.ID)
}

// Ask asks a person. The run parks: it holds no slot, and costs one database row until it is
// answered. The function then continues here with the answer.
//
// If T is engine.Answer, Ask returns the whole answer; if T is string, its text. For any other T
// the question needs a Schema (package interaction/typed derives one from T), and Ask returns the
// value that the person filled in. Without a value, for example after a deadline, the error is that
// of engine.As.
//
// A question that cannot give a T, or whose Schema or Subject is unusable, is not asked: the run
// fails with the reason.
func Ask[T any](c *Ctx, name string, q engine.Question) (v T, _ error) {
	answers, err := c.ask(name, engine.Rule{}, []engine.Question{q}, gives[T])
	if err != nil {
		return v, err
	}
	switch v := any(&v).(type) {
	case *engine.Answer:
		*v = answers[0]
	case *string:
		*v = answers[0].Text
	default:
		return engine.As[T](answers[0])
	}
	return v, nil
}

// AskAll asks several questions together, 1 to engine.MaxQuestions. The run continues when the rule
// is met; the zero Rule waits for all answers. It returns one answer per question, in their order;
// those not needed are empty (Answer.Answered).
func AskAll(c *Ctx, name string, rule engine.Rule, questions ...engine.Question) ([]engine.Answer, error) {
	return c.ask(name, rule, questions, usable)
}

// Approve asks whether a tool may be called (engine.ApprovalOf), and returns the arguments that may
// be executed. If it was not approved, or the call differs from the question, the error matches
// engine.ErrNotApproved.
func Approve(c *Ctx, name string, q engine.Question) (json.RawMessage, error) {
	a, err := Ask[engine.Answer](c, name, q)
	if err != nil {
		return nil, err
	}
	return a.Approved(q)
}

// usable returns an error if the question is invalid, or would be asked without its Subject.
func usable(q engine.Question) error {
	if q.Subject == nil {
		return q.Validate()
	}
	asked, diagnostics := interaction.Normalize(q)
	if asked.Subject != nil {
		return q.Validate()
	}
	var reasons []string
	for _, d := range diagnostics {
		reasons = append(reasons, d.Detail)
	}
	return errors.New(strings.Join(reasons, "; "))
}

// gives returns an error if the answer to the question cannot be a T.
func gives[T any](q engine.Question) error {
	var v T
	switch any(v).(type) {
	case engine.Answer, string:
		return usable(q)
	}
	switch {
	case q.Subject != nil || q.Kind == engine.Approval:
		return fmt.Errorf("an approval cannot give a %T; use Approve, or an engine.Answer", v)
	case len(q.Schema) == 0:
		return fmt.Errorf("a question without a Schema gives a text, not a %T", v)
	}
	if err := usable(q); err != nil {
		return err
	}
	var declared struct {
		Type any `json:"type"`
	}
	_ = json.Unmarshal(q.Schema, &declared) // a Schema that is true or false has none
	name, _ := declared.Type.(string)
	var mismatch *json.UnmarshalTypeError
	if err := json.Unmarshal([]byte(sampleOf[name]), &v); errors.As(err, &mismatch) {
		return fmt.Errorf("its Schema gives a value of the type %s: %w", name, err)
	}
	return nil
}

func digestOf(q engine.Question) string {
	asked, _ := interaction.Normalize(q)
	return asked.Digest()
}

// sizeOf estimates the question's size in the run's record, in bytes.
func sizeOf(q engine.Question) int {
	asked, _ := interaction.Normalize(q)
	body, err := json.Marshal(asked)
	if err != nil {
		return 0 // the store reports it
	}
	const policy = 1 << 10 // the host's policy may add an audience and times (lifecycle.Spec.Ask)
	return len(body) + policy
}

// sampleOf has a value of each type in a schema.
var sampleOf = map[string]string{"object": "{}", "array": "[]", "string": `""`, "boolean": "true", "integer": "0",
	"number": "0", "null": "null", "": "null"}

func (c *Ctx) ask(name string, rule engine.Rule, questions []engine.Question, check func(engine.Question) error) (
	answers []engine.Answer, _ error) {
	path, err := c.acquire(typeAsk, name)
	if err != nil {
		return nil, err
	}
	defer c.release()
	found, err := c.lookUp(path, typeAsk, name, &answers)
	if err != nil {
		return nil, err
	}
	answered := found
	if !found {
		answers = c.run.takeAnswers(path)
		answered = answers != nil
	}
	switch {
	case answered && len(answers) != len(questions):
		return nil, c.stop(misfit("the journal has %d answers to %q at %s, and the code asks %d questions there",
			len(answers), name, path, len(questions)))
	case answered:
		for i, q := range questions {
			if err := c.checkAnswer(place{path, typeAsk, name}, &answers[i], q, found); err != nil {
				return nil, err
			}
			answers[i].Ref = q.Ref // set by the function
		}
		if found {
			return answers, nil
		}
		return answers, storeLater(c, place{path, typeAsk, name}, &answers, false)
	}
	if len(questions) == 0 || len(questions) > engine.MaxQuestions {
		return nil, c.fail(failed(nil, "%d questions at %s, want 1 to %d", len(questions), path, engine.MaxQuestions))
	}
	if ref := refOf(path, len(questions), name); len(ref) > engine.MaxRef {
		return nil, c.fail(failed(nil, "question %.40q at %.80s… is nested too deeply in branches", name, path))
	}
	asked, size := make([]engine.Question, len(questions)), 0
	for i, q := range questions {
		if err := check(q); err != nil {
			return nil, c.refuse(failed(err, "question %.40q at %s is not asked", name, path))
		}
		q.Ref = refOf(path, i, name)
		asked[i] = q
		size += sizeOf(q)
	}
	if len(asked) > 1 && size > engine.MaxTogether { // the library would omit the last of them
		return nil, c.fail(failed(nil, "questions %.40q at %s have %d KiB together, want at most %d", name, path,
			size>>10, engine.MaxTogether>>10))
	}
	c.run.mu.Lock()
	c.run.asking = append(c.run.asking, &asking{path, asked, rule, size})
	c.run.mu.Unlock()
	return nil, c.wait("the run waits for an answer to " + name)
}

// refuse ends the turn because the code asks an invalid question. A host that holds runs for
// repairable faults holds this one, without compensation; otherwise the run fails.
func (c *Ctx) refuse(why error) error {
	var f *engine.Failure
	if !c.run.holds || !errors.As(why, &f) {
		return c.fail(why)
	}
	f.Held = true
	return c.stop(f)
}

// checkAnswer holds the run if the answer belongs to a different question than the code asks at
// this place. A journal of an earlier release does not record the question. For an answer not yet
// stored, it sets the digest.
func (c *Ctx) checkAnswer(at place, a *engine.Answer, q engine.Question, kept bool) error {
	want, had := digestOf(q), ""
	if a.Digest == "" && !kept {
		asked, known, err := c.run.askedAs(a)
		if err != nil {
			return c.endWith(err)
		}
		if known {
			a.Digest, had = asked.Digest(), fmt.Sprintf(" %.200q", asked.Prompt)
		}
	}
	if a.Digest != "" && a.Digest != want {
		return c.stop(misfit("the run has an answer to %s with other content than the code asks at %s: question %d%s "+
			"had the digest %s, and %.200q has %s", described(typeAsk, at.name), at.path, a.ID, had, a.Digest, q.Prompt,
			want))
	}
	return nil
}

// askedAs returns the question to which the answer was given, as the run asked it. Known is false
// if it cannot be read. A fork inherits the question of its first answer.
func (r *run) askedAs(a *engine.Answer) (q engine.Question, known bool, err error) {
	for i := range r.inherited {
		if q = r.inherited[i].Question; q.ID == a.ID && q.Ref == a.Ref {
			return q, true, nil
		}
	}
	if r.history == nil || !a.Answered() {
		return q, false, nil
	}
	record, err := r.history.Record(r.ctx, a.ID)
	return record.Question, err == nil && record.Question.Ref == a.Ref, err
}

// takeAnswers is consumeAnswers for a caller that does not hold mu.
func (r *run) takeAnswers(path string) []engine.Answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.consumeAnswers(path)
}

// keepAnswers adds answers to the pending entries if the function did not reach their places,
// because it asks an earlier question again (withhold). A later turn would not get them. The caller
// holds mu.
func (r *run) keepAnswers() error {
	for _, path := range slices.SortedFunc(maps.Keys(r.answers), comparePaths) {
		name := r.answers[path][0].name
		body, err := json.Marshal(r.consumeAnswers(path))
		if err != nil {
			return failed(err, "%s at %s cannot be encoded as JSON: %v", described(typeAsk, name), path, err)
		}
		r.pending = append(r.pending, engine.JournalEntry{Path: path, Name: name, Type: typeAsk, Body: body})
	}
	return nil
}

// consumeAnswers removes and returns this turn's answers for a place, in the order of their
// questions; nil without answers. The caller holds mu.
func (r *run) consumeAnswers(path string) []engine.Answer {
	got := r.answers[path]
	if got == nil {
		return nil
	}
	delete(r.answers, path)
	slices.SortFunc(got, func(a, b answered) int { return cmp.Compare(a.number, b.number) })
	answers := make([]engine.Answer, len(got))
	for i := range got {
		answers[i] = got[i].answer
	}
	return answers
}
