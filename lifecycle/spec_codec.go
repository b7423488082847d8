package lifecycle

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/interlude-go/interlude/internal/plainjson"
	"github.com/interlude-go/interlude/slots"
)

// A specification is written when it is submitted and read in each turn, so its code is generated
// from the struct: the members in the order of the fields, as encoding/json writes them, byte for
// byte. The digest of these bytes decides whether a submission is the same one again, so they must
// not change.

//go:generate go run ../internal/plainjson/gen -read Spec

// encodeSpec returns the stored form.
func encodeSpec(s *Spec) ([]byte, error) {
	return plainjson.Exact(func(dst []byte) ([]byte, error) { return appendSpec(dst, s) })
}

// besidePrompt is room for all but the two long members, in bytes, and for some escapes. It need
// not be enough.
const besidePrompt = 512

func appendSpec(dst []byte, s *Spec) ([]byte, error) {
	w := plainjson.Writer{Buf: slices.Grow(dst, len(s.Prompt)+len(s.Prompt)/16+len(s.OutputSchema)+besidePrompt)}
	writeSpec(&w, s)
	return w.Buf, w.Err
}

// knownWords are what most specifications say.
var knownWords = func() plainjson.Words {
	words := plainjson.Words{}
	plainjson.Learn(words, Interactive, Auto)
	plainjson.Learn(words, DefaultEngine, slots.DefaultPool)
	return words
}()

// decodeSpec decodes a stored spec. It shares no memory with the body.
func decodeSpec(id string, body []byte) (Spec, error) {
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
	s := plainjson.Scanner{Body: body, Words: knownWords}
	readSpec(&s, &v)
	return v, s.Done()
}

// unmarshalSpec stands alone so that its spec, and not every one, has to be allocated.
func unmarshalSpec(body []byte) (Spec, error) {
	var s Spec
	err := json.Unmarshal(body, &s)
	return s, err
}
