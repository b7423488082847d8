package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/host/slack/slacktest"
)

// P4: serve asks in Slack, finds people in the directory, and receives answers at /slack or over
// Socket Mode. Slack's requests need a valid signature, but no sign-in.
func TestP4ServeAsksInSlack(t *testing.T) {
	file := filepath.Join(t.TempDir(), "people.yaml")
	require.NoError(t, os.WriteFile(file, []byte(`people: [{id: ada, addresses: {slack: "`+slacktest.Team+`:UADA"}}]`),
		0o600))
	for name, setting := range map[string]string{"requests": `"signing_secret_env": "SLACK_SECRET"`,
		"Socket Mode": `"app_token_env": "SLACK_APP_TOKEN"`} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			s := slacktest.New(t)
			said, stop := serveFile(t, `{"listen": "127.0.0.1:0", "agents": {"d": {"agent": "demo"}}, "directory": "`+file+
				`", "page": "https://desk.example.com/interlude/", "slack": {"token_env": "SLACK_TOKEN", "channel": "CDESK",
				"api": "`+s.URL+`", `+setting+`},
				"sign_in": {"tokens": [{"user": "ada", "sha256": "`+hashOf("open")+`"}]}}`,
				"SLACK_TOKEN="+slacktest.Token, "SLACK_SECRET="+slacktest.Secret, "SLACK_APP_TOKEN="+slacktest.AppToken)
			defer stop()
			status, _, body := signedIn(t, http.MethodPost, said.Page+"api/runs", `{"id": "r1", "prompt": "Say hello."}`)
			require.Less(t, status, 300, body)
			require.NoError(t, s.Await(ctx, func() bool { return len(s.Questions()) == 1 }))
			m := s.Questions()[0]
			require.Equal(t, "https://desk.example.com/interlude/#/inbox/r1/1", m.Button("page").URL)
			address := strings.Replace(said.Page, "/interlude/", "/slack", 1)
			if name == "requests" {
				s.Deliver(address)
				r, err := slacktest.Send(address, http.Header{}, nil)
				require.NoError(t, err)
				require.Equal(t, http.StatusUnauthorized, r.Status)
			} else {
				<-s.Connected()
			}
			_, err := s.Press("eve", m, "option-0")
			require.NoError(t, err)
			require.NoError(t, s.Await(ctx, func() bool { return len(s.Said("eve")) == 1 }))
			require.Equal(t, "You are not known here.", s.Said("eve")[0])
			_, err = s.Press("ada", m, "option-0")
			require.NoError(t, err)
			require.NoError(t, s.Await(ctx, func() bool {
				now := s.Questions()[0]
				return strings.Contains(now.Shown(), "Answered by ada (slack)")
			}))
		})
	}
}
