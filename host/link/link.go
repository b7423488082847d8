package link

import (
	"cmp"
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

	"github.com/interlude-go/interlude/host/render"
	"github.com/interlude-go/interlude/lifecycle"
)

// Key signs links.
type Key struct {
	// ID identifies the key in its links, 1 to 63 bytes, not secret. Never reuse an ID for another
	// secret.
	ID string
	// Secret is at least MinSecret random bytes.
	Secret []byte
}

// MinSecret is the minimum length of a Key's Secret, in bytes.
const MinSecret = 32

// DefaultLife is the validity of a link without Until.
const DefaultLife = 7 * 24 * time.Hour

// Config configures Links. Client, URL and Keys are required.
type Config struct {
	// Client sends the replies, each as the person named in the link (Client.As).
	Client *lifecycle.Client
	// URL is the public address of the handler, for example "https://example.com/answer/". Use
	// https: everyone who sees a link can answer.
	URL string
	// Keys verify links; the first one also signs. To rotate, prepend a new key, and remove the old
	// one when its last link has expired: links of a removed key are rejected as Foreign.
	Keys []Key
	// Person returns the Actor for the person in a link, with the groups that count for the
	// question's audience. A host with a sign-in returns ErrWrongPerson if the session in the
	// request is another person's. The Actor's ID must be the person's, or an ID that Fold maps to
	// the same person; an empty Via becomes "link". Person is also called for GET, so it must
	// change nothing. Nil: the person, without groups, for every holder of the link.
	Person func(r *http.Request, person string) (lifecycle.Actor, error)
	// Page returns the address of the host's own page for a question, to which the link's page refers.
	// Nil: no such page.
	Page func(runID string, question int) string
	// Name is the host's name, shown on each page. Empty: Brand.Name.
	Name string
	// Brand has the host's name, logo and colors for each page.
	Brand render.Brand
	// Clock decides whether a link has expired. Nil: the client's clock (Client.Now).
	Clock lifecycle.Clock
	// Logger logs failures of pages. Nil: slog.Default.
	Logger *slog.Logger
}

// ErrWrongPerson is returned by Config.Person if the link belongs to another person.
var ErrWrongPerson = errors.New("link: the link is for another person")

// Links makes links and serves their pages. It is safe for concurrent use.
type Links struct {
	config  Config
	origin  *http.CrossOriginProtection
	address string        // URL with a trailing slash
	style   string        // page.css with the Brand's colors
	policy  string        // the Content-Security-Policy
	reading chan struct{} // holds maxFilesRead
}

// New returns Links. It starts no goroutine.
func New(cfg Config) (*Links, error) {
	if cfg.Client == nil {
		return nil, errors.New("link: Config.Client is nil, want a client")
	}
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("link: Config.URL is %q, want http(s)://host/path", cfg.URL)
	}
	if len(cfg.Keys) == 0 {
		return nil, errors.New("link: Config.Keys is empty, want a key that signs links")
	}
	cfg.Keys = slices.Clone(cfg.Keys)
	for i, k := range cfg.Keys {
		switch {
		case k.ID == "" || len(k.ID) > 63:
			return nil, fmt.Errorf("link: the ID of key %d has %d bytes, want 1 to 63", i, len(k.ID))
		case len(k.Secret) < MinSecret:
			return nil, fmt.Errorf("link: the secret of key %q has %d bytes, want at least %d random bytes", k.ID,
				len(k.Secret), MinSecret)
		case keyOf(cfg.Keys[:i], k.ID) != nil:
			return nil, fmt.Errorf("link: two keys have the ID %q, want different IDs", k.ID)
		}
		cfg.Keys[i].Secret = slices.Clone(k.Secret)
	}
	if err := cfg.Brand.Validate(); err != nil {
		return nil, fmt.Errorf("link: Config.Brand: %w", err)
	}
	cfg.Brand.Logo, cfg.Name = slices.Clone(cfg.Brand.Logo), cmp.Or(cfg.Name, cfg.Brand.Name)
	style := css + colors(&cfg.Brand)
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	return &Links{config: cfg, origin: http.NewCrossOriginProtection(),
		address: strings.TrimSuffix(cfg.URL, "/") + "/", style: style, policy: policyOf(style),
		reading: make(chan struct{}, maxFilesRead)}, nil
}

// Option sets a property of a link.
type Option func(*capability)

// To names the person of the link; the reply gets this Actor.ID. Required.
func To(person string) Option { return func(c *capability) { c.person = person } }

// Until sets the link's expiry, in whole seconds.
func Until(t time.Time) Option { return func(c *capability) { c.until = t } }

// For returns a link to the run's question for one person. It makes no call: whether the person may
// answer is decided when the link is used.
func (l *Links) For(runID string, q lifecycle.Question, options ...Option) (string, error) {
	c := capability{run: runID, question: q.ID, asked: q.AskedAt.UnixMicro(), audience: audienceOf(q.To)}
	for _, o := range options {
		o(&c)
	}
	switch {
	case c.person == "" || len(c.person) > lifecycle.MaxReplyActor || !utf8.ValidString(c.person):
		return "", fmt.Errorf("link: the person has %d bytes, want 1 to %d bytes of UTF-8 (To)", len(c.person),
			lifecycle.MaxReplyActor)
	case runID == "" || len(runID) > lifecycle.MaxRunID:
		return "", fmt.Errorf("link: the run's id has %d bytes, want 1 to %d", len(runID), lifecycle.MaxRunID)
	case q.ID < 1:
		return "", fmt.Errorf("link: the question has the number %d, want a question that a run has asked", q.ID)
	}
	if c.until.IsZero() {
		c.until = l.now().Add(DefaultLife)
	}
	if _, err := hex.Decode(c.digest[:], []byte(q.Digest())); err != nil {
		return "", fmt.Errorf("link: digest of question %d: %w", q.ID, err)
	}
	return l.address + l.config.Keys[0].seal(&c), nil
}

func (l *Links) now() time.Time {
	if l.config.Clock != nil {
		return l.config.Clock.Now()
	}
	return l.config.Client.Now()
}

func (l *Links) fullPage(c *capability) string {
	if l.config.Page == nil {
		return ""
	}
	u, err := url.Parse(l.config.Page(c.run, c.question))
	if err != nil || u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https" {
		l.config.Logger.Error("link: Config.Page returned an invalid address", "run", c.run, "err", err)
		return ""
	}
	return u.String()
}
