package node

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// R5: an outage of ten minutes that fails every second logs once a minute, whatever the error's
// details. Other messages are all logged.
func TestRepeatedErrorIsLoggedOncePerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		log := LogRepeatedOnce(slog.New(slog.NewTextHandler(&out, nil))).With("host", "h")
		for i := range 600 {
			log.Error("claim failed; trying again", "err", i)
			log.Warn("turn was dropped", "run", i)
			time.Sleep(time.Second)
		}
		require.Equal(t, 10, strings.Count(out.String(), "claim failed"))
		require.Equal(t, 9, strings.Count(out.String(), "repeated=59"))
		require.Equal(t, 600, strings.Count(out.String(), "turn was dropped"))
		log.WithGroup("g").Error("lease not renewed; trying again", "node", "n")
		require.Contains(t, out.String(), "g.node=n")
	})
}
