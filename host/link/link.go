package link

import (
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/interlude-go/interlude/lifecycle"
)

// Key signs links.
type Key struct {
	// ID is written into each link, 1 to 63 bytes; it is no secret. Give each new key a new one.
	ID string
	// Secret is at least MinSecret random bytes.
	Secret []byte
}

// MinSecret is the least length of a Key's Secret, in bytes.
const MinSecret = 32

// DefaultLife is how long a link is valid unless Until says otherwise.
const DefaultLife = 7 * 24 * time.Hour

// Config configures Links. Client, URL and Keys are required.
type Config struct {
	// Client makes the replies, each as the person whom the link names (Client.As).
	Client *lifecycle.Client
	// URL is where people reach the handler, for instance "https://example.com/answer/"; with
	// https, since whoever reads the address can answer.
	URL string
	// Keys are those that links may be signed with; the first one signs. To rotate, put a new key
	// first, and remove the old one when its last link has expired: what it signed is refused from
	// then on (Foreign).
	Keys []Key
	// Person returns who the person in a link is now, with the groups that count for the question's
	// audience. The request is there for hosts whose people are signed in: compare, and return
	// ErrWrongPerson if somebody else's link was opened. Its ID must be the person's, or Fold must map the
	// person to it; Via is "link" if it is empty. It must change nothing, since it is also called
	// for GET. Nil: the person without groups, and whoever has the link.
	Person func(r *http.Request, person string) (lifecycle.Actor, error)
	// Page is the address of the host's own page for a question, for what a link's page cannot do:
	// fill in a form, edit arguments. Nil: there is none.
	Page func(runID string, question int) string
	// Name is the host's, shown on each page; may be empty.
	Name string
	// Clock judges whether a link has expired. Nil: the client's (Client.Now).
	Clock lifecycle.Clock
	// Logger is told why a page could not be made. Nil: slog.Default.
	Logger *slog.Logger
}

// ErrWrongPerson is what Config.Person returns for a link of somebody else's.
var ErrWrongPerson = errors.New("link: the link is for another person")

// Links makes links, and is the handler of their pages. It is safe for concurrent use.
type Links struct {
	config  Config
	origin  *http.CrossOriginProtection
	address string // URL with a slash at its end
}

// New returns Links. It starts nothing.
func New(cfg Config) (*Links, error) {
	if cfg.Client == nil {
		return nil, errors.New("link: Config.Client is nil")
	}
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("link: Config.URL is %q, want http(s)://host/path", cfg.URL)
	}
	if len(cfg.Keys) == 0 {
		return nil, errors.New("link: Config.Keys is empty")
	}
	cfg.Keys = slices.Clone(cfg.Keys)
	for i, k := range cfg.Keys {
		switch {
		case k.ID == "" || len(k.ID) > 63:
			return nil, fmt.Errorf("link: the ID of key %d has %d bytes, want 1 to 63", i, len(k.ID))
		case len(k.Secret) < MinSecret:
			return nil, fmt.Errorf("link: the secret of key %q has %d bytes, want %d random ones or more", k.ID,
				len(k.Secret), MinSecret)
		case keyOf(cfg.Keys[:i], k.ID) != nil:
			return nil, fmt.Errorf("link: two keys have the ID %q", k.ID)
		}
		cfg.Keys[i].Secret = slices.Clone(k.Secret)
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	return &Links{config: cfg, origin: http.NewCrossOriginProtection(),
		address: strings.TrimSuffix(cfg.URL, "/") + "/"}, nil
}

// Option says something about a link.
type Option func(*claims)

// To says for whom the link is: the reply has this Actor.ID. Each link needs it.
func To(person string) Option { return func(c *claims) { c.person = person } }

// Until says when the link expires, to the second.
func Until(t time.Time) Option { return func(c *claims) { c.until = t } }

// For returns a link to the question of the run for one person. It stores nothing and asks nobody:
// whether the person may answer is decided when the link is used.
func (l *Links) For(runID string, q lifecycle.Question, options ...Option) (string, error) {
	c := claims{run: runID, question: q.ID, asked: q.AskedAt.UnixMicro(), audience: audienceOf(q.To)}
	for _, o := range options {
		o(&c)
	}
	switch {
	case c.person == "" || len(c.person) > lifecycle.MaxReplyActor || !utf8.ValidString(c.person):
		return "", fmt.Errorf("link: the person has %d bytes, want 1 to %d of UTF-8 (To)", len(c.person),
			lifecycle.MaxReplyActor)
	case runID == "" || len(runID) > lifecycle.MaxRunID:
		return "", fmt.Errorf("link: the run's id has %d bytes, want 1 to %d", len(runID), lifecycle.MaxRunID)
	case q.ID < 1:
		return "", fmt.Errorf("link: the question has the number %d, and was not asked by a run", q.ID)
	}
	if c.until.IsZero() {
		c.until = l.now().Add(DefaultLife)
	}
	if _, err := hex.Decode(c.digest[:], []byte(q.Digest())); err != nil {
		return "", fmt.Errorf("link: digest of question %d: %w", q.ID, err)
	}
	return l.address + l.config.Keys[0].seal(&c), nil
}

// now is the time by which links expire.
func (l *Links) now() time.Time {
	if l.config.Clock != nil {
		return l.config.Clock.Now()
	}
	return l.config.Client.Now()
}

// fullPage is the address of the host's own page; empty if there is none.
func (l *Links) fullPage(c *claims) string {
	if l.config.Page == nil {
		return ""
	}
	u, err := url.Parse(l.config.Page(c.run, c.question))
	if err != nil || u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https" {
		l.config.Logger.Error("Config.Page returned no address", "run", c.run, "err", err)
		return ""
	}
	return u.String()
}
