package web

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
)

// StatusOf is the status with which a request is answered whose call returned the error.
func StatusOf(err error) int {
	d := &Door{log: slog.New(slog.DiscardHandler)}
	return d.problem(&caller{request: httptest.NewRequest(http.MethodGet, "/", nil)}, err).Status
}
