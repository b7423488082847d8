package signin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/interlude-go/interlude/host/reqbody"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

// Config configures a SignIn. Store is required. Without an Issuer only tokens are accepted.
type Config struct {
	// Issuer is the provider's URL, exactly as its tokens name it. ClientID and ClientSecret are this
	// host's registration there; a public client has no secret. Register Page's origin followed by
	// /signin/callback as the redirect URL.
	Issuer, ClientID, ClientSecret string
	// Page is the page's public URL, for example https://desk.example.com/interlude/. Required with an
	// Issuer. It must be https, except on localhost.
	Page string
	// Scopes are requested in addition to openid. Nil: profile and email.
	Scopes []string
	// UserClaim has the person's ID. Empty means email, which counts only if email_verified is true.
	// Audiences name people by it; choose a claim that is never given to another person.
	UserClaim string
	// GroupsClaim has the person's groups, a list of texts. Empty: groups.
	GroupsClaim string
	// Lifetime limits a session, from the sign-in; then the person signs in again. Zero: 12 h; at
	// most 30 days. Groups are as they were at the sign-in.
	Lifetime time.Duration
	// Store keeps keys, ended sessions and tokens.
	Store *Store
	// Client makes the requests to the provider. Nil: a client with a timeout of 10 s.
	Client *http.Client
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
	// Logger. Nil: slog.Default.
	Logger *slog.Logger
}

const (
	maxLifetime = 30 * 24 * time.Hour
	// resealAfter is the age at which a cookie is replaced, under the newest key.
	resealAfter = 15 * time.Minute
	signInLimit = 10 * time.Minute
	path        = "/signin/"
)

// SignIn identifies the callers of a host's front ends. It is safe for concurrent use.
type SignIn struct {
	cfg      Config
	page     *url.URL
	mux      *http.ServeMux
	sameSite *http.CrossOriginProtection
	attempts attempts

	mu       sync.Mutex
	provider *oidc.Provider // guarded by mu; nil until it has answered
	asked    time.Time      // guarded by mu; when the provider last failed to answer
	silence  error          // guarded by mu; the error of that failure
}

// New checks the configuration. It does not contact the provider, which may start later.
func New(cfg Config) (*SignIn, error) {
	if cfg.Store == nil {
		return nil, errors.New("signin: Config.Store is nil, want a Store")
	}
	cfg.Lifetime = cmp.Or(cfg.Lifetime, 12*time.Hour)
	if cfg.Lifetime < time.Minute || cfg.Lifetime > maxLifetime {
		return nil, fmt.Errorf("signin: Config.Lifetime is %s, want 1 minute to 30 days", cfg.Lifetime)
	}
	cfg.UserClaim, cfg.GroupsClaim = cmp.Or(cfg.UserClaim, "email"), cmp.Or(cfg.GroupsClaim, "groups")
	if cfg.Scopes == nil {
		cfg.Scopes = []string{"profile", "email"}
	}
	cfg.Client = cmp.Or(cfg.Client, &http.Client{Timeout: 10 * time.Second})
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &SignIn{cfg: cfg, mux: http.NewServeMux(), sameSite: http.NewCrossOriginProtection()}
	if cfg.Issuer == "" {
		return s, nil
	}
	var err error
	s.page, err = url.Parse(cfg.Page)
	switch {
	case err != nil || s.page.Host == "" || s.page.User != nil:
		return nil, fmt.Errorf("signin: Config.Page is %.80q, want the page's address", cfg.Page)
	case s.page.Scheme != "https" && (s.page.Scheme != "http" || !isLocal(s.page.Hostname())):
		return nil, fmt.Errorf("signin: Config.Page is %.80q, want https: browsers do not keep the cookies otherwise",
			cfg.Page)
	case cfg.ClientID == "":
		return nil, errors.New("signin: Config.ClientID is empty, want the host's registration at the provider")
	}
	s.mux.HandleFunc("GET "+path+"start", s.start)
	s.mux.HandleFunc("GET "+path+"callback", s.callback)
	s.mux.HandleFunc("GET "+path+"out", s.askOut)
	s.mux.HandleFunc("POST "+path+"out", s.out)
	return s, nil
}

func isLocal(host string) bool { return host == "localhost" || host == "127.0.0.1" || host == "::1" }

func (s *SignIn) now() time.Time { return s.cfg.Now() }

// Store returns Config.Store.
func (s *SignIn) Store() *Store { return s.cfg.Store }

var errNoSession = errors.New("signin: no session")

// Identify is web.Options.Identify: the person of the session's cookie, or of the token in a
// request with "Authorization: Bearer". A token has precedence.
func (s *SignIn) Identify(r *http.Request) (lifecycle.Actor, error) {
	if token := bearer(r); token != "" {
		t, err := s.cfg.Store.Token(r.Context(), token, s.now())
		if err != nil {
			return lifecycle.Actor{}, err
		}
		return lifecycle.Actor{ID: t.Person, Groups: t.Groups, Via: "api"}, nil
	}
	c, err := s.session(r)
	if err != nil {
		return lifecycle.Actor{}, err
	}
	return lifecycle.Actor{ID: c.Person, Groups: c.Groups}, nil
}

func (s *SignIn) session(r *http.Request) (*session, error) {
	if s.page == nil {
		return nil, errNoSession
	}
	var c session
	if err := s.open(r, sessionCookie, &c); err != nil {
		return nil, err
	}
	if !s.now().Before(c.Ends) {
		return nil, fmt.Errorf("%w: it has expired", errNoSession)
	}
	over, err := s.cfg.Store.isOver(r.Context(), &c, s.now())
	if err == nil && over {
		err = fmt.Errorf("%w: it was ended", errNoSession)
	}
	return &c, err
}

// Wrap returns the handler of a host: the pages of the sign-in under /signin/, and next for
// everything else. A browser that opens a page without a session is redirected to the sign-in;
// other requests reach next, whose Identify refuses them. Too many invalid tokens from one address
// get 429. Wrap renews cookies and puts the scope of tokens into the context, for Authorize.
func (s *SignIn) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.page != nil && strings.HasPrefix(r.URL.Path, path) {
			r, body := reqbody.Limit(w, r, signInLimit/60)
			body.CloseUnread(w.Header())
			safe(w)
			s.mux.ServeHTTP(w, r)
			return
		}
		if token := bearer(r); token != "" {
			t, err := s.cfg.Store.Token(r.Context(), token, s.now())
			if errors.Is(err, errToken) && !s.attempts.fail(r.RemoteAddr, s.now()) {
				_, body := reqbody.Limit(w, r, 0)
				body.CloseUnread(w.Header())
				w.Header().Set("Retry-After", "60")
				http.Error(w, "Too many invalid tokens from this address.", http.StatusTooManyRequests)
				return
			}
			if err != nil {
				t.Scope = "" // allows nothing: Identify looks again, and may find the token
			}
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), scopeKey{}, t.Scope)))
			return
		}
		c, err := s.session(r)
		switch {
		case err == nil && s.now().Sub(c.Sealed) >= resealAfter:
			s.reseal(w, r, c)
		case err != nil && s.page != nil && opensPage(r):
			_, body := reqbody.Limit(w, r, 0) // also a GET may announce a body
			body.CloseUnread(w.Header())
			http.Redirect(w, r, path+"start?to="+url.QueryEscape(r.URL.RequestURI()), http.StatusFound)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// reseal replaces the cookie of a session, with the same end.
func (s *SignIn) reseal(w http.ResponseWriter, r *http.Request, c *session) {
	c.Sealed = s.now()
	value, err := s.seal(r.Context(), sessionCookie, c)
	if err != nil {
		s.cfg.Logger.Warn("signin: a cookie was not renewed", "err", err)
		return
	}
	setCookie(w, sessionCookie, value, c.Ends, s.now())
}

// opensPage reports whether a person opens a page with the request; programs and scripts do not.
func opensPage(r *http.Request) bool {
	if r.Method != http.MethodGet || r.Header.Get("Authorization") != "" {
		return false
	}
	if mode := r.Header.Get("Sec-Fetch-Mode"); mode != "" {
		return mode == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	}
	return strings.Contains(r.Header.Get("Accept"), "text/html")
}

// safe sets the headers of the package's pages: no framing, no scripts, no caching.
func safe(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
}

// askAgain is the pause after which a silent provider is asked again. Browsers that wait in this
// time share one error, instead of waiting for a timeout each.
const askAgain = time.Second

// endpoints returns the provider, with a configuration of oauth2. It asks the provider once, and
// again after a failure.
func (s *SignIn) endpoints(ctx context.Context) (*oidc.Provider, *oauth2.Config, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.provider == nil {
		if age := time.Since(s.asked); age < askAgain && s.silence != nil {
			return nil, nil, s.silence
		}
		// The provider keeps the context for later requests of its keys.
		p, err := oidc.NewProvider(context.WithoutCancel(oidc.ClientContext(ctx, s.cfg.Client)), s.cfg.Issuer)
		if err != nil {
			s.asked, s.silence = time.Now(), fmt.Errorf("signin: ask %s: %w", s.cfg.Issuer, err)
			return nil, nil, s.silence
		}
		s.provider, s.silence = p, nil
	}
	back := url.URL{Scheme: s.page.Scheme, Host: s.page.Host, Path: path + "callback"}
	return s.provider, &oauth2.Config{ClientID: s.cfg.ClientID, ClientSecret: s.cfg.ClientSecret,
		Endpoint: s.provider.Endpoint(), RedirectURL: back.String(),
		Scopes: append([]string{oidc.ScopeOpenID}, s.cfg.Scopes...)}, nil
}

// validID reports whether a text can be a person's ID: one line without hidden characters.
func validID(id string) bool {
	return id != "" && len(id) <= lifecycle.MaxReplyActor && utf8.ValidString(id) &&
		!slices.ContainsFunc([]rune(id), func(r rune) bool {
			return r == '\n' || r == '\t' || interaction.CharacterOf(r)&interaction.Hidden != 0
		})
}
