package protocols_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/host/slack/slacktest"
)

// P4: Slack's own library works with the workspace of host/slack's tests as with Slack. It
// accepts requests signed by the workspace, and refuses forged and old requests. It can call the
// workspace's API, and can parse the workspace's payloads.
func TestP4BoltAcceptsTheWorkspaceOfTheTests(t *testing.T) {
	for _, mode := range []string{"http", "socket"} {
		t.Run(mode, func(t *testing.T) {
			s := slacktest.New(t)
			p := newClients(t, "slack").execute("bolt.mjs", s.URL, slacktest.Secret, slacktest.Token,
				slacktest.AppToken, mode)
			began := p.next()
			port, _ := began["port"].(float64)
			address := "http://127.0.0.1:" + strconv.Itoa(int(port)) + "/slack/events"
			if mode == "http" {
				s.Deliver(address)
			} else {
				<-s.Connected()
			}
			m := s.Questions()[0]
			require.Equal(t, began["ts"], m.TS)

			r, err := s.Press("ada", m, "form")
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, r.Status, "%s", r.Body)
			require.Equal(t, object{"opened": true}, p.next())
			r, err = s.Submit("ada", map[string]string{"Your answer": "wrong"})
			require.NoError(t, err)
			require.Equal(t, map[string]string{"b": "Not this."}, r.Errors())
			require.Equal(t, object{"answer": "wrong", "metadata": "kept", "user": "UADA"}, p.next())
			r, err = s.Submit("ada", map[string]string{"Your answer": "right"})
			require.NoError(t, err)
			require.Empty(t, r.Errors())
			require.Equal(t, "right", p.next()["answer"])

			if mode == "http" {
				body, err := slacktest.Encode(s.Pressed("eve", m, "approve", "v1"))
				require.NoError(t, err)
				for name, header := range map[string]http.Header{
					"forged": slacktest.Sign("another secret", time.Now(), body),
					"old":    slacktest.Sign(slacktest.Secret, time.Now().Add(-6*time.Minute), body),
				} {
					r, err := slacktest.Send(address, header, body)
					require.NoError(t, err)
					require.Equal(t, http.StatusUnauthorized, r.Status, name)
				}
			}
			_, err = s.Press("ada", m, "approve")
			require.NoError(t, err)
			require.Equal(t, object{"action": "approve", "value": "v1", "user": "UADA", "team": slacktest.Team},
				p.next())
			require.Contains(t, s.Questions()[0].Shown(), "Approved by UADA")
		})
	}
}
