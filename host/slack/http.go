package slack

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	sdk "github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"

	"github.com/interlude-go/interlude/host/reqbody"
)

const (
	// bodyTime limits the arrival of a request's body.
	bodyTime = 10 * time.Second
	// maxAge limits the age of a signed request, and how far its time may be in the future.
	maxAge = 5 * time.Minute
)

// ServeHTTP receives interactions: it is the Request URL of the app's interactivity. A request without
// a valid signature of the last five minutes is refused with 401.
func (a *App) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r, body := reqbody.Limit(w, r, bodyTime)
	response, status := a.receive(w, r)
	body.CloseUnread(w.Header())
	if status != http.StatusOK {
		http.Error(w, http.StatusText(status), status)
		return
	}
	if response == nil {
		return
	}
	raw, err := json.Marshal(response)
	if err != nil {
		a.config.Logger.Error("slack: a response cannot be encoded", "err", err)
		http.Error(w, "", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(raw) // Slack does not retry, but shows the person an error
}

// receive returns the content of the acknowledgement, or the status of a refusal.
func (a *App) receive(w http.ResponseWriter, r *http.Request) (response any, status int) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return nil, http.StatusMethodNotAllowed
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return nil, http.StatusRequestEntityTooLarge
	case err != nil:
		return nil, http.StatusBadRequest
	case !a.signed(r.Header, raw):
		a.config.Logger.Warn("slack: refused a request without a valid signature", "peer", r.RemoteAddr)
		return nil, http.StatusUnauthorized
	}
	form, err := url.ParseQuery(string(raw))
	if err != nil {
		return nil, http.StatusBadRequest
	}
	if form.Get("ssl_check") == "1" {
		return nil, http.StatusOK
	}
	p, err := decode([]byte(form.Get("payload")))
	switch {
	case errors.Is(err, errOther):
		return nil, http.StatusOK
	case err != nil:
		return nil, http.StatusBadRequest
	}
	response, err = a.handle(r.Context(), p)
	if err != nil {
		return nil, http.StatusTooManyRequests
	}
	return response, http.StatusOK
}

// signed reports whether the body has a current signature of Slack.
func (a *App) signed(h http.Header, body []byte) bool {
	if a.config.SigningSecret == "" {
		return false
	}
	stamp := h.Get("X-Slack-Request-Timestamp")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return false
	}
	now := a.config.Clock.Now().Unix()
	if limit := int64(maxAge / time.Second); seconds < now-limit || seconds > now+limit {
		return false
	}
	mac := hmac.New(sha256.New, []byte(a.config.SigningSecret))
	mac.Write([]byte("v0:" + stamp + ":"))
	mac.Write(body)
	want := "v0=" + hex.EncodeToString(mac.Sum(nil))
	return hmac.Equal([]byte(want), []byte(h.Get("X-Slack-Signature")))
}

// ServeSocket receives interactions over Socket Mode until ctx ends: the App connects to Slack, so the
// host needs no inbound HTTP. It reconnects by itself, and returns an error only if Slack refuses the
// AppToken. Several processes may do this at once; Slack chooses one for each interaction.
func (a *App) ServeSocket(ctx context.Context) error {
	if a.config.AppToken == "" {
		return errConfig("AppToken", "an app-level token")
	}
	quiet := slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	for {
		client := socketmode.New(a.api, socketmode.OptionLog(quiet))
		ended := make(chan error, 1)
		running, stop := context.WithCancel(ctx)
		go func() { ended <- client.RunContext(running) }()
		err := a.receiveAll(running, client, ended)
		stop()
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the host ends
		}
		if refusedToken(err) {
			return err
		}
		a.config.Logger.Warn("slack: Socket Mode ended; connecting again", "err", err)
		timer, cancel := a.config.Clock.Timer(socketPause)
		select {
		case <-ctx.Done():
		case <-timer:
		}
		cancel()
	}
}

// socketPause is the pause before a new connection when the old one ended unexpectedly.
const socketPause = 5 * time.Second

// refusedToken reports whether a new connection would fail with the same error.
func refusedToken(err error) bool {
	var status sdk.StatusCodeError
	switch codeOf(err) {
	case "invalid_auth", "account_inactive", "not_authed", "token_revoked", "not_allowed_token_type":
		return true
	}
	return errors.As(err, &status) && status.Code == http.StatusNotFound
}

// receiveAll handles the events of a connection until it ends.
func (a *App) receiveAll(ctx context.Context, client *socketmode.Client, ended <-chan error) error {
	var work sync.WaitGroup
	defer work.Wait()
	for {
		select {
		case err := <-ended:
			return err
		case event := <-client.Events:
			if event.Type != socketmode.EventTypeInteractive || event.Request == nil {
				continue
			}
			work.Go(func() { a.receiveSocket(ctx, client, *event.Request) })
		}
	}
}

// receiveSocket handles one interaction. Without an acknowledgement Slack shows an error to the
// person.
func (a *App) receiveSocket(ctx context.Context, client *socketmode.Client, r socketmode.Request) {
	p, err := decode(r.Payload)
	var response any
	if err == nil {
		response, err = a.handle(ctx, p)
	}
	if err != nil && !errors.Is(err, errOther) {
		a.config.Logger.Warn("slack: refused an interaction", "err", err)
		return
	}
	if err := client.AckCtx(ctx, r.EnvelopeID, response); err != nil {
		a.config.Logger.Warn("slack: an interaction was not acknowledged", "err", err)
	}
}
