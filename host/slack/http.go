package slack

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

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
