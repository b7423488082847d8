package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/lifecycle"
)

func basic(user, token string) http.Header {
	r := &http.Request{Header: http.Header{}}
	r.SetBasicAuth(user, token)
	return r.Header
}

func hashOf(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// L1: an invalid file of -config is refused before any file is opened or created, in one line that
// names the line or the field.
func TestL1AWrongFileOfConfigIsRefused(t *testing.T) {
	const demoAgent = `"agents": {"d": {"agent": "demo"}}`
	with := func(fields string) string { // a file with an agent and these fields
		return "{" + demoAgent + ", " + strings.ReplaceAll(fields, "HASH", hashOf("x")) + "}"
	}
	for name, c := range map[string]struct{ body, want string }{
		"broken":        {"{\n  \"agents\": {\n}\n\"x\"", "line 4: invalid character"},
		"empty":         {"", "line 1: the file ends too early"},
		"ends early":    {"{\n\"agents\": {", "line 2: the file ends too early"},
		"more":          {"{" + demoAgent + "} {}", "text after the object's end"},
		"unknown field": {"{" + demoAgent + ",\n\"sign-in\": {}}", `line 2: unknown field "sign-in"`},
		"inner field": {"{\"agents\": {\"d\": {\n\"agent\": \"demo\",\n\"size\": 1}}}",
			`line 3: unknown field "size"`},
		"another type":  {"{\n\"agents\": {\"d\": {\"agent\": 7}}}", "line 2: agents.agent is of type number"},
		"a list":        {"[]", "the whole is of type array, want an object"},
		"no agents":     {"{}", "agents is empty"},
		"no such agent": {`{"agents": {"a": {"agent": "hal"}}}`, `agents.a.agent is "hal", want codex, claude`},
		"null agent":    {`{"agents": {"a": null}}`, "agents.a: want a name, and an object"},
		"offline and login": {`{"agents": {"a": {"agent": "codex", "login": true, "offline": true}}}`,
			"leave agents.a.login out"},
		"two, none by choice": {`{"agents": {"a": {"agent": "demo"}, "b": {"agent": "demo"}}}`,
			`agent is "", want the default for runs that name none: a, b`},
		"a pale color":     {with(`"brand": {"color": "#ffcc00"}`), "brand: Color is #ffcc00, whose contrast"},
		"no logo":          {with(`"brand": {"logo": "nowhere.svg"}`), "brand.logo: open nowhere.svg"},
		"a null tool":      {with(`"mcp": [null]`), "mcp[0] is null"},
		"a tool of nobody": {with(`"mcp": [{"name": "a", "agent": "b"}]`), `mcp[0].agent is "b"`},
		"a chat of nobody": {with(`"chat": {"agent": "b"}`), `chat.agent is "b"`},
		"two directories":  {with(`"directory": "p.yaml", "scim": {"url": "https://example.com"}`), "want one"},
		"SCIM without a token": {with(`"scim": {"url": "https://example.com", "token_env": "NOWHERE"}`),
			"scim.token_env: set $NOWHERE"},
		"SCIM in the clear":    {with(`"scim": {"url": "http://example.com"}`), "scim.url: people: the URL begins with http:"},
		"SCIM from nowhere":    {with(`"scim": {"url": "https://example.com", "allow": ["x"]}`), "scim.allow[0]"},
		"Slack without people": {with(`"slack": {"token_env": "X"}`), "directory is empty"},
		"Slack without answers": {with(`"directory": "people.yaml", "slack": {"token_env": "X"}`),
			"neither signing_secret_env nor app_token_env"},
		"Slack without a token": {with(`"directory": "people.yaml", "slack": {"app_token_env": "NOWHERE"}`),
			"slack.app_token_env: set $NOWHERE"},
		"a pool": {with(`"pools": [{"name": "a", "capacity": 0}]`), "pools[0]: "},
		"a pool twice": {with(`"pools": [{"name": "a", "capacity": 1}, {"name": "a", "capacity": 2}]`),
			"pools[1].name"},
		"a null":      {with(`"notify": [null]`), "notify[0] is null"},
		"no receiver": {with(`"notify": [{"name": "a"}]`), "notify[0] has 0 of webhook, slack_env"},
		"two receivers": {with(`"notify": [{"name": "a", "webhook": "https://example.com", "slack_env": "X"}]`),
			"notify[0] has 2 of"},
		"no secret": {with(`"notify": [{"name": "a", "webhook": "https://example.com", "secret_env": "NOWHERE"}]`),
			"notify[0] needs a secret: set $NOWHERE"},
		"no variable": {with(`"notify": [{"name": "a", "teams_env": "NOWHERE"}]`),
			"notify[0] cannot be used: set $NOWHERE"},
		"a network": {with(`"notify": [{"name": "a", "teams_env": "X", "allow": ["here"]}]`),
			`notify[0].allow[0] is "here"`},
		"a mail server": {with(`"notify": [{"name": "a", "mail": {"server": "here", "to": ["a@example.com"]}}]`),
			`mail.server is "here"`},
		"a mail from nobody": {with(`"notify": [{"name": "a", "mail": {"server": "here:25", "to": ["a@example.com"]}}]`),
			"notify[0] cannot be used: mail: Config.From"},
		"another page":      {with(`"page": "desk.example.com"`), `page is "desk.example.com"`},
		"part of a page":    {with(`"page": "https://desk.example.com/#/runs"`), "want its address like"},
		"page of a program": {with(`"page": "javascript:alert(1)"`), `page is "javascript:`},
		"nobody signs in":   {with(`"sign_in": {}`), "sign_in has neither tokens nor a proxy"},
		"no hash": {with(`"sign_in": {"tokens": [{"user": "ada", "sha256": "secret"}]}`),
			"sign_in.tokens[0].sha256"},
		"no user": {with(`"sign_in": {"tokens": [{"sha256": "HASH"}]}`), "sign_in.tokens[0].user"},
		"a hash twice": {with(`"sign_in": {"tokens": [{"user": "a", "sha256": "HASH"}, {"user": "b", "sha256": "HASH"}]}`),
			"sign_in.tokens[1].sha256 is also another token's"},
		"no client": {with(`"sign_in": {"openid": {"issuer": "https://id.example.com"}}`), "needs issuer and client_id"},
		"no page": {with(`"sign_in": {"openid": {"issuer": "https://id.example.com", "client_id": "desk"}}`),
			"page is empty"},
		"no header": {with(`"sign_in": {"proxy": {}}`), "sign_in.proxy.user_header"},
		"no proxy":  {with(`"sign_in": {"proxy": {"user_header": "X-User"}}`), "sign_in.proxy.from is empty"},
		"any host": {with(`"sign_in": {"proxy": {"user_header": "X-User", "from": ["::1/128"]}}`),
			"sign_in.proxy.hosts is empty"},
		"a wrong proxy": {with(`"sign_in": {"proxy": {"user_header": "X-User", "from": ["localhost"], "hosts": ["x"]}}`),
			`sign_in.proxy.from[0] is "localhost"`},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "host.json")
			require.NoError(t, os.WriteFile(file, []byte(c.body), 0o600))
			_, err := readHostFile(file)
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "-config: "+file)
			require.NotContains(t, err.Error(), "\n")
		})
	}
	_, err := readHostFile(filepath.Join(t.TempDir(), "none.json"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// L1: a caller is identified only by a known token, or by a header from the proxy with one of its
// hosts.
func TestL1SignInBelievesTokensAndTheProxyAlone(t *testing.T) {
	s := &signIn{Tokens: []tokenEntry{{User: "ada", Groups: []string{"desk"}, SHA256: hashOf("open")}},
		Proxy: &proxyEntry{UserHeader: "X-User", GroupsHeader: "X-Groups", From: []string{"10.0.0.0/8"},
			Hosts: []string{"desk.example.com"}}}
	require.NoError(t, s.check(""))
	desk, bob := []string{"desk"}, lifecycle.Actor{ID: "bob"}
	bearer := func(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }
	named := func(names ...string) http.Header { return http.Header{"X-User": names} }
	for name, c := range map[string]struct {
		peer, host string
		header     http.Header
		want       lifecycle.Actor
	}{
		"a bearer":           {header: bearer("open"), want: lifecycle.Actor{ID: "ada", Groups: desk, Via: "api"}},
		"no known token":     {header: http.Header{"Authorization": {"Bearer shut"}, "X-User": {"bob"}}},
		"the hash":           {header: bearer(hashOf("open"))},
		"an empty bearer":    {header: bearer("")},
		"a browser":          {header: basic("ada", "open"), want: lifecycle.Actor{ID: "ada", Groups: desk}},
		"another's token":    {header: basic("bob", "open")},
		"nothing":            {},
		"the proxy":          {header: named("bob"), want: bob},
		"another peer":       {peer: "127.0.0.1:5", header: named("bob")},
		"no peer":            {peer: "pipe", header: named("bob")},
		"an IPv4 in IPv6":    {peer: "[::ffff:10.1.2.3]:5", header: named("bob"), want: bob},
		"another host":       {host: "evil.example.com", header: named("bob")},
		"a host in capitals": {host: "Desk.Example.com", header: named("bob"), want: bob},
		"two names":          {header: named("eve", "bob")},
		"an empty name":      {header: named("")},
		"groups": {header: http.Header{"X-User": {"bob"}, "X-Groups": {"a, b,"}},
			want: lifecycle.Actor{ID: "bob", Groups: []string{"a", "b"}}},
		"two lists of groups": {header: http.Header{"X-User": {"bob"}, "X-Groups": {"root", "a"}}},
		"only groups":         {header: http.Header{"X-Groups": {"a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/interlude/", nil)
			r.RemoteAddr, r.Host, r.Header = "10.1.2.3:4", "desk.example.com", c.header
			if c.peer != "" {
				r.RemoteAddr = c.peer
			}
			if c.host != "" {
				r.Host = c.host
			}
			got, err := s.identify(r)
			require.True(t, c.want.Equal(got), "%v", got)
			require.Equal(t, c.want.ID == "", err != nil)
		})
	}
}

// L1: serve with a file has its agents and pools, and identifies callers; browsers show a dialog.
func TestL1ServeTakesAFile(t *testing.T) {
	body := `{
		"listen": "127.0.0.1:0",
		"agents": {"first": {"agent": "demo"}, "second": {"agent": "demo"}},
		"agent": "second",
		"pools": [{"name": "default", "capacity": 3}, {"name": "slow", "capacity": 1}],
		"notify": [{"name": "desk", "webhook": "https://example.com/hook", "secret_env": "HOOK"}],
		"sign_in": {"tokens": [{"user": "ada", "sha256": "` + hashOf("open") + `"}]}
	}`
	said, stop := serveFile(t, body, "HOOK=whsec_"+strings.Repeat("A", 32))
	require.Equal(t, "first, second", said.Agent)

	for _, path := range []string{"", "api/runs"} {
		refused, header, _ := request(t, http.MethodGet, said.Page+path, "")
		require.Equal(t, http.StatusUnauthorized, refused, path)
		require.Contains(t, header.Get("WWW-Authenticate"), "Basic")
	}
	status, _, page := request(t, http.MethodGet, said.Page, "")
	require.Equal(t, http.StatusUnauthorized, status)
	require.NotContains(t, page, "<!doctype html>")
	status, _, page = signedIn(t, http.MethodGet, said.Page, "")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, "<!doctype html>")
	status, _, run := signedIn(t, http.MethodPost, said.Page+"api/runs", `{"prompt": "Say hello.", "pool": "slow"}`)
	require.Equal(t, http.StatusCreated, status, run)
	_, _, me := signedIn(t, http.MethodGet, said.Page+"api/me", "")
	require.Contains(t, me, `"ada"`)
	_, _, stats := signedIn(t, http.MethodGet, said.Page+"api/stats", "")
	require.Contains(t, stats, `"name":"slow"`)
	stop()
}

// announced is serve's output at its start.
type announced struct {
	Page, Agent, Probes string
	log                 *bytes.Buffer // complete after its end
}

// serveFile starts serve with this file of -config, in an empty folder. Stop interrupts it, and
// waits for its end.
func serveFile(t *testing.T, body string, env ...string) (said announced, stop func()) {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "host.json"), []byte(body), 0o600))
	cmd := calling(t, "serve", "-json", "-config", "host.json")
	cmd.Dir = dir
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	said.log = &bytes.Buffer{}
	cmd.Stderr = io.MultiWriter(os.Stderr, said.log)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal([]byte(line), &said))
	return said, func() {
		t.Helper()
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		require.NoError(t, cmd.Wait())
	}
}

func signedIn(t *testing.T, method, address, body string) (int, http.Header, string) {
	t.Helper()
	return request(t, method, strings.Replace(address, "http://", "http://ada:open@", 1), body)
}

func request(t *testing.T, method, address, body string) (int, http.Header, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, response.Header, string(text)
}

// L1: the configurations in docs/cli.md and the tutorials are valid files.
func TestL1TheFileInTheDocumentCanBeUsed(t *testing.T) {
	t.Setenv("TICKETS_SECRET", "whsec_"+strings.Repeat("A", 32))
	t.Setenv("SLACK_URL", "https://hooks.slack.com/services/x")
	t.Setenv("MAIL_PASSWORD", "secret")
	t.Setenv("DESK_SECRET", "secret")
	t.Setenv("SLACK_TOKEN", "xoxb-1")
	t.Setenv("SLACK_APP_TOKEN", "xapp-1")
	used := func(page string) *hostFile {
		doc, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
		require.NoError(t, err)
		all := strings.Split(string(doc), "\n```json\n") // at the margin: the file of serve
		require.Len(t, all, 2)
		body, _, _ := strings.Cut(all[1], "```")
		file := filepath.Join(t.TempDir(), "host.json")
		require.NoError(t, os.WriteFile(file, []byte(body), 0o600))
		h, err := readHostFile(file)
		require.NoError(t, err)
		return h
	}
	h := used("cli.md")
	require.Equal(t, "code", h.Agent)
	require.Len(t, h.Notify, 3)
	require.NotNil(t, used("tutorials/install.md").SignIn)
	require.NotNil(t, used("tutorials/slack.md").Slack)
}
