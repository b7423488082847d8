package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/internal/plainjson"
)

// Records are written and read several times per turn, so their code is generated from the structs
// (codec.gen.go): package plainjson writes them byte for byte as encoding/json would, and reads
// exactly that form; other forms go through encoding/json. JSON from others (an output, a schema,
// arguments, a value) is written unchanged.

//go:generate go run ../internal/plainjson/gen -write interaction.Record -read Run

// knownWords are the words that records repeat.
var knownWords = func() plainjson.Words {
	words := plainjson.Words{}
	plainjson.Learn(words, fsm.ContractVersion, interaction.SourceAutoDecide, interaction.ReasonUserNoReply)
	plainjson.Learn(words, fsm.States()...)
	plainjson.Learn(words, fsm.Modes()...)
	plainjson.Learn(words, fsm.Profiles()...)
	plainjson.Learn(words, fsm.Codes()...)
	plainjson.Learn(words, fsm.Warnings()...)
	plainjson.Learn(words, RecoveryNone, RecoveredWaiting, FailedReconciled)
	plainjson.Learn(words, BlockRetry, BlockSleep, BlockChildren, BlockHeld)
	plainjson.Learn(words, ChoiceRepeat, ChoiceRaise, ChoiceEnd)
	plainjson.Learn(words, InterruptFail, InterruptRepeat, InterruptAsk)
	plainjson.Learn(words, HoldOff, HoldOn)
	plainjson.Learn(words, interaction.ChooseOne, interaction.Confirm, interaction.FillFields, interaction.OpenText,
		interaction.RiskAck, interaction.Approval)
	plainjson.Learn(words, interaction.Approve, interaction.Edit, interaction.Reject, interaction.Respond)
	plainjson.Learn(words, interaction.EngineJudgement, interaction.SafeDefault, interaction.Abort)
	plainjson.Learn(words, interaction.UserReply, interaction.AutoDecideTimeout, interaction.Abandoned,
		interaction.Superseded, interaction.DefaultAnswer)
	plainjson.Learn(words, interaction.Remind, interaction.Escalate)
	plainjson.Learn(words, interaction.ThenWait, interaction.ThenFail, interaction.ThenDecide, interaction.ThenDefault)
	return words
}()

// Encode returns the record's stored form, in a slice of exactly its size. It equals json.Marshal,
// except that JSON from others is kept byte for byte, including white space.
func Encode(r Run) ([]byte, error) {
	return plainjson.Exact(func(dst []byte) ([]byte, error) { return AppendRun(dst, &r) })
}

// AppendRun appends the record's stored form, as Encode gives it, to dst and returns the longer
// buffer. A record that cannot be encoded is ErrInvalid, and dst is returned as it was. The result
// shares nothing with the record.
func AppendRun(dst []byte, r *Run) ([]byte, error) {
	w := plainjson.Writer{Buf: dst}
	form := r.form()
	if form != "" {
		w.Put(form)
	}
	writeRun(&w, r)
	if form != "" {
		w.Put(formSuffix)
	}
	if w.Err != nil {
		return dst, fmt.Errorf("%w: run %.128s cannot be encoded: %w", ErrInvalid, r.ID, w.Err)
	}
	return w.Buf, nil
}

// A record with content that the first form cannot express is wrapped in a list, after the number
// of its form. An older version of this package treats the list as corrupt: it refuses the run, and
// never stores it without the unknown content. All other records have the first form.
const (
	heldForm    = "[2," // turns that were put off, and holds
	forkForm    = "[3," // a fork
	typedForm   = "[4," // a form or an approval, and the answer to one; questions for certain people
	severalForm = "[5," // several questions that were asked together
	waitForm    = "[6," // a question with a wait, and its default answer
	peopleForm  = "[7," // an approval that several people decide, and their votes; a question that is claimed
	journalForm = "[8," // a run that has a journal, or sleeps
	familyForm  = "[9," // a run that is a child, or has children
	formSuffix  = "]"
)

// form returns the beginning of the record's list; empty for the first form.
func (r *Run) form() string {
	if form := r.needsForm(); form != "" {
		return form
	}
	switch {
	case r.Family != nil:
		return familyForm
	case r.Journal != nil || r.Block != nil && r.Block.Kind == BlockSleep:
		return journalForm
	case r.hasVotesOrClaims():
		return peopleForm
	case r.Pending != nil && r.Pending.Wait != nil, r.Answer != nil && r.Answer.Resolution == interaction.DefaultAnswer:
		return waitForm
	case r.Together != nil:
		return severalForm
	case r.typed():
		return typedForm
	case r.ForkedFrom != nil:
		return forkForm
	case r.Block != nil || r.Yielded > 0 || r.OnInterrupt != "" || r.Hold != "" || r.Budget != nil:
		return heldForm
	}
	return ""
}

// hasVotesOrClaims reports whether an open question needs several people, or has votes or a claim.
// An earlier version would accept one person's decision, treat a vote's key as unused, or accept a
// reply despite a claim.
func (r *Run) hasVotesOrClaims() bool {
	own := func(q *interaction.Question) bool { return q.DecidedBySeveral() || q.Claim != nil }
	return r.Votes > 0 || r.Answer != nil && len(r.Answer.Votes) > 0 ||
		r.Pending != nil && own(r.Pending) ||
		slices.ContainsFunc(r.Siblings, func(q interaction.Question) bool { return own(&q) })
}

// typed reports whether the run's question is a form, an approval or not for everybody, or its
// answer belongs to one. An earlier version would accept any text from anybody as the reply, ask
// without the policy, or execute a turn without the decision and its tool call.
func (r *Run) typed() bool {
	q, a := r.Pending, r.Answer
	return r.Restricted ||
		q != nil && (len(q.Schema) > 0 || q.Subject != nil || q.AlsoText || q.To != nil || q.Ref != "") ||
		a != nil && (a.Via != "" || a.Ref != "" || len(a.Value) > 0 || a.Decision != "" || a.Digest != "" ||
			len(a.Arguments) > 0)
}

// firstForm unwraps a record from its list, if any.
func firstForm(body []byte) ([]byte, error) {
	if !bytes.HasPrefix(body, []byte{'['}) {
		return body, nil
	}
	if inner, ok, err := withoutNeeds(body); ok || err != nil {
		return inner, err
	}
	for _, form := range []string{heldForm, forkForm, typedForm, severalForm, waitForm, peopleForm,
		journalForm, familyForm} {
		if inner, ok := bytes.CutPrefix(body, []byte(form)); ok {
			if inner, ok = bytes.CutSuffix(inner, []byte(formSuffix)); ok {
				return inner, nil
			}
		}
	}
	return body, nil
}

// AppendRecord appends the stored form of a history entry to dst and returns the longer buffer. It
// equals json.Marshal except for JSON from others (see Encode). An entry that cannot be encoded is
// ErrInvalid, and dst is returned unchanged. The result shares no memory with the entry.
func AppendRecord(dst []byte, r *interaction.Record) ([]byte, error) {
	w := plainjson.Writer{Buf: dst}
	writeRecord(&w, r)
	if w.Err != nil {
		return dst, fmt.Errorf("%w: interaction %d cannot be encoded: %w", ErrInvalid, r.Question.ID, w.Err)
	}
	return w.Buf, nil
}

// Decode reads a stored record. What does not decode or does not agree with itself is ErrCorrupt.
// Unknown fields are passed over: a newer version may have written them that an older one may drop.
func Decode(body []byte) (r Run, _ error) {
	err := DecodeInto(body, &r)
	return r, err
}

// DecodeInto is Decode into a zero Run, for callers that cannot afford to copy it: runs are large,
// and each copy makes the stack of a fresh goroutine grow. After an error the run is zero.
func DecodeInto(body []byte, into *Run) (err error) {
	if body, err = firstForm(body); err != nil {
		return fmt.Errorf("%w: record: %w", ErrCorrupt, err)
	}
	if !scanRun(body, into) {
		err = unmarshalRun(body, into)
	}
	if err == nil {
		err = into.Validate()
	}
	if err != nil {
		*into = Run{}
		return fmt.Errorf("%w: record: %w", ErrCorrupt, err)
	}
	return nil
}

// scanRun reads what AppendRun writes, as encoding/json would read it. It returns false, and leaves
// into half filled, for JSON in any other form.
func scanRun(body []byte, into *Run) bool {
	s := plainjson.Scanner{Body: body, Words: knownWords}
	readRun(&s, into)
	return s.Done()
}

// unmarshalRun decodes into its own record because that escapes to the heap; the caller's does not.
func unmarshalRun(body []byte, into *Run) error {
	var r Run
	err := json.Unmarshal(body, &r)
	*into = r
	return err
}
