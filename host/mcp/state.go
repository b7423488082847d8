package mcp

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/interlude-go/interlude/host/front"
	"github.com/interlude-go/interlude/lifecycle"
)

// stateTTL is how long a client may take to repeat a call with its answers. Afterwards the person
// answers on the page, or the client calls the wait tool.
const stateTTL = 7 * 24 * time.Hour

// maxState limits the state that a client returns, in bytes.
const maxState = 16 << 10

// requestState is the state that a client returns with its answers. It grants nothing: the run must
// belong to the principal (front.Owns), and all else is checked against the run. The mark binds it
// to principal, tool and arguments, so that a client that mixes up its calls is refused. It needs
// no key, since it grants no right; so every node accepts it.
type requestState struct {
	Run    string         `json:"r"`
	Until  int64          `json:"u"`
	Shown  map[int]string `json:"s"` // digests of the questions, by number
	Marked string         `json:"m"`
}

func (c *call) state(asks []lifecycle.Question) string {
	s := requestState{Run: c.run, Until: c.Client().Now().Add(stateTTL).Unix(), Shown: make(map[int]string, len(asks))}
	for i := range asks {
		s.Shown[asks[i].ID] = asks[i].Digest()
	}
	s.Marked = c.mark(s)
	raw, _ := json.Marshal(s) // strings and numbers
	return base64.RawURLEncoding.EncodeToString(raw)
}

func (c *call) mark(s requestState) string {
	s.Marked = ""
	all, _ := json.Marshal([]any{c.Actor().ID, c.tool.Name, canonical(c.params.Arguments), s})
	sum := sha256.Sum256(all)
	return hex.EncodeToString(sum[:])
}

// canonical returns the arguments without differences in spelling that clients may introduce.
func canonical(arguments json.RawMessage) any {
	if len(arguments) == 0 {
		return map[string]any{}
	}
	var v any
	if json.Unmarshal(arguments, &v) != nil || v == nil {
		return string(arguments)
	}
	return v
}

// readState returns the digests of the shown questions, by number, and sets the call's run.
func (c *call) readState() (map[int]string, error) {
	refused := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams,
		Message: "requestState does not belong to this call: call the tool again"}
	if len(c.params.RequestState) > maxState {
		return nil, refused
	}
	raw, err := base64.RawURLEncoding.DecodeString(c.params.RequestState)
	var s requestState
	if err != nil || json.Unmarshal(raw, &s) != nil || s.Marked != c.mark(s) ||
		!front.Owns(c.Actor().ID, protocol, s.Run) {
		return nil, refused
	}
	if c.Client().Now().Unix() > s.Until {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams,
			Message: "requestState has expired: call " + c.server.config.WaitTool + " with run_id " + s.Run}
	}
	c.run = s.Run
	return s.Shown, nil
}
