package ui

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"time"

	"github.com/interlude-go/interlude/host/front"
	"github.com/interlude-go/interlude/lifecycle"
)

// Defaults and limits of a Config.
const (
	DefaultHold    = time.Minute
	DefaultStreams = 32
	// MaxBody limits a request, which has the whole conversation, in bytes.
	MaxBody = 4 << 20
	// MaxID limits the client's ids of chats, messages and runs, in bytes.
	MaxID = 256
	// MaxAnswers limits the answers in one request.
	MaxAnswers = 64
)

// Config configures a Server. Client, Identify and Start are required.
type Config struct {
	// Client finds the runs of a chat on the host's behalf; all else is done as the caller.
	Client *lifecycle.Client
	// Identify returns the caller of a request. The ID must not be empty.
	Identify func(*http.Request) (lifecycle.Actor, error)
	// Start returns the run for a person's message. The Server sets Spec.ID, adds two labels, and sets
	// Spec.Submitter to the caller if it is empty. Return a front.Fault to explain an error to the
	// person; the text of any other error is only logged. It may be called several times at once, also
	// for one message; then one call starts the run.
	Start func(ctx context.Context, caller lifecycle.Actor, m Message) (lifecycle.Spec, error)

	// Hold is how long a stream stays open while the run waits for others; DefaultHold when 0. Then
	// the stream ends, and the client may resume it.
	Hold time.Duration
	// Streams is the maximum number of concurrent requests of one principal; DefaultStreams when 0.
	Streams int
	// Origins are other sites whose pages may make requests, for example "https://desk.example.com".
	// The host adds the headers for cross-origin reads (CORS). Empty: only pages of the same origin.
	Origins []string
	// Logger is slog.Default when nil.
	Logger *slog.Logger
}

// Message is a person's message that starts a run.
type Message struct {
	// Chat is the client's id of the chat, unique for the caller only.
	Chat string
	// Text is the text of the message.
	Text string
	// Previous is the chat's last run, which has ended; empty if this is the first.
	Previous string
	// Raw is the request as the client sent it, for example with its own settings. It is not checked.
	Raw json.RawMessage
}

func errConfig(field, want string) error {
	return &lifecycle.ArgumentError{Argument: "Config." + field, Want: want}
}

// complete checks the configuration and fills in the defaults.
func (c *Config) complete() error {
	switch {
	case c.Client == nil:
		return errConfig("Client", "a client")
	case c.Identify == nil:
		return errConfig("Identify", "a function")
	case c.Start == nil:
		return errConfig("Start", "a function")
	case c.Hold < 0 || c.Streams < 0:
		return errConfig("Hold, Streams", "no negative number")
	}
	c.Hold = cmp.Or(c.Hold, DefaultHold)
	c.Streams = cmp.Or(c.Streams, DefaultStreams)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return nil
}

// protocol is the prefix of run ids. Both encodings have the same runs.
const protocol = "ui"

// Label returns the label of all runs of a person's chat. A host that gives it to a run puts the run
// into the chat.
func Label(principal, chat string) (key, value string) {
	return "ui.chat", front.RunID(principal, protocol, chat)
}
