package sqlite

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"modernc.org/libc"
	"modernc.org/libc/sys/types"
)

// Buffers of any size, some hundred KiB at a time, are allocated and freed without mapping and
// unmapping pages.
func TestThePagesOfBuffersStay(t *testing.T) {
	keepPages()
	mapped := func(block uintptr) bool {
		maps, err := os.ReadFile("/proc/self/maps")
		require.NoError(t, err)
		for line := range strings.Lines(string(maps)) {
			var from, to uintptr
			if _, err := fmt.Sscanf(line, "%x-%x", &from, &to); err == nil && from <= block && block < to {
				return true
			}
		}
		return false
	}
	tls := libc.NewTLS()
	defer tls.Close()
	for size := types.Size_t(16); size <= 16<<10; size *= 2 {
		var blocks []uintptr
		for range 6 {
			blocks = append(blocks, libc.Xmalloc(tls, size))
		}
		for _, block := range blocks {
			libc.Xfree(tls, block)
		}
		for _, block := range blocks {
			require.True(t, mapped(block), "the page of a block of %d bytes is unmapped", size)
		}
	}
}
