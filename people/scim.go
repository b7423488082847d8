package people

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/interlude-go/interlude/engine/netguard"
	"github.com/interlude-go/interlude/interaction"
)

// Defaults and limits of a SCIM directory.
const (
	DefaultTimeout  = 10 * time.Second
	DefaultMaxAge   = time.Minute
	DefaultMaxStale = 10 * time.Minute
	// MaxResponse limits one response, in bytes, MaxResources the users, and the groups, of a directory.
	MaxResponse  = 4 << 20
	MaxResources = 100_000

	scimPage = 200 // requested resources of one response
	// retryAfter is the pause after a failed reading.
	retryAfter = 5 * time.Second
)

// DeputiesSchema is the extension of a SCIM user with deputies: [{"value": id of a User, "from",
// "until"}], with times as in File.
const DeputiesSchema = "urn:interlude:params:scim:schemas:extension:deputies:1.0:User"

// SCIMConfig configures a SCIM directory. URL is required.
type SCIMConfig struct {
	// URL is the base of the resources, such as https://idp.example.com/scim/v2.
	URL string
	// Token is sent as a bearer token. Empty: none.
	Token string
	// Network says which addresses may be reached; zero: public ones, by https.
	Network netguard.Network
	// Timeout limits one reading of the directory; DefaultTimeout when 0.
	Timeout time.Duration
	// MaxAge is the age at which the directory is read again, at the next call; DefaultMaxAge when 0.
	MaxAge time.Duration
	// MaxStale is the age up to which the last content is used while the directory cannot be read;
	// DefaultMaxStale when 0. Later all calls fail, and there are no deputies.
	MaxStale time.Duration
	// ID returns a person's ID, as in Actor.ID, for a userName; empty: the user is left out. Nil: the
	// userName.
	ID func(userName string) string
	// Now is the current time. Nil: time.Now.
	Now func() time.Time
	// Logger is slog.Default when nil.
	Logger *slog.Logger
}

// SCIM is a Directory over HTTP, in the form of SCIM 2.0 (RFC 7643, RFC 7644). It reads all Users and
// Groups into memory. A person's ID is the userName, the name is displayName, groups are the
// displayNames of Groups with this member, the address "mail" is the primary e-mail, other addresses
// are ims by their type, such as "slack", and deputies are in DeputiesSchema. Inactive and invalid
// users are left out. It is safe for concurrent use.
type SCIM struct {
	config SCIMConfig
	base   *url.URL
	client *http.Client

	mu      sync.Mutex    // guards the fields below
	content *content      // replaced, never changed; nil before the first reading
	read    time.Time     // when the reading of content began
	tried   time.Time     // when the last failed reading ended
	err     error         // of that reading; nil after success
	reading chan struct{} // closed at the end of a reading; nil without one
}

// NewSCIM returns a directory. It makes no request: the first call reads the directory.
func NewSCIM(cfg SCIMConfig) (*SCIM, error) {
	base, err := cfg.Network.Parse(cfg.URL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("people: %w", err)
	case base.RawQuery != "" || base.Fragment != "":
		return nil, errors.New("people: the URL has a query, want the base like https://host/scim/v2")
	case cfg.Timeout < 0 || cfg.MaxAge < 0 || cfg.MaxStale < 0:
		return nil, errors.New("people: Timeout, MaxAge or MaxStale is negative, want 0 or more")
	}
	cfg.Timeout, cfg.MaxAge = cmp.Or(cfg.Timeout, DefaultTimeout), cmp.Or(cfg.MaxAge, DefaultMaxAge)
	cfg.MaxStale = max(cmp.Or(cfg.MaxStale, DefaultMaxStale), cfg.MaxAge)
	if cfg.ID == nil {
		cfg.ID = func(userName string) string { return userName }
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	return &SCIM{config: cfg, base: base, client: cfg.Network.Client()}, nil
}

// Person returns the person with this ID, or ErrUnknown.
func (s *SCIM) Person(ctx context.Context, id string) (Person, error) {
	c, err := s.current(ctx)
	if err != nil {
		return Person{}, err
	}
	return c.person(id)
}

// Member reports whether the directory has the person (lifecycle.Members).
func (s *SCIM) Member(ctx context.Context, id string) (bool, error) {
	c, err := s.current(ctx)
	return err == nil && c.people[id] != nil, err
}

// Principals returns the people whose deputy the person is at that time, by ID.
func (s *SCIM) Principals(ctx context.Context, id string, at time.Time) ([]interaction.Principal, error) {
	c, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	return c.principals(id, at), nil
}

// Deputies returns the IDs of the person's deputies at that time.
func (s *SCIM) Deputies(ctx context.Context, id string, at time.Time) ([]string, error) {
	c, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	return c.deputies(id, at), nil
}

// People lists people whose ID, or a word of whose name, begins with the prefix.
func (s *SCIM) People(ctx context.Context, prefix, after string, limit int) ([]Person, error) {
	c, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	return c.list(prefix, after, limit), nil
}

// Groups lists groups of which a word begins with the prefix (Grouped).
func (s *SCIM) Groups(ctx context.Context, prefix string, limit int) ([]string, error) {
	c, err := s.current(ctx)
	if err != nil {
		return nil, err
	}
	return c.listGroups(prefix, limit), nil
}

// current returns the content, at most MaxStale old. One caller at a time reads the directory; if
// there is usable content, the others do not wait for it.
func (s *SCIM) current(ctx context.Context) (*content, error) {
	for {
		s.mu.Lock()
		now := s.config.Now()
		usable := s.content != nil && now.Sub(s.read) < s.config.MaxStale
		other := s.reading
		switch {
		case usable && (now.Sub(s.read) < s.config.MaxAge || other != nil || s.failed(now)):
			defer s.mu.Unlock()
			return s.content, nil
		case other == nil && s.failed(now):
			defer s.mu.Unlock()
			return nil, s.err
		case other == nil:
			s.reading = make(chan struct{})
			s.mu.Unlock()
			s.refresh(ctx, now)
		default:
			s.mu.Unlock()
			select {
			case <-other:
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// failed reports whether the last reading failed a short time ago. The caller holds s.mu.
func (s *SCIM) failed(now time.Time) bool { return s.err != nil && now.Sub(s.tried) < retryAfter }

func (s *SCIM) refresh(ctx context.Context, began time.Time) {
	defer func() { // also after a panic of Config.ID
		s.mu.Lock()
		defer s.mu.Unlock()
		close(s.reading)
		s.reading = nil
	}()
	limited, stop := context.WithTimeout(ctx, s.config.Timeout)
	defer stop()
	read, err := s.readAll(limited)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.content, s.read, s.err = read, began, nil
	case ctx.Err() == nil: // the directory's fault, not the caller's
		s.err, s.tried = fmt.Errorf("people: the directory cannot be read: %w", err), s.config.Now()
		s.config.Logger.Error("the directory cannot be read; its previous content stays in use for a time",
			"error", err, "most", s.config.MaxStale)
	}
}

type scimUser struct {
	ID          string `json:"id"`
	UserName    string `json:"userName"`
	DisplayName string `json:"displayName"`
	Active      *bool  `json:"active"`
	Emails      []struct {
		Value   string `json:"value"`
		Primary bool   `json:"primary"`
	} `json:"emails"`
	IMs []struct {
		Value string `json:"value"`
		Type  string `json:"type"`
	} `json:"ims"`
	Extension struct {
		Deputies []struct {
			Value string `json:"value"`
			From  string `json:"from"`
			Until string `json:"until"`
		} `json:"deputies"`
	} `json:"urn:interlude:params:scim:schemas:extension:deputies:1.0:User"`
}

type scimGroup struct {
	DisplayName string `json:"displayName"`
	Members     []struct {
		Value string `json:"value"`
	} `json:"members"`
}

func (s *SCIM) readAll(ctx context.Context) (*content, error) {
	users, err := resources[scimUser](ctx, s, "Users")
	if err != nil {
		return nil, err
	}
	groups, err := resources[scimGroup](ctx, s, "Groups")
	if err != nil {
		return nil, err
	}
	rows := make(map[string]*row, len(users)) // by the id of the resource
	for i := range users {
		u := &users[i]
		id := s.config.ID(u.UserName)
		if u.ID == "" || id == "" || u.Active != nil && !*u.Active {
			continue
		}
		r := &row{ID: id, Name: u.DisplayName, Addresses: make(map[string]string)}
		for _, m := range u.IMs {
			r.Addresses[strings.ToLower(m.Type)] = m.Value
		}
		delete(r.Addresses, "mail")
		for _, m := range u.Emails {
			if m.Primary || r.Addresses["mail"] == "" {
				r.Addresses["mail"] = m.Value
			}
		}
		rows[u.ID] = r
	}
	for _, g := range groups {
		for _, m := range g.Members {
			if r := rows[m.Value]; r != nil && !slices.Contains(r.Groups, g.DisplayName) {
				r.Groups = append(r.Groups, g.DisplayName)
			}
		}
	}
	var valid []*row
	for i := range users {
		r := rows[users[i].ID]
		if r == nil {
			continue
		}
		for _, d := range users[i].Extension.Deputies {
			if deputy := rows[d.Value]; deputy != nil {
				r.Deputies = append(r.Deputies, rowDeputy{deputy.ID, d.From, d.Until})
			}
		}
		if err := r.check(); err != nil {
			s.config.Logger.Warn("a user of the directory is left out", "id", r.ID, "error", err)
			continue
		}
		valid = append(valid, r)
	}
	return newContent(valid)
}

// resources reads all resources of a type, page by page.
func resources[T any](ctx context.Context, s *SCIM, kind string) (all []T, _ error) {
	for {
		var page struct {
			Total     int `json:"totalResults"`
			Resources []T `json:"Resources"`
		}
		if err := s.get(ctx, kind, len(all)+1, &page); err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
		all = append(all, page.Resources...)
		switch {
		case len(all) > MaxResources || page.Total > MaxResources:
			return nil, fmt.Errorf("%s: more than %d", kind, MaxResources)
		case len(all) >= page.Total:
			return all, nil
		case len(page.Resources) == 0:
			return nil, fmt.Errorf("%s: %d of %d were listed", kind, len(all), page.Total)
		}
	}
}

// get reads a page of resources from the given index. Its errors do not contain the address.
func (s *SCIM) get(ctx context.Context, kind string, start int, page any) error {
	to := s.base.JoinPath(kind)
	to.RawQuery = url.Values{"startIndex": {strconv.Itoa(start)}, "count": {strconv.Itoa(scimPage)}}.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, to.String(), nil)
	if err != nil {
		return errors.New("the request is invalid")
	}
	r.Header.Set("Accept", "application/scim+json, application/json")
	if s.config.Token != "" {
		r.Header.Set("Authorization", "Bearer "+s.config.Token)
	}
	response, err := s.client.Do(r)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return err
	}
	defer func() { _ = response.Body.Close() }() // nothing was written
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", response.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, MaxResponse+1))
	switch {
	case err != nil:
		return err
	case len(body) > MaxResponse:
		return errors.New("the response is larger than 4 MiB")
	}
	if err := json.Unmarshal(body, page); err != nil {
		return fmt.Errorf("the response is no list of SCIM: %w", err)
	}
	return nil
}
