package notify_test

import (
	"os"
	"testing"

	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

func TestMain(m *testing.M) {
	if os.Getenv(nodeVariable) != "" {
		serveNode() // until it is killed
	}
	pgtest.Main(m)
}
