package lifecycle

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/interlude-go/interlude/internal/plainjson"
	"github.com/interlude-go/interlude/slots"
)

// A specification is written when it is submitted and read in each turn, so this is done by hand:
// the members in the order of the fields, as encoding/json writes them, byte for byte. The digest
// of these bytes decides whether a submission is the same one again, so they must not change. The
// tests hold all this against encoding/json and against the fields that Spec has.

// encodeSpec returns the stored form.
func encodeSpec(s *Spec) ([]byte, error) {
	return plainjson.Exact(func(dst []byte) ([]byte, error) { return appendSpec(dst, s) })
}

// besidePrompt is room for all but the two long members, in bytes, and for some escapes. It need
// not be enough.
const besidePrompt = 512

func appendSpec(dst []byte, s *Spec) ([]byte, error) {
	w := plainjson.Writer{Buf: slices.Grow(dst, len(s.Prompt)+len(s.Prompt)/16+len(s.OutputSchema)+besidePrompt)}
	w.Text(`{"prompt":`, s.Prompt)
	w.Text(`,"mode":`, string(s.Mode))
	w.TextIf(`,"engine":`, s.Engine)
	w.RawIf(`,"output_schema":`, s.OutputSchema)
	w.IntIf(`,"max_attempts":`, s.MaxAttempts)
	w.Duration(`,"session_timeout":`, s.SessionTimeout)
	w.FlagIf(`,"auto_decide":`, s.AutoDecide)
	w.Int(`,"max_auto_decisions":`, int64(s.MaxAutoDecisions))
	w.FlagIf(`,"repeatable":`, s.Repeatable)
	w.IntIf(`,"max_repeats":`, s.MaxRepeats)
	w.DurationIf(`,"turn_timeout":`, s.TurnTimeout)
	w.IntIf(`,"repair_rounds":`, s.RepairRounds)
	w.Text(`,"pool":`, s.Pool)
	w.TextIf(`,"key":`, s.Key)
	w.IntIf(`,"priority":`, s.Priority)
	w.TimeIf(`,"not_before":`, s.NotBefore)
	w.LabelsIf(`,"labels":`, s.Labels)
	w.TextIf(`,"work_dir":`, s.WorkDir)
	w.Put(`}`)
	return w.Buf, w.Err
}

// knownWords are what most specifications say.
var knownWords = func() plainjson.Words {
	words := plainjson.Words{}
	plainjson.Learn(words, Interactive, Auto)
	plainjson.Learn(words, DefaultEngine, slots.DefaultPool)
	return words
}()

// readSpec decodes a stored spec. It shares no memory with the body.
func readSpec(id string, body []byte) (Spec, error) {
	s, ok := scanSpec(body)
	if !ok {
		var err error
		if s, err = unmarshalSpec(body); err != nil {
			return Spec{}, fmt.Errorf("lifecycle: stored spec of run %s: %w", id, err)
		}
	}
	s.ID = id
	return s, nil
}

// scanSpec reads what appendSpec writes, as encoding/json would read it; whatever else it meets, it
// says false, and the spec means nothing.
func scanSpec(body []byte) (Spec, bool) {
	var v Spec
	s := plainjson.Scanner{Body: body, Known: knownWords}
	s.Need(`{"prompt":`)
	v.Prompt = s.OwnText()
	plainjson.Word(&s, `,"mode":`, &v.Mode)
	plainjson.Word(&s, `,"engine":`, &v.Engine)
	s.Raw(`,"output_schema":`, &v.OutputSchema)
	s.Int(`,"max_attempts":`, &v.MaxAttempts)
	s.Duration(`,"session_timeout":`, &v.SessionTimeout)
	s.Flag(`,"auto_decide":`, &v.AutoDecide)
	s.Int(`,"max_auto_decisions":`, &v.MaxAutoDecisions)
	s.Flag(`,"repeatable":`, &v.Repeatable)
	s.Int(`,"max_repeats":`, &v.MaxRepeats)
	s.Duration(`,"turn_timeout":`, &v.TurnTimeout)
	s.Int(`,"repair_rounds":`, &v.RepairRounds)
	plainjson.Word(&s, `,"pool":`, &v.Pool)
	s.Text(`,"key":`, &v.Key)
	s.Int(`,"priority":`, &v.Priority)
	s.Time(`,"not_before":`, &v.NotBefore)
	s.Labels(`,"labels":`, &v.Labels)
	s.Text(`,"work_dir":`, &v.WorkDir)
	s.Need(`}`)
	return v, s.Done()
}

// unmarshalSpec stands alone so that its spec, and not every one, has to be allocated.
func unmarshalSpec(body []byte) (Spec, error) {
	var s Spec
	err := json.Unmarshal(body, &s)
	return s, err
}
