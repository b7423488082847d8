package web

import (
	"log/slog"
	"net/http"
	"net/http/httptest"

	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/memory"
)

// StatusOf returns the status of a request whose call returned the error.
func StatusOf(err error) int {
	d := &Server{log: slog.New(slog.DiscardHandler)}
	client, _ := lifecycle.NewClient(lifecycle.ClientConfig{Store: memory.New()})
	defer client.Close()
	return d.problem(&caller{client: client, request: httptest.NewRequest(http.MethodGet, "/", nil)}, err).Status
}
