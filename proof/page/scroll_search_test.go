//go:build search

package page_test

import (
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// tasks records the processor time of the browser's tasks on the page's thread: wall-clock time would
// include other programs.
type tasks struct {
	mu   sync.Mutex
	all  []time.Duration // guarded by mu
	done chan struct{}
}

func (o *window) trace(do func()) []time.Duration {
	o.t.Helper()
	seen := tasks{done: make(chan struct{})}
	require.NoError(o.t, chromedp.Listen(o.ctx, func(event any) {
		switch ev := event.(type) {
		case *tracing.EventDataCollected:
			for _, value := range ev.Value {
				seen.add([]byte(value))
			}
		case *tracing.EventTracingComplete:
			close(seen.done)
		}
	}))
	call(o, tracing.Start, tracing.StartParams{TransferMode: tracing.StartTransferModeReportEvents,
		TraceConfig: &tracing.TraceConfig{IncludedCategories: []string{"disabled-by-default-devtools.timeline"},
			ExcludedCategories: []string{"*"}}})
	do()
	call(o, tracing.End, cdp.Empty{})
	o.within("the trace is complete", func() { <-seen.done })
	seen.mu.Lock()
	defer seen.mu.Unlock()
	slices.Sort(seen.all)
	return seen.all
}

func (s *tasks) add(event []byte) {
	var task struct {
		Name string `json:"name"`
		Tdur int64  `json:"tdur"` // processor time in microseconds
	}
	if json.Unmarshal(event, &task) == nil && task.Name == "RunTask" && task.Tdur > 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all = append(s.all, time.Duration(task.Tdur)*time.Microsecond)
	}
}

// N7: no task of the page needs the processor for more than 50 ms while a person scrolls through
// 1,000 questions, in five runs.
func TestN7ScrollingHasNoLongTask(t *testing.T) {
	w := openWorld(t)
	const most = 50 * time.Millisecond
	w.askMany(1000)
	for range 5 {
		ada := w.open("ada", "")
		ada.until(`document.querySelector(".count")?.innerText === "1000"`)
		all := ada.trace(func() {
			ada.run(`(() => {
				const list = document.querySelector("#inbox")
				const step = () => {
					list.scrollBy({ top: 600, behavior: "instant" })
					const end = list.scrollTop + list.clientHeight >= list.scrollHeight - 1
					if (end && document.querySelectorAll("a.row").length >= 1000) window.through = true
					else requestAnimationFrame(step)
				}
				requestAnimationFrame(step)
			})()`)
			ada.until(`window.through === true`)
		})
		require.NotEmpty(t, all, "the browser reports no processor time")
		t.Logf("%d tasks, the longest %v", len(all), all[max(0, len(all)-5):])
		require.LessOrEqual(t, all[len(all)-1], most)
	}
}
