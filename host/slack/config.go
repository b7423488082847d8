package slack

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	sdk "github.com/slack-go/slack"

	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/people"
)

// Defaults and limits of a Config.
const (
	DefaultClaim = time.Hour
	// MaxBody limits the body of a request, in bytes.
	MaxBody = 1 << 20
	// MaxAtOnce limits the concurrent interactions of one person.
	MaxAtOnce = 8
	// MaxPlaces limits the places of one question.
	MaxPlaces = 100
)

// Config configures an App. Client, Token, Messages, Person and Places are required, and
// SigningSecret for ServeHTTP, AppToken for ServeSocket.
type Config struct {
	// Client reads questions on the host's behalf; people answer as themselves.
	Client *lifecycle.Client
	// Token is the bot's token (xoxb-…). It needs the scope chat:write; im:write for direct messages;
	// and channels:history or groups:history to find a message in a channel again whose posting was
	// interrupted, which is otherwise posted twice.
	Token string
	// SigningSecret verifies that requests come from Slack.
	SigningSecret string
	// AppToken is the app-level token (xapp-…) with the scope connections:write.
	AppToken string
	// Messages stores where questions were posted. It must be as durable as the client's store.
	Messages Messages
	// Person returns the actor for a user of a Slack workspace. An error refuses the press; after
	// people.ErrUnknown the person reads that they are not known here. Directory.Who is an
	// implementation.
	Person func(ctx context.Context, team, user string) (lifecycle.Actor, error)
	// Places returns the ids of the channels and users to whom an open question is posted, at
	// most MaxPlaces. Everyone in a channel can read the question; only its audience can answer.
	// Directory.Audience and Channel are implementations. Places is called again after each
	// change of the question.
	Places func(ctx context.Context, run *lifecycle.Run, q *lifecycle.Question) ([]string, error)
	// Page returns the address of the host's page for a question, behind the host's sign-in; it is
	// shown to everyone in the channel. Nil: there is no page.
	Page func(run string, question int) string

	// Claim is the length of a claim; DefaultClaim when 0.
	Claim time.Duration
	// API is the address of Slack's API, with a trailing slash; empty: Slack's own.
	API string
	// HTTP makes the requests to Slack. Nil: a client with a time limit of 10 s.
	HTTP *http.Client
	// Clock measures the time until an acknowledgement. Nil: lifecycle.SystemClock.
	Clock lifecycle.Clock
	// Logger is slog.Default when nil.
	Logger *slog.Logger
}

func errConfig(field, want string) error {
	return &lifecycle.ArgumentError{Argument: "Config." + field, Want: want}
}

// complete checks the configuration and fills in the defaults.
func (c *Config) complete() error {
	switch {
	case c.Client == nil:
		return errConfig("Client", "a client")
	case c.Token == "":
		return errConfig("Token", "a bot's token")
	case c.SigningSecret == "" && c.AppToken == "":
		return errConfig("SigningSecret", "a secret, or an AppToken")
	case c.Messages == nil:
		return errConfig("Messages", "a store of messages")
	case c.Person == nil:
		return errConfig("Person", "a function")
	case c.Places == nil:
		return errConfig("Places", "a function")
	case c.Claim < 0:
		return errConfig("Claim", "no negative duration")
	case c.API != "" && !strings.HasSuffix(c.API, "/"):
		return errConfig("API", "an address with a trailing slash")
	}
	c.Claim = cmp.Or(c.Claim, DefaultClaim)
	c.API = cmp.Or(c.API, sdk.APIURL)
	if c.HTTP == nil {
		c.HTTP = &http.Client{Timeout: 10 * time.Second}
	}
	if c.Clock == nil {
		c.Clock = lifecycle.SystemClock{}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return nil
}

// Channel is a Config.Places: one channel, by its id.
func Channel(id string) func(context.Context, *lifecycle.Run, *lifecycle.Question) ([]string, error) {
	return func(context.Context, *lifecycle.Run, *lifecycle.Question) ([]string, error) { return []string{id}, nil }
}

// AddressName is the name of a person's Slack address in a directory (people.Person.Addresses). The
// address is the id of the workspace and of the user, as in "T012AB3C4:U061F7AUR".
const AddressName = "slack"

// Directory finds people by their Slack addresses.
type Directory struct {
	people.Directory

	// Now is the time at which deputies are looked up. Nil: time.Now.
	Now func() time.Time
}

var errTwice = errors.New("slack: two people of the directory have the same Slack address")

// Who implements Config.Person: it returns the person with this address, and their groups. An
// address that two people have identifies neither.
func (d Directory) Who(ctx context.Context, team, user string) (actor lifecycle.Actor, _ error) {
	for p, err := range people.All(ctx, d.Directory) {
		switch {
		case err != nil:
			return lifecycle.Actor{}, err
		case p.Addresses[AddressName] != team+":"+user:
		case actor.ID != "":
			return lifecycle.Actor{}, errTwice
		default:
			actor = lifecycle.Actor{ID: p.ID, Groups: p.Groups}
		}
	}
	if actor.ID == "" {
		return actor, people.ErrUnknown
	}
	return actor, nil
}

// Audience implements Config.Places: it returns the people who may answer and their deputies, for
// direct messages. A question without an audience is not posted as a direct
// message: post it in Channel.
func (d Directory) Audience(ctx context.Context, _ *lifecycle.Run, q *lifecycle.Question) (places []string, _ error) {
	now := time.Now
	if d.Now != nil {
		now = d.Now
	}
	for p, err := range people.Asked(ctx, d.Directory, q.To, now()) {
		if err != nil {
			return nil, err
		}
		if address := p.Addresses[AddressName]; address != "" {
			places = append(places, userOf(address))
		}
		if len(places) == MaxPlaces {
			break
		}
	}
	return places, nil
}
