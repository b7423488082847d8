package slack_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/host/slack"
	"github.com/interlude-go/interlude/host/slack/slacktest"
	"github.com/interlude-go/interlude/lifecycle"
)

// P5: no payload, even with a valid signature, crashes the decoder or reaches a question without
// its digest.
func FuzzPayload(f *testing.F) {
	for _, seed := range []string{``, `{}`, `{"type":"block_actions","user":{"id":"U1"},"actions":[{}]}`,
		`{"type":"block_actions","user":{"id":"UADA","team_id":"T1"},"actions":[{"action_id":"approve","value":"1.` +
			strings.Repeat("0", 64) + `.r1"}]}`,
		`{"type":"block_actions","user":{"id":"UADA"},"container":{"channel_id":"CDESK","message_ts":"1.1"},` +
			`"actions":[{"action_id":"option-99","value":"1.` + strings.Repeat("0", 64) + `.r1"}]}`,
		`{"type":"view_submission","user":{"id":"UADA"},"view":{"callback_id":"answer","private_metadata":"CDESK 1.1 1.` +
			strings.Repeat("0", 64) + `.r1","state":{"values":{"input-0":{"value":{"value":"x"}}}}}}`,
		`{"type":"view_closed","user":{"id":"U1"}}`,
		`{"type":"view_submission","user":{"id":"U1"},"view":{"callback_id":"answer","private_metadata":"a b"}}`} {
		f.Add(seed)
	}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"ok":true}`))
	}))
	f.Cleanup(api.Close)
	lc, _ := asking(f, nil)
	app, err := slack.New(slack.Config{Client: lc.Client, Token: slacktest.Token, SigningSecret: slacktest.Secret,
		Messages: new(slack.Memory), API: api.URL + "/", Logger: slog.New(slog.DiscardHandler),
		Person: func(_ context.Context, _, user string) (lifecycle.Actor, error) {
			return lifecycle.Actor{ID: strings.ToLower(user)}, nil
		},
		Places: func(context.Context, *lifecycle.Run, *lifecycle.Question) ([]string, error) { return nil, nil }})
	require.NoError(f, err)
	f.Cleanup(app.Close)
	f.Fuzz(func(t *testing.T, payload string) {
		body := url.Values{"payload": {payload}}.Encode()
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		r.Header = slacktest.Sign(slacktest.Secret, time.Now(), []byte(body))
		w := httptest.NewRecorder()
		app.ServeHTTP(w, r)
		require.Contains(t, []int{200, 400, 413, 429}, w.Code)
		record, err := lc.Question(t.Context(), "r1", 1)
		require.NoError(t, err)
		require.Empty(t, record.Resolution)
	})
}
