package notify_test

import (
	"context"
	"testing"

	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

func TestMain(m *testing.M) {
	cast.ServeHost(func(ctx context.Context, n node) error { return n.serve(ctx) })
	pgtest.Main(m)
}
