package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// TestNewRefusesAnInvalidConfig, with the field, its value and the expected one.
func TestNewRefusesAnInvalidConfig(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Config)
		says   string
	}{
		{"no engine", func(c *Config) {
			c.Engine = nil
		}, "lifecycle: Config.Engine is nil, and Config.Engines is empty, want at least one engine"},
		{"an engine that is nil", func(c *Config) {
			c.Engines = map[string]engine.Engine{"good": nil}
		}, `lifecycle: Config.Engines is nil under "good", want an engine`},
		{"a function that is nil", func(c *Config) {
			c.Engine = engine.Func(nil)
		}, `lifecycle: Config.Engines is nil under "default", want an engine`},
		{"a store that is nil", func(c *Config) {
			c.Store = (*memory.Store)(nil)
		}, "lifecycle: ClientConfig.Store is nil, want the store that the executing processes use"},
		{"an engine without a name", func(c *Config) {
			c.Engines = map[string]engine.Engine{"": agent{}}
		}, `lifecycle: Config.Engines is one under "", want a name of 1 to 63 of [A-Za-z0-9._/-]`},
		{"an engine with a bad name", func(c *Config) {
			c.Engines = map[string]engine.Engine{"a b": agent{}}
		}, `lifecycle: Config.Engines is one under "a b", want a name of 1 to 63 of [A-Za-z0-9._/-]`},
		{"too many engines", func(c *Config) {
			c.Engines = engines(store.MaxEngines) // with the default one
		}, "lifecycle: Config.Engines is 1001 entries, want at most 1000"},
		{"a pool without a slot", func(c *Config) {
			c.Pools = []slots.Pool{{Name: "p"}}
		}, "lifecycle: Config.Pools is wrong: slots: invalid pool: capacity of p is 0, want 1 to "},
		{"fewer turns than none", func(c *Config) {
			c.Concurrency = -1
		}, "lifecycle: Config.Concurrency is -1, want at least 1"},
		{"a short lease", func(c *Config) {
			c.Lease = time.Second - 1
		}, "lifecycle: Config.Lease is 999.999999ms, want at least 1s"},
		{"a lease of the past", func(c *Config) {
			c.Lease = -time.Second
		}, "lifecycle: Config.Lease is -1s, want at least 1s"},
		{"a short poll", func(c *Config) {
			c.Poll = time.Millisecond - 1
		}, "lifecycle: Config.Poll is 999.999µs, want at least 1ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := Config{Engine: agent{}}
			c.change(&cfg)
			_, err := New(cfg)
			require.Error(t, err)
			require.True(t, strings.HasPrefix(err.Error(), c.says), err.Error())
			require.ErrorIs(t, err, ErrInvalidArgument)
		})
	}
}

// engines returns n agents with distinct names.
func engines(n int) map[string]engine.Engine {
	all := make(map[string]engine.Engine, n)
	for i := range n {
		all[fmt.Sprintf("e%d", i)] = agent{}
	}
	return all
}

func TestNewTakesAsManyEnginesAsCanBeStored(t *testing.T) {
	lc, err := New(Config{Engines: engines(store.MaxEngines)})
	require.NoError(t, err)
	lc.Close()
}

// J11: run folders are distinguished by their run's store.
func TestNewReadsTheStoresIdentity(t *testing.T) {
	s := newStore(t)
	want, err := s.Identity(t.Context())
	require.NoError(t, err)
	for dir, id := range map[string]string{"": "", t.TempDir(): want} {
		lc, err := New(Config{Store: s, Engine: agent{}, Dir: dir})
		require.NoError(t, err)
		require.Equal(t, id, lc.node.Folders.Store)
		lc.Close()
	}
}

func TestNewNeedsOnlyAnEngine(t *testing.T) {
	lc, err := New(Config{Engine: agent{}})
	require.NoError(t, err)
	defer lc.Close()
	require.IsType(t, &memory.Store{}, lc.proc.Store)
	require.NotNil(t, lc.proc.Log)
	require.Equal(t, Config{Store: lc.proc.Store, Engine: agent{}, Concurrency: 64, Lease: 15 * time.Second,
		Grace: 10 * time.Second, Poll: time.Second}, lc.cfg)
	run, err := lc.Submit(t.Context(), Spec{Prompt: "x"})
	require.NoError(t, err)
	require.Equal(t, DefaultEngine, run.Engine)

	least := Config{Engines: map[string]engine.Engine{"other": agent{}}, Concurrency: 1, Lease: time.Second,
		Poll: time.Millisecond, Grace: -1}
	lc, err = New(least)
	require.NoError(t, err, "the least that is allowed")
	defer lc.Close()
	least.Store = lc.proc.Store
	require.Equal(t, least, lc.cfg)
	_, err = lc.Submit(t.Context(), Spec{Prompt: "x"})
	require.EqualError(t, err, `lifecycle: invalid spec: Engine is "", want the name of a configured engine`)
	_, err = lc.Submit(t.Context(), Spec{Prompt: "x", Engine: "other"})
	require.NoError(t, err)
	require.Len(t, least.Engines, 1, "the host's map is its own")
}

// TestNewMakesDirAbsolute: wherever the host goes later.
func TestNewMakesDirAbsolute(t *testing.T) {
	t.Chdir(t.TempDir())
	lc, err := New(Config{Engine: agent{}, Dir: "runs"})
	require.NoError(t, err)
	defer lc.Close()
	here, err := filepath.Abs("runs")
	require.NoError(t, err)
	require.Equal(t, here, lc.cfg.Dir)
	entries, err := os.ReadDir(here)
	require.NoError(t, err, "it is made")
	require.Empty(t, entries)
}

// TestNewRefusesADirThatCannotBeWritten: a node that cannot make the folders of runs would fail
// each run that it claims.
func TestNewRefusesADirThatCannotBeWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	// The folder's path is just valid, and a file's path in it is too long.
	const maxPath = 4095
	long := t.TempDir()
	for len(long) < maxPath-1 {
		long = filepath.Join(long, strings.Repeat("x", min(200, maxPath-len(long)-1)))
	}
	for _, dir := range []string{file, filepath.Join(file, "runs"), long} {
		_, err := New(Config{Engine: agent{}, Dir: dir})
		require.ErrorContains(t, err, "lifecycle: Config.Dir is of no use: ")
		require.ErrorContains(t, err, ", want a folder that this process can make and write to")
	}
}

// TestNewStoresThePools: A2, configured pools are set; the default pool is created if missing, and
// kept if it exists.
func TestNewStoresThePools(t *testing.T) {
	for _, c := range []struct {
		name          string
		stored, given []slots.Pool
		want          map[string]int
	}{
		{"nobody says anything", nil, nil, map[string]int{"default": slots.DefaultCapacity}},
		{"another pool", nil, []slots.Pool{{Name: "p", Capacity: 3}}, map[string]int{"default": slots.DefaultCapacity,
			"p": 3}},
		{"the default pool", nil, []slots.Pool{{Name: "default", Capacity: 3}}, map[string]int{"default": 3}},
		{"the default pool among others", nil, []slots.Pool{{Name: "o", Capacity: 1}, {Name: "default", Capacity: 3},
			{Name: "p", Capacity: 2}}, map[string]int{"default": 3, "o": 1, "p": 2}},
		{"it is stored", []slots.Pool{{Name: "o", Capacity: 1}, {Name: "default", Capacity: 5}}, nil,
			map[string]int{"default": 5, "o": 1}},
		{"it is stored, and another is given", []slots.Pool{{Name: "default", Capacity: 5}},
			[]slots.Pool{{Name: "p", Capacity: 3}}, map[string]int{"default": 5, "p": 3}},
		{"it is stored, and given anew", []slots.Pool{{Name: "default", Capacity: 5}},
			[]slots.Pool{{Name: "default", Capacity: 3}}, map[string]int{"default": 3}},
		{"another is stored", []slots.Pool{{Name: "p", Capacity: 3}}, nil,
			map[string]int{"default": slots.DefaultCapacity, "p": 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := memory.New()
			defer s.Close()
			for _, p := range c.stored {
				require.NoError(t, s.SetPool(t.Context(), p))
			}
			lc, err := New(Config{Store: s, Engine: agent{}, Pools: c.given})
			require.NoError(t, err)
			defer lc.Close()
			pools, err := s.Pools(t.Context())
			require.NoError(t, err)
			got := make(map[string]int)
			for _, p := range pools {
				got[p.Name] = p.Capacity
			}
			require.Equal(t, c.want, got)
		})
	}
}

// poolless is a store that cannot read its pools, or set them.
type poolless struct {
	store.Store
	readErr, setErr error
}

func (s poolless) Pools(ctx context.Context) ([]store.PoolUse, error) {
	pools, err := s.Store.Pools(ctx)
	return pools, errors.Join(err, s.readErr)
}

func (s poolless) SetPool(context.Context, slots.Pool) error { return s.setErr }

func TestNewFailsIfPoolsCannotBeStored(t *testing.T) {
	away := errors.New("connection refused")
	_, err := New(Config{Store: poolless{memory.New(), away, nil}, Engine: agent{}})
	require.EqualError(t, err, "lifecycle: read pools: connection refused")
	_, err = New(Config{Store: poolless{memory.New(), nil, away}, Engine: agent{}})
	require.EqualError(t, err, "lifecycle: set pool default: connection refused")
}

// TestServeTwiceIsAnError: a second Serve of the same Lifecycle is refused while the first runs,
// and allowed afterwards.
func TestServeTwiceIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lc, stop := serve(t, Config{Store: newStore(t), Engine: agent{}})
		require.ErrorIs(t, lc.Serve(t.Context()), ErrServing)
		stop()
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- lc.Serve(ctx) }()
		synctest.Wait()
		require.ErrorIs(t, lc.Serve(ctx), ErrServing)
		cancel()
		require.NoError(t, <-served)
	})
}

// server is a store with its own clock.
type server struct{ store.Store }

func (server) Now() time.Time { return time.Now() }

// R5: on a server the default lease outlasts a failover of the usual length, and heartbeats and
// recovery passes stay as frequent as before.
func TestR5LeaseOutlastsFailover(t *testing.T) {
	for lease, want := range map[time.Duration]struct{ lease, pace time.Duration }{
		0: {time.Minute, 5 * time.Second}, 90 * time.Second: {90 * time.Second, 5 * time.Second},
		3 * time.Second: {3 * time.Second, time.Second},
	} {
		lc, err := New(Config{Store: server{memory.New()}, Engine: agent{}, Lease: lease})
		require.NoError(t, err)
		require.Equal(t, want.lease, lc.cfg.Lease)
		require.Equal(t, want.pace, lc.cfg.pace())
		lc.Close()
	}
}
