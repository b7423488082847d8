package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
)

// hostFile is the configuration of serve: the file of -config, or its equivalent from flags. It has
// no secrets: it names environment variables, and has hashes of tokens.
type hostFile struct {
	Listen string `json:"listen"`
	// Probes is the address of the probes and metrics; empty: none.
	Probes string `json:"probes"`
	// Agents are the engines by name. Agent is the default engine for runs; optional if there is
	// only one.
	Agents map[string]*agentEntry `json:"agents"`
	Agent  string                 `json:"agent"`
	// Dir is the folder in which each run has a folder.
	Dir    string           `json:"dir"`
	Pools  []lifecycle.Pool `json:"pools"`
	Notify []*noticeEntry   `json:"notify"`
	// MCP lists the tools of MCP clients, which are served at /mcp.
	MCP []*toolEntry `json:"mcp"`
	// Chat is served to chat pages at /chat (AI SDK) and /agui (AG-UI); nil: none.
	Chat *chatEntry `json:"chat"`
	// Slack is the app of a Slack workspace; nil: none.
	Slack *slackEntry `json:"slack"`
	// Page is the page's public address, for links in mails and chats.
	Page   string  `json:"page"`
	SignIn *signIn `json:"sign_in"`
	// Brand is the appearance of the page; nil: interlude's.
	Brand *brandEntry `json:"brand"`
	// Policy is a file of rules for approvals; empty: people decide.
	Policy string `json:"policy"`
	// Remember is how long people may let an approval count for later calls of its run, like "8h"; empty:
	// not allowed.
	Remember string `json:"remember"`
	// Directory is the file of people, groups and deputies (package people); empty: no deputies.
	Directory string `json:"directory"`
	// SCIM is a directory over HTTP, in place of Directory; nil: none.
	SCIM *scimEntry `json:"scim"`

	name string // of the file; empty: from flags
}

// agentEntry is an agent, with the same options as serve's flags.
type agentEntry struct {
	Agent   string   `json:"agent"`
	Command string   `json:"command"`
	Model   string   `json:"model"`
	Auth    string   `json:"auth"`
	Login   bool     `json:"login"`
	Offline bool     `json:"offline"`
	Env     []string `json:"env"`
}

func (a *agentEntry) options() *options {
	return &options{agent: a.Agent, command: a.Command, model: a.Model, auth: a.Auth, login: a.Login,
		offline: a.Offline, env: a.Env}
}

// maxHostFile limits the file, in bytes.
const maxHostFile = 1 << 20

// readHostFile reads and checks a file. Errors name the line or the field.
func readHostFile(name string) (*hostFile, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, explainOpen(err)
	}
	defer f.Close()
	body, err := io.ReadAll(io.LimitReader(f, maxHostFile+1))
	if err != nil {
		return nil, misusef("-config: %w", err)
	}
	if len(body) > maxHostFile {
		return nil, misusef("-config: %s is larger than 1 MiB, want at most 1 MiB", name)
	}
	h := &hostFile{name: name}
	if err := h.decode(body); err != nil {
		return nil, err
	}
	if err := h.check(); err != nil {
		return nil, misusef("-config: %s: %w", name, err)
	}
	return h, nil
}

func explainOpen(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return misusef("-config: %w: let this user read the file (chmod 644): it has no secrets", err)
	}
	return misusef("-config: %w: correct the path", err)
}

func (h *hostFile) decode(body []byte) error {
	in := json.NewDecoder(bytes.NewReader(body))
	in.DisallowUnknownFields()
	err := in.Decode(h)
	at := in.InputOffset()
	if err == nil {
		if _, more := in.Token(); errors.Is(more, io.EOF) {
			return nil
		}
		err = errors.New("there is text after the object's end, want one object")
	}
	var broken *json.SyntaxError
	var other *json.UnmarshalTypeError
	unknown := ""
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		at, err = int64(len(body)), errors.New("the file ends too early, want a complete object")
	case errors.As(err, &broken):
		at = broken.Offset
	case errors.As(err, &other):
		at = other.Offset
		err = fmt.Errorf("%s is of type %s, want %s", fieldName(other.Field), other.Value, kindOf(other))
	default: // the decoder does not report where an unknown field is
		if n, _ := fmt.Sscanf(err.Error(), "json: unknown field %q", &unknown); n == 1 {
			at = int64(max(0, bytes.Index(body, strconv.AppendQuote(nil, unknown))))
		}
	}
	line := 1 + bytes.Count(body[:min(at, int64(len(body)))], []byte("\n"))
	return misusef("-config: %s, line %d: %s", h.name, line, strings.TrimPrefix(err.Error(), "json: "))
}

func fieldName(path string) string {
	if path == "" {
		return "the whole"
	}
	return path
}

func kindOf(e *json.UnmarshalTypeError) string {
	switch kind := e.Type.Kind().String(); kind {
	case "struct", "map", "ptr":
		return "an object"
	case "slice":
		return "a list"
	case "bool":
		return "true or false"
	case "int":
		return "a whole number"
	default:
		return "a " + kind
	}
}

// check returns an error for the first invalid field, beginning with the field's path.
func (h *hostFile) check() error {
	if h.Listen == "" {
		h.Listen = defaultListen
	}
	if err := h.checkAgents(); err != nil {
		return err
	}
	if err := errors.Join(h.checkTools(), h.checkChat(), h.checkSlack(), h.checkSCIM()); err != nil {
		return err
	}
	for i, p := range h.Pools {
		if err := p.Validate(); err != nil {
			return fmt.Errorf("pools[%d]: %w", i, err)
		}
		if slices.ContainsFunc(h.Pools[:i], func(other lifecycle.Pool) bool { return other.Name == p.Name }) {
			return fmt.Errorf("pools[%d].name is %q, which another pool has, want different names", i, p.Name)
		}
	}
	if err := checkPage(h.Page); err != nil {
		return err
	}
	for i, n := range h.Notify {
		if n == nil {
			return fmt.Errorf("notify[%d] is null, want an object", i)
		}
		n.where, n.page = fmt.Sprintf("notify[%d]", i), h.Page
		if err := n.check(); err != nil {
			return err
		}
		if slices.ContainsFunc(h.Notify[:i], func(other *noticeEntry) bool { return other.Name == n.Name }) {
			return fmt.Errorf("%s.name is %q, which another entry has, want different names", n.where, n.Name)
		}
	}
	if h.Brand != nil {
		if err := h.Brand.read(); err != nil {
			return err
		}
	}
	if h.SignIn != nil {
		return h.SignIn.check(h.Page)
	}
	return nil
}

// brandEntry is web.Options.Brand and SignOut.
type brandEntry struct {
	Name      string `json:"name"`
	Logo      string `json:"logo"` // a file
	Color     string `json:"color"`
	DarkColor string `json:"dark_color"`
	SignOut   string `json:"sign_out"`

	brand web.Brand
}

// read reads the logo and checks the fields.
func (b *brandEntry) read() error {
	b.brand = web.Brand{Name: b.Name, Color: b.Color, DarkColor: b.DarkColor}
	if b.Logo != "" {
		f, err := os.Open(b.Logo)
		if err != nil {
			return fmt.Errorf("brand.logo: %w", err)
		}
		defer f.Close()
		if b.brand.Logo, err = io.ReadAll(io.LimitReader(f, maxHostFile)); err != nil {
			return fmt.Errorf("brand.logo: %w", err)
		}
	}
	if err := b.brand.Validate(); err != nil {
		return fmt.Errorf("brand: %s", strings.TrimPrefix(err.Error(), "render: Brand."))
	}
	return nil
}

// pageOf returns the address of a question on the page, or of a run if question is 0.
func (h *hostFile) pageOf(run string, question int) string {
	address := strings.TrimSuffix(h.Page, "/") + "/#/inbox/" + run
	if question > 0 {
		address += fmt.Sprintf("/%d", question)
	}
	return address
}

func checkPage(page string) error {
	u, err := url.Parse(page)
	if page == "" || err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil &&
		!strings.ContainsAny(page, "?#") {
		return nil
	}
	return fmt.Errorf("page is %.80q, want its address like https://desk.example.com/interlude/", page)
}

func (h *hostFile) checkAgents() error {
	names := slices.Sorted(maps.Keys(h.Agents))
	for _, name := range names {
		a := h.Agents[name]
		path := "agents." + name
		switch {
		case name == "" || a == nil:
			return fmt.Errorf("%s: want a name, and an object like {\"agent\": \"codex\"}", path)
		case !slices.Contains(agentNames(), a.Agent) && !strings.HasPrefix(a.Agent, acpPrefix):
			return fmt.Errorf("%s.agent is %.80q, want %s", path, a.Agent, strings.Join(agentNames(), ", "))
		case a.Offline && a.Login:
			return fmt.Errorf("%s.offline needs no login: leave %[1]s.login out", path)
		}
	}
	switch {
	case len(names) == 0:
		return errors.New("agents is empty, want at least one, for example {\"demo\": {\"agent\": \"demo\"}}")
	case h.Agent == "" && len(names) == 1:
		h.Agent = names[0]
	case h.Agents[h.Agent] == nil:
		return fmt.Errorf("agent is %.80q, want the default for runs that name none: %s", h.Agent,
			strings.Join(names, ", "))
	}
	return nil
}
