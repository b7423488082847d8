package store

import (
	"encoding/json"
	"fmt"

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

// Decode reads a stored record. What does not decode or does not agree with itself is ErrCorrupt; a
// record that needs a feature which this release does not know (see Needs) is ErrNewer. Unknown
// fields are passed over: a newer version may have written them that an older one may drop.
func Decode(body []byte) (r Run, _ error) {
	err := DecodeInto(body, &r)
	return r, err
}

// DecodeInto is Decode into a zero Run, for callers that cannot afford to copy it: runs are large,
// and each copy makes the stack of a fresh goroutine grow. After an error the run is zero.
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
