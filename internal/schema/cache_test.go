package schema

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func schemaText(n int) []byte {
	return fmt.Appendf(nil, `{"type":"object","required":["f%d"]}`, n)
}

func TestSchemaCacheCompilesWithoutTheLock(t *testing.T) {
	compiling, goOn := make(chan struct{}), make(chan struct{})
	c := cache{compile: func(raw []byte) (*Schema, error) {
		if string(raw) == string(schemaText(1)) {
			close(compiling)
			<-goOn
		}
		return Compile(raw)
	}}
	known, err := c.get(schemaText(0))
	require.NoError(t, err)
	var large sync.WaitGroup
	large.Go(func() {
		s, err := c.get(schemaText(1))
		if err != nil || s.ValidateJSON([]byte(`{"f1":1}`)) != nil {
			t.Errorf("the large schema: %v", err)
		}
	})
	<-compiling
	again, err := c.get(schemaText(0))
	require.NoError(t, err)
	require.Same(t, known, again)
	other, err := c.get(schemaText(2))
	require.NoError(t, err, "nor who asks for a new one")
	require.NoError(t, other.ValidateJSON([]byte(`{"f2":1}`)))
	close(goOn)
	large.Wait()
}

func TestSchemaCacheUnderConcurrentUse(t *testing.T) {
	const texts = 20
	var compiles atomic.Int32
	c := cache{compile: func(raw []byte) (*Schema, error) {
		compiles.Add(1)
		return Compile(raw)
	}}
	var mu sync.Mutex
	got := make(map[int]map[*Schema]bool)
	var all sync.WaitGroup
	for caller := range 8 {
		all.Go(func() {
			for i := range 5 * texts {
				n := (i + caller) % texts
				s, err := c.get(schemaText(n))
				if err != nil || s.ValidateJSON(fmt.Appendf(nil, `{"f%d":true}`, n)) != nil ||
					s.ValidateJSON([]byte(`{}`)) == nil {
					t.Errorf("schema %d: %v", n, err)
					return
				}
				mu.Lock()
				if got[n] == nil {
					got[n] = make(map[*Schema]bool)
				}
				got[n][s] = true
				mu.Unlock()
			}
		})
	}
	all.Wait()
	for n, different := range got {
		require.Len(t, different, 1, "all share schema %d", n)
	}
	before := compiles.Load()
	_, err := c.get(schemaText(0))
	require.NoError(t, err)
	require.Equal(t, before, compiles.Load(), "what is known is not compiled again")
}

// N2: the cache is limited by the size of the schemas, not by their number.
func TestSchemaCacheIsBounded(t *testing.T) {
	one := &Schema{size: Size{Memory: MaxMemory}}
	c := cache{compile: func([]byte) (*Schema, error) { return one, nil }}
	for n := range 2*maxCache/MaxMemory + 1 {
		_, err := c.get(schemaText(n))
		require.NoError(t, err)
		require.LessOrEqual(t, len(c.byText)*MaxMemory, maxCache)
	}
	require.Len(t, c.byText, 1, "it was emptied when it was full")
	_, err := Cached([]byte(`{"type":"objekt"}`))
	require.Error(t, err)
	require.Nil(t, shared.cached([]byte(`{"type":"objekt"}`)), "what does not compile is not kept")
}
