package notify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
)

const maxAnswer = 64 << 10

// StatusError is a response of a receiver other than 2xx.
type StatusError struct {
	Status int
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("notify: receiver answered %d %s", e.Status, http.StatusText(e.Status))
}

// post sends a body, and returns nil if the receiver has accepted it. 410 means that the receiver
// has unsubscribed.
func post(ctx context.Context, c *http.Client, clock lifecycle.Clock, to *url.URL, header http.Header, body io.Reader,
) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), body)
	if err != nil {
		return errors.New("notify: the request is invalid") // err contains the secret address
	}
	request.Header = header
	response, err := c.Do(request)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) { // it contains the address
			err = u.Err
		}
		return fmt.Errorf("notify: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // nothing was written
	// The response body is ignored, but read so that the connection can be reused.
	_, _ = io.CopyN(io.Discard, response.Body, maxAnswer)
	refusal := &StatusError{response.StatusCode}
	switch status := response.StatusCode; {
	case status >= 200 && status < 300:
		return nil
	case status == http.StatusGone:
		return Permanent(refusal)
	}
	if pause := retryAfter(response.Header.Get("Retry-After"), clock.Now()); pause > 0 {
		return &AfterError{pause, refusal}
	}
	return refusal
}

func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return at.Sub(now)
	}
	return 0
}
