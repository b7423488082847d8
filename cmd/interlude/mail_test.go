package main

import (
	"crypto/tls"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	netmail "net/mail"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/cmd/internal/console"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/memory"
)

// mailServer stores mails that the user "runs" with the password "secret" sends over TLS.
type mailServer struct{ mails chan string }

func (s *mailServer) NewSession(*smtp.Conn) (smtp.Session, error) {
	return &mailSession{server: s}, nil
}

type mailSession struct {
	server   *mailServer
	signedIn bool
	to       []string
}

func (*mailSession) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *mailSession) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != "runs" || password != "secret" {
			return smtp.ErrAuthFailed
		}
		s.signedIn = true
		return nil
	}), nil
}

func (s *mailSession) Mail(string, *smtp.MailOptions) error {
	if !s.signedIn {
		return smtp.ErrAuthRequired
	}
	return nil
}

func (s *mailSession) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = append(s.to, to)
	return nil
}

func (s *mailSession) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err == nil {
		s.server.mails <- fmt.Sprintf("X-Delivered-To: %s\r\n%s", strings.Join(s.to, ","), text)
	}
	return err
}

func (s *mailSession) Reset()      { s.to = nil }
func (*mailSession) Logout() error { return nil }

// serveMail starts a mail server, and returns its address and the file of its certificate.
func serveMail(t *testing.T) (s *mailServer, address, certificate string) {
	t.Helper()
	signed := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
	signed.Close()
	certificate = filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
		Bytes: signed.Certificate().Raw}), 0o600))
	s = &mailServer{mails: make(chan string, 10)}
	server := smtp.NewServer(s)
	server.TLSConfig = &tls.Config{Certificates: signed.TLS.Certificates, MinVersion: tls.VersionTLS12}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		require.NoError(t, server.Close())
		require.NoError(t, <-served)
	})
	return s, listener.Addr().String(), certificate
}

// L1 L4: serve sends mails about questions over TLS, as configured in the file of -config, with a
// link to the question's page and in the configured language.
func TestL1L4ServeWritesMails(t *testing.T) {
	server, address, certificate := serveMail(t)
	body := fmt.Sprintf(`{
		"listen": "127.0.0.1:0",
		"agents": {"demo": {"agent": "demo"}},
		"page": "https://desk.example.com/interlude/",
		"notify": [{"name": "people", "types": ["user.input.required"], "language": "de",
			"mail": {"server": %q, "user": "runs",
			"password_env": "MAIL_PASSWORD", "from": "Runs <runs@example.com>", "to": ["ada@example.com"]}}]
	}`, address)
	said, stop := serveFile(t, body, "MAIL_PASSWORD=secret", "SSL_CERT_FILE="+certificate)
	status, _, made := request(t, http.MethodPost, said.Page+"api/runs", `{"id": "release-1", "prompt": "Say hello."}`)
	require.Equal(t, http.StatusCreated, status, made)

	mail, err := netmail.ReadMessage(strings.NewReader(<-server.mails))
	require.NoError(t, err)
	require.Equal(t, "ada@example.com", mail.Header.Get("X-Delivered-To"))
	require.Equal(t, `"Runs" <runs@example.com>`, mail.Header.Get("From"))
	require.Contains(t, mail.Header.Get("Subject"), "release-1 fragt: ")
	text, err := io.ReadAll(mail.Body)
	require.NoError(t, err)
	require.Contains(t, string(text), "Antworten: https://desk.example.com/interlude/#/inbox/release-1")
	stop()
	require.Empty(t, server.mails)
}

// L4: the feeds of all receivers exist before the host accepts a run, so that its first run has notices.
func TestL4TheFirstRunHasNotices(t *testing.T) {
	t.Setenv("CHANNEL", "https://hooks.slack.com/services/x")
	h := &hostFile{Notify: []*noticeEntry{{Name: "people", SlackEnv: "CHANNEL"}, {Name: "desk", SlackEnv: "CHANNEL"}}}
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	db := console.NewDatabase(flags)
	require.NoError(t, flags.Parse([]string{"-db", filepath.Join(t.TempDir(), "runs.db")}))
	client, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: memory.New()})
	require.NoError(t, err)
	defer client.Close()
	all, err := h.newNotices(t.Context(), db, client, nil, slog.Default())
	require.NoError(t, err)
	defer all.close()
	feeds, err := client.Feeds(t.Context())
	require.NoError(t, err)
	require.Len(t, feeds, 2)
	require.Equal(t, "notify/desk", feeds[0].Name)
}
