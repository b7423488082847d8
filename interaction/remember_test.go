package interaction

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// N9: members that differ only in case are not compared, because a decoder may choose by their order.
func TestN9MembersThatDifferInCaseAreNotCompared(t *testing.T) {
	q := &Question{ID: 1, Kind: Approval, Subject: &Subject{Tool: "pay"}}
	for path, args := range map[string]string{"": `{"to":"a","To":"b"}`, "/p": `{"p":[{"k":"a","K":"b"}]}`} {
		r := &Remember{Until: time.Now().Add(time.Hour), Equal: []string{path}}
		_, err := NewMemory(r, q, &Answer{Arguments: json.RawMessage(args)})
		require.ErrorIs(t, err, ErrInvalidReply)
	}
}
