package notify_test

import (
	"testing"

	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }
