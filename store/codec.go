package store

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/internal/plainjson"
)

// Records are encoded and decoded several times per turn, so their code is generated from the
// structs (codec.gen.go): package plainjson writes them byte for byte as encoding/json would, and
// reads exactly that form; other forms go through encoding/json. Foreign JSON (an output, a schema,
// arguments, a value) is written unchanged.

//go:generate go run ../internal/plainjson/gen -write interaction.Record -read Run

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
// except that foreign JSON is kept byte for byte, including white space.
func Encode(r Run) ([]byte, error) {
	return plainjson.Exact(func(dst []byte) ([]byte, error) { return AppendRun(dst, &r) })
}

// AppendRun appends the record's stored form (see Encode) to dst. A record that cannot be encoded
// is ErrInvalid, and dst is returned unchanged. The result shares no memory with the record.
func AppendRun(dst []byte, r *Run) ([]byte, error) {
	if r.KeptForParent() {
		stored := *r
		stored.Family = r.Family.inStore()
		r = &stored
	}
	w := plainjson.Writer{Buf: dst}
	wrapped := r.beginForm(&w)
	writeRun(&w, r)
	if wrapped {
		w.Put(formSuffix)
	}
	if w.Err != nil {
		return dst, fmt.Errorf("%w: run %.128s cannot be encoded: %w", ErrInvalid, r.ID, w.Err)
	}
	return w.Buf, nil
}

// storedRun is the JSON form of a Run. The embedded Run defines most members. Open questions are
// stored in two members, answers in one.
type storedRun struct {
	*plainRun
	Pending  *interaction.Question  `json:"pending"`
	Siblings []interaction.Question `json:"siblings"`
	Answer   *interaction.Answer    `json:"answer"`
}

type plainRun Run // without methods

// MarshalJSON implements json.Marshaler. It omits the list of features (see needs).
func (r Run) MarshalJSON() ([]byte, error) {
	r.Family = r.Family.inStore()
	w := plainjson.Writer{}
	writeRun(&w, &r)
	return w.Buf, w.Err
}

func (r *Run) UnmarshalJSON(body []byte) error {
	stored := storedRun{plainRun: (*plainRun)(r)}
	if err := json.Unmarshal(body, &stored); err != nil {
		return err
	}
	if stored.Pending != nil {
		r.Open = append([]interaction.Question{*stored.Pending}, stored.Siblings...)
	} else if len(stored.Siblings) > 0 {
		return errors.New("siblings without a pending question")
	}
	if stored.Answer != nil {
		r.Answers = []interaction.Answer{*stored.Answer}
	}
	return nil
}

// AppendRecord appends a history entry's stored form to dst, like AppendRun.
func AppendRecord(dst []byte, r *interaction.Record) ([]byte, error) {
	w := plainjson.Writer{Buf: dst}
	writeRecord(&w, r)
	if w.Err != nil {
		return dst, fmt.Errorf("%w: interaction %d cannot be encoded: %w", ErrInvalid, r.Question.ID, w.Err)
	}
	return w.Buf, nil
}

// Decode decodes a stored record. ErrCorrupt: it is invalid or contradicts itself; ErrNewer: it
// needs a feature that this release does not know (see Needs). Unknown fields are ignored: a newer
// release wrote them for its own use.
func Decode(body []byte) (r Run, _ error) {
	err := DecodeInto(body, &r)
	return r, err
}

// DecodeInto is Decode into a zero Run, for callers that cannot afford a copy: runs are large, and
// each copy makes the stack of a fresh goroutine grow. After an error it is zero.
func DecodeInto(body []byte, into *Run) (err error) {
	if body, err = firstForm(body); err != nil {
		return err
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

// scanRun reads what AppendRun writes, as encoding/json would. For JSON in any other form it
// returns false, and leaves into half filled.
func scanRun(body []byte, into *Run) bool {
	s := plainjson.Scanner{Body: body, Words: knownWords}
	readRun(&s, into)
	if into.Family != nil {
		into.Family.fromStored()
	}
	return s.Done()
}

// unmarshalRun has its own record because that escapes to the heap; the caller's does not.
func unmarshalRun(body []byte, into *Run) error {
	var r Run
	err := json.Unmarshal(body, &r)
	*into = r
	return err
}
