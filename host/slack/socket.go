package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	sdk "github.com/slack-go/slack"
)

// This is not the SDK's client of Socket Mode, since that does not say whether an acknowledgement was
// written, and loses those that are waiting when its context ends.

const (
	// socketPause is the least time between the beginnings of two connections, unless Slack asks for a
	// new one.
	socketPause = 5 * time.Second
	// socketSilence ends a connection: Slack sends a ping every few seconds.
	socketSilence = 30 * time.Second
	// socketWrite limits the writing of a message.
	socketWrite = 10 * time.Second
)

// ServeSocket receives interactions over Socket Mode until ctx ends: the App connects to Slack, so the
// host needs no inbound HTTP. It then acknowledges the interactions that it has received, which takes
// some seconds at most. It reconnects by itself, and returns an error only if Slack refuses the
// AppToken. Several processes may do this at once; Slack chooses one for each interaction.
func (a *App) ServeSocket(ctx context.Context) error {
	if a.config.AppToken == "" {
		return errConfig("AppToken", "an app-level token")
	}
	var old sync.WaitGroup // connections whose last interactions are being acknowledged
	defer old.Wait()
	for {
		begun := a.config.Clock.Now()
		k, err := a.connect(ctx)
		if err == nil {
			err = a.receiveAll(ctx, k, &old)
		}
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // the host ends
		case errors.Is(err, errRefresh):
			continue
		case refusedToken(err):
			return err
		}
		pause := max(0, socketPause-a.config.Clock.Now().Sub(begun))
		if limited := new(sdk.RateLimitedError); errors.As(err, &limited) {
			pause = limited.RetryAfter
		}
		a.config.Logger.Warn("slack: Socket Mode ended; connecting again", "err", err, "after", pause)
		timer, cancel := a.config.Clock.Timer(pause)
		select {
		case <-ctx.Done():
		case <-timer:
		}
		cancel()
	}
}

// refusedToken reports whether a new connection would fail with the same error.
func refusedToken(err error) bool {
	var status sdk.StatusCodeError
	switch codeOf(err) {
	case "invalid_auth", "account_inactive", "not_authed", "token_revoked", "not_allowed_token_type":
		return true
	}
	return errors.As(err, &status) && status.Code == http.StatusNotFound
}

// errRefresh: Slack asks for a new connection, as it does every few hours.
var errRefresh = errors.New("slack: asks for a new connection")

// socket is a connection of Socket Mode.
type socket struct {
	*websocket.Conn

	mu sync.Mutex // is held while a message is written
}

// envelope is a message of Slack.
type envelope struct {
	Type    string          `json:"type"`
	Reason  string          `json:"reason"` // of a disconnect
	ID      string          `json:"envelope_id"`
	Payload json.RawMessage `json:"payload"`
}

func (a *App) connect(ctx context.Context) (*socket, error) {
	_, address, err := a.api.StartSocketModeContext(ctx)
	if err != nil {
		return nil, err
	}
	conn, response, err := websocket.DefaultDialer.DialContext(ctx, address, nil)
	if response != nil && response.Body != nil {
		_ = response.Body.Close() // it describes a refusal, as err does
	}
	if err != nil {
		return nil, err
	}
	k := &socket{Conn: conn}
	conn.SetPingHandler(func(data string) error {
		_ = k.heard() // the next read returns the error
		return k.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(socketWrite))
	})
	return k, k.heard()
}

// heard lets the connection be silent from now.
func (k *socket) heard() error { return k.SetReadDeadline(time.Now().Add(socketSilence)) }

// acknowledge writes an acknowledgement.
func (k *socket) acknowledge(id string, response any) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.SetWriteDeadline(time.Now().Add(socketWrite)); err != nil {
		return err
	}
	return k.WriteJSON(struct {
		ID       string `json:"envelope_id"`
		Response any    `json:"payload,omitempty"`
	}{id, response})
}

// receiveAll handles the interactions of a connection until it ends, Slack asks for a new one, or ctx
// ends. The connection is closed once they are acknowledged.
func (a *App) receiveAll(ctx context.Context, k *socket, old *sync.WaitGroup) error {
	var work sync.WaitGroup
	received, ended := make(chan envelope), make(chan error, 1)
	running, stop := context.WithCancel(ctx)
	go func() { ended <- k.read(running, received) }()
	defer func() {
		stop()
		old.Go(func() {
			work.Wait()
			_ = k.Close() // which also ends the reading
		})
	}()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-ended:
			return err
		case e := <-received:
			switch e.Type {
			case "disconnect":
				if e.Reason == "refresh_requested" || e.Reason == "warning" {
					return errRefresh
				}
				return fmt.Errorf("slack: ended the connection: %s", e.Reason)
			case "interactive":
				work.Go(func() { a.receiveSocket(ctx, k, e) })
			}
		}
	}
}

// read reads messages until the connection ends or, at the next message, ctx.
func (k *socket) read(ctx context.Context, into chan<- envelope) error {
	for {
		var e envelope
		if err := k.ReadJSON(&e); err != nil {
			return err
		}
		if err := k.heard(); err != nil {
			return err
		}
		select {
		case into <- e:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// receiveSocket handles one interaction. Without an acknowledgement Slack shows an error to the
// person.
func (a *App) receiveSocket(ctx context.Context, k *socket, e envelope) {
	p, err := decode(e.Payload)
	var response any
	if err == nil {
		response, err = a.handle(ctx, p)
	}
	if err != nil && !errors.Is(err, errOther) {
		a.config.Logger.Warn("slack: refused an interaction", "err", err)
		return
	}
	if err := k.acknowledge(e.ID, response); err != nil {
		a.config.Logger.Warn("slack: an interaction was not acknowledged", "err", err)
	}
}
