package sqlite

import (
	"sync"

	"modernc.org/libc"
	"modernc.org/libc/sys/types"
)

// keepPages holds blocks of the C allocator, so that it keeps some pages for each size. It unmaps a
// page with the last of its blocks: a statement whose buffer is the only one of its size, or the one
// that begins a further page, would map a page and unmap it for each execution, which has cost a
// third of the throughput. About 2 MiB of addresses for the process, few of them resident.
var keepPages = sync.OnceFunc(func() {
	const page, pages = 64 << 10, 4
	tls := libc.NewTLS()
	defer tls.Close()
	for size := types.Size_t(16); size <= page/4; size *= 2 { // larger blocks have pages of their own
		var others []uintptr
		for held := make(map[uintptr]bool); len(held) < pages; {
			block := libc.Xmalloc(tls, size)
			if block == 0 {
				break // without memory the next statement returns the error
			}
			if at := block &^ (page - 1); held[at] {
				others = append(others, block)
			} else {
				held[at] = true
			}
		}
		for _, block := range others {
			libc.Xfree(tls, block)
		}
	}
})
